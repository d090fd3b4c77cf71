"""Strip-mine a loop over rows, so that scalar code between its inner loops becomes vector code.

    for i in 0..n:                    for b in 0..n // 128:
      z = <a loop over row i>           for i in block b: z[i] = <a loop over row i>
      p = exp(z)                  ->    for i in block b: p[i] = exp(z[i])
      <a loop over row i with p>        for i in block b: <a loop over row i with p[i]>

In the first form ``exp`` is scalar code, since the loop around it is not innermost.  In the second
form it is vectorized, and the rows of a block are still in the cache when they are read again.

Legal where the loop runs over its whole range, holds known statements only (``_KNOWN``), and its
iterations share memory by reductions only (``_independent``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.dependences import is_at_one_place, surely_meet
from autojit.codegen.analysis.loop_level import FLAT, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.cost import is_function
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
    in_sequence,
    is_whole,
    memory,
    walk,
)
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_passes.rows.block_stages import stages_of
from autojit.codegen.loop_passes.rows.crossing import Crossing, is_repeatable
from autojit.ir.core import affine
from autojit.ir.core.affine import Var
from autojit.ir.core.machine import current

#: About how many iterations a block has; their rows should fit in the second-level cache.
BLOCK = 128
#: The least scalar work of an iteration, in additions, for which blocks pay.
WORTH_BLOCKS = 20


@kernel_pass(
    "Strip-mines loops over rows, so that scalar code between inner loops becomes vector code.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def strip_mined(kernel: Kernel, rows: int | None = None) -> Kernel:
    """The kernel with its loops over rows strip-mined where that pays: by ``rows``, or by about
    ``BLOCK`` where there are two blocks at least."""
    if in_sequence(kernel.body):
        return kernel
    least = rows or 2 * BLOCK
    found = [
        _strip_mined(s, rows or _size(s.stop - s.start))
        if isinstance(s, Loop) and _pays(s, least) and _independent(s)
        else None
        for s in kernel.body
    ]
    if not any(found):
        return kernel
    body = [t for s, made in zip(kernel.body, found, strict=True) for t in made or [s]]
    return Kernel(kernel.name, body, buffers_of(body), kernel.values, kernel.origins)


def _size(extent: int) -> int:
    """How many rows a block has; preferably a divisor of the extent, since a remainder needs code
    of its own."""
    sizes = range(max(1, BLOCK // 2), 2 * BLOCK)
    return min(sizes, key=lambda n: (extent % n != 0, n % 8 != 0, abs(n - BLOCK)))


def _pays(loop: Loop, least: int) -> bool:
    inner = [s for s in loop.body if isinstance(s, Loop) and not s.unroll]
    # A root of one number takes as long as a function: nothing else is done meanwhile.
    costly = sum(current().costs.function for s in loop.body if is_function(s))
    long_enough = loop.stop - loop.start >= least
    return bool(inner) and costly >= WORTH_BLOCKS and long_enough


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


def _strip_mined(loop: Loop, size: int) -> list[Any] | None:
    """The loop over blocks, and the loop over the remainder; None if the body cannot be cut."""
    stages = stages_of(loop)
    if stages is None:
        return None
    blocks = (loop.stop - loop.start) // size
    outer = Var(blocks)
    crossing = Crossing([stage.body for stage in stages], is_repeatable)
    for number, scalar in crossing.kept.items():
        crossing.places[number] = Buffer(f"block{number}", scalar.dtype, size, "local"), 0
    body = []
    for k in range(len(stages)):
        inner = Var(size)
        row = affine.of(outer) * size + affine.of(inner) + loop.start
        statements = crossing.statements(k, affine.of(inner), loop.var, row)
        body.append(Loop(inner, 0, size, statements, loop.role))
    result: list[Any] = [Loop(outer, 0, blocks, body, loop.role)]
    rest = loop.start + blocks * size
    if rest < loop.stop:
        result.append(replace(loop, start=rest))
    return result
