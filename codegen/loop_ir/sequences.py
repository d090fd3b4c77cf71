"""Sequential statements: loops of unknown length with their tapes, and branches."""

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

    ``step`` counts the iterations, and ``trips`` is their final number. Before each step, ``tapes``
    have room for one more. The body does not see the condition's scalars. A target ends the loop
    when a statement in it has failed, because with substituted elements the test might be true
    forever.
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
    """``body`` for each step of a finished loop, in the same or the reverse order."""

    step: Var
    trips: Trips
    backward: bool
    body: list[Any]


@declare(moves=lambda s: s.tapes, buffers=lambda s: s.tapes)
@dataclass(slots=True)
class Release:
    """Frees the memory of tapes."""

    tapes: list[Buffer]


@declare(
    needs_count=lambda s: s.trips,
    writes=lambda s: (_all_of(s.note),),
    moves=lambda s: s.tapes,
    buffers=lambda s: (*s.tapes, s.note),
)
@dataclass(slots=True)
class Keep:
    """Keeps a loop's tapes for later sweeps: ``note`` records where they are, and the number of
    steps."""

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
    """Retrieves the tapes and the number of steps from a note."""

    tapes: list[Buffer]
    trips: Trips
    note: Buffer


#: An upper bound on the steps of a loop of unknown length.
MANY = 1 << 40

#: The number of integers in a note: the number of steps, and two for a target to locate the tapes.
NOTE = 3


@declare(uses=lambda s: (s.index,), bodies=lambda s: s.bodies, in_turn=lambda s: True)
@dataclass(slots=True)
class Branch:
    """Runs one of several bodies: number ``index``, clipped to the range."""

    index: Scalar
    bodies: list[list[Any]]


@declare(
    moves=lambda s: (s.first, s.second),
    buffers=lambda s: (s.first, s.second),
)
@dataclass(slots=True)
class Swap:
    """Swaps two buffers of the same size.

    No later kernel reads either, so a target may or may not swap them back at the end.
    """

    first: Buffer
    second: Buffer
