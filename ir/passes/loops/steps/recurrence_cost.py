"""Decides whether a recurrence is faster in blocks of steps, and chooses the size of a block."""

from __future__ import annotations

from autojit.ir.core.machine import L1, current
from autojit.ir.core.program import Program
from autojit.ir.ops.bodies import present
from autojit.ir.ops.elementwise import Elementwise

from .recurrence import Recurrence

#: The fewest steps in a block; and the part of the first-level cache that one number of each step
#: may take, so that all values computed in a block stay in the cache.
LEAST_STEPS, OF_A_NUMBER = 64, 1 / 8
#: Block sizes that are a multiple of this many vectors leave no remainder.
WHOLE = 2
#: The least ratio of the loop's time to that in blocks, and the fewest cycles per run that must be
#: saved for each additional operation, which takes some 700,000 to compile.
GAIN = 1.25
WORTH = 100


def pays(loop: Recurrence) -> bool:
    """Whether the loop is faster in blocks, by enough for the additional code."""
    if not loop.state:
        return True
    before, after = _work(loop, loop.factors()), _work(loop, loop.terms())
    if not before + after:
        return False
    work = _work(loop, loop.body)
    handed = len(present([v for a in loop.next for v in (a.offset, *a.factors)]))
    machine = current()
    latency, rate = machine.costs.latency, machine.costs.scalar_rate
    chain = max(latency * len(loop.state), (handed + len(loop.state)) / rate)
    cycles = max(latency * loop.waiting, work / rate)
    in_blocks = chain + (before + after) / machine.rate
    saved = (cycles - in_blocks) * loop.params["length"]
    return cycles > GAIN * in_blocks and saved > WORTH * (before + after - work)


def _work(loop: Recurrence, program: Program) -> int:
    """The number of operations in a step, without those that are the same in each step."""
    moving = set(program.inputs).difference(loop.constants)
    work = 0
    for op in program.ops:
        if not moving.isdisjoint(op.operands):
            moving.update(op.results)
            work += op.kind.cost if isinstance(op.kind, Elementwise) else 1
    return work


def block_size(length: int) -> int:
    """The number of steps in a block; ideally blocks have equal sizes and whole vectors."""
    machine = current()
    most, whole = max(1, machine.cache(L1, OF_A_NUMBER) // 8), WHOLE * machine.lanes()
    sizes = [s for s in range(LEAST_STEPS, most + 1) if length % s == 0]
    return max(sizes, key=lambda s: (min(s & -s, whole), s), default=min(length, most))
