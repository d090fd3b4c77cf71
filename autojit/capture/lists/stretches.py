"""Functions, methods, indices and loops of lists of traced length."""

from __future__ import annotations

import bisect
import collections
import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from autojit.capture.rewriting.callees import is_users
from autojit.capture.state.maybe import has_optional
from autojit.capture.state.stretch import (
    Stretch,
    any_made,
    has_stretch,
    put_together,
    stretch_in,
)
from autojit.capture.users.classes import own_iter, watch_callers
from autojit.capture.values import ranges
from autojit.capture.values.scalars import python_number
from autojit.errors import CaptureError, with_place
from autojit.protocols.lifting import as_tracer, as_value
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds
from autojit.tracing.source import user_source

from . import deques, dicts, heaps, library
from .arrays import as_array, numbers, present, refused, truths
from .elements import METHODS, insert, length, sorted_, truth_of
from .extremes import STATISTICS, extreme, weak
from .iterators import IN_PYTHON
from .resumable import Lazy, asks, generator, next_
from .running import RUNNING, is_open, listed, or_start

_INT = np.dtype(np.int64)
_ABSENT: Any = object()
Call = Callable[..., Any]


class Stretched:
    """A list of traced length as a part of ``zip``, ``enumerate`` or ``reversed``."""

    __aj_internal__ = True

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def _refuse(self, *args: Any) -> Any:
        raise CaptureError(with_place(Stretch.words, user_source()))

    __iter__ = __len__ = __getitem__ = _refuse


def stretched(x: Any) -> Any:
    """The iterable of a comprehension: Python cannot run through a list of traced length."""
    return Stretched(x) if any_made() and has_stretch(x) else dicts.iterated(x)


def unpacked(x: Any, count: int) -> Any:
    """The value that is assigned to ``count`` targets, or to any number if ``count`` is -1."""
    asks(x)
    if has_optional(x):
        return dicts.refused()
    if not any_made():
        return x
    if isinstance(x, Lazy):
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
    """Whether a call gets a list of traced length or a generator, or is a method of such a list."""
    if any(map(_holds, args)) or any(map(_holds, kwargs.values())):
        return True
    owner = getattr(f, "__self__", None)
    if ranges.TracedRange in map(type, args):
        return _is_hashable(f) and (f in _OF_RANGES or isinstance(owner, list))
    if any(own_iter(x) for x in args):
        return _runs_through(f, args)
    return has_stretch(owner)


def _runs_through(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of Python's takes the elements of its arguments, as `max` does of one."""
    if not _is_hashable(f) or (f in (max, min) and len(args) > 1):
        return False
    return f in _OF_ITERABLES


def _holds(x: Any) -> bool:
    if type(x) is Stretch or isinstance(x, Lazy):
        return True
    if isinstance(x, (list, tuple)):
        return any(type(e) is Stretch or has_stretch(e) for e in x)
    return False


def is_answered(f: Any) -> bool:
    """Whether a function is not the user's; the user's functions run through lists in a twin."""
    if isinstance(f, (FunctionType, MethodType)):
        inner = f.__func__ if isinstance(f, MethodType) else f
        return not (isinstance(inner, FunctionType) and is_users(inner))
    if isinstance(f, type):
        if f in _LAZY:
            return False
        return f.__module__ in ("builtins", "collections", "itertools", "numpy")
    return True


#: Iterators that have other answers, which take such lists too.
_LAZY = frozenset({itertools.takewhile, itertools.dropwhile, itertools.filterfalse, filter})


def answer(call: Call, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call with such lists of a function that is not the user's."""
    if Stretch in map(type, args) or Stretch in map(type, kwargs.values()):
        return refused()  # from f(*xs)
    if _runs_through(f, args) and any(own_iter(x) for x in args):
        return call(f, *map(dicts.iterated, args), **kwargs)
    if any(isinstance(x, Lazy) or is_open(x) for x in args):
        return _of_lazy(call, f, args, kwargs)
    owner = getattr(f, "__self__", None)
    if isinstance(owner, list):
        return _of_method(call, f, owner, args, kwargs)
    if _is_hashable(f) and f in heaps.HEAPS:
        return call(heaps.HEAPS[f], *args, **kwargs)
    if _is_hashable(f) and f in IN_PYTHON and f not in _FUNCTIONS:
        return IN_PYTHON[f](*args, **kwargs)
    found = _FUNCTIONS.get(f) if _is_hashable(f) else None
    if found is not None:
        return found(call, *args, **kwargs)
    if isinstance(f, np.ufunc) or (getattr(f, "__module__", "") or "").partition(".")[0] == "numpy":
        return call(f, *map(_as_array, args), **{k: _as_array(x) for k, x in kwargs.items()})
    return refused()


#: Methods that put their argument into the list as it is.
_STORING = frozenset({"append", "appendleft", "insert"})


def _of_method(call: Call, f: Any, owner: list[Any], args: Any, kwargs: Any) -> Any:
    """Call a method of a list that has a traced length, or gets a list that has one."""
    if not has_stretch(owner) and f.__name__ in _STORING:
        return f(*args, **kwargs)
    own = deques.METHODS if isinstance(owner, deques.Deque) else METHODS
    method = own.get(f.__name__) or METHODS.get(f.__name__)
    if method is None:
        return refused()
    if has_stretch(owner):
        put_together(owner)
    return method(call, owner, *args, **kwargs)


def _of_lazy(call: Call, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call of a function with generators, or with ranges of traced length."""
    if f is next:
        return next_(*args)
    if f is type and isinstance(args[0], generator):
        return args[0].__class__
    if _is_hashable(f) and f in IN_PYTHON:
        return IN_PYTHON[f](*args, **kwargs)
    is_partial = f in (any, all) and any(type(x) is generator for x in args)
    if is_partial or (_is_hashable(f) and f in RUNNING and any(map(is_open, args))):
        return RUNNING[f](call, *args, **kwargs)
    is_method = isinstance(getattr(f, "__self__", None), list)
    if not is_method and not (_is_hashable(f) and f in _COLLECTING):
        return f(*args, **kwargs)
    return call(f, *[listed(call, x) for x in args], **kwargs)


def _is_hashable(f: Any) -> bool:
    return type(f).__hash__ is not None


def _as_array(x: Any) -> Any:
    if isinstance(x, list) and has_stretch(x):
        return as_array(x)
    return refused() if _holds(x) else x


# -- functions ------------------------------------------------------------------------------


def watching(found: Any) -> Any:
    """The same value. If it is a list of traced length, the classes of all objects that the user's
    running functions name are watched, since one of these may hold the list next."""
    if has_stretch(found):
        watch_callers()
    return found


def _sum(call: Call, items: Any, /, start: Any = 0) -> Any:
    s = stretch_in(present(items, "unsupported operand type(s) for +: 'float' and 'NoneType'"))
    if not s.elements.structure.is_leaf():
        return refused()
    rows = as_tracer(s.columns[0])[: s.count]
    kind = None if rows.dtype == bool else rows.dtype  # integers stay as narrow as they are
    total = np.sum(rows, axis=0, dtype=kind)
    if s.elements.are_numbers:
        return start + weak([s], total)
    return or_start(np.less_equal(s.count, 0), lambda: start + total, start)


def _fsum(call: Call, items: Any) -> Any:
    return python_number(as_value(np.sum(numbers(items))), float)


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


def _reduce(call: Call, function: Any, items: Any, *first: Any) -> Any:
    if first:
        return call(library.reduced_from, function, items, *first)
    return call(library.reduced, function, items)


def _counted(call: Call, items: Any) -> Any:
    return call(library.count_up, collections.Counter(), items)


def _copied(call: Call, items: Any) -> Any:
    return list(items) if isinstance(items, list) else refused()


def _is_instance(call: Call, x: Any, kinds: Any) -> bool:
    return isinstance(x, kinds)


def _len(call: Call, items: Any) -> Any:
    return length(items) if has_stretch(items) else len(items)


def _bool(call: Call, items: Any) -> Any:
    return truth_of(items) if has_stretch(items) else bool(items)


def _with_arrays(f: Any) -> Callable[..., Any]:
    """Answer a function of numbers with NumPy's function of an array."""

    def answered(call: Call, items: Any) -> Any:
        return f(numbers(items))

    return answered


def _of_truths(f: Any) -> Callable[..., Any]:
    """Answer ``any`` or ``all``."""
    return lambda call, items: f(truths(items))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    len: _len, bool: _bool, sum: _sum, max: extreme("max"), min: extreme("min"),
    sorted: sorted_, list: _list, enumerate: _enumerate, zip: _zip, reversed: _reversed,
    np.array: _array(np.array), np.asarray: _array(np.asarray), isinstance: _is_instance,
    operator.truth: _bool, math.fsum: _fsum, math.prod: _with_arrays(np.prod),
    any: _of_truths(np.any), all: _of_truths(np.all),
    bisect.bisect_left: _bisect(np.less), bisect.bisect_right: _bisect(np.less_equal),
    bisect.insort_right: _insort, functools.reduce: _reduce, copy.copy: _copied,
    copy.deepcopy: _copied, collections.deque: deques.of_stretch, collections.Counter: _counted,
    **STATISTICS,
}  # fmt: skip
#: The functions that run through a whole generator.
_COLLECTING = frozenset(_FUNCTIONS) - {enumerate, zip, isinstance, len, bool, operator.truth}
#: The functions that take ranges of traced length as they take generators.
_OF_ITERABLES = _COLLECTING | IN_PYTHON.keys()
_OF_RANGES = (_COLLECTING | IN_PYTHON.keys()) - {enumerate, zip, reversed}
