"""Functions, methods, indices and loops of lists whose length is a value."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import statistics
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from autojit.capture import library
from autojit.capture.rewriting.callees import is_users
from autojit.capture.state.stretch import (
    Stretch,
    any_made,
    elements_of,
    has_stretch,
    made_of,
    put_together,
    stretch_in,
)
from autojit.errors import CaptureError, with_place
from autojit.functions.checks import ensured
from autojit.ir.ops import arithmetic
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.source import user_source

from . import ranges
from .lazy import Lazy, handed_on
from .scalars import is_traced, python_number, settled, truth

_INT = np.dtype(np.int64)
_ABSENT: Any = object()
Call = Callable[..., Any]


class Stretched:
    """A list whose length is a value, as a part of ``zip``, ``enumerate`` or ``reversed``."""

    __aj_internal__ = True

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def _refuse(self, *args: Any) -> Any:
        raise CaptureError(with_place(Stretch.words, user_source()))

    __iter__ = __len__ = __getitem__ = _refuse


def stretched(x: Any) -> Any:
    """What a comprehension runs through: Python cannot run through a list of traced length."""
    return Stretched(x) if any_made() and has_stretch(x) else x


def unpacked(x: Any, count: int) -> Any:
    """What is assigned to so many targets."""
    if not any_made():
        return x
    if isinstance(x, Lazy) and not x.started:
        x = x.collected()
    if not has_stretch(x):
        return x
    if count < 0:
        return refused()
    s = stretch_in(x)
    for wrong, words in (
        (np.less(s.count, count), f"not enough values to unpack (expected {count})"),
        (np.greater(s.count, count), f"too many values to unpack (expected {count})"),
    ):
        hooks.fail_where(wrong, ValueError(words))
    return [s.with_room(count).at(number) for number in range(count)]


def refused() -> Any:
    """Raise CaptureError: this use of such a list is not known while the function is traced."""
    raise CaptureError(with_place(Stretch.words, user_source()))


# -- which calls ------------------------------------------------------------------------


def concerns(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call has such a list, or is a method of one."""
    if any(map(_holds, args)) or any(map(_holds, kwargs.values())):
        return True
    return has_stretch(getattr(f, "__self__", None))


def _holds(x: Any) -> bool:
    if type(x) is Stretch or isinstance(x, Lazy):
        return True
    if type(x) is list or type(x) is tuple:
        return any(type(e) is Stretch or (type(e) is list and has_stretch(e)) for e in x)
    return False


def is_answered(f: Any) -> bool:
    """Whether a function is not the user's, who runs through lists in a twin."""
    if isinstance(f, (FunctionType, MethodType)):
        inner = f.__func__ if isinstance(f, MethodType) else f
        return not (isinstance(inner, FunctionType) and is_users(inner))
    if isinstance(f, type):
        if f in _LAZY:
            return False
        return f.__module__ in ("builtins", "collections", "itertools", "numpy")
    return True


#: Iterators that other answers make, of such lists too.
_LAZY = frozenset({itertools.takewhile, itertools.dropwhile, itertools.filterfalse, filter})


def answer(call: Call, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function that is not the user's gives for such lists."""
    if Stretch in map(type, args) or Stretch in map(type, kwargs.values()):
        return refused()  # of f(*xs)
    owner = getattr(f, "__self__", None)
    if any(isinstance(x, Lazy) for x in args):
        if f is next:
            return _next(*args)
        if _is_hashable(f) and f in _IN_PYTHON:
            return _handed_on(f, *args, **kwargs)
        if not (_is_hashable(f) and f in _COLLECTING) and not isinstance(owner, list):
            return f(*args, **kwargs)
        args = tuple([x.collected() if isinstance(x, Lazy) and not x.started else x for x in args])
        return call(f, *args, **kwargs)
    if isinstance(owner, list):
        method = _METHODS.get(f.__name__)
        if method is None:
            return refused()
        if has_stretch(owner):
            put_together(owner)
        return method(call, owner, *args, **kwargs)
    if _is_hashable(f) and f in library.HEAPS:
        return call(library.HEAPS[f], *args, **kwargs)
    found = _FUNCTIONS.get(f) if _is_hashable(f) else None
    if found is not None:
        return found(call, *args, **kwargs)
    if isinstance(f, np.ufunc) or getattr(f, "__module__", "").partition(".")[0] == "numpy":
        return call(f, *map(_as_array, args), **{k: _as_array(x) for k, x in kwargs.items()})
    return refused()


def _is_hashable(f: Any) -> bool:
    return type(f).__hash__ is not None


def as_array(items: list[Any]) -> Any:
    """The elements as an array: its length is a value."""
    if not isinstance(items, list):
        return refused()
    s = stretch_in(items)
    columns = [as_tracer(c) for c in s.columns]
    if len(columns) == 1 and s.elements.structure.is_leaf():
        return columns[0][: s.count]
    if not all(child.is_leaf() for child in s.elements.structure.children()):
        return refused()
    return np.stack(columns, axis=1)[: s.count]


hooks.elements_as_array = as_array


def _as_array(x: Any) -> Any:
    if isinstance(x, list) and has_stretch(x):
        return as_array(x)
    return refused() if _holds(x) else x


# -- lengths and truth --------------------------------------------------------------------


def length(items: Any) -> Any:
    """``len(xs)``."""
    return stretch_in(items).count if isinstance(items, list) else refused()


def truth_of(items: list[Any]) -> Any:
    """``bool(xs)``."""
    return truth(length(items) > 0)


def is_equal(a: Any, b: Any) -> Any:
    """``a == b``: with an empty list, or one of numbers."""
    if not (isinstance(a, list) and isinstance(b, list)):
        return False
    counts = [stretch_in(x).count if has_stretch(x) else len(x) for x in (a, b)]
    same = truth(counts[0] == counts[1])
    if not all((a, b)):
        return same
    kinds = [elements_of(x) for x in (a, b)]
    if kinds[0].structure != kinds[1].structure:
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


def set_item(items: list[Any], index: Any, value: Any) -> None:
    """``xs[index] = value``."""
    s = stretch_in(items)
    if type(index) is slice:
        if (index.start, index.stop, index.step) != (None, None, None):
            refused()
        items[:] = [stretch_in(value)] if has_stretch(value) else list(value)
        return
    items[:] = [s.replaced(_place(s, index, "list assignment index out of range"), value)]


def delete(items: list[Any], index: Any) -> None:
    """``del xs[index]``."""
    if type(index) is slice:
        refused()
    _pop(None, items, index)


def _place(s: Stretch, index: Any, words: str) -> Any:
    """An index as a place from 0 on, which the compiled code checks."""
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
    places = arithmetic.add(arithmetic.mul(s.places(), step), _spread(as_value(first, _INT), s))
    return s.picked(places, python_number(as_value(count), int), s.most)


def _spread(x: Any, s: Stretch) -> Any:
    return as_value(np.broadcast_to(tracer(x), (s.room,)))


def _clipped(bound: Any, default: Any, low: Any, high: Any, s: Stretch) -> Any:
    if bound is None:
        return default
    bound = ranges.bound(bound)
    counted = np.where(np.less(bound, 0), bound + s.count, bound)
    return np.minimum(np.maximum(counted, low), high)


# -- methods --------------------------------------------------------------------------------


def _append(call: Call, items: list[Any], value: Any) -> None:
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
    s = stretch_in(items)
    hooks.fail_where(np.less_equal(s.count, 0), IndexError("pop from empty list"))
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


def _insert(call: Call, items: list[Any], index: Any, value: Any) -> None:
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


def _sort(call: Call, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    items[:] = _sorted(call, items, key=key, reverse=reverse)


def _index_of(call: Call, items: list[Any], x: Any) -> Any:
    same = _same_as(items, x)
    found = np.argmax(same)
    words = "list.index(x): x not in list"
    return python_number(as_value(ensured(found, np.any(same), ValueError(words))), int)


def _count_of(call: Call, items: list[Any], x: Any) -> Any:
    return python_number(as_value(np.sum(_same_as(items, x))), int)


def _remove(call: Call, items: list[Any], x: Any) -> None:
    _pop(call, items, _index_of(call, items, x))


def _same_as(items: list[Any], x: Any) -> Any:
    """Which elements are equal to one."""
    s = stretch_in(items)
    if elements_of([x]).structure != s.elements.structure:
        return refused()
    same = np.arange(s.room) < s.count
    numbers = x if isinstance(x, tuple) else (x,)
    for column, number in zip(s.columns, numbers, strict=True):
        same = np.logical_and(same, np.equal(as_tracer(column), number))
    return same


def contains(x: Any, items: list[Any]) -> Any:
    """``x in xs``."""
    return truth(np.any(_same_as(items, x)))


_METHODS: dict[str, Callable[..., Any]] = {
    "append": _append, "extend": _extend, "pop": _pop, "insert": _insert, "copy": _copy,
    "clear": _clear, "reverse": _reverse, "sort": _sort, "index": _index_of, "count": _count_of,
    "remove": _remove,
}  # fmt: skip


# -- functions ------------------------------------------------------------------------------


def _numbers(items: list[Any]) -> Any:
    """The elements as an array, where they are numbers."""
    if not stretch_in(items).elements.structure.is_leaf():
        return refused()
    return as_array(items)


def _weak(items: list[Any], found: Any) -> Any:
    """A number made of the elements: Python's, where they are."""
    weak = stretch_in(items).elements.types[0].weak
    return python_number(as_value(found), weak) if weak in (int, float, complex) else found


def _sum(call: Call, items: Any, /, start: Any = 0) -> Any:
    return start + _weak(items, np.sum(_numbers(items)))


def _extreme(name: str) -> Callable[..., Any]:
    find = {"max": np.max, "min": np.min}[name]

    def answered(call: Call, *args: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        if len(args) != 1 or key is not None:
            return refused()
        (items,) = args
        s, numbers = stretch_in(items), as_tracer(stretch_in(items).columns[0])
        _numbers(items)
        kind = numbers.dtype
        if kind.kind not in "iuf":
            return refused()
        least = -np.inf if name == "max" else np.inf
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            least = limits.min if name == "max" else limits.max
        matter = np.arange(s.room) < s.count
        best = find(np.where(matter, numbers, kind.type(least)))
        if default is not _ABSENT:
            return hooks.choose(np.greater(s.count, 0), lambda: _weak(items, best),
                                lambda: default)  # fmt: skip
        words = f"{name}() iterable argument is empty"
        return _weak(items, ensured(best, np.greater(s.count, 0), ValueError(words)))

    return answered


def _sorted(call: Call, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    s = stretch_in(items)
    keys = as_tracer(s.columns[0])
    if key is not None or not s.elements.structure.is_leaf() or keys.dtype.kind not in "iuf":
        return refused()
    if is_traced(reverse):
        return refused()
    outside = np.arange(s.room) >= s.count
    order = np.argsort(np.where(outside, 0, -keys if reverse else keys), kind="stable")
    order = order[np.argsort(outside[order], kind="stable")]
    return [s.picked(as_value(order, _INT), s.count, s.most)]


def _list(call: Call, items: Any) -> list[Any]:
    return list(items)


def _array(make: Any) -> Callable[..., Any]:
    def answered(call: Call, items: Any, *args: Any, **kwargs: Any) -> Any:
        if not (isinstance(items, list) and has_stretch(items)):
            return refused()
        found = as_array(items)
        if args or kwargs.get("dtype") is not None:
            return found.astype(*args, **kwargs)
        return found

    return answered


def _enumerate(call: Call, items: Any, start: Any = 0) -> Any:
    return ranges.Enumerate(Stretched(items), start)


def _zip(call: Call, *parts: Any, strict: bool = False) -> Any:
    made = [Stretched(x) if isinstance(x, list) and has_stretch(x) else x for x in parts]
    return ranges.Zip(*made, strict=strict)


def _reversed(call: Call, items: Any) -> Any:
    return ranges.Reversed(Stretched(items))


def _bisect(compare: Any) -> Callable[..., Any]:
    def answered(call: Call, items: Any, x: Any) -> Any:
        s = stretch_in(items)
        _numbers(items)
        before = compare(as_tracer(s.columns[0]), x)
        found = np.sum(np.logical_and(before, np.arange(s.room) < s.count))
        return with_bounds(python_number(as_value(found), int), (0, s.room))

    return answered


def _insort(call: Call, items: Any, x: Any) -> None:
    _insert(call, items, _bisect(np.less_equal)(call, items, x), x)


def _enumerated(iterable: Any, start: Any = 0) -> Any:
    return handed_on(enumerate(iterable, start), library.numbered, (iterable, start))


def _mapped(function: Any, iterable: Any, *others: Any) -> Any:
    plain = map(function, iterable, *others)
    return plain if others else handed_on(plain, library.mapped, (function, iterable))


def _zipped(*parts: Any, strict: bool = False) -> Any:
    """``zip``, of which the first part alone is run through."""
    first, *others = parts
    plain = zip(*parts, strict=strict)
    if strict or not all(isinstance(x, (list, tuple)) or is_traced(x) for x in others):
        return plain
    return handed_on(plain, library.zipped_with, (first, tuple(others)))


def _islice(iterable: Any, *bounds: Any) -> Any:
    first, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    plain = itertools.islice(iterable, *bounds)
    return handed_on(plain, library.islice, (iterable, first or 0, stop, step or 1))


def _chained(*iterables: Any) -> Any:
    return handed_on(itertools.chain(*iterables), library.chained, (iterables,))


def _pairwise(iterable: Any) -> Any:
    return handed_on(itertools.pairwise(iterable), library.pairs, (iterable,))


def _accumulated(iterable: Any, function: Any = operator.add) -> Any:
    plain = itertools.accumulate(iterable, function)
    return handed_on(plain, library.sums, (iterable, function))


#: Iterators of the standard library over generators.
_IN_PYTHON: dict[Any, Callable[..., Any]] = {
    enumerate: _enumerated, map: _mapped, zip: _zipped, itertools.islice: _islice,
    itertools.chain: _chained, itertools.pairwise: _pairwise, itertools.accumulate: _accumulated,
}  # fmt: skip


def _handed_on(f: Any, *args: Any, **kwargs: Any) -> Any:
    return _IN_PYTHON[f](*args, **kwargs)


def _next(lazy: Lazy, *default: Any) -> Any:
    found = lazy.first()
    if found is None:
        return next(lazy, *default)
    if not has_stretch(found):
        return next(iter(found), *default)
    s = stretch_in(found)
    is_there = np.greater(s.count, 0)
    if default:
        return hooks.choose(is_there, lambda: s.at(0), lambda: default[0])
    hooks.fail_where(np.logical_not(is_there), StopIteration())
    return s.at(0)


def _is_instance(call: Call, x: Any, kinds: Any) -> bool:
    return isinstance(x, kinds)


def _len(call: Call, items: Any) -> Any:
    return length(items)


def _bool(call: Call, items: Any) -> Any:
    return truth_of(items)


def _with_arrays(f: Any) -> Callable[..., Any]:
    """A function of numbers as NumPy's of an array."""

    def answered(call: Call, items: Any) -> Any:
        return f(_numbers(items))

    return answered


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    len: _len, bool: _bool, sum: _sum, max: _extreme("max"), min: _extreme("min"),
    sorted: _sorted, list: _list, enumerate: _enumerate, zip: _zip, reversed: _reversed,
    np.array: _array(np.array), np.asarray: _array(np.asarray), isinstance: _is_instance,
    operator.truth: _bool, math.fsum: _sum, math.prod: _with_arrays(np.prod),
    statistics.fmean: _with_arrays(np.mean), statistics.mean: _with_arrays(np.mean),
    any: _with_arrays(np.any), all: _with_arrays(np.all),
    bisect.bisect_left: _bisect(np.less), bisect.bisect_right: _bisect(np.less_equal),
    bisect.insort_right: _insort,
}  # fmt: skip
#: The functions that run through all of a generator.
_COLLECTING = frozenset(_FUNCTIONS) - {enumerate, zip, isinstance, len, bool, operator.truth}
