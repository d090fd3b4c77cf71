"""Items, slices, comparisons and methods of lists of traced length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.state.optional import Optional
from autojit.capture.state.resized import narrow
from autojit.capture.state.stretch import (
    Stretch,
    elements_of,
    has_stretch,
    made_of,
    put_together,
    stretch_in,
)
from autojit.capture.values import ranges
from autojit.capture.values.scalars import is_traced, python_number, settled, truth
from autojit.functions.checks import ensured
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.staging import pytrees
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds

from . import library
from .arrays import matter, present, refused

_INT = np.dtype(np.int64)
Call = Callable[..., Any]


# -- lengths and truth --------------------------------------------------------------------


def length(items: Any) -> Any:
    """``len(xs)``."""
    return stretch_in(items).count if isinstance(items, list) else refused()


def truth_of(items: list[Any]) -> Any:
    """``bool(xs)``."""
    return truth(length(items) > 0)


def is_equal(a: Any, b: Any) -> Any:
    """``a == b``, for lists of numbers or of tuples of numbers; either may be empty."""
    if not (isinstance(a, list) and isinstance(b, list)):
        return False
    counts = [stretch_in(x).count if has_stretch(x) else len(x) for x in (a, b)]
    same = truth(counts[0] == counts[1])
    if not all((a, b)):
        return same
    kinds = [elements_of(x) for x in (a, b)]
    if kinds[0].structure != kinds[1].structure or any(
        k.have_arrays or k.have_nones for k in kinds
    ):
        return refused()
    one, two = (stretch_in(x) if has_stretch(x) else made_of(x, elements_of(x)) for x in (a, b))
    room = min(one.room, two.room)
    matter = np.arange(room) < counts[0]
    for x, y in zip(one.columns, two.columns, strict=True):
        equal = np.equal(as_tracer(x)[:room], as_tracer(y)[:room])
        same = np.logical_and(same, np.all(np.logical_or(equal, np.logical_not(matter))))
    return same


# -- indices ------------------------------------------------------------------------------


def item(items: list[Any], index: Any) -> Any:
    """``xs[index]``."""
    s = stretch_in(items)
    if type(index) is slice:
        return [_sliced(s, index)]
    return s.at(_place(s, index, "list index out of range"))


def are_numbers(items: list[Any]) -> bool:
    """Whether a list has elements, and all are numbers or tuples of numbers."""
    return bool(items) and all(
        are_numbers(list(x)) if isinstance(x, tuple) else pytrees.is_array(x) and not np.shape(x)
        for x in items
    )


def part(items: list[Any], index: slice) -> list[Any]:
    """``xs[index]`` with traced bounds, for a list of known length."""
    return [_sliced(made_of(items, elements_of(items)), index)]


def set_item(items: list[Any], index: Any, value: Any) -> None:
    """``xs[index] = value``."""
    s = stretch_in(items)
    if type(index) is slice:
        _set_slice(items, index, value)
        return
    items[:] = [s.replaced(_place(s, index, "list assignment index out of range"), value)]


def delete(items: list[Any], index: Any) -> None:
    """``del xs[index]``."""
    if type(index) is slice:
        _set_slice(items, index, [])
        return
    _pop(None, items, index)


def _set_slice(items: list[Any], index: slice, value: Any) -> None:
    """``xs[first:last] = value``; the value may have another length."""
    if not isinstance(value, (list, tuple)):
        value = list(value)
    if (index.start, index.stop, index.step) == (None, None, None):
        items[:] = [stretch_in(value)] if has_stretch(value) else list(value)
        return
    if index.step not in (None, 1):
        refused()
    s = stretch_in(items)
    first = _clipped(index.start, 0, 0, s.count, s)
    last = np.maximum(_clipped(index.stop, s.count, 0, s.count, s), first)
    behind = arithmetic.add(s.places(), _spread(as_value(last, _INT), s))
    rest = s.picked(behind, python_number(as_value(s.count - last), int), s.most)
    found, more = s.shortened(python_number(as_value(first), int)), 0
    if len(value):
        new = stretch_in(value) if has_stretch(value) else made_of(value, elements_of(value))
        found, more = found.joined(new), new.most
    found = found.joined(rest)
    if not found.is_limited:  # it has at most the old elements and the new ones
        most = s.most + more
        places = iota(dtype=_INT, shape=(max(most, 1),), axis=0)
        found = found.picked(places, found.count, most)
    items[:] = [found]


def _place(s: Stretch, index: Any, words: str) -> Any:
    """An index as a place counted from 0, which the compiled code checks."""
    index = ranges.bound(index)
    if is_traced(index):
        place = np.where(np.less(index, 0), index + s.count, index)
    else:
        place = s.count + index if index < 0 else index
    inside = np.logical_and(np.greater_equal(place, 0), np.less(place, s.count))
    found = python_number(as_value(ensured(place, inside, IndexError(words))), int)
    return with_bounds(found, (0, max(s.room - 1, 0)))


def _sliced(s: Stretch, index: slice) -> Stretch:
    step = settled(1 if index.step is None else index.step)
    if is_traced(step):
        return refused()
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, s.count) if step > 0 else (-1, s.count - 1)
    first = _clipped(index.start, low if step > 0 else high, low, high, s)
    last = _clipped(index.stop, high if step > 0 else low, low, high, s)
    span = last - first if step > 0 else first - last
    count = np.maximum((span + abs(step) - 1) // abs(step), 0)
    most = narrow(s, _most_in(index, step, s.most))
    numbers = iota(dtype=_INT, shape=(max(most, 1),), axis=0)
    start = as_value(np.broadcast_to(tracer(as_value(first, _INT)), numbers.shape))
    places = arithmetic.add(arithmetic.mul(numbers, step), start)
    return s.picked(places, python_number(as_value(count), int), most)


def _most_in(index: slice, step: int, most: int) -> int:
    """The most elements of a slice of at most ``most`` elements."""
    first, last = (settled(bound) for bound in (index.start, index.stop))
    if step != 1 or is_traced(first) or is_traced(last):
        return most
    if last is None:
        return most if first is None or first >= 0 else -first
    first = 0 if first is None else first
    return max(last - first, 0) if (first < 0) == (last < 0) else most


def _spread(x: Any, s: Stretch) -> Any:
    return as_value(np.broadcast_to(tracer(x), (s.room,)))


def _clipped(bound: Any, default: Any, low: Any, high: Any, s: Stretch) -> Any:
    if bound is None:
        return default
    bound = ranges.bound(bound)
    counted = np.where(np.less(bound, 0), bound + s.count, bound)
    return np.minimum(np.maximum(counted, low), high)


# -- methods --------------------------------------------------------------------------------


def add(items: list[Any], value: Any) -> None:
    """Append to a list, which may have a traced length."""
    if has_stretch(items):
        _append(None, items, value)
    else:
        items.append(value)


def _append(call: Any, items: list[Any], value: Any) -> None:
    items[:] = [stretch_in(items).appended(value)]


def _extend(call: Call, items: list[Any], more: Any) -> None:
    s = stretch_in(items) if has_stretch(items) else None
    if isinstance(more, list) and has_stretch(more):
        other = stretch_in(more)
        if s is None:
            items.extend([other])
            put_together(items)
        else:
            items[:] = [s.joined(other)]
        return
    for x in more:
        _append(call, items, x)


def _pop(call: Any, items: list[Any], index: Any = -1) -> Any:
    return pop(items, index, "pop from empty list")


def pop(items: list[Any], index: Any, words: str) -> Any:
    """``xs.pop(index)``; ``words`` is the message of the error for an empty list."""
    s = stretch_in(items)
    hooks.fail_where(np.less_equal(s.count, 0), IndexError(words))
    if not is_traced(index) and index == 0:
        found = s.at(0)
        items[:] = [s.without_first()]
        return found
    if not is_traced(index) and index == -1:
        last = with_bounds(python_number(as_value(np.maximum(s.count - 1, 0)), int),
                           (0, max(s.room - 1, 0)))  # fmt: skip
        found = s.at(last)
        items[:] = [s.shortened(last)]
        return found
    place = _place(s, index, "pop index out of range")
    found = s.at(place)
    places = s.places()
    behind = arithmetic.ge(places, _spread(as_value(place, _INT), s))
    moved = arithmetic.add(places, to_dtype(behind, _INT))
    count = python_number(as_value(np.maximum(s.count - 1, 0)), int)
    items[:] = [s.picked(moved, count, s.most)]
    return found


def insert(call: Call, items: list[Any], index: Any, value: Any) -> None:
    s = stretch_in(items).appended(value)
    old = stretch_in(items)
    place = python_number(as_value(_clipped(index, 0, 0, old.count, old)), int)
    places = s.places()
    behind = arithmetic.gt(places, _spread(as_value(place, _INT), s))
    moved = arithmetic.sub(places, to_dtype(behind, _INT))
    shifted = s.picked(moved, s.count, s.most)
    items[:] = [shifted.replaced(with_bounds(place, (0, s.room - 1)), value)]


def _copy(call: Call, items: list[Any]) -> list[Any]:
    return list(items)


def _clear(call: Call, items: list[Any]) -> None:
    items[:] = [stretch_in(items).shortened(0)]


def _reverse(call: Call, items: list[Any]) -> None:
    items[:] = [_sliced(stretch_in(items), slice(None, None, -1))]


def sorted_(call: Call, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """``sorted(xs)``."""
    s = stretch_in(items)
    return [s.picked(order(call, items, key, reverse), s.count, s.most)]


def order(call: Call, items: list[Any], key: Any, reverse: Any) -> Value:
    """The places of the elements in the order of their keys: numbers or tuples of numbers."""
    if is_traced(reverse):
        return refused()
    keys = comparable(items if key is None else call(library.keys, key, items))
    s = stretch_in(items)
    found = tracer(s.places())
    for column in reversed([*map(as_tracer, keys.columns)]):
        if column.dtype.kind not in "biuf":
            return refused()
        found = found[np.argsort(_falling(column)[found] if reverse else column[found],
                                 kind="stable")]  # fmt: skip
    found = found[np.argsort(found >= s.count, kind="stable")]
    return as_value(found, _INT)


def comparable(keys: list[Any]) -> Stretch:
    """The elements of a list of numbers or tuples of numbers."""
    s = stretch_in(present(keys, _NO_ORDER))
    structure = s.elements.structure
    is_flat = structure.is_leaf() or all(child.is_leaf() for child in structure.children())
    if not is_flat or s.elements.have_arrays:
        refused()
    return s


_NO_ORDER = "'<' not supported between instances of 'NoneType' and 'float'"


def _falling(column: Any) -> Any:
    """Numbers in the opposite order. Integers are inverted: the least one has no negative."""
    return -column if column.dtype.kind == "f" else np.invert(column)


def _sort(call: Call, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    items[:] = sorted_(call, items, key=key, reverse=reverse)


def _index_of(
    call: Call, items: list[Any], x: Any, words: str = "list.index(x): x not in list"
) -> Any:
    same = _same_as(items, x)
    hooks.fail_where(np.logical_not(np.any(same)), ValueError(words))
    return python_number(as_value(np.argmax(same)), int)


def _count_of(call: Call, items: list[Any], x: Any) -> Any:
    return python_number(as_value(np.sum(_same_as(items, x))), int)


def _remove(call: Call, items: list[Any], x: Any) -> None:
    _pop(call, items, _index_of(call, items, x, "list.remove(x): x not in list"))


def _same_as(items: list[Any], x: Any) -> Any:
    """A mask of the elements that are equal to x."""
    s = stretch_in(items)
    same = matter(s)
    if s.elements.may_be_none and type(x) is not Optional:
        held = as_tracer(s.columns[-1])
        if x is None:
            return np.logical_and(same, np.logical_not(held))
        same, s = np.logical_and(same, held), s.without_nones()
    elif x is None:
        return np.logical_and(same, False)
    kinds = elements_of([x]), s.elements
    unlike = any(k.have_arrays or k.have_nones for k in kinds)
    if kinds[0].structure != kinds[1].structure or unlike:
        return refused()
    numbers = x if isinstance(x, tuple) else (x,)
    for column, number in zip(s.columns, numbers, strict=True):
        same = np.logical_and(same, np.equal(as_tracer(column), number))
    return same


def contains(x: Any, items: list[Any]) -> Any:
    """``x in xs``."""
    return truth(np.any(_same_as(items, x)))


METHODS: dict[str, Callable[..., Any]] = {
    "append": _append, "extend": _extend, "pop": _pop, "insert": insert, "copy": _copy,
    "clear": _clear, "reverse": _reverse, "sort": _sort, "index": _index_of, "count": _count_of,
    "remove": _remove,
}  # fmt: skip
