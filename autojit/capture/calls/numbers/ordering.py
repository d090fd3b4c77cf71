"""``min``, ``max``, ``sorted``, ``list.sort`` and ``bisect``, with Python's comparisons."""

from __future__ import annotations

import bisect
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.capture.lists import library
from autojit.capture.lists.extremes import of_row
from autojit.capture.lists.running import RUNNING, is_long_array
from autojit.capture.state.holders import is_object
from autojit.capture.state.optional import without_none
from autojit.capture.values.choice import choose, choose_nth, joined, kind_of
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import any_traced, holds_traced, is_traced, python_number, truth
from autojit.capture.values.table import When, answers, answers_method
from autojit.protocols.kinds import is_boxed, note_kinds
from autojit.protocols.lifting import as_value, tracer
from autojit.staging import pytrees
from autojit.tracing.created_arrays import bare
from autojit.tracing.known import value_of
from autojit.tracing.protocol import bounds_of, with_bounds

_ABSENT: Any = object()


def _extreme(name: str, original: Any, better: Callable[[Any, Any], Any]) -> Any:
    symbol = {"max": ">", "min": "<"}[name]

    def answer(call: Any, *args: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        options = {} if default is _ABSENT else {"default": default}
        if len(args) != 1:
            if options or not args or (key is None and not _are_compared(args)):
                return original(*args, **options, **({} if key is None else {"key": key}))
            items = list(args)
        else:
            (iterable,) = args
            if has_traced_length(iterable):
                listed = call(library.listed, iterable)
                return call(original, listed, key=key, **options)
            if is_traced(iterable) and iterable.ndim == 1 and iterable.shape[0] and key is None:
                return of_row(bare(iterable), name)
            if is_long_array(iterable):
                return RUNNING[original](call, iterable, key=key, **options)
            items = list(iterable)
        if key is None and len(items) > 1:
            items = _present(items, symbol)
        if not items or (key is None and not _are_compared(items)):
            return original(items, **options, key=key)
        keys = items if key is None else [call(key, x) for x in items]
        return _folded(items, keys, functools.partial(call, better))

    return answer


def _are_compared(items: Sequence[Any]) -> bool:
    """Whether comparisons of some values may be traced: of numbers, or of objects of the user's."""
    return holds_traced(items) or any(map(_is_ordered, items))


def _is_ordered(x: Any) -> bool:
    """Whether an object of the user's class says in Python which one is smaller."""
    return is_object(x) and any(hasattr(getattr(type(x), name, None), "__code__")
                                for name in ("__lt__", "__gt__"))  # fmt: skip


def _ranks(call: Any, keys: list[Any]) -> list[Any]:
    """For each object, the number of those that are smaller."""
    return [functools.reduce(operator.add, [call(operator.lt, b, a) * 1 for b in keys])
            for a in keys]  # fmt: skip


def _present(keys: list[Any], symbol: str) -> list[Any]:
    """Values that are compared, of which none may be None."""
    words = f"'{symbol}' not supported between instances of 'NoneType' and 'float'"
    return [without_none(x, words) for x in keys]


def has_traced_length(x: Any) -> bool:
    """Whether x is an array of which a traced value decides the length."""
    return is_traced(x) and x.ndim > 0 and is_traced(x.shape[0])


def _folded(items: list[Any], keys: list[Any], better: Callable[[Any, Any], Any]) -> Any:
    best, best_key = items[0], keys[0]
    same = items is keys
    for item, key in zip(items[1:], keys[1:], strict=True):
        test = truth(better(key, best_key))
        chosen = choose(test, item, best)
        best = _within(chosen, item, best, better) if same else chosen
        best_key = best if same else choose(test, key, best_key)
    return best


def _within(chosen: Any, a: Any, b: Any, better: Callable[[Any, Any], Any]) -> Any:
    """The larger or smaller of two integers, with bounds if those of both are known."""
    if not is_traced(chosen) or chosen.weak is not int or not _are_integers(a, b):
        return chosen
    pairs = zip(bounds_of(a), bounds_of(b), strict=True)
    low, high = (x if better(x, y) else y for x, y in pairs)
    return with_bounds(chosen, (low, high))


def _are_integers(*xs: Any) -> bool:
    return all(type(x) is int or (is_traced(x) and x.weak is int) for x in xs)


answers(max, when=When.ALWAYS, calls=True)(_extreme("max", max, operator.gt))
answers(min, when=When.ALWAYS, calls=True)(_extreme("min", min, operator.lt))


@answers(sorted, when=When.ALWAYS, calls=True)
def sorted_(call: Any, iterable: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """``sorted``: stable, like Python's. NaNs come last; Python's order of them is no order."""
    if has_traced_length(iterable):
        listed = call(library.listed, iterable)
        return call(sorted, listed, key=key, reverse=reverse)
    items = list(iterable)
    keys = items if key is None else [call(key, x) for x in items]
    if len(keys) > 1:
        keys = _present(keys, "<")
        if any(is_traced(k) and k.weak is complex for k in keys):
            raise TypeError("'<' not supported between instances of 'complex' and 'complex'")
        items = keys if key is None else items
    if is_traced(reverse):
        refuse("sorted() with a traced `reverse`", "Use np.where on the two results.")
    if any(map(_is_ordered, keys)):
        keys, key = _ranks(call, keys), key or operator.lt
    keys = [_value(k) for k in keys]
    if not any_traced(pytrees.flatten(keys)[0]):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[i] for i in order]
    if all(isinstance(k, tuple) for k in keys):
        return _sorted_tuples(items, keys, reverse)
    if not all(np.ndim(k) == 0 and _is_number(k) for k in keys):
        refuse(
            "Sorting by traced values that are not numbers",
            "Sort numbers, or arrays of them:\n"
            "    sorted(xs, key=lambda x: x[0])\n"
            "    np.sort(np.array(xs))",
        )
    if key is None and not reverse:
        return _sorted_numbers(items)
    order = _order(keys, reverse)
    return [choose_nth(as_value(order[i]), items, "sorted()") for i in range(len(items))]


def _sorted_tuples(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """Sort items by tuples of numbers: by the last numbers first, then by the ones before."""
    flat = [pytrees.flatten(k) for k in keys]
    alike = all(structure == flat[0][1] for _, structure in flat)
    if not alike or not all(np.ndim(x) == 0 and _is_number(x) for row, _ in flat for x in row):
        refuse(
            "Sorting by tuples of different lengths, or with elements that are not numbers",
            "Sort tuples of numbers, or by one of them:\n    sorted(xs, key=lambda x: x[0])",
        )
    columns = [list(column) for column in zip(*(row for row, _ in flat), strict=True)]
    order: Any = tracer(as_value(np.arange(len(items))))
    for column in reversed(columns):
        row = stacked(column)[0] if any_traced(column) else np.asarray(column)
        picked = tracer(as_value(row))[order]
        order = order[_order(list(picked), reverse)]
    return [choose_nth(as_value(order[i]), items, "sorted()") for i in range(len(items))]


def _value(key: Any) -> Any:
    """The value that a key compares as: its known value if there is one, else the key."""
    known = value_of(bare(key)) if is_traced(key) else None
    return key if known is None else known


def _is_number(x: Any) -> bool:
    return is_traced(x) or isinstance(x, (int, float, np.number, np.bool_))


def stacked(items: list[Any]) -> tuple[Any, Any]:
    dtype, weak = joined([kind_of(bare(x)) for x in items])
    return np.stack([tracer(as_value(bare(x), dtype)) for x in items]), weak


def _sorted_numbers(items: list[Any]) -> list[Any]:
    row, weak = stacked(items)
    ordered = np.sort(row, kind="stable")
    found = [tracer(as_value(ordered[i]), weak) for i in range(len(items))]
    for x in found:
        x.boxed = any(map(is_boxed, items))
        note_kinds(x, items)
    return found


def _order(keys: list[Any], reverse: bool) -> Any:
    """The positions of the keys in order; the first of equal keys comes first, in reverse too."""
    row, _ = stacked(keys)
    if not reverse:
        return np.argsort(row, kind="stable")
    n = len(keys)
    return (n - 1 - np.argsort(row[::-1], kind="stable"))[::-1]


@answers_method(list, "sort")
def sort_in_place(call: Any, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    """``list.sort``."""
    items[:] = sorted_(call, items, key=key, reverse=reverse)


def _bisection(original: Any, goes_right: Callable[[Any, Any], Any]) -> Any:
    def answer(
        call: Any, a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
    ) -> Any:  # fmt: skip
        if not (is_traced(a) or is_traced(x) or isinstance(a, (list, tuple))):
            return original(a, x, lo, hi, key=key)
        if is_traced(lo) or is_traced(hi):
            refuse("bisect with traced bounds", "Search the whole row, and clip the answer.")
        is_row = key is None and (is_traced(a) or isinstance(a, np.ndarray)) and np.ndim(a) == 1
        items = a if key is None else [call(key, item) for item in a]
        keys = _value(items) if is_row else [_value(k) for k in items]
        x, end = _value(x), len(keys) if hi is None else operator.index(hi)
        parts = (keys, x) if is_row else (*keys, x)
        if not any_traced(parts) or not 0 <= lo < end <= len(keys):
            return original(range(len(keys)) if is_traced(keys) else keys, x, lo, end)
        if not is_row and not all(np.ndim(k) == 0 and _is_number(k) for k in parts):
            refuse("bisect among traced values that are not numbers", "Search a list of numbers.")
        row = tracer(as_value(bare(keys))) if is_row else stacked(keys)[0]
        return _searched(row, x, lo, end, goes_right)

    return answer


def _searched(row: Any, x: Any, lo: int, end: int, goes_right: Callable[[Any, Any], Any]) -> Any:
    """Search with Python's steps, as many as the longest search takes. So the answer is Python's
    also for NaN, and for a row that is not sorted."""
    low: Any = np.int64(lo)
    high: Any = np.int64(end)
    for _ in range((end - lo).bit_length()):
        middle = (low + high) // 2
        right = goes_right(np.take(row, middle, mode="clip"), x)
        is_open = np.less(low, high)
        upwards = np.logical_and(is_open, right)
        downwards = np.logical_and(is_open, np.logical_not(right))
        low, high = np.where(upwards, middle + 1, low), np.where(downwards, middle, high)
    return with_bounds(python_number(as_value(low), int), (lo, end))


answers(bisect.bisect_left, when=When.ALWAYS, calls=True)(
    _bisection(bisect.bisect_left, lambda item, x: np.less(item, x))
)
answers(bisect.bisect_right, when=When.ALWAYS, calls=True)(
    _bisection(bisect.bisect_right, lambda item, x: np.logical_not(np.less(x, item)))
)
