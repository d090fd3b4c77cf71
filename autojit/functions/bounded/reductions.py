"""Sums, products, extremes and statistics of the elements of bounded arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.functions.reductions import check_ordered, safe_sqrt, squared, summed_in
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Value
from autojit.ir.core.types import is_half
from autojit.ir.ops import arithmetic, move, reduce
from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.tracing.tracer import Tracer

from .alignment import elementwise, lengths
from .array import Bounded, Range, Ranges, masked, refuse
from .integers import as_int, at_most, checked

_MISSING = np._NoValue
_INT = np.dtype(np.int64)


def _is_given(x: Any) -> bool:
    return x is not _MISSING and x is not None


def _keeps(keepdims: Any) -> bool:
    return keepdims is not _MISSING and bool(keepdims)


def _rest(ranges: Ranges, axes: Sequence[int], keepdims: Any) -> Ranges:
    """The ranges of the axes that remain after a reduction."""
    if _keeps(keepdims):
        return tuple(None if axis in axes else found for axis, found in enumerate(ranges))
    return tuple(found for axis, found in enumerate(ranges) if axis not in axes)


def wrapped(value: Any, ranges: Ranges) -> Any:
    """A result as a bounded array if any of its axes is still bounded."""
    return Bounded(value, ranges) if any(ranges) else value


def _reduction(function: Any, identity: Any) -> Callable[..., Any]:
    def reduced(
        a: Bounded, axis: Any = None, *args: Any, keepdims: Any = _MISSING, **kwargs: Any
    ) -> Any:
        if any(map(_is_given, args[1:])) or _is_given(kwargs.get("where")):
            refuse(f"np.{function.__name__} with out=, where= or by position")
        if args:
            kwargs["dtype"] = args[0]
        axes = shapes.normalize_axes(axis, a.ndim)
        x = tracer(a.outside(identity))
        value = function(x, axes, keepdims=keepdims, **kwargs)
        return wrapped(value, _rest(a.ranges, axes, keepdims))

    return reduced


sum = _reduction(np.sum, 0)
prod = _reduction(np.prod, 1)
any_ = _reduction(np.any, False)
all_ = _reduction(np.all, True)


def count_nonzero(a: Bounded, axis: Any = None, *, keepdims: bool = False) -> Any:
    return sum(a != 0, axis, keepdims=keepdims)


def _not_empty(a: Bounded, axes: Sequence[int], failure: str) -> Ranges:
    """The ranges, with a check that each of the given axes has an element."""
    ranges = list(a.ranges)
    for axis in axes:
        found = ranges[axis]
        if found is not None and not at_most(1, found.length):
            holds = arithmetic.gt(as_int(found.length), 0)
            ranges[axis] = found.of_length(checked(found.length, holds, failure))
    return tuple(ranges)


def _extreme(function: Any, op: Any, name: str) -> Callable[..., Any]:
    def extreme(
        a: Bounded, axis: Any = None, out: Any = None, keepdims: Any = _MISSING,
        initial: Any = _MISSING, where: Any = _MISSING,
    ) -> Any:  # fmt: skip
        if _is_given(out) or _is_given(where):
            refuse(f"np.{name} with out= or where=")
        check_ordered(f"np.{name}", a.dtype)
        axes = shapes.normalize_axes(axis, a.ndim)
        ranges = a.ranges if _is_given(initial) else _not_empty(a, axes, f"empty_{name}imum")
        least = op.identity(a.dtype)
        x = masked(as_value(a.storage), ranges, least)
        value = function(tracer(x), axes, keepdims=keepdims, initial=initial)
        if kind_of(a.dtype) == "f" and not _is_given(initial):
            value = np.where(value == least, _shared(a, axes, least, keepdims), value)
        return wrapped(value, _rest(ranges, axes, keepdims))

    return extreme


def _shared(a: Bounded, axes: Sequence[int], least: float, keepdims: Any) -> Any:
    """The extreme if all elements equal the identity, which fills the places that do not count.

    Only the places that count share its derivative.
    """
    hit = (a == least).outside(False)
    x = as_value(a.storage)
    total = np.sum(
        tracer(arithmetic.select(hit, x, full(0, x.type))), tuple(axes), keepdims=keepdims
    )
    count = np.sum(tracer(hit), tuple(axes), x.dtype, keepdims=keepdims)
    return total / np.maximum(count, x.dtype.type(1))


max = _extreme(np.max, reduce.max_, "max")
min = _extreme(np.min, reduce.min_, "min")


def ptp(a: Bounded, axis: Any = None, out: Any = None, keepdims: Any = _MISSING) -> Any:
    return max(a, axis, out, keepdims) - min(a, axis, out, keepdims)


def _divided(total: Any, count: Any) -> Any:
    """A sum divided by a number of elements, in the dtype of the sum."""
    if not isinstance(count, Tracer):
        return total / total.dtype.type(count)
    real = np.finfo(total.dtype).dtype
    return total / tracer(to_dtype(as_int(count), real))


def mean(
    a: Bounded, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = _MISSING, *, where: Any = _MISSING,
) -> Any:  # fmt: skip
    if _is_given(out) or _is_given(where):
        refuse("np.mean with out= or where=")
    kind = np.dtype(dtype) if dtype is not None else summed_in(a.dtype)
    total = sum(a, axis, dtype=kind, keepdims=keepdims)
    made = _divided(total, lengths(a, shapes.normalize_axes(axis, a.ndim)))
    return made.astype(a.dtype) if dtype is None and is_half(a.dtype) else made


def var(
    a: Bounded, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0,
    keepdims: Any = _MISSING, **kwargs: Any,
) -> Any:  # fmt: skip
    if _is_given(out) or any(map(_is_given, kwargs.values())):
        refuse("np.var with out=, where=, mean= or correction=")
    apart = squared(a - mean(a, axis, dtype, keepdims=True))
    total = np.sum(apart, axis, keepdims=keepdims)
    count = lengths(a, shapes.normalize_axes(axis, a.ndim)) - ddof
    if isinstance(count, Tracer):
        count = np.maximum(count, 0)
    return _divided(total, count)


def std(a: Bounded, *args: Any, **kwargs: Any) -> Any:
    return safe_sqrt(var(a, *args, **kwargs))


def norm(x: Bounded, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm with 0 at the places that do not count, which changes none of these norms."""
    if ord not in (None, 2, 1, np.inf, "fro") or (ord not in (None, "fro") and x.ndim > 1):
        refuse(f"np.linalg.norm with ord={ord!r}")
    axes = shapes.normalize_axes(axis, x.ndim)
    value = np.linalg.norm(tracer(x.outside(0)), ord, axis, keepdims)
    return wrapped(value, _rest(x.ranges, axes, keepdims))


def _argument(name: str, extreme: Any, op: Any) -> Callable[..., Any]:
    def position(a: Bounded, axis: Any = None, out: Any = None, *, keepdims: Any = _MISSING) -> Any:
        if _is_given(out) or (axis is None and a.ndim > 1):
            refuse(f"np.{name} with out=, or over all axes of a matrix,")
        along = shapes.normalize_axis(0 if axis is None else axis, a.ndim)
        ranges = _not_empty(a, (along,), "empty_argument")
        a = Bounded(a.storage, ranges, closed=a.closed)
        best = extreme(a, along, keepdims=True, initial=op.identity(a.dtype))
        hit = elementwise(lambda x, m: (x == m) | (x != x), a, best)
        numbers, extent = _numbers(a, along)
        first = arithmetic.select(hit.outside(False), numbers, full(extent, numbers.type))
        result: Any = tracer(reduce.min_(first, axes=(along,)))
        if _keeps(keepdims):
            result = np.expand_dims(result, along)
        return wrapped(result, _rest(ranges, (along,), keepdims))

    return position


def _numbers(a: Bounded, axis: int) -> tuple[Value, int]:
    """The number of the element at each place of the storage, and a number larger than all."""
    shape = a.storage.shape
    found = a.ranges[axis] or Range(0, shape[axis], 1)
    along = found.numbers(shape[axis])
    return move.broadcast(along, shape=shape, dims=(axis,)), shape[axis]


argmax = _argument("argmax", max, reduce.max_)
argmin = _argument("argmin", min, reduce.min_)


def cumsum(a: Bounded, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The cumulative sum; places that do not count add 0."""
    if _is_given(out) or (axis is None and a.ndim > 1):
        refuse("np.cumsum with out=, or over all axes of a matrix,")
    along = shapes.normalize_axis(0 if axis is None else axis, a.ndim)
    x, found = tracer(a.outside(0)), a.ranges[along]
    value: Any
    if found is not None and found.step < 0:
        value = np.flip(np.cumsum(np.flip(x, along), along, dtype), along)
    else:
        value = np.cumsum(x, along, dtype)
    return Bounded(value, a.ranges)
