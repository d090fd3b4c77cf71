"""Delinearize a loop whose indices divide its variable: it becomes a nest over rows and columns.

    for t in 1100..11200:                          for i in 0..100:
      z[t] = x[t] + (y[(t + 11) // 101, ...]         for j in 0..100:
              if (t + 11) % 101 < 100 else 0) ->       z[101*i + j + 1100] = x[...] + y[i, j]
                                                     z[101*i + 1200] = x[101*i + 1200]

Such loops come from cotangents of slices of a parameter vector that are reshaped to matrices.
Processors have no vector instruction for integer division, and an index with a quotient is a gather
in place of a vector load.

Legal where the loop is a ``map`` (its iterations may run in any order) over all of its range, in
which a whole row lies.
"""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

from autojit.codegen.analysis.loop_level import EVERYTHING, NESTS, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.nodes import Constant, InRange, Load, Loop
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, is_whole, substituted, with_indices
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Bounds, Quotient, Var

#: Shorter rows, or fewer rows, do not pay.
LEAST_COLUMNS, LEAST_ROWS = 16, 4
#: The most ranges into which conditions may split a row.
MOST_PARTS = 4


@kernel_pass(
    "Makes a loop whose indices divide its variable a nest over rows and columns.",
    needs=[NO_TASKS, OWN_MEMORY],
    gives=[NESTS],
    keeps=EVERYTHING,
)
def delinearized(kernel: Kernel) -> Kernel:
    """The kernel with nests in place of innermost loops that divide their variable."""
    _rewrite(kernel.body)
    return kernel


def _rewrite(body: list[Any]) -> None:
    position = 0
    while position < len(body):
        s = body[position]
        for inner in bodies_of(s):
            _rewrite(inner)
        found = _nest(s) if isinstance(s, Loop) else [s]
        body[position : position + 1] = found
        position += len(found)


def _nest(loop: Loop) -> list[Loop]:
    """The loop as a nest over whole rows, with loops over the elements before and after them."""
    if loop.role != "map" or not is_whole(loop) or any(map(bodies_of, loop.body)):
        return [loop]
    division = _division(loop)
    if division is None:
        return [loop]
    constant, width = division
    first, last = -(-(loop.start + constant) // width), (loop.stop + constant) // width
    if last <= first or width < LEAST_COLUMNS or last - first < LEAST_ROWS:
        return [loop]
    row, column = Var(last - first), Var(width)
    here = affine.of(row) * width + affine.of(column) + (first * width - constant)
    body = [_simplified(substituted(s, loop.var, here), {}) for s in loop.body]
    parts = _parts(body, column)
    if len(parts) > MOST_PARTS:
        return [loop]
    inner = [_part(body, column, start, stop) for start, stop in parts]
    nest = Loop(row, 0, last - first, inner, "map")
    ends = (loop.start, first * width - constant), (last * width - constant, loop.stop)
    before, after = ([_part(loop.body, loop.var, *end)] if end[0] < end[1] else [] for end in ends)
    return [*before, nest, *after]


def _division(loop: Loop) -> tuple[int, int] | None:
    """The offset c and the divisor w, if all quotients of the loop's variable t are (t + c) //
    w."""
    found: set[tuple[int, int]] = set()
    for s in loop.body:
        for f in fields(s):
            if isinstance(index := getattr(s, f.name), Affine):
                for atom, _ in index.terms:
                    if isinstance(atom, Quotient) and loop.var in atom.operand.variables():
                        if atom.operand.terms != ((loop.var, 1),):
                            return None
                        found.add((atom.operand.constant, atom.divisor))
    return found.pop() if len(found) == 1 else None


def _simplified(s: Any, bounds: Bounds) -> Any:
    """The statement without divisions that the ranges of the variables decide."""
    return with_indices(s, lambda index: index.simplified(bounds))


def _parts(body: list[Any], column: Var) -> list[tuple[int, int]]:
    """Ranges of columns in which no condition changes."""
    cuts = {0, column.extent}
    for s in body:
        if isinstance(s, InRange) and s.step == 1:
            found = (s.index.crossing(column, bound) for bound in (s.low, s.high))
            cuts.update(cut for cut in found if cut is not None)
    return list(pairwise(sorted(cut for cut in cuts if 0 <= cut <= column.extent)))


def _part(body: list[Any], var: Var, start: int, stop: int) -> Loop:
    """The loop over a range of columns, with conditions replaced by constants where they are
    known."""
    bounds = {var: (start, stop - 1)}
    known: dict[Any, bool] = {}
    statements = []
    for s in (_simplified(s, bounds) for s in body):
        if isinstance(s, InRange) and s.step == 1:
            low, high = s.index.range(bounds)
            if low >= s.low and high < s.high:
                known[s.result] = True
            elif high < s.low or low >= s.high:
                known[s.result] = False
            if s.result in known:
                s = Constant(s.result, known[s.result])
        elif isinstance(s, Load) and s.guard in known:
            s = replace(s, guard=None) if known[s.guard] else Constant(s.result, 0)
        statements.append(s)
    return Loop(var, start, stop, statements, "map", unroll=stop - start == 1)
