"""Calls of libraries on the stream of a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.locks import Lock

from .device_program.calls import LibraryCall
from .libraries.finding import Libraries, libraries
from .libraries.session import Session

if TYPE_CHECKING:
    from .driver.card import Card

_sessions: WeakKeyDictionary[Card, dict[int, Session]] = WeakKeyDictionary()
_lock = Lock()


class NotCaptured(Exception):
    """The call cannot be part of a graph for these addresses."""


def session_of(card: Card, opened: Libraries, stream: int) -> Session:
    """The session, with the libraries' handles, for a stream of a card."""
    with _lock:
        found = _sessions.setdefault(card, {})
        session = found.get(stream)
        if session is None or session.opened is not opened:
            session = found[stream] = Session(opened, stream)
        return session


class Calling:
    """A library call of a program, for buffers in the program's slots."""

    def __init__(self, card: Card, call: LibraryCall, slots: Mapping[Buffer, int]) -> None:
        self.card = card
        self._call = call
        self._libraries = libraries()
        #: For each part: its slot, the byte offset of its first scalar, and the bytes from there to
        #: that of the next call.
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
        """Make all calls on the card's stream, with these addresses in the slots."""
        session = session_of(self.card, self._libraries, self.card.stream)
        with session.lock, self.card:
            for places in self._each(addresses):
                self._once(session, places)

    def _each(self, addresses: Sequence[int]) -> Iterator[list[int]]:
        """Yield the addresses of the parts for each call."""
        for number in range(self._call.count):
            yield [addresses[s] + first + number * step for s, first, step in self._places]

    @property
    def captures(self) -> bool:
        """Whether the call may be captured for a CUDA graph."""
        return self._call.routine.captures

    def prepared(
        self, addresses: Sequence[int], stream: int, memory: list[Any]
    ) -> Callable[[], None]:
        """A function that only launches, on the given stream; workspaces are appended to
        ``memory``."""
        routine = self._call.routine
        session = session_of(self.card, self._libraries, stream)
        ready = []
        with session.lock:
            kept = session.kept(routine)
            for places in self._each(addresses):
                if any(p % n for p, n in zip(places, routine.alignments(), strict=False)):
                    raise NotCaptured
                size = routine.workspace(session, kept, places)
                work = self.card.memory(size) if size else None
                memory.append(work)
                ready.append((places, work.pointer if work is not None else 0))

        def launch() -> None:
            with session.lock:
                for places, pointer in ready:
                    routine.invoke(session, kept, places, pointer)

        return launch

    def _once(self, session: Session, places: list[int]) -> None:
        """Make one call.  Its workspace goes back to the pool at once: all later work on the card
        runs after the call."""
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
        """Copy parts that are read but lack the alignment that the library needs, and return the
        copies.

        Part of an array of another library may be misaligned.
        """
        copies: list[object] = []
        for k, multiple in enumerate(self._call.routine.alignments()):
            part = self._call.parts[k]
            if places[k] % multiple and part.access == "r":
                copy = self.card.copy(places[k], self._sizes[k])
                places[k] = copy.pointer
                copies.append(copy)
        return copies
