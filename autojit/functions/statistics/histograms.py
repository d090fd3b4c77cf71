"""Counts and sums in bins.

The bin of a number has no derivative. Sums of weights have derivatives with respect to the
weights, and edges computed from the smallest and largest number with respect to these numbers.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.functions.assignment import add_at
from autojit.functions.checks import ensured
from autojit.functions.sorting import searchsorted
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.protocols.lifting import as_tracer, result_dtype, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import fresh, with_values
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

# -- by label -------------------------------------------------------------------------


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Traced labels must be less than ``minlength``, which is the length of the result."""
    x = with_values(x)
    if not is_tracer(x):
        return _count_known(np.asarray(x), weights, minlength)
    if not minlength:
        raise UncoveredFunctionError(
            with_place(
                "np.bincount of traced labels: the length of the result depends on the largest "
                "label, which is not known while the function is traced. Pass the length:\n"
                "    np.bincount(x, weights, minlength=n)    # all labels are below n",
                user_source(),
            )
        )
    words = f"np.bincount of traced labels: one is negative, or not below minlength={minlength}"
    labels = ensured(x, (x >= 0) & (x < minlength), ValueError(words))
    return _sums(labels, weights, minlength, np.dtype(np.float64))


def _count_known(labels: np.ndarray, weights: Any, minlength: int) -> Any:
    if labels.size and labels.min() < 0:
        raise ValueError("np.bincount: x must have no negative elements")
    if weights is None:
        return fresh(np.bincount(labels, minlength=minlength))
    length = max(int(labels.max()) + 1 if labels.size else 0, minlength)
    return _sums(labels, weights, length, np.dtype(np.float64))


def _sums(places: Any, weights: Any, length: int, dtype: np.dtype) -> Any:
    """The number of occurrences of each place, or the sum of its weights."""
    if weights is None:
        weights, dtype = np.ones(shape_of(places), np.int64), np.dtype(np.int64)
    sums = tracer(full(0, Type(dtype, (length,))))
    add_at(sums, places, as_tracer(weights).astype(dtype))
    return sums


# -- by edges -------------------------------------------------------------------------


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = with_values(bins)
    rising = True
    if is_tracer(edges):
        edges = _rising(
            edges, "np.digitize: traced bins must increase; pass bins[::-1] if they decrease"
        )
    else:
        steps = np.diff(np.asarray(edges))
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise ValueError("np.digitize: bins must rise or fall monotonically")
        rising = bool(np.all(steps >= 0))
    side = "left" if right else "right"
    if rising:
        return searchsorted(edges, x, side)
    return len(edges) - searchsorted(np.asarray(edges)[::-1], x, side)


def _edges(name: str, x: Any, bins: Any, range: Any) -> Any:
    """The edges of the bins, given or evenly spaced."""
    if isinstance(bins, str):
        raise UncoveredFunctionError(
            with_place(
                f"{name} with bins={bins!r}: how many bins there are depends on the values. Give "
                f"the number, or the edges:\n    {name}(x, bins=10, range=(0.0, 1.0))",
                user_source(),
            )
        )
    if shape_of(bins):
        return _rising(bins, f"{name}: bins must increase monotonically, when an array")
    if not hasattr(bins, "__index__"):
        raise TypeError(f"{name}: bins must be an integer, a string, or an array; got {bins!r}")
    count = index(bins)
    if count < 1:
        raise ValueError(f"{name}: bins must be positive; got {count}")
    return np.linspace(*_span(name, x, range), count + 1)


def _span(name: str, x: Any, range: Any) -> tuple[Any, Any]:
    """The first and the last edge of evenly spaced bins."""
    return _ends(x) if range is None else _given(name, *range)


def _in_dtype_of(x: Any, range: Any, edges: Any) -> Any:
    """Evenly spaced edges in the dtype of the numbers and of the range, a floating-point one."""
    dtype = result_dtype(x, *(() if range is None else range))
    edges = edges.astype(dtype if dtype.kind in "fc" else np.float64)
    if not is_tracer(edges) and np.any(edges[:-1] >= edges[1:]):
        raise ValueError(
            f"Too many bins for data range. Cannot create {len(edges) - 1} finite-sized bins."
        )
    return edges


def _rising(edges: Any, words: str) -> Any:
    """The edges; raise ValueError if an edge lies below the one before."""
    if is_tracer(edges):
        return ensured(edges, np.all(edges[1:] >= edges[:-1]), ValueError(words))
    array = np.asarray(edges)
    if np.any(array[1:] < array[:-1]):
        raise ValueError(words)
    return array


def _given(name: str, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a range, moved apart if they are equal."""
    if is_tracer(low) or is_tracer(high):
        words = f"{name}: max must be larger than min in range parameter"
        low = ensured(as_tracer(low), low <= high, ValueError(words))
        apart = np.where(low == high, 0.5, 0.0)
        return low - apart, high + apart
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{name}: the range of [{low}, {high}] is not finite")
    if low > high:
        raise ValueError(f"{name}: max must be larger than min in range parameter")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _ends(x: Any) -> tuple[Any, Any]:
    """The smallest and the largest number, moved apart if they are equal."""
    if not math.prod(shape_of(x)):
        return 0.0, 1.0
    x = x.astype(np.result_type(x.dtype, np.float64)) if x.dtype.kind in "biu" else x
    low, high = np.min(x), np.max(x)
    apart = np.where(low == high, x.dtype.type(0.5), x.dtype.type(0))
    return low - apart, high + apart


def _places(x: Any, edges: Any) -> Any:
    """The bin of each number.

    Bins are open at the right, except the last one. Numbers outside all bins get one more bin at
    the end.
    """
    count = shape_of(edges)[0] - 1
    found = searchsorted(edges, x, "right") - 1
    found = np.where(x == edges[-1], count - 1, found)
    return np.where((found < 0) | (found >= count) | np.isnan(x), count, found)


def _even_places(x: Any, edges: Any, low: Any, high: Any) -> Any:
    """The bin of each number, if the edges are evenly spaced from ``low`` to ``high``.

    The quotient may miss the bin by one at an edge, so the number is compared with the edges, as
    NumPy does. An index is cheaper than a search.
    """
    edges, count = as_tracer(edges), shape_of(edges)[0] - 1
    kept = (x >= low) & (x <= high)
    x = x.astype(edges.dtype)
    share = np.where(kept, (x - low) / (high - low) * count, 0)
    found = np.minimum(share.astype(np.int64), count - 1)
    found = found - (x < edges[found])
    found = found + ((x >= edges[found + 1]) & (found != count - 1))
    return np.where(kept, found, count)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    x = np.ravel(as_tracer(a))
    edges = _edges("np.histogram_bin_edges", x, bins, range)
    return edges if shape_of(bins) else _in_dtype_of(x, range, edges)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x = np.ravel(as_tracer(a))
    edges = _edges("np.histogram", x, bins, range)
    count = shape_of(edges)[0] - 1
    if shape_of(bins):
        places = _places(x, edges)
    else:
        edges = _in_dtype_of(x, range, edges)
        places = _even_places(x, edges, *_span("np.histogram", x, range))
    if weights is not None:
        weights = np.ravel(as_tracer(weights))
    kind = np.dtype(np.int64) if weights is None else np.result_type(weights.dtype)
    sums = _sums(places, weights, count + 1, kind)[:count]
    if density:
        widths = np.diff(edges).astype(np.float64)
        sums = sums / widths / np.sum(sums)
    return sums, edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    is_one = not isinstance(bins, (list, tuple)) and not shape_of(bins)
    if not is_one and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    columns = _columns(sample)
    each = [bins] * len(columns) if not isinstance(bins, (list, tuple)) else list(bins)
    if len(each) != len(columns):
        raise ValueError("np.histogramdd: bins must have an entry for each dimension of the sample")
    spans = [None] * len(columns) if range is None else list(range)
    name = "np.histogramdd"
    edges = [_edges(name, x, b, r) for x, b, r in zip(columns, each, spans, strict=True)]
    shape = tuple(shape_of(e)[0] - 1 for e in edges)
    size = math.prod(shape)
    place: Any = 0
    lost: Any = False
    for x, e, count in zip(columns, edges, shape, strict=True):
        found = _places(x, e)
        place, lost = place * count + np.minimum(found, count - 1), lost | (found == count)
    place = np.where(lost, size, place)
    ones = np.ones(shape_of(place))
    weights = ones if weights is None else np.ravel(as_tracer(weights))
    counts = _sums(place, weights, size + 1, np.dtype(np.float64))[:size].reshape(shape)
    if density:
        counts = _per_volume(counts, edges)
    return counts, tuple(edges)


def _columns(sample: Any) -> list[Any]:
    if isinstance(sample, (list, tuple)):
        return [np.ravel(as_tracer(x)) for x in sample]
    rows = np.atleast_1d(as_tracer(sample))
    return [rows] if rows.ndim == 1 else list(np.moveaxis(rows, 1, 0))


def _per_volume(counts: Any, edges: list[Any]) -> Any:
    total = np.sum(counts)
    for axis, e in enumerate(edges):
        extents = [-1 if i == axis else 1 for i in range(len(edges))]
        counts = counts / np.reshape(np.diff(e), extents)
    return counts / total
