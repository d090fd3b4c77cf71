"""Medians and quantiles, with or without NaN, by each of NumPy's methods.

A quantile is interpolated between two neighbours in sorted order. Its derivative goes to them,
with the weights of the interpolation.  If NaN is ignored, the other numbers are counted, and the
place in sorted order follows from the count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import DtypeError, with_place
from autojit.functions.indexing import take_along_axis
from autojit.functions.manipulation import moveaxis
from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.protocols.lifting import as_tracer, dtype_of, shape_of
from autojit.protocols.registry import implements, reject
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer

# -- medians --------------------------------------------------------------------


def _sorted_last(
    a: Any, axis: Any, keepdims: bool, *, floating: bool = True
) -> tuple[Tracer, tuple[int, ...]]:
    """The values sorted along one last axis, and the shape of the result."""
    shape = shape_of(a)
    axes = shapes.normalize_axes(axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    x = as_tracer(a)
    if floating and kind_of(x.dtype) not in "fc":
        x = x.astype(np.float64)
    ordered: Any = np.sort(_joined_last(x, kept, axes))
    return ordered, shapes.keep_axes(shape, axes) if keepdims else tuple(shape[i] for i in kept)


def _joined_last(x: Any, kept: list[int], axes: tuple[int, ...]) -> Any:
    """The array with some axes merged into a last one."""
    outer, count = [x.shape[i] for i in kept], math.prod(x.shape[i] for i in axes)
    return np.reshape(np.transpose(x, (*kept, *axes)), (*outer, count))


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    ordered, shape = _sorted_last(a, axis, keepdims)
    if not ordered.shape[-1]:
        return np.full(shape, np.nan, ordered.dtype)[()]
    half, odd = divmod(ordered.shape[-1], 2)
    middle = ordered[..., half]
    if not odd:
        middle = (ordered[..., half - 1] + middle) / 2
    last = ordered[..., -1]  # a NaN is sorted to the end
    return np.reshape(np.where(np.isnan(last), last, middle), shape)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    keepdims: Any = np._NoValue,
) -> Any:  # fmt: skip
    keepdims = keepdims is not np._NoValue and bool(keepdims)
    if kind_of(dtype_of(a)) not in "fc":
        return median(a, axis, keepdims=keepdims)
    ordered, shape = _sorted_last(a, axis, keepdims)
    if not ordered.shape[-1]:
        return np.full(shape, np.nan, ordered.dtype)[()]
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    upper = take_along_axis(ordered, np.minimum(count // 2, ordered.shape[-1] - 1), -1)
    lower = take_along_axis(ordered, np.maximum(count - 1, 0) // 2, -1)
    middle = np.where(count % 2 == 0, (lower + upper) / 2, lower)
    return np.reshape(np.where(count == 0, ordered[..., :1], middle), shape)


# -- methods ----------------------------------------------------------------------


class _Method(NamedTuple):
    """The place of a quantile among n sorted values (Hyndman and Fan, 1996).

    ``place(n, share)`` counts from 0.  ``weight(fraction, place)`` is the weight of the upper
    neighbour; it is None if the place is always an integer.
    """

    place: Callable[[Any, Any], Any]
    weight: Callable[[Any, Any], Any] | None = lambda fraction, place: fraction


def _between(low: float, high: float) -> _Method:
    return _Method(lambda n, q: n * q + (low + q * (1 - low - high)) - 1)


def _boundary(place: Any, stays: Any) -> Any:
    below = np.floor(place)
    return np.maximum(np.where(stays(place - below, below), below, below + 1), 0)


_METHODS = {
    "linear": _Method(lambda n, q: (n - 1) * q),
    "lower": _Method(lambda n, q: np.floor((n - 1) * q), None),
    "higher": _Method(lambda n, q: np.ceil((n - 1) * q), None),
    "nearest": _Method(lambda n, q: np.rint((n - 1) * q), None),
    "midpoint": _Method(
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda fraction, place: np.where(fraction == 0, 0.0, 0.5),
    ),
    "inverted_cdf": _Method(
        lambda n, q: _boundary(n * q - 1, lambda rest, below: rest == 0), None
    ),
    "averaged_inverted_cdf": _Method(
        lambda n, q: n * q - 1, lambda fraction, place: np.where(fraction == 0, 0.5, 1.0)
    ),
    "closest_observation": _Method(
        lambda n, q: _boundary(n * q - 1.5, lambda rest, below: (rest == 0) & (below % 2 == 1)),
        None,
    ),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
}  # fmt: skip


# -- quantiles ----------------------------------------------------------------------


class _Asked(NamedTuple):
    """The arguments of a call, except the array and the quantiles."""

    name: str
    whole: int
    axis: Any
    keepdims: bool
    method: str
    weights: Any
    skips_nan: bool


def _function(function: Any, whole: int, skips_nan: bool) -> Callable[..., Any]:
    name = f"np.{function.__name__}"

    def quantile(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: Any = False, *, weights: Any = None,
        interpolation: Any = None,
    ) -> Any:  # fmt: skip
        reject(name, interpolation=interpolation)
        kept = keepdims is not np._NoValue and bool(keepdims)
        return _quantile(a, q, _Asked(name, whole, axis, kept, method, weights, skips_nan))

    quantile.__name__ = function.__name__
    return implements(function)(quantile)


quantile = _function(np.quantile, 1, False)
percentile = _function(np.percentile, 100, False)
nanquantile = _function(np.nanquantile, 1, True)
nanpercentile = _function(np.nanpercentile, 100, True)


def _quantile(a: Any, q: Any, asked: _Asked) -> Any:
    method = _checked(a, q, asked)
    share = as_tracer(q) / asked.whole if is_tracer(q) else np.asarray(q) / asked.whole
    if asked.weights is not None:
        return _weighted(a, share, asked)
    # If no value is interpolated, the dtype stays. NumPy also keeps it for the integers 0 and 1.
    picks = method.weight is None or (
        asked.whole == 1 and dtype_of(q).kind in "iu" and dtype_of(a).kind in "biu"
        and asked.method == "linear"
    )  # fmt: skip
    ordered, shape = _sorted_last(a, asked.axis, asked.keepdims, floating=not picks)
    n = ordered.shape[-1]
    if asked.skips_nan and not ordered.size:
        floating = ordered.dtype if kind_of(ordered.dtype) == "f" else np.float64
        return np.full(shape, np.nan, floating)[()]
    if not n:
        words = f"{asked.name}: the reduced axes have no elements"
        raise ValueError(words)
    flat, has_nan = np.ravel(share), kind_of(ordered.dtype) == "f"
    count: Any = n
    if asked.skips_nan and has_nan:
        count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    place = method.place(count, flat)
    below = np.clip(np.floor(place), 0, np.maximum(count - 1, 0)).astype(np.int64)
    value = _read(ordered, below)
    if not picks and method.weight is not None:
        above = _read(ordered, np.clip(np.floor(place) + 1, 0, np.maximum(count - 1, 0)))
        weight = method.weight(place - np.floor(place), place)
        value = _interpolated(value, above, weight, _exact_dtype(q, share, ordered))
    if has_nan and not asked.skips_nan:
        value = np.where(np.isnan(ordered[..., -1:]), ordered[..., -1:], value)
    return np.reshape(moveaxis(value, -1, 0), (*shape_of(q), *shape))


def _checked(a: Any, q: Any, asked: _Asked) -> _Method:
    if dtype_of(a).kind == "c":
        words = f"{asked.name}: a must be an array of real numbers"
        raise DtypeError(with_place(words, user_source()))
    method = _METHODS.get(asked.method)
    if method is None:
        words = f"{asked.name}: method={asked.method!r} is none of {', '.join(_METHODS)}"
        raise ValueError(words)
    known = not is_tracer(q)
    if known and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= asked.whole)):
        raise ValueError(f"{asked.name}: q must be in the range [0, {asked.whole}]; got {q}")
    return method


def _exact_dtype(q: Any, share: Any, ordered: Any) -> np.dtype:
    if isinstance(q, (int, float)):
        return ordered.dtype
    return np.result_type(share.dtype, ordered.dtype)


def _read(ordered: Any, places: Any) -> Any:
    """The values at places that are the same for all rows, or differ between rows."""
    places = places.astype(np.int64)
    return ordered[..., places] if places.ndim == 1 else take_along_axis(ordered, places, -1)


def _interpolated(low: Any, high: Any, weight: Any, dtype: np.dtype) -> Any:
    """Interpolate from the nearer end, as NumPy does, so that the ends are exact."""
    weight, step = weight.astype(dtype), high - low
    return np.where(weight < 0.5, low + step * weight, high - step * (1 - weight))


def _weighted(a: Any, share: Any, asked: _Asked) -> Any:
    """The first value at which the cumulated weights reach the share, the only method."""
    if asked.method != "inverted_cdf":
        words = f'{asked.name} with weights= takes only method="inverted_cdf"'
        raise ValueError(words)
    a, shape = as_tracer(a), shape_of(a)
    axes = shapes.normalize_axes(asked.axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    x = _joined_last(a, kept, axes)
    weights = _joined_last(_weights_like(asked, shape, axes), kept, axes).astype(np.float64)
    if asked.skips_nan and kind_of(x.dtype) == "f":
        weights = np.where(np.isnan(x), 0.0, weights)
    order: Any = np.argsort(x)
    x = take_along_axis(x, order, -1)
    sums = np.cumsum(take_along_axis(as_tracer(weights), order, -1), axis=-1)
    reached = (sums / sums[..., -1:])[..., None, :]
    sought = np.ravel(share)[:, None]
    before = np.where(sought == 0, reached <= 0, reached < sought)
    places = np.minimum(np.sum(before, axis=-1), x.shape[-1] - 1)
    value = take_along_axis(x, places, -1)
    if not asked.skips_nan and kind_of(x.dtype) == "f":
        value = np.where(np.isnan(x[..., -1:]), x[..., -1:], value)
    outer = shapes.keep_axes(shape, axes) if asked.keepdims else tuple(shape[i] for i in kept)
    return np.reshape(moveaxis(value, -1, 0), (*np.shape(share), *outer))


def _weights_like(asked: _Asked, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    weights = asked.weights
    if shape_of(weights) != shape:
        extents = [n if i in axes else 1 for i, n in enumerate(shape)]
        weights = np.reshape(weights, extents)
    return np.broadcast_to(as_tracer(weights), shape)
