"""Lists to which a loop appends, or from which it removes, as often as a traced value decides."""

from __future__ import annotations

from typing import Any, NamedTuple

from .resized import Resized, stretch_out
from .state import Before
from .stretch import (
    MOST_ROOM,
    ROOM,
    Elements,
    bounded,
    has_stretch,
    is_list,
    joined_elements,
    put_together,
    stretch_in,
)

#: The most times that a body is traced to find out how much a step appends at most; after that,
#: nothing bounds it.
_ROUNDS = 10


class _Growing(NamedTuple):
    """A list that holds a stretch in place of its elements while a loop runs."""

    items: list[Any]
    elements: Elements
    #: The most elements that it has before the loop.
    first: int
    #: The most elements that a step adds to it; None if nothing bounds that.
    step: int | None
    #: The number of times that a step was found to append more.
    rounds: int = 0

    def room(self, steps: int | None) -> int | None:
        """The most elements that it has after ``steps`` steps; None if nothing bounds that."""
        limit = getattr(self.items, "maxlen", None)
        if limit is not None:
            return int(limit)
        if self.step == 0:
            return self.first
        if self.step is None or steps is None:
            return None
        most = self.first + steps * self.step
        return most if most <= MOST_ROOM else None


class Lists:
    """The lists of a loop that have a traced length, and their contents before the loop."""

    def __init__(self) -> None:
        self._growing: dict[int, _Growing] = {}
        self._held: list[tuple[list[Any], list[Any]]] = []
        self._steps: int | None = None

    def __bool__(self) -> bool:
        return bool(self._growing)

    def convert(self, resized: Resized, steps: int | None) -> None:
        """Put stretches into lists that the loop has been found to resize."""
        self._steps = steps
        for items, elements, most, is_limited in resized.lists:
            known = self._growing.get(id(items))
            if known is None:
                self._held.append((items, list(items)))
                first = stretch_in(items).most if has_stretch(items) else len(items)
                more: int | None = most - first
            else:
                first, elements = known.first, joined_elements([known.elements, elements])
                start = 0 if known.step is None else known.step
                room = known.room(self._steps)
                more = None if known.step is None or room is None else start + most - room
            rounds = 0 if known is None else known.rounds + 1
            if is_limited or rounds > _ROUNDS:
                more = None
            found = _Growing(items, elements, first, more, rounds)
            self._growing[id(items)] = found
            room = found.room(self._steps)
            if room is None:
                stretch_out(items, elements, max(ROOM, 2 * first), is_limited=True)
            else:
                more = hasattr(items, "maxlen")  # until one drops out at the other end
                stretch_out(items, elements, max(room + more, 1), is_limited=False)

    def begin(self, before: Before) -> None:
        """Begin a step: the elements that it appends have room, and no other list has more elements
        than before the loop."""
        for items, held in _stretched(before):
            most = self._most(items, held)
            each = self._growing.get(id(items))
            if most is not None:
                bounded(items, most - ((each.step or 0) if each is not None else 0))

    def _most(self, items: list[Any], held: list[Any]) -> int | None:
        """The most elements that a list has after any step; None if nothing bounds that."""
        first = stretch_in(held)
        each = self._growing.get(id(items))
        if first.is_limited:
            return None
        return first.most if each is None else each.room(self._steps)

    def bounds(self, before: Before) -> list[tuple[list[Any], int]]:
        """The lists of traced length, with the most elements that they have after the loop."""
        found = [(items, self._most(items, held)) for items, held in _stretched(before)]
        return [(items, most) for items, most in found if most is not None]

    def check(self, before: Before) -> None:
        """End a step: raise Resized if a list has more elements, or other ones, than it may."""
        wrong = []
        for items, held in _stretched(before):
            first, now = stretch_in(held), stretch_in(items)
            elements = joined_elements([first.elements, now.elements])
            limit = self._most(items, held)
            is_longer = limit is not None and (now.is_limited or now.most > limit)
            if elements != first.elements or is_longer:
                wrong.append((items, elements, now.most, now.is_limited))
                continue
            longer = now.converted(elements).with_room(first.room)
            items[:] = [longer.limited(first.room) if first.is_limited else longer]
        if wrong:
            raise Resized(wrong)

    def held_before(self) -> list[tuple[list[Any], list[Any]]]:
        """The lists, and their contents before the loop."""
        return list(self._held)

    def put_back(self) -> None:
        """Restore the lists, since the loop is not captured after all."""
        for items, held in reversed(self._held):
            items[:] = held
        self._growing.clear()
        self._held.clear()


def _stretched(before: Before) -> list[tuple[list[Any], list[Any]]]:
    """The lists of traced length, and their contents before a loop."""
    found = []
    for items, held in before.heap.held.values():
        if is_list(items) and has_stretch(items) and has_stretch(held):
            put_together(items)
            found.append((items, held))
    return found
