"""Lists of traced length, and the object that stands in such a list for its elements.

If a traced condition appends to a list, or a loop appends to it as often as a traced value decides,
the list holds a :class:`Stretch` in place of its elements. A stretch has an array for each number
of an element, longer than needed, and the number of elements. A stretch never changes; a change of
the list puts another one into it. So branches and loops hand it on like any element of a list.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import optree

from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic, move
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.update import scatter
from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.staging import pytrees
from autojit.staging.trace_function import leaf_type
from autojit.tracing.created_arrays import Uncounted
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .kinds import (
    Elements,
    HasElements,
    cast,
    column_of,
    elements_of,
    joined_elements,
    longer,
    zeros,
)
from .unread import Unread

#: The room of a list whose length nothing bounds; for more elements, the compiled code raises an
#: OverflowError.
ROOM = 16_384
#: A bound of the length that is larger than this counts as none.
MOST_ROOM = 1 << 20

_INT = np.dtype(np.int64)


class _Local(threading.local):
    made = False


_local = _Local()


class Stretch(Unread, Uncounted, HasElements):
    """``count`` elements of a list; each column has one number, or one array, of every element.

    ``most`` is a known bound of ``count``. If nothing bounds how far the list grows, it has room
    for as many elements as the columns are long (``is_limited``), and the code checks that. In a
    ring, the elements begin at the place ``first`` of the columns, and continue at their beginning.
    """

    words = (
        "The length of this list depends on a traced value, so the result of this use is not "
        "known while the function is traced. Such a list supports len, sum, min, max, sorted, "
        "loops, indices, slices, append, extend, pop, insert, and NumPy functions that reduce:\n"
        "    for x in xs: total += x            # or sum(xs), np.array(xs).mean(), xs[-1]"
    )

    def __init__(
        self, elements: Elements, columns: Sequence[Any], count: Any, *,
        most: int | None = None, is_limited: bool = False, first: Any = None,
    ) -> None:  # fmt: skip
        _local.made = True
        self.elements, self.stored = elements, list(columns)
        self.is_limited = is_limited
        self.first = _number(0, self.room) if elements.is_ring and first is None else first
        self.most = self.room if most is None else most
        self.count = count
        #: The results of searches for keys, if these are the entries of a dict.
        self.lookups: list[Any] = []
        if isinstance(count, Tracer):
            with_bounds(count, (0, self.most))

    @property
    def room(self) -> int:
        """The number of elements that the columns have room for."""
        return int(np.shape(self.stored[0])[0])

    @property
    def columns(self) -> list[Any]:
        """The columns from the first element on."""
        if self.first is None:
            return self.stored
        return self.picked(self.places(), self.count, self.most).stored

    def __repr__(self) -> str:
        return f"<elements of a list: {self.most} at most>"

    def _with(self, columns: Sequence[Any], count: Any, most: int, first: Any = None) -> Stretch:
        most = self.room if self.is_limited else most
        first = self.first if first is None else first
        return Stretch(self.elements, columns, count, most=most, is_limited=self.is_limited,
                       first=first)  # fmt: skip

    def note(self, count: Any, most: int) -> None:
        """Note facts about a new stretch: the number of its elements, if it is not None, and a
        bound."""
        self.count = self.count if count is None else count
        if not self.is_limited:
            self.most = most
            if isinstance(self.count, Tracer):
                with_bounds(self.count, (0, most))

    # -- reading

    def at(self, place: Any) -> Any:
        """The element at a place, which is at least 0 and less than the count."""
        where = self._where(as_value(place, _INT))
        return self.elements.of([gather(as_value(c), where, axes=(0,)) for c in self.stored])

    def _where(self, places: Value) -> Value:
        """The positions in the columns of the elements at some places."""
        if self.first is None:
            return places
        moved = arithmetic.add(places, _spread(as_value(self.first, _INT), places))
        behind = arithmetic.ge(moved, self.room)
        found = arithmetic.select(behind, arithmetic.sub(moved, self.room), moved)
        return found if found.shape else as_value(with_bounds(tracer(found), (0, self.room - 1)))

    def picked(self, places: Value, count: Any, most: int) -> Stretch:
        """The elements at some places; only the first ``count`` of them matter."""
        last = max(self.room - 1, 0)
        safe = arithmetic.minimum(arithmetic.maximum(places, 0), last)
        safe = self._where(safe)
        columns = [tracer(gather(as_value(c), safe, axes=(0,))) for c in self.stored]
        found = Stretch(self.elements._replace(is_ring=False), columns, count, most=most)
        return found.limited(self.room) if self.is_limited and most >= self.room else found

    # -- other stretches of the same elements

    def with_most(self, most: int) -> Stretch:
        """The same elements, of which there are at most ``most``."""
        return self._with(self.stored, self.count, most)

    def with_room(self, room: int) -> Stretch:
        """The same elements in columns of at least this length."""
        if room <= self.room:
            return self
        first = None if self.first is None else _number(0, room)
        return self._with([longer(c, room) for c in self.columns], self.count, self.most, first)

    def limited(self, room: int) -> Stretch:
        """The same elements with room for ``room`` of them, which the code checks."""
        longer = self.with_room(room)
        return Stretch(
            self.elements, longer.stored, self.count, is_limited=True, first=longer.first
        )

    def converted(self, elements: Elements) -> Stretch:
        """The same elements with numbers of other types."""
        if elements == self.elements:
            return self
        is_same = self.elements.is_ring == elements.is_ring
        mine = pytrees.unflatten(self.elements.structure, self.stored if is_same else self.columns)
        rows = elements.columns_of(mine, self.room)
        pairs = zip(rows, elements.types, strict=True)
        columns = [tracer(to_dtype(as_value(c), t.type.dtype)) for c, t in pairs]
        return Stretch(elements, columns, self.count, most=self.most, is_limited=self.is_limited,
                       first=self.first if is_same else None)  # fmt: skip

    def without_nones(self) -> Stretch:
        """The same elements, none of which is None."""
        elements, columns = self.elements.present, self.stored[:-1]
        if not columns:  # there are none
            elements, columns = elements_of([0.0]), [zeros(leaf_type(0.0), self.room)]
            elements = elements._replace(is_ring=self.elements.is_ring)
        return Stretch(elements, columns, self.count, most=self.most, is_limited=self.is_limited,
                       first=self.first)  # fmt: skip

    # -- changes

    def appended(self, value: Any) -> Stretch:
        """These elements and one more at the end."""
        return self.entered(self.count, value, 1)

    def entered(self, place: Any, value: Any, more: Any) -> Stretch:
        """These elements with another one at a place: behind the last one if ``more`` is 1, instead
        of one of them if it is 0."""
        elements = joined_elements([self.elements, elements_of([value])])
        mine = self.converted(elements)
        if mine.is_limited:
            check_room(place, mine.room)
            place = np.minimum(place, mine.room - 1)
        else:
            mine = mine.with_room(mine.most + 1)
        return mine._with(mine._columns_with(place, value), mine._longer_by(more), self.most + 1)

    def _longer_by(self, more: Any) -> Any:
        count = self.count + more
        if self.is_limited:  # if there are more, the code raises an exception
            count = tracer(as_value(np.minimum(count, self.room)), int)
        return count

    def prepended(self, value: Any) -> Stretch:
        """These elements and one more before the first."""
        elements = joined_elements([self.elements, elements_of([value])])
        mine = self.converted(elements._replace(is_ring=True))
        if mine.is_limited:
            check_room(mine.count, mine.room)
        else:
            mine = mine.with_room(mine.most + 1)
        mine = mine._from(mine.room - 1)
        return mine._with(mine._columns_with(0, value), mine._longer_by(1), self.most + 1)

    def _from(self, place: Any) -> Stretch:
        """A ring that begins with another element, or before the first one."""
        first = with_bounds(tracer(self._where(as_value(place, _INT)), int), (0, self.room - 1))
        return self._with(self.stored, self.count, self.most, first)

    def without_first(self, most: int | None = None) -> Stretch:
        """The elements after the first one; with ``most``, all if there are no more than that."""
        ring = self.converted(self.elements._replace(is_ring=True))
        least = 0 if most is None else most
        less = np.greater(ring.count, least).astype(np.int64)
        moved = ring._from(less) if ring.room > 1 else ring
        found = moved.shortened(tracer(as_value(ring.count - less), int))
        return found if most is None else found.with_most(min(found.most, most))

    def shortened_to(self, most: int) -> Stretch:
        """The first elements, at most ``most`` of them."""
        count = tracer(as_value(np.minimum(self.count, most)), int)
        return self.shortened(count).with_most(min(self.most, most))

    def replaced(self, place: Any, value: Any) -> Stretch:
        """These elements with another one at a place."""
        elements = joined_elements([self.elements, elements_of([value])])
        mine = self.converted(elements)
        return mine._with(mine._columns_with(place, value), self.count, self.most)

    def _columns_with(self, place: Any, value: Any) -> list[Tracer]:
        where = self._where(as_value(place, _INT))
        parts = zip(self.stored, self.elements.types, self.elements.given(value), strict=True)
        return [tracer(scatter(as_value(c), cast(x, t), where, axes=(0,))) for c, t, x in parts]

    def shortened(self, count: Any) -> Stretch:
        """The first ``count`` elements."""
        return self._with(self.stored, count, self.most)

    def joined(self, other: Stretch) -> Stretch:
        """These elements, followed by others."""
        elements = joined_elements([self.elements, other.elements])
        a, b = self.converted(elements), other.converted(elements)
        count, most = a.count + b.count, a.most + b.most
        is_limited = a.is_limited or b.is_limited
        if is_limited:
            most = max(s.room for s in (a, b) if s.is_limited)
            check_room(count - 1, most)
            count = tracer(as_value(np.minimum(count, most)), int)
        places = iota(dtype=_INT, shape=(most,), axis=0)
        first = as_value(a.count, _INT)
        mine = arithmetic.lt(places, _spread(first, places))
        theirs = arithmetic.sub(places, _spread(first, places))
        one = a.picked(places, count, most)
        two = b.picked(theirs, count, most)
        columns = [
            tracer(arithmetic.select(_along(mine, as_value(x)), as_value(x), as_value(y)))
            for x, y in zip(one.columns, two.columns, strict=True)
        ]
        found = elements._replace(is_ring=False)
        return Stretch(found, columns, count, most=most, is_limited=is_limited)

    def places(self) -> Value:
        """The numbers from 0 on, as many as there is room for."""
        return iota(dtype=_INT, shape=(self.room,), axis=0)


def _number(x: int, room: int) -> Any:
    """A place in columns that have room for ``room`` elements."""
    return with_bounds(tracer(as_value(np.int64(x)), int), (0, max(room - 1, 0)))


def _spread(x: Value, like: Value) -> Value:
    return move.broadcast(x, shape=like.shape, dims=())


def _along(x: Value, like: Value) -> Value:
    """One value per row, for all elements of the row."""
    return move.broadcast(x, shape=like.shape, dims=(0,))


def check_room(count: Any, room: int) -> None:
    """Make the compiled code fail unless ``count`` is less than ``room``."""
    hooks.fail_where(np.greater_equal(count, room), OverflowError(_NO_ROOM.format(room)))


_NO_ROOM = (
    "a list gets more than {} elements, for which compiled code keeps room if the length of a "
    "list has no known bound. Keep an array of the size that you need and a counter: "
    "found[count] = x; count += 1"
)


def _taken_apart(x: Any) -> tuple[list[Any], Any, None]:
    firsts = [] if x.first is None else [x.first]
    return [*x.stored, x.count, *firsts], (x.elements, x.is_limited), None


def _put_together(known: Any, children: Any) -> Any:
    elements, is_limited = known
    *columns, count = children
    first = None
    if elements.is_ring:
        *columns, count, first = children
    return Stretch(elements, columns, count, is_limited=is_limited, first=first)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Stretch
optree.register_pytree_node(
    _CLASS, lambda x: _taken_apart(x)[:2], _put_together, namespace=pytrees.NAMESPACE
)


# -- lists --------------------------------------------------------------------------------


def any_made() -> bool:
    """Whether there may be a list of traced length anywhere."""
    return _local.made


def note_made() -> None:
    """Note that there may be lists of traced length from now on."""
    _local.made = True


def is_list(x: Any) -> bool:
    """Whether x is a list, or one of ours with a deque's methods; not one of a user's class."""
    return type(x) is list or (isinstance(x, list) and hasattr(x, "__aj_internal__"))


def has_stretch(x: Any) -> bool:
    """Whether a list has a stretch among its elements."""
    return _local.made and isinstance(x, list) and Stretch in map(type, x)


def stretch_in(items: list[Any]) -> Stretch:
    """The elements of a list that has a stretch, as one stretch."""
    if len(items) == 1:
        found: Stretch = items[0]
        return found
    known = [x for x in items if type(x) is not Stretch]
    kinds = [x.elements for x in items if type(x) is Stretch]
    elements = joined_elements([*kinds, *([elements_of(known)] if known else [])])
    parts: list[Stretch] = []
    for is_stretch, run in itertools.groupby(items, lambda x: type(x) is Stretch):
        each = list(run)
        parts += each if is_stretch else [made_of(each, elements)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    return whole


def put_together(items: list[Any]) -> None:
    """Combine all elements of a list that has a stretch into one stretch."""
    if has_stretch(items) and len(items) > 1:
        items[:] = [stretch_in(items)]


def bounded(items: list[Any], most: int) -> None:
    """Note that a list has at most ``most`` elements."""
    if has_stretch(items):
        found = stretch_in(items)
        if not found.is_limited and found.most > most:
            items[:] = [found.with_most(most)]


def made_of(items: Sequence[Any], elements: Elements, room: int = 0) -> Stretch:
    """Known elements as a stretch."""
    room = max(room, 1, len(items))
    flat = [elements.given(x) for x in items]
    columns = [
        column_of([leaves[number] for leaves in flat], t, room)
        for number, t in enumerate(elements.types)
    ]
    count = tracer(as_value(np.int64(len(items))), int)
    return Stretch(elements, columns, count, most=len(items))
