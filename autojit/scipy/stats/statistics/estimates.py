"""Estimates of spread, direction, entropy and distance, with SciPy's names and arguments.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda u: st.wasserstein_distance(u, [0.0, 1.0]))(np.array([0.5, 3.0]))
array([0.5, 0.5])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import known_integer
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .descriptive import count, floats, propagates

# -- statistics within limits ----------------------------------------------------------------


def _kept(a: Any, limits: Any, inclusive: Any) -> tuple[Any, Any]:
    """The elements, 0 outside the limits, and a mask, which is 1 within the limits, else 0."""
    a = floats(a)
    if limits is None:
        return a, np.ones(np.shape(a))
    (low, high), (with_low, with_high) = limits, inclusive
    inside = np.True_
    if low is not None:
        inside = inside & (a >= low if with_low else a > low)
    if high is not None:
        inside = inside & (a <= high if with_high else a < high)
    inside = inside | (a != a)  # keep NaN, so that the results are NaN
    return np.where(inside, a, 0.0), np.where(inside, 1.0, 0.0)


def _spread(a: Any, limits: Any, inclusive: Any, axis: Any, ddof: Any) -> tuple[Any, Any]:
    """``(variance, number of elements)`` within the limits."""
    a, kept = _kept(a, limits, inclusive)
    n = np.sum(kept, axis=axis, keepdims=True)
    off = kept * (a - np.sum(a, axis=axis, keepdims=True) / n)
    n = np.sum(kept, axis=axis)
    return np.sum(off**2, axis=axis) / (n - ddof), n


@answers("scipy.stats.tmean", tuples=("limits",))
def tmean(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("tmean", nan_policy)
    a, kept = _kept(a, limits, inclusive)
    return np.sum(a, axis=axis, keepdims=keepdims) / np.sum(kept, axis=axis, keepdims=keepdims)


@answers("scipy.stats.tvar", tuples=("limits",))
def tvar(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1
) -> Any:
    return _spread(a, limits, inclusive, axis, ddof)[0]


@answers("scipy.stats.tstd", tuples=("limits",))
def tstd(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1
) -> Any:
    return np.sqrt(_spread(a, limits, inclusive, axis, ddof)[0])


@answers("scipy.stats.tsem", tuples=("limits",))
def tsem(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1
) -> Any:
    variance, n = _spread(a, limits, inclusive, axis, ddof)
    return np.sqrt(variance / n)


def _limited(name: str, limit: Any, nan_policy: str) -> None:
    propagates(name, nan_policy)
    if limit is not None:
        uncovered("stats", f"{name} with a limit")


@answers("scipy.stats.tmin")
def tmin(
    a: Any, lowerlimit: Any = None, axis: Any = 0, inclusive: bool = True,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    _limited("tmin", lowerlimit, nan_policy)
    return np.min(floats(a), axis=axis, keepdims=keepdims)


@answers("scipy.stats.tmax")
def tmax(
    a: Any, upperlimit: Any = None, axis: Any = 0, inclusive: bool = True,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    _limited("tmax", upperlimit, nan_policy)
    return np.max(floats(a), axis=axis, keepdims=keepdims)


@answers("scipy.stats.gstd")
def gstd(
    a: Any, axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False, nan_policy: str = "propagate"
) -> Any:
    propagates("gstd", nan_policy)
    return np.exp(np.std(np.log(floats(a)), axis=axis, ddof=ddof, keepdims=keepdims))


# -- k-statistics ----------------------------------------------------------------------------


@answers("scipy.stats.kstat")
def kstat(
    data: Any, n: int = 2, *, axis: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The unbiased estimate of the n-th cumulant (Fisher), from central moments."""
    propagates("kstat", nan_policy)
    order = known_integer(n, "n", "kstat")
    if order not in (1, 2, 3, 4):
        raise ValueError("k-statistics only supported for 1<=n<=4")
    x = floats(data)
    size = float(count(x, axis))
    mean = np.mean(x, axis=axis, keepdims=True)
    if order == 1:
        return np.mean(x, axis=axis, keepdims=keepdims)
    second, high = (np.sum((x - mean) ** k, axis=axis, keepdims=keepdims) for k in (2, order))
    if order == 2:
        return second / (size - 1)
    if order == 3:
        return high * size / ((size - 1) * (size - 2))
    return (size * (size + 1) * high / (size - 1) - 3 * second**2) / ((size - 2) * (size - 3))


@answers("scipy.stats.kstatvar")
def kstatvar(
    data: Any, n: int = 2, *, axis: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """An unbiased estimate of the variance of the n-th k-statistic."""
    order, size = known_integer(n, "n", "kstatvar"), float(count(data, axis))
    if order not in (1, 2):
        raise ValueError("Only n=1 or n=2 supported.")
    more = {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims}
    x = floats(data)
    second = kstat(x, 2, **more)
    if order == 1:
        return second / size
    return (2 * size * second**2 + (size - 1) * kstat(x, 4, **more)) / (size * (size + 1))


# -- directions ------------------------------------------------------------------------------


def _resultant(samples: Any, period: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    angles = floats(samples) * (2.0 * np.pi / period)
    return (np.mean(np.cos(angles), axis=axis, keepdims=keepdims),
            np.mean(np.sin(angles), axis=axis, keepdims=keepdims))  # fmt: skip


def _length(samples: Any, period: Any, axis: Any, keepdims: bool) -> Any:
    x, y = _resultant(samples, period, axis, keepdims)
    return np.minimum(np.sqrt(x**2 + y**2), 1.0)


@answers("scipy.stats.circmean")
def circmean(
    samples: Any, high: Any = 2 * np.pi, low: Any = 0, axis: Any = None,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("circmean", nan_policy)
    period = high - low
    x, y = _resultant(samples, period, axis, keepdims)
    return (np.arctan2(y, x) * (period / (2.0 * np.pi)) - low) % period + low


@answers("scipy.stats.circvar")
def circvar(
    samples: Any, high: Any = 2 * np.pi, low: Any = 0, axis: Any = None,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("circvar", nan_policy)
    return 1.0 - _length(samples, high - low, axis, keepdims)


@answers("scipy.stats.circstd")
def circstd(
    samples: Any, high: Any = 2 * np.pi, low: Any = 0, axis: Any = None,
    nan_policy: str = "propagate", *, normalize: bool = False, keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("circstd", nan_policy)
    found = np.sqrt(-2 * np.log(_length(samples, high - low, axis, keepdims)))
    return found if normalize else found * ((high - low) / (2.0 * np.pi))


# -- entropies and distances -----------------------------------------------------------------


@answers("scipy.stats.differential_entropy")
def differential_entropy(
    values: Any, *, window_length: Any = None, base: Any = None, axis: Any = 0,
    method: str = "auto", nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The estimate of the entropy from spacings, by one of four methods.

    They are by Vasicek (J. R. Stat. Soc. B 38 (1976), 54-59), van Es, Ebrahimi and Correa.
    """
    propagates("differential_entropy", nan_policy)
    x = floats(values)
    if axis is None:
        x, axis = np.ravel(x), 0
    rows = np.sort(np.moveaxis(x, axis, -1), axis=-1)
    n = rows.shape[-1]
    m = int(np.floor(np.sqrt(n) + 0.5)) if window_length is None else (
        known_integer(window_length, "window_length", "differential_entropy"))  # fmt: skip
    if not 2 <= 2 * m < n:
        raise ValueError(f"Window length ({m}) must be positive and less than half the sample "
                         f"size ({n}).")  # fmt: skip
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    found = _ENTROPIES[method.lower()](rows, n, m)
    found = found if base is None else found / np.log(base)
    return np.expand_dims(found, axis) if keepdims else found


def _padded(rows: Any, m: int) -> Any:
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(m, m)], mode="edge")


def _spacings(rows: Any, m: int) -> Any:
    wide = _padded(rows, m)
    return wide[..., 2 * m :] - wide[..., : -2 * m]


def _vasicek(rows: Any, n: int, m: int) -> Any:
    return np.mean(np.log(n / (2 * m) * _spacings(rows, m)), axis=-1)


def _van_es(rows: Any, n: int, m: int) -> Any:
    mean = np.mean(np.log((n + 1) / m * (rows[..., m:] - rows[..., :-m])), axis=-1)
    return mean + np.sum(1 / np.arange(m, n + 1)) + np.log(m) - np.log(n + 1)


def _ebrahimi(rows: Any, n: int, m: int) -> Any:
    near = np.minimum(np.arange(n), np.arange(n)[::-1])
    share = np.where(near < m, 1 + near / m, 2.0)
    return np.mean(np.log(n * _spacings(rows, m) / (share * m)), axis=-1)


def _correa(rows: Any, n: int, m: int) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(_padded(rows, m), 2 * m + 1, axis=-1)
    off = windows - np.mean(windows, axis=-1, keepdims=True)
    slopes = np.sum(off * np.arange(-m, m + 1), axis=-1) / (n * np.sum(off**2, axis=-1))
    return -np.mean(np.log(slopes), axis=-1)


_ENTROPIES = {"vasicek": _vasicek, "van es": _van_es, "ebrahimi": _ebrahimi, "correa": _correa}


def _between(u: Any, v: Any, u_weights: Any, v_weights: Any) -> tuple[Any, Any]:
    """The differences of the two distribution functions, and the widths of the steps."""
    u, v = np.ravel(floats(u)), np.ravel(floats(v))
    of_u, of_v = (
        np.ones(x.shape[0]) if w is None else floats(w) for x, w in ((u, u_weights), (v, v_weights))
    )
    both = np.concatenate([u, v])
    order = np.argsort(both)
    shares = np.concatenate([of_u / np.sum(of_u), -of_v / np.sum(of_v)])
    return np.cumsum(np.take(floats(shares), order))[:-1], np.diff(np.take(both, order))


@answers("scipy.stats.wasserstein_distance")
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """The area between two distribution functions."""
    off, widths = _between(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(off) * widths)


@answers("scipy.stats.energy_distance")
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """The root of twice the integral of the squared difference of two distribution functions."""
    off, widths = _between(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2 * np.sum(off**2 * widths))
