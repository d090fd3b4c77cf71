"""Strip-mine a loop over rows, so that scalar code between its inner loops becomes vector code.

    for i in 0..n:                    for b in 0..n // 128:
      z = <a loop over row i>           for i in block b: z[i] = <a loop over row i>
      p = exp(z)                  ->    for i in block b: p[i] = exp(z[i])
      <a loop over row i with p>        for i in block b: <a loop over row i with p[i]>

In the first form ``exp`` is scalar code, since the loop around it is not innermost.  In the second
form it is vectorized, and the rows of a block are still in the cache when they are read again.  A
loop that is too short for two blocks becomes one block.

Legal where the loop runs over its whole range, holds known statements only (``_KNOWN``), and its
iterations share memory by reductions only (``_independent``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.dependences import is_at_one_place, surely_meet
from autojit.codegen.analysis.loop_level import FLAT, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.cost import cost, is_function
from autojit.codegen.loop_ir.effects import effects_of
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import (
    buffers_of,
    is_whole,
    memory,
    walk,
    with_bodies,
)
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_passes.rows.block_stages import stages_of, touched_again
from autojit.codegen.loop_passes.rows.crossing import Crossing, is_repeatable
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import L2, current
from autojit.ir.special.external import external

#: About how many iterations a block has, at most.
BLOCK = 128
#: The part of the second-level cache that may take the rows of a block that are read again.  With
#: more than all of it, `log(sum(exp(X - m)))` and the log-loss take up to twice as long.
AGAIN = 1 / 2
#: The least iterations for which blocks pay.  `f(A @ y)` of 16 rows of 16, 60 and 200 numbers takes
#: 0.75, 0.78 and 0.93 of its time for tanh, 0.88, 0.90 and 0.93 for exp.
LEAST = 16
#: The least work of functions in an iteration, in additions, for which blocks pay.  One function
#: saves 3.5 (exp) to 30 ns (power) a row, however long the rows are; roots and quotients save less
#: than 0.5 ns.
WORTH_BLOCKS = 10


@kernel_pass(
    "Strip-mines loops over rows, so that scalar code between inner loops becomes vector code.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def strip_mined(kernel: Kernel, rows: int | None = None) -> Kernel:
    """The kernel with its loops over rows strip-mined where that pays: by ``rows``, or by about
    ``BLOCK``; shorter ones become one block."""
    body = _body(kernel.body, rows)
    if body is kernel.body:
        return kernel
    return Kernel(kernel.name, body, buffers_of(body), kernel.values, kernel.origins)


def _body(body: list[Any], rows: int | None) -> list[Any]:
    """The statements with loops over rows strip-mined, those inside of other loops too."""
    made: list[Any] = []
    for s in body:
        found = None
        if isinstance(s, Loop) and _pays(s, rows or LEAST) and _independent(s):
            found = _strip_mined(s, rows)
        made += found or [with_bodies(s, lambda inner: _body(inner, rows))]
    same = len(made) == len(body) and all(a is b for a, b in zip(made, body, strict=True))
    return body if same else made


def _size(extent: int, again: int) -> int:
    """How many rows a block has, given the bytes of a row that are read again; preferably a divisor
    of the extent, since a remainder needs code of its own."""
    fit = current().cache(L2, AGAIN) // max(again, 1)
    if extent < min(2 * BLOCK, fit + 1):
        return extent
    sizes = range(max(1, min(BLOCK, fit) // 2), min(2 * BLOCK, fit + 1))
    return min(sizes, key=lambda n: (extent % n != 0, n % 8 != 0, abs(n - BLOCK)), default=0)


def _pays(loop: Loop, least: int) -> bool:
    inner = [s for s in loop.body if isinstance(s, Loop) and not s.unroll]
    machine = current()
    # SciPy's functions take one number at a time.
    costly = sum(cost(s, machine) for s in loop.body if is_function(s) and external(s.name) is None)
    return bool(inner) and costly >= WORTH_BLOCKS and loop.stop - loop.start >= least


#: The statements that a loop over rows may hold; the accesses of others are not checked here.
_KNOWN = (
    Accumulate, AccumulateInto, Begin, Compute, Constant, Finish, Gather, IndexValue, InRange, Load,
    Loop, ScatterInto, Store,
)  # fmt: skip


def _independent(loop: Loop) -> bool:
    """Whether a loop runs over all of its range, and its iterations share memory by reductions
    only."""
    if not is_whole(loop) or loop.role == "sequence":
        return False
    if not all(isinstance(s, _KNOWN) for s in walk(loop.body)) or surely_meet(loop, adding=False):
        return False
    inner = [(s, effects_of(s)) for s in walk(loop.body)]
    updates = [a for s, e in inner for a in e.updates(s)]
    reads = [a for s, e in inner for a in e.reads(s)]
    writes = [a for s, e in inner for a in e.writes(s)]
    added = {memory(a.buffer) for a in updates}
    return (
        all(a.buffer.kind != "local" for a in (*updates, *reads, *writes))
        and all(a.combine != "set" for a in updates)
        and not any(is_at_one_place(a, loop.var) for a in writes)
        and all(memory(a.buffer) not in added for a in reads)
    )


def _strip_mined(loop: Loop, rows: int | None) -> list[Any] | None:
    """The loop over blocks, and the loop over the remainder; None if the body cannot be cut, or few
    rows fit in the cache."""
    stages = stages_of(loop)
    if stages is None:
        return None
    size = rows or _size(loop.stop - loop.start, touched_again(stages, loop.var))
    if size < min(LEAST, BLOCK):
        return None
    blocks, rest = divmod(loop.stop - loop.start, size)
    outer = Var(blocks)
    first = affine.of(outer) * size + loop.start if blocks > 1 else Affine(loop.start)
    crossing = Crossing([stage.body for stage in stages], is_repeatable)
    for number, scalar in crossing.kept.items():
        crossing.places[number] = Buffer(f"block{number}", scalar.dtype, size, "local"), 0
    body: list[Any] = []
    for k in range(len(stages)):
        inner = Var(size)
        statements = crossing.statements(k, affine.of(inner), loop.var, first + affine.of(inner))
        body.append(Loop(inner, 0, size, statements, loop.role))
    result: list[Any] = [Loop(outer, 0, blocks, body, loop.role)] if blocks > 1 else body
    if rest:
        result.append(replace(loop, start=loop.stop - rest))
    return result
