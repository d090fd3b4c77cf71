"""Lists whose length a block changes: they get stretches, and the block is traced again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import numpy as np

from autojit.capture.rewriting.plain import UNBOUND
from autojit.errors import CaptureError, with_place
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import scatter
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.staging import pytrees
from autojit.tracing.source import user_source

from .kept import like, like_dict
from .kinds import Elements, elements_of, joined_elements, may_be_elements
from .maybe import (
    BUCKETS,
    DICTS,
    ENTRIES,
    Maybe,
    add_optional,
    has_table,
    is_mixed,
    keys_of,
    refuse_order,
)
from .stretch import (
    Stretch,
    any_made,
    check_room,
    has_stretch,
    is_list,
    made_of,
    stretch_in,
)

_INT = np.dtype(np.int64)


class Resized(Exception):
    """Lists of a block have another length at its end, or may have: the block is traced again with
    stretches in them."""

    def __init__(
        self, lists: Sequence[tuple[list[Any], Elements, int, bool]],
        dicts: Sequence[tuple[dict[Any, Any], list[Any], list[Any]]] = (),
        tables: Iterable[tuple[dict[Any, Any], Elements, int, bool]] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        #: Dicts that have become tables; their entries, as `lists` has those of lists.
        self.tables = list(tables)
        #: Dicts, with the keys that they get and those that they lose.
        self.dicts = list(dicts)
        #: The lists, their elements, the most elements at the end, and whether nothing bounds that.
        self.lists = list(lists)

    def convert(self) -> None:
        """Put stretches into the lists, and make keys of the dicts optional or tables of them."""
        self.convert_dicts()
        for items, elements, most, is_limited in self.lists:
            stretch_out(items, elements, most, is_limited=is_limited)

    def convert_dicts(self) -> None:
        """Make the keys optional that dicts get or lose, and make tables of the dicts at traced
        keys; the lists of their entries count as resized too."""
        for x, more, fewer in self.dicts:
            add_optional(x, more, fewer)
        for x, elements, most, is_limited in self.tables:
            tabulate(x, elements)
            self.lists.append((x[ENTRIES], elements, most, is_limited))


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


Contexts = Sequence[Callable[[], AbstractContextManager[Any]]]


def alike(values: list[Any], ways: Contexts) -> list[Any]:
    """The values of a name on several ways, each of which is a context. Stretches, lists of which
    one has a traced length, and dicts of which one is a table, get one element type and one
    room."""
    if len(set(map(type, values))) == 1 and (
        any(map(has_table, values)) or (type(values[0]) in DICTS and may_be_tables(values))
    ):
        return _alike_tables(values, ways)
    if all(map(is_list, values)) and are_uneven(values):
        elements = joined_elements([elements_of(v) for v in values if v])
        whole = []
        for way, v in zip(ways, values, strict=True):
            with way():
                whole.append(stretch_in(v) if has_stretch(v) else made_of(v, elements))
        return [like(v, [s]) for v, s in zip(values, alike(whole, ways), strict=True)]
    if not all(type(v) is Stretch for v in values) or all(v is values[0] for v in values):
        return values
    elements = joined_elements([v.elements for v in values])
    room = max(v.room for v in values)
    is_limited = any(v.is_limited for v in values)
    made = []
    for way, v in zip(ways, values, strict=True):
        with way():
            longer = v.converted(elements)
            made.append(longer.limited(room) if is_limited else longer.with_room(room))
    return made


def _alike_tables(values: list[Any], ways: Contexts) -> list[Any]:
    known = _entries_of(values)
    for way, v in zip(ways, values, strict=True):
        with way():
            tabulate(v, known)
    entries = alike([v[ENTRIES] for v in values], ways)
    return [like_dict(v, {**v, ENTRIES: x}) for v, x in zip(values, entries, strict=True)]


def of_stretches(values: Sequence[Any]) -> tuple[Any, int] | None:
    """The number of elements of a list, None if the ways may differ, and the most it may have."""
    if not all(type(v) is Stretch for v in values):
        return None
    count = values[0].count
    return count if all(v.count is count for v in values) else None, max(v.most for v in values)


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


# -- dicts at traced keys -------------------------------------------------------------------

#: The number of buckets of a table. Keys of one bucket are a chain of entries.
MANY = 4096


def bucket(leaves: Sequence[Any]) -> Any:
    """The bucket of a key, given its integers as int64. It takes bits from everywhere, and computes
    nothing that overflows."""
    found: Any = 0
    for x in leaves:
        x = np.bitwise_xor(x, np.right_shift(x, 12))
        x = np.bitwise_and(np.bitwise_xor(x, np.right_shift(x, 24)), MANY - 1)
        found = np.bitwise_and(np.bitwise_xor(found * 1031, x), MANY - 1)
    return found


def tabulate(x: dict[Any, Any], elements: Elements) -> None:
    """Replace the keys and values of a dict by a table, whose entries are of some type."""
    if has_table(x):
        return
    if is_mixed(x):
        refuse_order()
    known = keys_of(x)
    known.first = dict(x) if known.first is None else known.first
    found = [(key, value) for key, value in x.items() if value is not UNBOUND]
    sure = list(itertools.takewhile(lambda item: type(item[1]) is not Maybe, found))
    firsts = np.full(MANY, -1)
    entries: list[Any] = []
    for key, value in sure:
        where = bucket_of(key)
        entries.append((key, value, int(firsts[where])))
        firsts[where] = len(entries) - 1
    kinds = [elements, elements_of(entries)] if entries else [elements]
    x.clear()
    x[ENTRIES] = [made_of(entries, joined_elements(kinds))]
    x[BUCKETS] = tracer(as_value(firsts))
    for key, value in found[len(sure) :]:
        held = type(value) is not Maybe or value.held
        _enter(x, key, value.value if type(value) is Maybe else value, held)


def bucket_of(key: Any) -> int:
    """The bucket of a known key."""
    return int(bucket([np.int64(leaf) for leaf in pytrees.flatten(key)[0]]))


def _enter(x: dict[Any, Any], key: Any, value: Any, held: Any) -> None:
    """Add a key that a table does not have, if a flag holds."""
    s, where = stretch_in(x[ENTRIES]), bucket_of(key)
    last = tracer(gather(as_value(x[BUCKETS]), as_value(np.int64(where)), axes=(0,)))
    more = tracer(to_dtype(as_value(held), _INT), int)
    x[ENTRIES][:] = [s.entered(s.count, (key, value, tracer(as_value(last), int)), more)]
    changed = as_value(np.where(held, s.count, last), _INT)
    place = as_value(np.int64(where))
    x[BUCKETS] = tracer(scatter(as_value(x[BUCKETS]), changed, place, axes=(0,)))


def are_integers(keys: Iterable[Any]) -> bool:
    """Whether known keys are integers, or tuples of integers, of one form."""
    forms = set()
    for key in keys:
        leaves, form = pytrees.flatten(key)
        forms.add(form)
        if not leaves or not all(isinstance(leaf, (int, np.integer, np.bool_)) for leaf in leaves):
            return False
    return len(forms) < 2


def may_be_tables(dicts: Sequence[Any]) -> bool:
    """Whether dicts with different keys, one of which a name will hold, can all be tables."""
    kinds = set(map(type, dicts))
    if len(kinds) > 1 or not kinds <= DICTS or len({frozenset(d) for d in dicts}) < 2:
        return False
    values = [value for d in dicts for _, value in _items(d)]
    return bool(values) and are_integers(k for d in dicts for k in d) and may_be_elements(values)


def _items(d: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The keys that a dict has or may have, with their values."""
    items = [(key, value) for key, value in d.items() if value is not UNBOUND]
    return [(key, x.value if type(x) is Maybe else x) for key, x in items]


def _entries_of(dicts: Sequence[dict[Any, Any]]) -> Elements:
    """The type of the entries of some dicts, which are tables or may be."""
    tables = [stretch_in(d[ENTRIES]).elements for d in dicts if has_table(d)]
    known = [(key, x, -1) for d in dicts if not has_table(d) for key, x in _items(d)]
    return joined_elements([*tables, *([elements_of(known)] if known else [])])


def tabulated(x: dict[Any, Any]) -> tuple[dict[Any, Any], Elements, int, bool]:
    """The entry in `Resized` for a dict that has become a table in a block."""
    s = stretch_in(x[ENTRIES])
    return x, s.elements, s.most, s.is_limited


def rebound_dict(
    value: dict[Any, Any], first: Any, held: Mapping[int, Any], limit: Callable[[Any], int | None]
) -> Any:
    """A dict that a step binds to a name, if it or the dict that the name held before is a table:
    a table with the same room (see `rebound`)."""
    if type(value) is not type(first) or type(value) not in DICTS:
        return value
    if not has_table(first):
        if not has_table(value):
            if not may_be_tables([value, first]):
                return value
            tabulate(value, _entries_of([value, first]))
        _, elements, most, is_limited = tabulated(value)
        raise Resized([], (), [(first, elements, most, is_limited)])
    entries = first[ENTRIES]
    tabulate(value, stretch_in(entries).elements)
    rebound(value[ENTRIES], entries, held[id(entries)][1], limit(entries))
    return value


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
