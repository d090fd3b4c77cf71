"""The least and largest elements of lists of traced length, and statistics of such lists."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.state.stretch import stretch_in
from autojit.capture.values.scalars import python_number
from autojit.protocols.lifting import as_tracer, as_value
from autojit.tracing.context import WEAK_TYPES
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import with_bounds

from . import library
from .arrays import numbers, present, refused
from .elements import comparable, sorted_

_ABSENT: Any = object()


def weak(items: list[Any], found: Any) -> Any:
    """A number made from the elements; it is Python's if they are. Bools make an integer."""
    kind = stretch_in(items).elements.types[0].weak
    kind = int if kind is bool else kind
    return python_number(as_value(found), kind) if kind in WEAK_TYPES else found


def extreme(name: str) -> Callable[..., Any]:
    """``max`` or ``min``."""
    words = words_of({"max": max, "min": min}[name], [])
    none = f"'{'>' if name == 'max' else '<'}' not supported between instances of 'NoneType' and "
    none += "'float'"

    def answered(call: Any, *args: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        if len(args) != 1:
            return refused()
        (items,) = args
        items = present(items, none) if key is None else items
        s = stretch_in(items)
        elements = s.elements
        if key is None and elements.are_numbers and elements.types[0].type.dtype != bool:
            best = _number(name, items)
        else:
            best = s.at(_place_by(call, items, key, name))
        if default is not _ABSENT:
            return hooks.choose(np.greater(s.count, 0), lambda: best, lambda: default)
        hooks.fail_where(np.less_equal(s.count, 0), ValueError(words))
        return best

    return answered


def words_of(original: Callable[[Any], Any], few: list[float]) -> str:
    """Python's message if there are too few numbers."""
    try:
        original(few)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{original} takes {few}")


def _place_by(call: Any, items: list[Any], key: Any, name: str) -> Any:
    """The place of the least or largest element by its key: a number or a tuple of numbers."""
    keys = items if key is None else call(library.keys, key, items)
    s = comparable(keys)
    if s.elements.structure.is_leaf():
        return place_in_row(_column(s, name), name)
    return call(library.place_of_extreme, keys, name == "max")


def _number(name: str, items: list[Any]) -> Any:
    """The least or largest of numbers."""
    return weak(items, of_row(_column(stretch_in(items), name), name))


def _column(s: Any, name: str) -> Any:
    """The numbers of a list, with the last one in the order behind its end."""
    column = as_tracer(s.columns[0])
    kind = column.dtype
    last: Any
    if kind.kind == "b":
        last = name != "max"
    elif kind.kind == "f":
        last = -np.inf if name == "max" else np.inf
    elif kind.kind in "iu":
        limits = np.iinfo(kind)
        last = limits.min if name == "max" else limits.max
    else:
        return refused()
    return np.where(np.arange(s.room) < s.count, column, kind.type(last))


def of_row(x: Any, name: str) -> Any:
    """The extreme element of an array: NaN only if it comes first, and the first of equal
    elements."""
    if x.dtype.kind == "c":
        raise TypeError(f"{name}() of complex numbers: they have no order")
    return x[place_in_row(x, name)]


def place_in_row(x: Any, name: str) -> Any:
    """The place of the extreme element."""
    find = np.argmax if name == "max" else np.argmin
    if x.dtype.kind != "f":
        return find(x)
    last = -np.inf if name == "max" else np.inf
    at = find(np.where(np.isnan(x), x.dtype.type(last), x))
    return np.where(np.isnan(x[0]), 0, at)


# -- statistics ---------------------------------------------------------------------------


def _statistic(original: Any, least: int, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Answer a function of numbers that needs at least ``least`` of them."""
    words = words_of(original, [0.0] * (least - 1))

    def answered(call: Any, items: Any, *more: Any) -> Any:
        count = stretch_in(items).count
        hooks.fail_where(np.less(count, least), statistics.StatisticsError(words))
        return compute(call, items, *more)

    return answered


def _float(x: Any) -> Any:
    return python_number(as_value(x), float)


def _mean(call: Any, items: list[Any]) -> Any:
    return _float(np.mean(numbers(items)))


def _spread(lost: int, finish: Callable[[Any], Any]) -> Callable[..., Any]:
    def compute(call: Any, items: list[Any], center: Any = None) -> Any:
        row = numbers(items)
        moved = row - (np.mean(row) if center is None else center)
        return _float(finish(np.sum(moved * moved) / (stretch_in(items).count - lost)))

    return compute


def _middle(low: bool, high: bool) -> Callable[..., Any]:
    """The lower or the higher one of the two elements in the middle, or their mean."""

    def compute(call: Any, items: list[Any]) -> Any:
        numbers(items)
        (s,) = sorted_(call, items)
        last = s.room - 1
        places = [np.maximum(s.count - 1, 0) // 2] * low + [s.count // 2] * high
        found = [s.at(with_bounds(python_number(as_value(p), int), (0, last))) for p in places]
        return found[0] if len(found) == 1 else (found[0] + found[1]) / 2

    return compute


STATISTICS: dict[Any, Callable[..., Any]] = {
    original: _statistic(original, least, compute)
    for original, least, compute in (
        (statistics.mean, 1, _mean),
        (statistics.fmean, 1, _mean),
        (statistics.median, 1, _middle(low=True, high=True)),
        (statistics.median_low, 1, _middle(low=True, high=False)),
        (statistics.median_high, 1, _middle(low=False, high=True)),
        (statistics.variance, 2, _spread(1, lambda v: v)),
        (statistics.pvariance, 1, _spread(0, lambda v: v)),
        (statistics.stdev, 2, _spread(1, np.sqrt)),
        (statistics.pstdev, 1, _spread(0, np.sqrt)),
    )
}
