"""The body of a loop over rows, cut into stages that each become a loop over a block of rows.

Legal where no other statements are between two loops that share an accumulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from autojit.codegen.analysis.dependences import Touch, touches
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish, Loop
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Var


@dataclass
class Stage:
    """Consecutive statements that become one loop over a block."""

    has_loop: bool
    body: list[Any] = field(default_factory=list)


def stages_of(loop: Loop) -> list[Stage] | None:
    """The body, cut where inner loops begin and end; an accumulator's begin and finish stay with
    its loop.

    None if other statements are between two loops that share an accumulator.
    """
    begun = {s.accumulator.number: s for s in loop.body if isinstance(s, Begin)}
    ends = {s.accumulator.number: s for s in loop.body if isinstance(s, Finish)}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, s in enumerate(loop.body):
        for a in walk([s]) if isinstance(s, Loop) else ():
            if isinstance(a, Accumulate) and a.accumulator.number in begun:
                first.setdefault(a.accumulator.number, position)
                last[a.accumulator.number] = position
    stages: list[Stage] = []
    summed: set[int] = set()
    for position, s in enumerate(loop.body):
        if isinstance(s, Loop):
            begins = [n for n in begun if first.get(n) == position]
            if not stages or not stages[-1].has_loop or (begins and not summed):
                stages.append(Stage(True))
            done = [n for n in begun if last.get(n) == position]
            stages[-1].body += [begun[n] for n in begins] + [s] + [ends[n] for n in done]
            summed = (summed | set(begins)) - set(done)
        elif not (isinstance(s, (Begin, Finish)) and s.accumulator.number in first):
            if summed:
                return None
            if not stages or stages[-1].has_loop:
                stages.append(Stage(False))
            stages[-1].body.append(s)
    return stages


def touched_again(stages: list[Stage], row: Var) -> int:
    """The bytes of a row that more than one stage touches: a block of them is in the cache when
    the next stage comes to it, or has left it."""
    found: dict[Buffer, list[int]] = {}
    for stage in stages:
        sizes: dict[Buffer, int] = {}
        for t in touches(stage.body):
            if t.access is not None and row in t.access.index.variables():
                sizes[t.memory] = max(sizes.get(t.memory, 0), _bytes(t))
        for memory, size in sizes.items():
            found.setdefault(memory, []).append(size)
    return sum(max(sizes) for sizes in found.values() if len(sizes) > 1)


def _bytes(t: Touch) -> int:
    """The bytes that an access touches of one iteration's row."""
    assert t.access is not None
    inside = t.access.index.variables()
    counts = [high - low + 1 for var, (low, high) in t.inner.items() if var in inside]
    return prod(counts) * itemsize(t.memory.dtype)
