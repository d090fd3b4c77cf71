"""Sorted values, and what follows from an order: medians, quantiles, places in tables.

The order itself has no derivative; sorted values are the elements at those places, so a gradient
goes back to where each of them came from.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.ir.linalg import order as ordering
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import implements, reject, uncovered
from autojit.tracing.created_arrays import fresh, with_values
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer

from .assignment import add_at, setitem
from .indexing import take_along_axis
from .manipulation import along_one_axis, moveaxis
from .reductions import check_ordered


def _places(name: str, a: Any, axis: int, kind: Any, order: Any, stable: Any) -> Tracer:
    """The permutation that sorts along an axis; a stable one is one of any other kind, too."""
    reject(name, order=order)
    check_ordered(name, dtype_of(a))
    if kind not in (None, "quicksort", "heapsort", "stable", "mergesort"):
        raise ValueError(f"{name}: kind= must be 'quicksort', 'heapsort' or 'stable'; got {kind!r}")
    if kind is not None and stable is not None:
        raise ValueError(f"{name}: kind= and stable= cannot both be given")
    if dtype_of(a) == np.dtype(np.bool_):
        a = a.astype(np.uint8)
    axis = shapes.normalize_axis(axis, len(shape_of(a)))
    last = moveaxis(as_tracer(a), axis, -1)
    places = ordering.argsort(as_value(last))
    return moveaxis(tracer(places), -1, axis)


@implements(np.argsort)
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    a, axis = along_one_axis(a, axis)
    return _places("np.argsort", a, axis, kind, order, stable)


@implements(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if axis is None:
        a, axis = np.ravel(a), -1
    return take_along_axis(a, _places("np.sort", a, axis, kind, order, stable), axis)


def sort_in_place(
    self: Tracer, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """``x.sort()``."""
    setitem(self, ..., sort(self, axis, kind, order, stable=stable))


# -- medians and quantiles ----------------------------------------------------


def _sorted_last(
    name: str, a: Any, axis: Any, keepdims: bool, *, floating: bool = True
) -> tuple[Tracer, tuple[int, ...]]:
    """The values sorted along one last axis, and the shape of a result."""
    check_ordered(name, dtype_of(a))
    shape = shape_of(a)
    axes = shapes.normalize_axes(axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    outer = tuple(shape[i] for i in kept)
    x = as_tracer(a)
    if floating and x.dtype.kind != "f":
        x = x.astype(np.float64)
    count = math.prod(shape[i] for i in axes)
    ordered: Any = np.sort(np.reshape(np.transpose(x, (*kept, *axes)), (*outer, count)))
    return ordered, shapes.keep_axes(shape, axes) if keepdims else outer


def _or_nan(ordered: Tracer, value: Any) -> Any:
    """NaN where there is one among the values: it was sorted to the end."""
    last = ordered[..., -1]
    return np.where(np.isnan(last), last, value)


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    reject("np.median", out=out)
    ordered, shape = _sorted_last("np.median", a, axis, keepdims)
    if not ordered.shape[-1]:
        return np.full(shape, np.nan, ordered.dtype)[()]
    half, odd = divmod(ordered.shape[-1], 2)
    middle = ordered[..., half]
    if not odd:
        middle = (ordered[..., half - 1] + middle) / 2
    return np.reshape(_or_nan(ordered, middle), shape)


@implements(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """By the default method, "linear"."""
    return _quantile("np.quantile", a, q, axis, keepdims, 1, method,
                     out=out, weights=weights, interpolation=interpolation)  # fmt: skip


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """By the default method, "linear"."""
    return _quantile("np.percentile", a, q, axis, keepdims, 100, method,
                     out=out, weights=weights, interpolation=interpolation)  # fmt: skip


def _quantile(
    name: str, a: Any, q: Any, axis: Any, keepdims: bool, whole: int, method: str, **refused: Any
) -> Any:
    reject(name, **refused)
    if method != "linear":
        raise uncovered(name, f" with method={method!r}")
    if not is_tracer(q) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= whole)):
        raise ValueError(f"{name}: q must be in the range [0, {whole}]; got {q}")
    # NumPy picks elements, and computes nothing, where q is an integer: 0 or 1.
    picks = whole == 1 and dtype_of(q).kind in "iu" and dtype_of(a).kind in "biu"
    ordered, shape = _sorted_last(name, as_tracer(a), axis, keepdims, floating=not picks)
    n = ordered.shape[-1]
    if not n:
        raise ValueError(f"{name} of no elements has no value: the reduced axes are empty")
    if picks:
        value: Any = ordered[..., np.ravel(q) * (n - 1)]
        return np.reshape(moveaxis(value, -1, 0), (*shape_of(q), *shape))
    share = as_tracer(q) / whole if is_tracer(q) else np.asarray(q) / whole
    place = np.ravel(share) * (n - 1)
    below = np.clip(np.floor(place), 0, n - 1).astype(np.int64)
    exact = ordered.dtype if isinstance(q, (int, float)) else np.result_type(share, ordered.dtype)
    fraction = (place - below).astype(exact)
    low, high = ordered[..., below], ordered[..., np.minimum(below + 1, n - 1)]
    step = high - low
    # From the nearer end, as NumPy does, so that the ends are exact.
    value = np.where(fraction < 0.5, low + step * fraction, high - step * (1 - fraction))
    value = np.where(np.isnan(ordered[..., -1:]), ordered[..., -1:], value)
    return np.reshape(moveaxis(value, -1, 0), (*shape_of(q), *shape))


# -- places in tables ---------------------------------------------------------


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """By bisection: so many reads of the table as its length has binary digits."""
    reject("np.searchsorted", sorter=sorter)
    if side not in ("left", "right"):
        raise ValueError(f"np.searchsorted: side must be 'left' or 'right'; got {side!r}")
    if len(shape_of(a)) != 1:
        raise ValueError(f"np.searchsorted: a must have one axis; got shape {shape_of(a)}")
    dtype = np.result_type(dtype_of(a), dtype_of(v))
    check_ordered("np.searchsorted", dtype)
    table, sought = as_tracer(a).astype(dtype), as_tracer(v).astype(dtype)
    (n,) = table.shape
    before = _less if side == "left" else _not_greater
    found: Any = np.zeros(sought.shape, np.int64)
    for digit in reversed(range(n.bit_length())):
        probe = found + (1 << digit)
        element = table[np.minimum(probe, n) - 1]
        found = np.where((probe <= n) & before(element, sought), probe, found)
    return found


def _less(a: Any, b: Any) -> Any:
    """In NumPy's order, which has NaN last."""
    return (a < b) | (np.isnan(b) & ~np.isnan(a)) if a.dtype.kind == "f" else a < b


def _not_greater(a: Any, b: Any) -> Any:
    return (a <= b) | np.isnan(b) if a.dtype.kind == "f" else a <= b


# -- sums by label ------------------------------------------------------------


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The labels x are known numbers: how many there are is the shape of the result."""
    x = with_values(x)
    if is_tracer(x):
        raise UncoveredFunctionError(
            with_place(
                "np.bincount of traced labels: the largest, which is not known while the function "
                "is traced, says how long the result is. Say it yourself:\n"
                "    sums = np.zeros(n)\n    np.add.at(sums, x, weights)        # or 1",
                user_source(),
            )
        )
    labels = np.asarray(x)
    length = max(int(labels.max()) + 1 if labels.size else 0, minlength)
    if labels.size and labels.min() < 0:
        raise ValueError("np.bincount: x must have no negative elements")
    if weights is None:
        return fresh(np.bincount(labels, minlength=minlength))
    sums = tracer(full(0.0, Type(np.dtype(np.float64), (length,))))
    add_at(sums, labels, as_tracer(weights).astype(np.float64))
    return sums
