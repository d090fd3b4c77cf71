"""Mathematical functions that are formulas of other ones: rounding, differences, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir import shapes

from ..errors import ShapeError, with_place
from ..tracing import user_source
from .lifting import as_tracer, dtype_of, shape_of
from .manipulation import moveaxis, sliding_window_view
from .registry import implements, reject, uncovered

_MISSING = np._NoValue

# -- rounding and parts -------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    reject("np.round", out=out)
    kind = dtype_of(a).kind
    if kind == "c":
        return round_(np.real(a), decimals) + 1j * round_(np.imag(a), decimals)
    if kind in "iu" and decimals >= 0:
        return np.copy(a)
    if not decimals:
        return np.rint(a)
    scale = dtype_of(a).type(10.0 ** abs(decimals))
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    reject("np.fix", out=out)
    return np.trunc(x)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    result = np.arctan2(np.imag(z), np.real(z))
    return result * (180 / np.pi) if deg else result


# -- without NaN --------------------------------------------------------------


def without_nan(a: Any, fill: Any) -> Any:
    """The array with a number for each NaN."""
    if dtype_of(a).kind not in "fc":
        return a
    return np.where(np.isnan(a), dtype_of(a).type(fill), a)


@implements(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    return np.sum(without_nan(a, 0), axis, dtype, **kwargs)


@implements(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    return np.prod(without_nan(a, 1), axis, dtype, **kwargs)


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return _nan_where_all_are(a, axis, np.max(without_nan(a, -np.inf), axis, out, **kwargs), kwargs)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
    result = np.min(without_nan(a, np.inf), axis, out, **kwargs)
    return _nan_where_all_are(a, axis, result, kwargs)


def _nan_where_all_are(a: Any, axis: Any, result: Any, kwargs: Any) -> Any:
    if dtype_of(a).kind not in "fc":
        return result
    nothing = np.all(np.isnan(a), axis, keepdims=kwargs.get("keepdims", _MISSING))
    return np.where(nothing, dtype_of(a).type(np.nan), result)


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    if dtype_of(a).kind not in "fc":
        return np.mean(a, axis, dtype, **kwargs)
    count = np.sum(~np.isnan(a), axis, dtype or dtype_of(a), **kwargs)
    return nansum(a, axis, dtype, **kwargs) / count


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **kwargs: Any
) -> Any:
    reject("np.nanvar", out=out)
    if dtype_of(a).kind not in "fc":
        return np.var(a, axis, dtype, None, ddof, **kwargs)
    known = ~np.isnan(a)
    centre = nanmean(a, axis, dtype, keepdims=True)
    deviation = np.where(known, a - centre, dtype_of(a).type(0))
    square = np.real(deviation) ** 2 + np.imag(deviation) ** 2
    count = np.sum(known, axis, square.dtype, **kwargs)
    return np.sum(square, axis, dtype, **kwargs) / (count - ddof)


@implements(np.nanstd)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    from .reductions import safe_sqrt

    return safe_sqrt(nanvar(a, axis, dtype, out, **kwargs))


# -- differences and integrals ------------------------------------------------


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    parts = [to_begin, np.diff(np.ravel(ary)), to_end]
    kind = dtype_of(ary)
    return np.concatenate([as_tracer(np.ravel(p)).astype(kind) for p in parts if p is not None])


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = moveaxis(y, axis, -1)
    width = dx if x is None else np.diff(x if np.ndim(x) == 1 else np.moveaxis(x, axis, -1))
    return np.sum(width * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = shapes.normalize_axes(axis, np.ndim(f))
    if dtype_of(f).kind in "iu":
        f = as_tracer(f).astype(np.float64)  # differences of integers may not fit their dtype
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if any(np.ndim(h) for h in spacings):
        raise uncovered("np.gradient", " with an array of positions")
    pairs = zip(axes, spacings, strict=True)
    results = tuple(_gradient_along(f, h, k, edge_order) for k, h in pairs)
    return results[0] if len(results) == 1 else results


def _gradient_along(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    f = np.moveaxis(f, axis, -1)
    inside = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
    if edge_order == 1:
        first, last = (f[..., 1] - f[..., 0]) / h, (f[..., -1] - f[..., -2]) / h
    else:
        first = (-1.5 * f[..., 0] + 2.0 * f[..., 1] - 0.5 * f[..., 2]) / h
        last = (0.5 * f[..., -3] - 2.0 * f[..., -2] + 1.5 * f[..., -1]) / h
    joined = np.concatenate([first[..., None], inside, last[..., None]], axis=-1)
    return np.moveaxis(joined, -1, axis)


#: Tables up to this length are searched by comparing with each entry.
_SHORT = 32


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    reject("np.interp", period=period)
    n = shape_of(xp)[0]
    x, places, heights = (as_tracer(a) for a in (x, xp, fp))
    x, places = x.astype(np.float64), places.astype(np.float64)
    heights = heights.astype(np.result_type(heights, np.float64))
    # The interval that x lies in: counting is as fast as searching, for short tables.
    if n <= _SHORT:
        below = np.sum(x[..., None] >= places, axis=-1)
    else:
        below = np.searchsorted(places, x, "right")
    i = np.clip(below - 1, 0, max(n - 2, 0))
    slope = (heights[i + 1] - heights[i]) / (places[i + 1] - places[i]) if n > 1 else 0.0
    inside = heights[i] + slope * (x - places[i])
    low = heights[0] if left is None else left
    high = heights[-1] if right is None else right
    return np.where(x < places[0], low, np.where(x > places[-1], high, inside))


# -- polynomials and filters --------------------------------------------------


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    result: Any = np.zeros(shape_of(x), dtype_of(x))
    for coefficient in p:
        result = result * x + coefficient
    return result


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    powers = range(shape_of(x)[0] if N is None else N)
    x = x.astype(np.promote_types(dtype_of(x), int))
    return np.stack([x**k for k in (powers if increasing else reversed(powers))], axis=1)


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = np.ravel(as_tracer(a)), np.ravel(as_tracer(v))
    if a.size < v.size:
        a, v = v, a
    m = v.size
    margins = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}
    if mode not in margins or not m:
        words = "both arrays must have elements" if not m else "use 'full', 'same' or 'valid'"
        raise ShapeError(with_place(f"np.convolve, mode {mode!r}: {words}", user_source()))
    return sliding_window_view(np.pad(a, margins[mode]), m) @ v[::-1]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = np.ravel(as_tracer(a)), np.ravel(as_tracer(v))
    if a.size < v.size:
        return np.conj(correlate(v, a, mode))[::-1]
    return convolve(a, np.conj(v)[::-1], mode)


# -- statistics ---------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    reject("np.cov", fweights=fweights, aweights=aweights, dtype=dtype)
    rows = [_as_rows(a, rowvar) for a in (m, y) if a is not None]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    ddof = (0 if bias else 1) if ddof is None else ddof
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.squeeze(centred @ np.conj(centred.T) / (x.shape[1] - ddof))


def _as_rows(a: Any, rowvar: bool) -> Any:
    a = np.atleast_2d(as_tracer(a))
    a = a.astype(np.result_type(a, np.float64))
    return a if rowvar or a.shape[0] == 1 else a.T


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    reject("np.corrcoef", dtype=dtype)
    covariance = cov(x, y, rowvar)
    if not np.ndim(covariance):
        return covariance / covariance
    scale = np.sqrt(np.real(np.diagonal(covariance)))
    return np.clip(covariance / scale[:, None] / scale, -1, 1)
