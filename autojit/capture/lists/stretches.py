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

from autojit.capture.rewriting.callees import is_users
from autojit.capture.state.stretch import (
    Stretch,
    any_made,
    has_stretch,
    put_together,
    stretch_in,
)
from autojit.capture.values import ranges
from autojit.capture.values.scalars import is_traced, python_number
from autojit.errors import CaptureError, with_place
from autojit.functions.checks import ensured
from autojit.protocols.lifting import as_tracer, as_value
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.source import user_source

from . import library
from .elements import METHODS, as_array, insert, length, numbers, refused, sorted_, truth_of
from .lazy import Lazy, handed_on

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
    if any(isinstance(x, Lazy) for x in args):
        return _of_lazy(call, f, args, kwargs)
    owner = getattr(f, "__self__", None)
    if isinstance(owner, list):
        method = METHODS.get(f.__name__)
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


def _of_lazy(call: Call, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for generators."""
    if f is next:
        return _next(*args)
    if _is_hashable(f) and f in _IN_PYTHON:
        return _IN_PYTHON[f](*args, **kwargs)
    is_method = isinstance(getattr(f, "__self__", None), list)
    if not is_method and not (_is_hashable(f) and f in _COLLECTING):
        return f(*args, **kwargs)
    args = tuple([x.collected() if isinstance(x, Lazy) and not x.started else x for x in args])
    return call(f, *args, **kwargs)


def _is_hashable(f: Any) -> bool:
    return type(f).__hash__ is not None


def _as_array(x: Any) -> Any:
    if isinstance(x, list) and has_stretch(x):
        return as_array(x)
    return refused() if _holds(x) else x


# -- functions ------------------------------------------------------------------------------


def _weak(items: list[Any], found: Any) -> Any:
    """A number made of the elements: Python's, where they are."""
    weak = stretch_in(items).elements.types[0].weak
    return python_number(as_value(found), weak) if weak in (int, float, complex) else found


def _sum(call: Call, items: Any, /, start: Any = 0) -> Any:
    return start + _weak(items, np.sum(numbers(items)))


def _extreme(name: str) -> Callable[..., Any]:
    find = {"max": np.max, "min": np.min}[name]

    def answered(call: Call, *args: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        if len(args) != 1 or key is not None:
            return refused()
        (items,) = args
        s, column = stretch_in(items), as_tracer(stretch_in(items).columns[0])
        numbers(items)
        kind = column.dtype
        if kind.kind not in "iuf":
            return refused()
        least = -np.inf if name == "max" else np.inf
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            least = limits.min if name == "max" else limits.max
        matter = np.arange(s.room) < s.count
        best = find(np.where(matter, column, kind.type(least)))
        if default is not _ABSENT:
            return hooks.choose(np.greater(s.count, 0), lambda: _weak(items, best),
                                lambda: default)  # fmt: skip
        words = f"{name}() iterable argument is empty"
        return _weak(items, ensured(best, np.greater(s.count, 0), ValueError(words)))

    return answered


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
        numbers(items)
        before = compare(as_tracer(s.columns[0]), x)
        found = np.sum(np.logical_and(before, np.arange(s.room) < s.count))
        return with_bounds(python_number(as_value(found), int), (0, s.room))

    return answered


def _insort(call: Call, items: Any, x: Any) -> None:
    insert(call, items, _bisect(np.less_equal)(call, items, x), x)


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
        return f(numbers(items))

    return answered


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    len: _len, bool: _bool, sum: _sum, max: _extreme("max"), min: _extreme("min"),
    sorted: sorted_, list: _list, enumerate: _enumerate, zip: _zip, reversed: _reversed,
    np.array: _array(np.array), np.asarray: _array(np.asarray), isinstance: _is_instance,
    operator.truth: _bool, math.fsum: _sum, math.prod: _with_arrays(np.prod),
    statistics.fmean: _with_arrays(np.mean), statistics.mean: _with_arrays(np.mean),
    any: _with_arrays(np.any), all: _with_arrays(np.all),
    bisect.bisect_left: _bisect(np.less), bisect.bisect_right: _bisect(np.less_equal),
    bisect.insort_right: _insort,
}  # fmt: skip
#: The functions that run through all of a generator.
_COLLECTING = frozenset(_FUNCTIONS) - {enumerate, zip, isinstance, len, bool, operator.truth}
