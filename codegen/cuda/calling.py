"""Launches with calls of libraries among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.locks import Lock

from .device_program.calls import LibraryCall
from .driver.launching import Launcher
from .libraries.finding import Libraries, libraries
from .libraries.session import Session

if TYPE_CHECKING:
    from .driver.card import Card

_sessions: WeakKeyDictionary[Card, dict[tuple[int, int], Session]] = WeakKeyDictionary()
_lock = Lock()


def session_of(card: Card, opened: Libraries) -> Session:
    """The handles of a card's stream, as it is now."""
    key = card.stream, id(opened)
    with _lock:
        found = _sessions.setdefault(card, {})
        if key not in found:
            found[key] = Session(opened, card.stream)
        return found[key]


class Calling:
    """A call in its place, for buffers in the program's slots."""

    def __init__(self, card: Card, call: LibraryCall, slots: Mapping[Buffer, int]) -> None:
        self.card = card
        self._call = call
        self._libraries = libraries()
        #: Of each part: its slot, the bytes to its first scalar, and to that of the next call.
        self._places = [
            (
                slots[p.buffer],
                p.offset * itemsize(p.buffer.dtype),
                p.step * itemsize(p.buffer.dtype),
            )
            for p in call.parts
        ]
        self._sizes = [p.size * itemsize(p.buffer.dtype) for p in call.parts]

    def run(self, addresses: Sequence[int]) -> None:
        """Call it on the card's stream, for these addresses in all slots."""
        session = session_of(self.card, self._libraries)
        with session.lock, self.card:
            for number in range(self._call.count):
                places = [addresses[s] + first + number * step for s, first, step in self._places]
                self._once(session, places)

    def _once(self, session: Session, places: list[int]) -> None:
        """One call.  What it works in goes back to the pool at once: all later work on the card
        comes after it."""
        routine, pool = self._call.routine, self.card.pool
        kept = session.kept(routine)
        copies = self._aligned(places)
        size = routine.workspace(session, kept, places)
        rounded = pool.rounded(size)
        work = pool.take(rounded) if size else 0
        try:
            routine.invoke(session, kept, places, work)
        finally:
            if size:
                pool.give(work, rounded)
            copies.clear()

    def _aligned(self, places: list[int]) -> list[object]:
        """Copy what is read and does not begin where the library wants it, as part of another
        library's array may not."""
        copies: list[object] = []
        for k, multiple in enumerate(self._call.routine.alignments()):
            part = self._call.parts[k]
            if places[k] % multiple and part.access == "r":
                copy = self.card.copy(places[k], self._sizes[k])
                places[k] = copy.pointer
                copies.append(copy)
        return copies


class Interleaved:
    """Tables of launches, and calls between them; run as a ``Launcher`` is."""

    def __init__(
        self, card: Card, parts: Sequence[Launcher | Calling], fixed: Sequence[int]
    ) -> None:
        self.card = card
        self.lock = Lock()
        self._parts = list(parts)
        self._fixed = list(fixed)

    def run(self, addresses: Sequence[int]) -> None:
        """Launch everything on the card's stream, with these addresses; hold the lock."""
        every = [*addresses, *self._fixed]
        for part in self._parts:
            part.run(addresses if isinstance(part, Launcher) else every)
