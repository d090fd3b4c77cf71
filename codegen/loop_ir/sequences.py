"""Statements whose parts run in turn: loops of unknown length with their tapes, and branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autojit.ir.core.affine import Affine, Var

from .effects import Access, declare
from .values import Buffer, Scalar, Trips


def _all_of(buffer: Buffer) -> Access:
    return Access(buffer, Affine(0), 0, buffer.size - 1)


@declare(
    uses_of_bodies=lambda s: (s.test,),
    moves=lambda s: s.tapes,
    buffers=lambda s: s.tapes,
    counts=lambda s: s.trips,
    bodies=lambda s: [s.condition, s.body],
    variables=lambda s: {s.step: (0, s.step.extent - 1)},
    in_turn=lambda s: True,
)
@dataclass(slots=True)
class Repeat:
    """``body`` as long as the scalar ``test``, which ``condition`` computes, is true.

    ``step`` counts the iterations, and ``trips`` are how many there were in the end.
    ``tapes`` have room for one more step before each.  The body sees none of the condition's
    scalars.  A target ends the loop where a statement in it has failed: with elements that were
    made up, the test may be true for ever.
    """

    step: Var
    condition: list[Any]
    test: Scalar
    body: list[Any]
    tapes: list[Buffer]
    trips: Trips


@declare(
    needs_count=lambda s: s.trips,
    bodies=lambda s: [s.body],
    variables=lambda s: {s.step: (0, s.step.extent - 1)},
    in_turn=lambda s: True,
)
@dataclass(slots=True)
class Steps:
    """``body`` for each step of a loop that ran, in its order or the other way round."""

    step: Var
    trips: Trips
    backward: bool
    body: list[Any]


@declare(moves=lambda s: s.tapes, buffers=lambda s: s.tapes)
@dataclass(slots=True)
class Release:
    """The memory of tapes is given back."""

    tapes: list[Buffer]


@declare(
    needs_count=lambda s: s.trips,
    writes=lambda s: (_all_of(s.note),),
    moves=lambda s: s.tapes,
    buffers=lambda s: (*s.tapes, s.note),
)
@dataclass(slots=True)
class Keep:
    """What a loop has pushed is left for sweeps elsewhere: ``note`` says where it lies, and how
    many steps there were."""

    tapes: list[Buffer]
    trips: Trips
    note: Buffer


@declare(
    reads=lambda s: (_all_of(s.note),),
    counts=lambda s: s.trips,
    moves=lambda s: s.tapes,
    buffers=lambda s: (*s.tapes, s.note),
    in_turn=lambda s: True,
)
@dataclass(slots=True)
class Recall:
    """The tapes and the number of steps that a note tells of."""

    tapes: list[Buffer]
    trips: Trips
    note: Buffer


#: More steps than any loop whose number of steps is not known beforehand.
MANY = 1 << 40

#: How many integers a note has: the number of steps, and two in which a target says where the
#: tapes lie.
NOTE = 3


@declare(uses=lambda s: (s.index,), bodies=lambda s: s.bodies, in_turn=lambda s: True)
@dataclass(slots=True)
class Branch:
    """One of several bodies: that with the number ``index`` (clipped to the range)."""

    index: Scalar
    bodies: list[list[Any]]


@declare(
    moves=lambda s: (s.first, s.second),
    buffers=lambda s: (s.first, s.second),
)
@dataclass(slots=True)
class Swap:
    """Two buffers of one size change places.

    No later kernel reads either: whether they change back as this one ends is up to the target.
    """

    first: Buffer
    second: Buffer
