"""Run a loop over the middle of a row over the whole row, and overwrite the ends afterwards.

    for j in 0..1:    y[j] = <left end>             for j in 0..n:    y[j] = <middle>
    for j in 1..n-1:  y[j] = <middle>        ->     for j in 0..1:    y[j] = <left end>
    for j in n-1..n:  y[j] = <right end>            for j in n-1..n:  y[j] = <right end>

Such rows come from stencils, which read other elements at the ends.  A middle of 126 elements that
begins at the second one is not aligned to cache lines, and leaves six elements for a scalar loop;
the whole row of 128 is aligned and leaves none.  The middle's formula gives meaningless values at
the ends, which are overwritten.  Its reads must lie inside of their buffers there, and it must have
no effect besides its store.

Legal where the loops cover the row without gaps and may run in any order, write the same elements
once, read none of the elements that they write, and read within their buffers over the whole row.
Iterations of loops around them that run in any order may not read there what others write.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from autojit.codegen.analysis.dependences import written
from autojit.codegen.analysis.exposed import exposed
from autojit.codegen.analysis.loop_level import EVERYTHING, NESTS, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, InRange, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, memory
from autojit.ir.core.affine import Affine, Bounds, Var

#: The most elements that the ends may have together, and how many times as many the row has at
#: least.
MOST_AT_ENDS = 16
PART_AT_ENDS = 4

_PURE = (Compute, Constant, IndexValue, InRange, Load)


@kernel_pass(
    "Runs loops over the middles of rows over the whole rows.",
    needs=[NESTS, NO_TASKS, OWN_MEMORY],
    keeps=EVERYTHING,
)
def overrun_rows(kernel: Kernel) -> Kernel:
    """The kernel with loops over the middles of rows run over whole rows, where that is legal."""
    _rewrite(kernel.body, {}, ())
    return kernel


def _rewrite(body: list[Any], bounds: Bounds, around: tuple[Loop, ...]) -> None:
    """Rewrite the body of loops with these bounds, some of which run in any order."""
    for s in body:
        inner, loops = bounds, around
        if isinstance(s, Loop):
            inner = {**bounds, s.var: (s.start, s.stop - 1)}
            loops = (*around, s) if s.role == "map" else around
        for statements in bodies_of(s):
            _rewrite(statements, inner, loops)
    position = 0
    while position < len(body):
        run = _run(body, position)
        found = _widened(run, bounds) if len(run) > 1 else None
        if found is not None:
            body[position : position + len(run)] = found
            if not all(_reads_own(loop, found, bounds) for loop in around):
                body[position : position + len(run)] = run
        position += max(1, len(run))


def _reads_own(loop: Loop, run: list[Any], bounds: Bounds) -> bool:
    """Whether each iteration of a loop reads only its own writes in the memory that the loops
    write."""
    loads = [x for s in run if isinstance(s, Loop) for x in s.body if isinstance(x, Load)]
    made = written(loop.body) & {memory(x.buffer) for x in loads}
    return not made or made.isdisjoint(map(memory, exposed(loop.body, bounds)))


def _run(body: list[Any], first: int) -> list[Any]:
    """Consecutive loops over parts of one range, and the pure statements between them."""
    if not isinstance(body[first], Loop):
        return []
    var, last = body[first].var, first
    for position in range(first, len(body)):
        s = body[position]
        if isinstance(s, Loop) and s.var is var:
            last = position
        elif not isinstance(s, _PURE):
            break
    return body[first : last + 1]


def _widened(run: list[Any], bounds: Bounds) -> list[Any] | None:
    """The run with the loop over the middle first, and over all of the row."""
    loops = [s for s in run if isinstance(s, Loop)]
    between = [s for s in run if not isinstance(s, Loop)]
    var, start, stop = loops[0].var, loops[0].start, loops[-1].stop
    middle = max(loops, key=lambda s: s.stop - s.start)
    at_ends = (stop - start) - (middle.stop - middle.start)
    if len(loops) < 2 or at_ends > min(MOST_AT_ENDS, (stop - start) // PART_AT_ENDS):
        return None
    statements = [s for loop in loops for s in loop.body]
    if any(a.stop != b.start for a, b in pairwise(loops)) or not _are_plain(loops):
        return None
    if not all(map(_only_computes, statements)):
        return None
    targets = [[(s.buffer, s.index) for s in loop.body if isinstance(s, Store)] for loop in loops]
    changed = written(statements)
    # Only the ends may overwrite elements that the middle writes.
    if any(set(t) != set(targets[0]) for t in targets) or len(changed) < len(targets[0]):
        return None
    if not all(_once_a_step(index, var) for _, index in targets[0]):
        return None
    whole = {**bounds, var: (start, stop - 1)}
    for s in (*statements, *between):
        if isinstance(s, Load) and (memory(s.buffer) in changed or not _inside(s, whole)):
            return None
    ends = [loop for loop in loops if loop is not middle]
    return [*between, replace(middle, start=start, stop=stop), *ends]


def _are_plain(loops: list[Loop]) -> bool:
    """Whether iterations may run in any order, and all of each range is run."""
    return all(s.role == "map" and s.share is None and not s.is_partial for s in loops)


def _inside(load: Load, bounds: Bounds) -> bool:
    low, high = load.index.range(bounds)
    return low >= 0 and high < load.buffer.size


def _once_a_step(index: Affine, var: Var) -> bool:
    """Whether an index differs at each step of the loop."""
    return bool(index.stride(var))


def _only_computes(s: Any) -> bool:
    """Whether a statement can run with meaningless operands."""
    if isinstance(s, Compute):
        return all(x.dtype[0] in "fb" for x in (*s.args, s.result))
    if isinstance(s, Load):
        return s.guard is None
    return isinstance(s, (Store, *_PURE))
