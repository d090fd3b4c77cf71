"""Lists whose length a block changes: they get stretches, and the block is traced again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from autojit.errors import CaptureError, with_place
from autojit.tracing.source import user_source

from .kinds import Elements, elements_of, joined_elements, may_be_elements
from .stretch import any_made, has_stretch, is_list, made_of, stretch_in


class Resized(Exception):
    """Lists of a block have another length at its end, or may have: the block is traced again with
    stretches in them."""

    def __init__(self, lists: Sequence[tuple[list[Any], Elements, int, bool]]) -> None:
        super().__init__()
        #: The lists, their elements, the most elements at the end, and whether nothing bounds that.
        self.lists = list(lists)


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


def rebound(value: Any, first: Any, held: Any) -> Any:
    """A list that a step binds to a name. It gets the room of the list that the name held before
    the step, if the length of either is traced.

    ``held`` are the contents of the list before the step. Raises Resized if they have to be another
    stretch.
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
    is_larger = now.room > before.room or (now.is_limited and not before.is_limited)
    if elements != before.elements or is_larger:
        raise Resized([(first, elements, now.room, now.is_limited)])
    now = now.converted(elements).with_room(before.room)
    value[:] = [now.limited(before.room) if before.is_limited else now]
    return value


def check_counted(lists: Iterable[list[Any]]) -> None:
    """Raise CaptureError if Python runs through a list that has become a stretch."""
    if any_made() and any(map(has_stretch, lists)):
        refuse_resized()


def lists_under(it: Any) -> list[list[Any]]:
    """The lists that a Python iterable runs through."""
    if type(it) in (list, tuple):
        return [it] if type(it) is list else []
    if isinstance(it, _ITERATORS):
        parts = it.__reduce__()[1]
        return [x for part in parts for x in lists_under(part)]
    return []


_ITERATORS: tuple[Any, ...] = (zip, enumerate, map, filter, type(iter([])), type(reversed([])))


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
