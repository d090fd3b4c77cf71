"""Iterations of a sequential loop that touch nothing of each other run in a thread each.

    c[0] = 0.0            # a launch of its own       c[0] = 0.0
    for k in 0..5000:     # in turn                   share k from 256*block + thread, by 5120:
      carry[0] = x[k]                                   carry[0] = x[k]
      repeat:                                  ->       repeat:
        carry[0] = f(carry[0])                            carry[0] = f(carry[0])
      y[k] = carry[0]                                   y[k] = carry[0]
      c[0] = c[0] + carry[0]                            p[k] = carry[0]
    z[0] = c[0]                                       c[0] = c[0] + sum of p; then z[0] = c[0]

Python's loop over rows has this form if a row has a loop of its own, with its own number of steps,
and so has its gradient.

Legal where no iteration touches an element that another one writes, and where local buffers, of
which each thread has its own, are set in each iteration before they are read.  A computed place is
an iteration's own if a place on one axis is a form that differs between iterations.  What all
iterations only add to is summed up later (``nests/contributions.py``); tapes must begin and end
within an iteration (``nests/tapes.py``).  Buffers that change places are those of all iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autojit.codegen.analysis.dependences import Dependence, dependences, moving, touches, written
from autojit.codegen.analysis.separate_places import axes_of, never_meet, places_of
from autojit.codegen.cuda.mapping.nests.contributions import (
    added,
    contributions,
    left_by_iterations,
)
from autojit.codegen.cuda.mapping.nests.structure import is_pure
from autojit.codegen.cuda.mapping.nests.tapes import private
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import accesses
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Fill, IndexValue, Loop, Store
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk, with_bodies
from autojit.codegen.loop_ir.values import Buffer, Place
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import alone

#: The most bytes of what iterations leave for a sum.
MOST_LEFT = 64 << 20


@dataclass
class Apart:
    """The work of a kernel in launches: before the loop, its iterations, sums, and after it."""

    #: What only defines scalars, and is repeated where it is needed.
    scalars: list[Any]
    before: list[Any]
    loop: Loop
    #: Tapes of which each thread has a part.
    tapes: set[Buffer]
    sums: list[Any]
    after: list[Any]


def apart(body: list[Any]) -> Apart | None:
    """The launches of a body with one sequential loop, if its iterations are apart; else None."""
    found = [n for n, s in enumerate(body) if isinstance(s, Loop) and s.role == "sequence"]
    if len(found) != 1:
        return None
    before, loop, after = body[: found[0]], body[found[0]], alone(body[found[0] + 1 :])
    if loop.is_partial or loop.start or loop.stop != loop.var.extent:
        return None
    pure = [s for s in before if is_pure(s)]
    before = alone([s for s in before if not is_pure(s)])
    if not all(map(_is_own_launch, before)) or not _adds_within(after):
        return None
    if any(t.memory in written(body) for t in touches(pure)):
        return None
    return _between(pure, before, replace(loop, body=alone(loop.body)), after)


def _is_own_launch(s: Any) -> bool:
    """Whether a statement sets memory, and needs only scalars that are repeated."""
    return isinstance(s, Fill) or (isinstance(s, Loop) and s.role == "map" and not s.is_partial)


def _between(
    scalars: list[Any], before: list[Any], loop: Loop, after: list[Any]
) -> Apart | None:  # fmt: skip
    """The launches, with the buffers that launches share in memory that is not a thread's own."""
    tapes = {b for b in moving(loop.body) if b.kind == "tape"}
    if moving(loop.body) != tapes or moving([*before, *after]) or not private(loop.body, tapes):
        return None
    parts = [_locals(x) for x in (before, loop.body, after)]
    shared = {b for b in set().union(*parts) if sum(b in part for part in parts) > 1}
    known = {b: Buffer(b.name, b.dtype, b.size, "temp") for b in shared}
    moved = [_elsewhere(x, known) for x in (before, loop.body, after)]
    if any(m is None for m in moved):
        return None
    before, inside, after = (m or [] for m in moved)
    loop = replace(loop, body=inside, role="map")
    found = contributions(loop.body)
    left = {b: Buffer("left", b.dtype, b.size * loop.stop, "temp") for b in found}
    if sum(b.size * itemsize(b.dtype) for b in left.values()) > MOST_LEFT:
        return None
    loop = replace(loop, body=left_by_iterations(loop, found, left))
    if not _adds_within(loop.body) or not _are_apart(loop, tapes):
        return None
    sums = [s for b, part in left.items() for s in added(b, part, loop.stop)]
    after = after if any(not is_pure(s) for s in after) else []
    return Apart(scalars, before, loop, tapes, sums, after)


def _locals(body: list[Any]) -> set[Buffer]:
    named = (memory(b) for s in walk(body) for b in buffers_named(s))
    return {b for b in named if b.kind == "local"}


def _elsewhere(body: list[Any], known: Mapping[Buffer, Buffer]) -> list[Any] | None:
    """The statements with other buffers; None if one names several buffers at once."""
    several = (s for s in walk(body) if not hasattr(s, "buffer"))
    if any(memory(b) in known for s in several for b in buffers_named(s)):
        return None

    def moved(s: Any) -> Any:
        s = with_bodies(s, lambda inner: [moved(x) for x in inner])
        buffer = known.get(memory(s.buffer)) if hasattr(s, "buffer") else None
        return s if buffer is None else replace(s, buffer=buffer)

    return [moved(s) for s in body]


def _are_apart(loop: Loop, tapes: set[Buffer]) -> bool:
    """Whether the iterations touch nothing of each other, if each thread has its own local buffers
    and tapes."""
    own = {b for b in written(loop.body) if b.kind == "local"}
    if not all(_sets_first(loop.body, b) for b in own):
        return False
    own |= tapes
    values = (s for s in walk(loop.body) if isinstance(s, IndexValue) and s.result.dtype == "i64")
    lines = {s.result.number: s.index for s in values}
    return all(
        d.most == 0 or d.source.memory in own or _has_own_place(d, loop.var, lines)
        for d in dependences(loop)
    )


def _has_own_place(d: Dependence, var: Var, lines: Mapping[int, Affine]) -> bool:
    """Whether two computed places on one axis are one form that differs between iterations.

    Other variables in the forms, or in the index that the places are added to, could be those of
    loops inside, which differ within an iteration too.
    """
    one, other = d.source.statement, d.sink.statement
    axes = axes_of(one)
    if not places_of(one) or axes is None or axes != axes_of(other):
        return False
    if one.index != other.index or one.index.terms:
        return False
    for p, q in zip(places_of(one), places_of(other), strict=True):
        first, second = (_line(x, var, lines) for x in (p, q))
        if never_meet(first, second, var):
            return True
    return False


def _line(p: Place, var: Var, lines: Mapping[int, Affine]) -> Affine | None:
    """A computed place as a form of one variable that stays within its range; else None."""
    line = lines.get(p.scalar.number)
    if line is None or not set(line.variables()) <= {var}:
        return None
    low, high = line.range({})
    return line if low >= 0 and high < p.extent else None


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
