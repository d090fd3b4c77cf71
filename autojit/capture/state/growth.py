"""Lists to which a loop appends, or from which it removes, as often as a traced value decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .resized import Resized, fitted, narrowed, stretch_out
from .state import Before, Key
from .stretch import (
    MOST_ROOM,
    ROOM,
    Elements,
    Stretch,
    bounded,
    check_room,
    has_stretch,
    is_list,
    joined_elements,
    put_together,
    stretch_in,
)

#: The most times that a body is traced to find out how much a step appends at most; after that,
#: nothing bounds it.
_ROUNDS = 4


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
        #: By name or list: its length when a step begins, and the most that it may be.
        self._starts: dict[Any, tuple[Any, int]] = {}
        #: How often bounds had been narrowed when the step began.
        self._narrowed = 0

    def __bool__(self) -> bool:
        return bool(self._growing)

    def convert(self, resized: Resized, steps: int | None) -> None:
        """Put stretches into lists that the loop has been found to resize."""
        self._steps = steps
        resized.convert_dicts()
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
                if known is not None:  # the room so far may be more than is needed
                    items[:] = next(held for x, held in self._held if x is items)
                stretch_out(items, elements, max(ROOM, 2 * first), is_limited=True)
            else:
                more = hasattr(items, "maxlen")  # until one drops out at the other end
                stretch_out(items, elements, max(room + more, 1), is_limited=False)

    def begin(self, before: Before, taken: Mapping[Any, Any]) -> None:
        """Begin a step: the elements that it appends have room, and no other list has more elements
        than before the loop. ``taken`` are the values of names and places that it begins with."""
        self._starts, self._narrowed = {}, narrowed()
        for items, held in _stretched(before):
            self._bound(id(items), items, self._most(items, held), self._growing.get(id(items)))
        for name, value in taken.items():
            if isinstance(name, str) and is_list(value):
                first = before.of(Key(name, None))
                self._bound(name, value, self.limit(first), self._growing.get(id(first)))

    def _bound(self, k: Any, items: list[Any], most: int | None, each: _Growing | None) -> None:
        if most is None or not has_stretch(items):
            return
        most -= (each.step or 0) if each is not None else 0
        bounded(items, most)
        if each is not None and each.step:
            self._starts[k] = stretch_in(items).count, most

    def _check_start(self, k: Any, each: _Growing | None, now: Stretch) -> None:
        """Make sure that a list has no more elements, when a step begins, than `begin` says.

        If a step adds at most ``step`` elements to the shortest list and to the longest, it adds no
        more to one in between, since bounds are sums and maxima of other bounds. A slice like
        ``xs[:8]`` makes a bound a minimum. Then a bound is looked for that each step keeps; if
        there is none, the code checks the length.
        """
        if each is None or k not in self._starts or narrowed() == self._narrowed:
            return
        count, most = self._starts[k]
        if now.most <= most:
            return
        if each.rounds == 0:
            self._growing[id(each.items)] = each._replace(first=now.most, step=0)
            raise Resized([(each.items, each.elements, now.most, False)])
        check_room(count, most + 1)

    def rebound(self, before: Before, key: Key, value: Any) -> Any:
        """A list that a step binds to a name, as `resized.rebound` returns it."""
        found = before.rebound(key, value, self.limit)
        if key.place is None and is_list(found) and has_stretch(found):
            each = self._growing.get(id(before.of(key)))
            self._check_start(key.name, each, stretch_in(found))
        return found

    def limit(self, first: Any) -> int | None:
        """The most elements, after any step, of a list that each step binds to a name; the name
        held the list ``first`` before the loop. None if nothing bounds that."""
        each = self._growing.get(id(first))
        return None if each is None else each.room(self._steps)

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
            items[:] = [fitted(now, first)]
            self._check_start(id(items), self._growing.get(id(items)), now)
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
