"""Iterations of a sequential loop that touch nothing of each other run in a thread each.

    for k in 0..5000:     # in turn       share k from 256*block + thread, below 5000, by 5120:
      carry[0] = x[k]                       carry[0] = x[k]
      repeat:                        ->     repeat:
        carry[0] = f(carry[0])                carry[0] = f(carry[0])
      y[k] = carry[0]                       y[k] = carry[0]

Python's loop over rows has this form if a row has a loop of its own, with its own number of steps.

Legal where no iteration touches an element that another one writes, and where local buffers, of
which each thread has its own, are set in each iteration before they are read.  Buffers that change
places, and tapes, are those of all iterations.
"""

from __future__ import annotations

from typing import Any

from autojit.codegen.analysis.dependences import dependences, moving, touches, written
from autojit.codegen.cuda.mapping.nests.structure import is_pure
from autojit.codegen.loop_ir.effects import accesses
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Fill, Loop, Store
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine

from .cooperation import alone


def apart(body: list[Any]) -> Loop | None:
    """The loop with the statements before it in its body, if its iterations are apart; else None.

    The body has nothing else.
    """
    before, loop = body[:-1], body[-1] if body else None
    if not isinstance(loop, Loop) or loop.role != "sequence" or loop.is_partial or loop.start:
        return None
    if loop.stop != loop.var.extent or not all(map(is_pure, before)) or moving(loop.body):
        return None
    changed, inside = written(loop.body), alone(loop.body)
    if any(t.memory in changed for t in touches(before)) or not _adds_within(loop.body):
        return None
    own = {b for b in changed if b.kind == "local"}
    if not all(_sets_first(loop.body, b) for b in own):
        return None
    if not all(d.most == 0 or d.source.memory in own for d in dependences(loop)):
        return None
    return Loop(loop.var, 0, loop.stop, [*before, *inside], "map")


def _adds_within(body: list[Any]) -> bool:
    """Whether all accumulators that statements add to begin with them."""
    begun = {s.accumulator.number for s in walk(body) if isinstance(s, Begin)}
    return {s.accumulator.number for s in walk(body) if isinstance(s, Accumulate)} <= begun


def _sets_first(body: list[Any], buffer: Buffer) -> bool:
    """Whether the first statement of a body that touches a buffer sets all of its elements."""
    for s in body:
        if any(memory(a.buffer) is buffer for x in walk([s]) for a in accesses(x)):
            return _sets_all(s, buffer)
    return False


def _sets_all(s: Any, buffer: Buffer) -> bool:
    if isinstance(s, Fill):
        return not s.start.terms and s.start.constant == 0 and s.count == buffer.size
    index, extent = affine.Affine(0), 1
    if isinstance(s, Loop):
        if s.role != "map" or s.is_partial or s.start or not s.body:
            return False
        if not all(map(is_pure, s.body[:-1])):
            return False
        index, extent, s = affine.of(s.var), s.stop, s.body[-1]
    return type(s) is Store and s.index == index and extent == buffer.size and s.buffer is buffer
