"""Mathematical functions that are formulas of other ones: rounding, differences, polynomials."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from autojit.errors import DtypeError, ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.ops.arithmetic import make_complex
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import implements, reject, uncovered
from autojit.tracing.source import user_source

from .manipulation import moveaxis, sliding_window_view
from .reductions import safe_sqrt, squared

_MISSING = np._NoValue

# -- rounding and parts -------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    reject("np.round", out=out)
    decimals = index(decimals)
    a = as_tracer(a)
    if a.dtype.kind == "c":
        parts = [round_(part, decimals) for part in (np.real(a), np.imag(a))]
        return tracer(make_complex(*map(as_value, parts)))
    if a.dtype.kind in "iu":
        if decimals >= 0:
            return np.copy(a)
        return round_(a.astype(np.float64), decimals).astype(a.dtype)  # through floats, as NumPy
    if not decimals or a.dtype.kind == "b":
        return np.rint(a)
    scale = a.dtype.type(_power_of_ten(abs(decimals)))
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _power_of_ten(n: int) -> float:
    """Rounded as NumPy's are, which multiplies from 1e9 on."""
    result = 10.0 ** min(n, 9)
    for _ in range(9, min(n, 400)):
        result *= 10.0
    return result


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
    if dtype_of(a).kind not in "fc" or kwargs.get("initial", _MISSING) is not _MISSING:
        return result
    nothing = np.all(np.isnan(a), axis, keepdims=kwargs.get("keepdims", _MISSING))
    return np.where(nothing, dtype_of(a).type(np.nan), result)


def _sum_and_count(
    a: Any, axis: Any, dtype: Any, keepdims: Any, where: Any
) -> tuple[Any, Any]:  # fmt: skip
    """The sum of what is not NaN, and how much that is."""
    known = ~np.isnan(a)
    total = np.sum(without_nan(a, 0), axis, dtype, keepdims=keepdims, where=where)
    return total, np.sum(known, axis, np.int64, keepdims=keepdims, where=where)


def _check_inexact(name: str, dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        words = f"{name}: dtype= of an array of floats must be one of floats, not {dtype!r:.40}"
        raise DtypeError(with_place(words, user_source()))


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _MISSING, *,
    where: Any = _MISSING,
) -> Any:  # fmt: skip
    reject("np.nanmean", out=out)
    if dtype_of(a).kind not in "fc":
        return np.mean(a, axis, dtype, keepdims=keepdims, where=where)
    _check_inexact("np.nanmean", dtype)
    total, count = _sum_and_count(a, axis, dtype, keepdims, where)
    return total / count.astype(total.dtype)


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = _MISSING, *, where: Any = _MISSING, mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Any:  # fmt: skip
    reject("np.nanvar", out=out)
    ddof = ddof if correction is _MISSING else correction
    if dtype_of(a).kind not in "fc":
        return np.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
    _check_inexact("np.nanvar", dtype)
    if mean is _MISSING:
        mean = nanmean(a, axis, dtype, keepdims=True, where=where)
    deviation = np.where(np.isnan(a), 0, (a - mean).astype(dtype_of(a)))
    total = np.sum(squared(deviation), axis, dtype, keepdims=keepdims, where=where)
    known = np.sum(~np.isnan(a), axis, np.int64, keepdims=keepdims, where=where)
    degrees = (known - ddof).astype(total.dtype)
    return np.where(known > ddof, total / degrees, total.dtype.type(np.nan))


@implements(np.nanstd)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any,
           **kwargs: Any) -> Any:  # fmt: skip
    if dtype_of(a).kind not in "fc":
        return np.std(a, axis, dtype, out, *args, **kwargs)
    return safe_sqrt(nanvar(a, axis, dtype, out, *args, **kwargs))


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


@implements(np.vander, known=("N",))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    powers = range(shape_of(x)[0] if N is None else N)
    x = x.astype(np.promote_types(dtype_of(x), int))
    if not powers:
        return x[:, None][:, :0]
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
        return conjugate(correlate(v, a, mode))[::-1]
    return convolve(a, conjugate(v)[::-1], mode)


def conjugate(x: Any) -> Any:
    """The conjugate, in the dtype of what is conjugated (of truth values, NumPy's has another)."""
    return np.conj(x) if dtype_of(x).kind == "c" else x


# -- statistics ---------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    reject("np.cov", fweights=fweights, aweights=aweights)
    given = [as_tracer(a) for a in (m, y) if a is not None]
    kind = np.dtype(dtype) if dtype else np.result_type(*(a.dtype for a in given), np.float64)
    rows = [_as_rows(a.astype(kind), rowvar) for a in given]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    ddof = (0 if bias else 1) if ddof is None else ddof
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.squeeze(centred @ np.conj(centred.T) / max(x.shape[1] - ddof, 0))


def _as_rows(a: Any, rowvar: bool) -> Any:
    a = np.atleast_2d(a)
    return a if rowvar or a.shape[0] == 1 else a.T


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not np.ndim(covariance):
        return covariance / covariance
    scale = np.sqrt(np.real(np.diagonal(covariance)))
    result = covariance / scale[:, None] / scale
    parts = [np.real(result), np.imag(result)] if result.dtype.kind == "c" else [result]
    parts = [np.clip(part, -1, 1) for part in parts]
    return parts[0] if len(parts) == 1 else tracer(make_complex(*map(as_value, parts)))
