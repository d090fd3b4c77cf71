"""Mathematical functions that are formulas of others: rounding, differences, statistics."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from autojit.errors import DtypeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.ir.ops.arithmetic import make_complex
from autojit.protocols.lifting import (
    as_tracer,
    as_value,
    dtype_of,
    shape_of,
    tracer,
)
from autojit.protocols.registry import implements
from autojit.tracing.source import user_source

from .checks import ensured
from .manipulation import moveaxis
from .reductions import safe_sqrt, squared

_MISSING = np._NoValue

# -- rounding and parts -------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    decimals = index(decimals)
    a = as_tracer(a)
    if a.dtype.kind == "c":
        parts = [round_(part, decimals) for part in (np.real(a), np.imag(a))]
        return tracer(make_complex(*map(as_value, parts)))
    if a.dtype.kind in "iu":
        if decimals >= 0:
            return np.copy(a)
        return round_(a.astype(np.float64), decimals).astype(a.dtype)  # through floats, as in NumPy
    if not decimals or a.dtype.kind == "b":
        return np.rint(a)
    scale = a.dtype.type(_power_of_ten(abs(decimals)))
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def _power_of_ten(n: int) -> float:
    """10**n, rounded as in NumPy, which multiplies from 1e9 on."""
    result = 10.0 ** min(n, 9)
    for _ in range(9, min(n, 400)):
        result *= 10.0
    return result


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(x)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    # np.imag of a real number is Python's 0, so that the real part determines the dtype.
    result = np.arctan2(np.imag(z), np.real(z)) if kind_of(dtype_of(z)) == "c" else np.arctan2(0, z)
    return result * (180 / np.pi) if deg else result


# -- without NaN --------------------------------------------------------------


def without_nan(a: Any, fill: Any) -> Any:
    """The array with ``fill`` in place of NaN."""
    if kind_of(dtype_of(a)) not in "fc":
        return a
    return np.where(np.isnan(a), dtype_of(a).type(fill), a)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _MISSING) -> Any:
    return _nan_position(np.argmax, a, axis, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _MISSING) -> Any:
    return _nan_position(np.argmin, a, axis, keepdims)


def _nan_position(find: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """Find a position; the compiled call raises if a row is all NaN, as NumPy does."""
    a, wide = as_tracer(a), keepdims is not _MISSING and bool(keepdims)
    worst = -np.inf if find is np.argmax else np.inf
    found = find(without_nan(a, worst), axis, keepdims=wide)
    if kind_of(a.dtype) not in "fc":
        return found
    some = np.any(~np.isnan(a), axis, keepdims=wide)
    return ensured(found, some, ValueError("All-NaN slice encountered"))


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
    if kind_of(dtype_of(a)) not in "fc" or kwargs.get("initial", _MISSING) is not _MISSING:
        return result
    nothing = np.all(np.isnan(a), axis, keepdims=kwargs.get("keepdims", _MISSING))
    return np.where(nothing, dtype_of(a).type(np.nan), result)


def _sum_and_count(
    a: Any, axis: Any, dtype: Any, keepdims: Any, where: Any
) -> tuple[Any, Any]:  # fmt: skip
    """The sum and the number of the elements that are not NaN."""
    known = ~np.isnan(a)
    total = np.sum(without_nan(a, 0), axis, dtype, keepdims=keepdims, where=where)
    return total, np.sum(known, axis, np.int64, keepdims=keepdims, where=where)


def _check_inexact(name: str, dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        words = (
            f"{name}: dtype= must be a floating-point dtype for an array of floats, not "
            f"{dtype!r:.40}"
        )
        raise DtypeError(with_place(words, user_source()))


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _MISSING, *,
    where: Any = _MISSING,
) -> Any:  # fmt: skip
    if kind_of(dtype_of(a)) not in "fc":
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
    ddof = ddof if correction is _MISSING else correction
    if kind_of(dtype_of(a)) not in "fc":
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
    if kind_of(dtype_of(a)) not in "fc":
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
        f = as_tracer(f).astype(np.float64)  # differences of integers may overflow
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"np.gradient: {len(spacings)} spacings for {len(axes)} axes")
    pairs = zip(axes, spacings, strict=True)
    results = tuple(_gradient_along(f, h, k, edge_order) for k, h in pairs)
    return results[0] if len(results) == 1 else results


def _gradient_along(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    f = np.moveaxis(f, axis, -1)
    if shape_of(f)[-1] < edge_order + 1:
        words = f"np.gradient needs at least {edge_order + 1} elements along axis {axis}"
        raise ValueError(words)
    if np.ndim(h):
        result = _uneven_gradient(f, np.diff(h), edge_order)
    else:
        inside = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
        result = _with_ends(f, h, h, inside, edge_order)
    return np.moveaxis(result, -1, axis)


def _uneven_gradient(f: Any, steps: Any, edge_order: int) -> Any:
    """Second-order differences between unevenly spaced points."""
    if dtype_of(steps).kind in "iu":
        steps = steps.astype(np.float64)
    low, high = steps[:-1], steps[1:]
    a, c = -high / (low * (low + high)), low / (high * (low + high))
    b = (high - low) / (low * high)
    inside = a * f[..., :-2] + b * f[..., 1:-1] + c * f[..., 2:]
    if edge_order == 1:
        return _with_ends(f, steps[0], steps[-1], inside, 1)
    (d1, d2), (e1, e2) = (steps[0], steps[1]), (steps[-2], steps[-1])
    first = _edge(f[..., 0], f[..., 1], f[..., 2], d1, d2)
    last = -_edge(f[..., -1], f[..., -2], f[..., -3], e2, e1)
    return np.concatenate([first[..., None], inside, last[..., None]], axis=-1)


def _edge(f0: Any, f1: Any, f2: Any, d1: Any, d2: Any) -> Any:
    """The derivative at the first of three points, whose distances are d1 and d2."""
    a = -(2.0 * d1 + d2) / (d1 * (d1 + d2))
    return a * f0 + (d1 + d2) / (d1 * d2) * f1 - d1 / (d2 * (d1 + d2)) * f2


def _with_ends(f: Any, first_step: Any, last_step: Any, inside: Any, edge_order: int) -> Any:
    if edge_order == 1:
        first, last = (f[..., 1] - f[..., 0]) / first_step, (f[..., -1] - f[..., -2]) / last_step
    else:
        first = (-1.5 * f[..., 0] + 2.0 * f[..., 1] - 0.5 * f[..., 2]) / first_step
        last = (0.5 * f[..., -3] - 2.0 * f[..., -2] + 1.5 * f[..., -1]) / last_step
    return np.concatenate([first[..., None], inside, last[..., None]], axis=-1)


def conjugate(x: Any) -> Any:
    """The complex conjugate in the operand's dtype (NumPy's changes the dtype of booleans)."""
    return np.conj(x) if dtype_of(x).kind == "c" else x


# -- statistics ---------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    given = [as_tracer(a) for a in (m, y) if a is not None]
    kind = np.dtype(dtype) if dtype else np.result_type(*(a.dtype for a in given), np.float64)
    rows = [_as_rows(a.astype(kind), rowvar) for a in given]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        centred = x - np.mean(x, axis=1, keepdims=True)
        return np.squeeze(centred @ np.conj(centred.T) / max(x.shape[1] - ddof, 0))
    return _weighted_covariance(x, ddof, fweights, aweights)


def _weighted_covariance(x: Any, ddof: int, frequencies: Any, importance: Any) -> Any:
    given = [as_tracer(w) for w in (frequencies, importance) if w is not None]
    weights = given[0] if len(given) == 1 else given[0] * given[1]
    if weights.shape != x.shape[1:]:
        raise ValueError("np.cov: fweights and aweights have one entry for each observation")
    total = np.sum(weights)
    squares = total if importance is None else np.sum(weights * as_tracer(importance)) / total
    count = total - ddof * (1 if importance is None else squares)
    centred = x - np.sum(x * weights, axis=1, keepdims=True) / total
    return np.squeeze(centred @ np.conj((centred * weights).T) / np.maximum(count, 0))


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
