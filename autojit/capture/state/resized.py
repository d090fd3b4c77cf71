"""Lists whose length a block changes: they get stretches, and the block is traced again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_tracer, as_value, tracer
from autojit.tracing.source import user_source

from .kinds import Elements, elements_of, joined_elements, may_be_elements
from .maybe import add_optional
from .stretch import (
    Stretch,
    any_made,
    check_room,
    has_stretch,
    is_list,
    made_of,
    stretch_in,
)


class Resized(Exception):
    """Lists of a block have another length at its end, or may have: the block is traced again with
    stretches in them."""

    def __init__(
        self, lists: Sequence[tuple[list[Any], Elements, int, bool]],
        dicts: Sequence[tuple[dict[Any, Any], list[Any], list[Any]]] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        #: Dicts, with the keys that they get and those that they lose.
        self.dicts = list(dicts)
        #: The lists, their elements, the most elements at the end, and whether nothing bounds that.
        self.lists = list(lists)

    def convert(self) -> None:
        """Put stretches into the lists, and make keys of the dicts optional."""
        self.make_optional()
        for items, elements, most, is_limited in self.lists:
            stretch_out(items, elements, most, is_limited=is_limited)

    def make_optional(self) -> None:
        """Make the keys optional that dicts get or lose."""
        for x, more, fewer in self.dicts:
            add_optional(x, more, fewer)


def resized(items: list[Any], held: list[Any]) -> tuple[list[Any], Elements, int, bool]:
    """The entry in `Resized` for a list whose contents before the block were ``held``."""
    most, is_limited = len(items), False
    if has_stretch(items):
        now = stretch_in(items)
        most, is_limited = now.most, now.is_limited
    return items, elements_of([*items, *held]), most, is_limited


def stretch_out(items: list[Any], elements: Elements, most: int, *, is_limited: bool) -> None:
    """Replace the elements of a list by a stretch with room for ``most`` elements."""
    if has_stretch(items):
        found = stretch_in(items)
        found = found.converted(joined_elements([found.elements, elements]))
    else:
        mine = [elements_of(items)] if items else []
        found = made_of(items, joined_elements([elements, *mine]), most)
    items[:] = [found.limited(most) if is_limited else found.with_room(most)]


def are_uneven(lists: Sequence[list[Any]]) -> bool:
    """Whether lists, one of which a name will hold, contain stretches, or have to because their
    lengths differ."""
    if any(map(has_stretch, lists)):
        return True
    return len(set(map(len, lists))) > 1 and all(map(may_be_elements, lists))


def rebound(value: Any, first: Any, held: Any, limit: int | None) -> Any:
    """A list that a step binds to a name. It gets the room of the list that the name held before
    the step, if the length of either is traced.

    ``held`` are the contents of the list before the step, and ``limit`` is the most elements that
    it may get, if that is known. Raises Resized if they have to be another stretch.
    """
    if value is first or not (is_list(value) and is_list(first) and type(value) is type(first)):
        return value
    if not are_uneven([value, held]):
        return value
    kinds = [elements_of(items) for items in (value, held) if items]
    elements = joined_elements(kinds)
    now = stretch_in(value) if has_stretch(value) else made_of(value, elements)
    if not has_stretch(held):
        raise Resized([(first, elements, now.most, now.is_limited)])
    before = stretch_in(held)
    most = before.room if limit is None else limit
    is_longer = not before.is_limited and (now.is_limited or now.most > most)
    if elements != before.elements or is_longer:
        raise Resized([(first, elements, now.most, now.is_limited)])
    value[:] = [fitted(now, before)]
    return value


def fitted(now: Stretch, before: Stretch) -> Stretch:
    """The elements that a list has after a step, with the types and the room of those before it.

    They have that room, or nothing bounds how many there are and the code checks it.
    """
    room = before.room
    if now.room > room:
        count = now.count
        if now.most > room:
            check_room(count - 1, room)
            count = tracer(as_value(np.minimum(count, room)), int)
        columns = [tracer(as_value(as_tracer(c)[:room])) for c in now.columns]
        now = Stretch(
            now.elements._replace(is_ring=False), columns, count, most=min(now.most, room)
        )
    found = now.converted(before.elements).with_room(room)
    return found.limited(room) if before.is_limited else found


class _Local(threading.local):
    narrowed = 0


_local = _Local()


def narrowed() -> int:
    """How often `narrow` has bounded a list so far."""
    return _local.narrowed


def narrow(s: Stretch, most: int) -> int:
    """The smaller of ``most`` and the bound of a stretch."""
    _local.narrowed += most < s.most
    return min(s.most, most)


def check_counted(lists: Iterable[list[Any]]) -> None:
    """Raise CaptureError if Python runs through a list that has become a stretch."""
    if any_made() and any(map(has_stretch, lists)):
        refuse_resized()


def refuse_resized() -> NoReturn:
    """Raise CaptureError for a loop that resizes the list that it runs through."""
    raise CaptureError(with_place(_CHANGED, user_source()))


_CHANGED = (
    "A loop over a list appends to that list, or removes from it, depending on a traced value. "
    "Use an index instead:\n"
    "    i = 0\n"
    "    while i < len(queue):              # not: for u in queue\n"
    "        u = queue[i]\n"
    "        i += 1"
)
