"""The iterables of loops, as sequences with a length and with items at a traced index."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from math import prod
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.stretch import has_stretch, put_together, stretch_in
from autojit.protocols.kinds import is_boxed, note_kinds
from autojit.tracing.array_methods import Flat
from autojit.tracing.context import PYTHON_TYPES, current_trace, inside
from autojit.tracing.created_arrays import FreshArray
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import LARGEST, bounds_of, with_bounds
from autojit.tracing.running.asked import is_iterator, lose
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer

from .calls import item
from .calls.calling import call
from .lists.stretches import Stretched
from .truth import truth, unknown
from .values.places import Places, PlacesAndElements
from .values.ranges import Enumerate, Parts, Reversed, TracedRange, Zip


class Sequence(NamedTuple):
    """``length`` items; ``at(i)`` is the item at a traced index."""

    length: Any
    at: Callable[[Tracer], Any]
    #: The lists of traced length that it runs through.
    lists: tuple[list[Any], ...] = ()

    def lengths_now(self) -> list[Any]:
        """The present lengths of these lists, which no step may change."""
        return [stretch_in(items).count for items in self.lists]

    @property
    def most(self) -> int | None:
        """The number of items, or a bound on it; None if there is no bound."""
        if not isinstance(self.length, Tracer):
            return int(self.length)
        most = bounds_of(self.length)[1]
        return None if most == LARGEST else most


def sequence_of(it: Any) -> Sequence | None:
    """An iterable as a sequence; None if its items have to be made one after another."""
    if isinstance(it, Parts) and it.started:
        return None
    for kind, make in _MAKERS:
        if isinstance(it, kind):
            return make(it)
    return None


def left(it: Any, go_on: Callable[[], Any] | None) -> None:
    """Note where a loop, unrolled or captured, has left its iterator."""
    if not is_iterator(it):
        return
    held = None if go_on is None else go_on()
    is_unknown = unknown(held) is not None
    if is_unknown:
        _lose_all(it)
    elif held is None or truth(held):
        _fetched(it)
    if is_unknown and isinstance(it, Parts):
        it.end()


def _fetched(it: Any, count: int | None = None) -> None:
    """Note that a loop has fetched so many elements of an iterator; None for all of them."""
    if isinstance(it, np.flatiter):
        deque(islice(it, count), maxlen=0)
    elif isinstance(it, Flat):
        it.index = len(it) if count is None else it.index + count
    elif isinstance(it, Parts) and count is None:
        if not it.started:  # else Python has fetched the elements of the parts
            _fetched_by(it)
        it.end()
    elif count:
        _lose_all(it)


def _fetched_by(it: Parts) -> None:
    """Note that all elements of an iterator have been fetched, and so elements of its parts."""
    counts: list[int | None] = [None] * len(it.parts)
    if isinstance(it, Zip):
        lengths = [part.length for part in map(sequence_of, it.parts) if part is not None]
        if not all(isinstance(n, int) for n in lengths):
            for part in it.parts:
                _lose_all(part)
            return
        shortest = lengths.index(min(lengths))  # the parts before it have been asked once more
        fetched = [lengths[shortest] + (k < shortest) for k in range(len(lengths))]
        counts = [None if c >= n else c for c, n in zip(fetched, lengths, strict=True)]
    for part, count in zip(it.parts, counts, strict=True):
        _fetched(part, count)


def _lose_all(it: Any) -> None:
    """Note that an iterator may be anywhere, and those that it runs through."""
    if not is_iterator(it):
        return
    lose(it)
    parts = it.parts if isinstance(it, Parts) else ()
    for part in it.__reduce__()[1] if type(it) in (zip, enumerate) else parts:
        _lose_all(part)


def is_finite(it: Any) -> bool:
    """Whether an iterable certainly ends: a container, or ``zip`` and the like over containers."""
    if type(it) in (zip, enumerate):
        parts = it.__reduce__()[1]
        return any(map(is_finite, parts if type(it) is zip else parts[:1]))
    if isinstance(it, Zip):
        return any(map(is_finite, it.parts))
    return length_hint(it, -1) >= 0


def _of_range(it: range) -> Sequence:
    first, step, n = it.start, it.step, len(it)
    last = first + step * max(n - 1, 0)
    bounds = min(first, last), max(first, last)

    def at(i: Tracer) -> Any:
        if step == 1 and first == 0:
            return i
        moved = i * step if step != 1 else i
        found = moved + first if first else moved
        return _bounded(found, bounds)

    return Sequence(n, at)


def _bounded(x: Any, bounds: Any) -> Any:
    """A place with its bounds; a trial step has a known place."""
    return with_bounds(x, bounds) if isinstance(x, Tracer) else x


def _of_traced_range(it: TracedRange) -> Sequence:
    start, stop, step = it.start, it.stop, it.step
    count = it.count()
    low, high = bounds_of(start), bounds_of(stop)
    bounds = None
    if isinstance(step, int):
        bounds = (low[0], high[1] - 1) if step > 0 else (high[0] + 1, low[1])
        span = bounds[1] - bounds[0] + 1
        if span < LARGEST:
            with_bounds(count, (0, max(0, -(-span // abs(step)))))

    def at(i: Tracer) -> Any:
        known = isinstance(step, int) and step == 1
        moved = i if known else i * step
        moved = moved if isinstance(start, int) and start == 0 else moved + start
        return moved if bounds is None or moved is i else _bounded(moved, bounds)

    return Sequence(count, at)


def _of_array(it: Any) -> Sequence | None:
    if not np.ndim(it):
        return None
    return Sequence(np.shape(it)[0], lambda i: item(it, i))


def _of_list(it: Any) -> Sequence | None:
    """A list or tuple of numbers, or of arrays of one shape, as a table."""
    if has_stretch(it):
        put_together(it)
        return Sequence(stretch_in(it).count, lambda i: stretch_in(it).at(i), (it,))
    if not it or not all(is_tracer(x) or isinstance(x, _NUMBERS) for x in it):
        return None
    if any(getattr(x, "is_bounded", False) for x in it):  # parts of traced length
        return None
    if len({np.shape(x) for x in it}) > 1 or len({_kind(x) for x in it}) > 1:
        return None
    if any(map(is_tracer, it)) and not np.shape(it[0]):
        return Sequence(len(it), _of_table(list(it)))
    return Sequence(len(it), lambda i: item(it, i))


def _of_table(numbers: list[Any]) -> Callable[[Tracer], Any]:
    """Numbers at a traced index; they are put into one array, outside the loop."""
    home, kind = current_trace(), _kind(numbers[0])
    are_arrays = all(map(is_boxed, numbers))
    assert home is not None
    table: list[Any] = []

    def at(i: Tracer) -> Any:
        if not table:
            with inside(home):
                table.append(hooks.stack_nested(numbers))
        found = item(table[0], i)
        found.weak = kind if kind in PYTHON_TYPES else None
        found.boxed = found.boxed or are_arrays
        note_kinds(found, numbers)
        return found

    return at


_NUMBERS = (int, float, complex, np.generic, np.ndarray)


def _kind(x: Any) -> Any:
    if isinstance(x, Tracer):
        return x.weak or x.dtype
    return type(x) if type(x) in (int, float, complex, bool) else np.asarray(x).dtype


def _of_zip(it: Zip) -> Sequence | None:
    iterators = [id(x) for x in _iterators_of(it)]
    if len(set(iterators)) < len(iterators):  # pairs of elements that follow each other
        return None
    parts = [sequence_of(part) for part in it.parts]
    if not all(parts) or not parts:
        return None
    known = [part for part in parts if part is not None]
    if it.strict and len({part.length for part in known}) > 1:
        return None
    length = known[0].length
    for part in known[1:]:
        length = call(min, (length, part.length), {}, lambda f: f)
    lists = tuple(items for part in known for items in part.lists)
    return Sequence(length, lambda i: tuple(part.at(i) for part in known), lists)


def _iterators_of(it: Any) -> Iterator[Any]:
    """The iterators that an iterator runs through."""
    for part in it.parts if isinstance(it, Parts) else ():
        if is_iterator(part):
            yield part
            yield from _iterators_of(part)


def _of_enumerate(it: Enumerate) -> Sequence | None:
    inner = sequence_of(it.part)
    if inner is None:
        return None

    def at(i: Tracer) -> Any:
        return (i + it.start if is_tracer(it.start) or it.start else i), inner.at(i)

    return Sequence(inner.length, at, inner.lists)


def _of_reversed(it: Reversed) -> Sequence | None:
    inner = sequence_of(it.part)
    if inner is None:
        return None
    last = inner.length - 1
    most = inner.most

    def at(i: Tracer) -> Any:
        index = last - i
        return inner.at(index if most is None else _bounded(index, (0, max(most - 1, 0))))

    return Sequence(inner.length, at, inner.lists)


def _of_places(it: Places) -> Sequence:
    return Sequence(prod(it.shape), lambda i: _coordinates(i, it.shape))


def _of_places_and_elements(it: PlacesAndElements) -> Sequence:
    def at(i: Tracer) -> Any:
        place = _coordinates(i, it.shape)
        return place, item(it.array, place)

    return Sequence(prod(it.shape), at)


def _of_flat(it: Flat | np.flatiter) -> Sequence | None:
    array = it.base
    if not np.ndim(array) or it.index:
        return None
    return Sequence(np.size(array), lambda i: item(array, _coordinates(i, np.shape(array))))


def _coordinates(i: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The place of an element in C order."""
    place = []
    for size in shape[:0:-1]:
        place.append(_bounded(i % size, (0, size - 1)))
        i = i // size
    return (_bounded(i, (0, shape[0] - 1)), *reversed(place)) if shape else ()


_MAKERS: list[tuple[Any, Callable[[Any], Sequence | None]]] = [
    (range, _of_range),
    (TracedRange, _of_traced_range),
    (Zip, _of_zip),
    (Enumerate, _of_enumerate),
    (Reversed, _of_reversed),
    (PlacesAndElements, _of_places_and_elements),
    (Places, _of_places),
    ((Flat, np.flatiter), _of_flat),
    (Tracer, _of_array),
    (FreshArray, _of_array),
    (np.ndarray, _of_array),
    ((list, tuple), _of_list),
    (Stretched, lambda it: _of_list(it.items)),
]
