"""Decides whether a recurrence is faster in blocks of steps, and the size of a block."""

from __future__ import annotations

from autojit.ir.core.machine import L1, current
from autojit.ir.core.program import Program
from autojit.ir.ops.bodies import present
from autojit.ir.ops.elementwise import Elementwise

from .recurrence import Recurrence

#: Steps in a block, at least; at most, a number of each takes this part of the first-level cache,
#: so that what they compute stays there.
LEAST_STEPS, OF_A_NUMBER = 64, 1 / 8
#: Vectors: loops over a multiple of so many have no remainder.
WHOLE = 2
#: How many times as long the loop has to take, and how many cycles of a run must be saved for each
#: operation that is compiled more: it takes some 700,000 to compile.
GAIN = 1.25
WORTH = 100


def pays(loop: Recurrence) -> bool:
    """Whether the loop is faster in blocks, by enough for the code that is compiled more."""
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
    """How many operations a step takes, but for what is the same in each."""
    moving = set(program.inputs).difference(loop.constants)
    work = 0
    for op in program.ops:
        if not moving.isdisjoint(op.operands):
            moving.update(op.results)
            work += op.kind.cost if isinstance(op.kind, Elementwise) else 1
    return work


def block_size(length: int) -> int:
    """How many steps go into a block: best all alike, and whole vectors."""
    machine = current()
    most, whole = max(1, machine.cache(L1, OF_A_NUMBER) // 8), WHOLE * machine.lanes()
    sizes = [s for s in range(LEAST_STEPS, most + 1) if length % s == 0]
    return max(sizes, key=lambda s: (min(s & -s, whole), s), default=min(length, most))
