"""Statistics of samples, with SciPy's names, arguments and results.

SciPy's documentation has the formulas. For traced arrays, ``nan_policy`` must be "propagate".

>>> from autojit import grad
>>> from scipy.stats import gmean
>>> grad(gmean)(np.array([1.0, 4.0]))
array([1.  , 0.25])
"""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc

from autojit.ir.core.shapes import normalize_axes
from autojit.protocols.lifting import as_tracer
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers
from autojit.scipy.stats.families.intervals import expm1_quotient

#: The ``axis`` argument of SciPy's functions; None means all axes.
Axis = Any


def floats(a: Any) -> Any:
    """An array of floats; integers become doubles."""
    a = as_tracer(a)
    return a.astype(np.float64) if a.dtype.kind in "iub" else a


def propagates(name: str, nan_policy: str) -> None:
    if nan_policy != "propagate":
        uncovered("stats", f"{name} with nan_policy={nan_policy!r}")


def count(a: Any, axis: Axis) -> int:
    """The number of elements along an axis, or along all axes."""
    shape = np.shape(a)
    axes = normalize_axes(axis, len(shape))
    return int(np.prod([shape[i] for i in axes]))


def _centered(a: Any, axis: Axis) -> Any:
    return a - np.mean(a, axis=axis, keepdims=True)


# -- means -----------------------------------------------------------------------------------


def _average(a: Any, weights: Any, axis: Axis, keepdims: bool) -> Any:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    weights = floats(weights)
    np.broadcast_shapes(np.shape(a), np.shape(weights))  # raises an error, as in SciPy
    above = np.sum(a * weights, axis=axis, keepdims=keepdims)
    below = np.sum(np.broadcast_to(weights, np.shape(a)), axis=axis, keepdims=keepdims)
    return above / below


def _as(a: Any, dtype: Any) -> Any:
    return floats(a) if dtype is None else as_tracer(a).astype(dtype)


@answers("scipy.stats.gmean")
def gmean(
    a: Any, axis: Axis = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("gmean", nan_policy)
    return np.exp(_average(np.log(_as(a, dtype)), weights, axis, keepdims))


@answers("scipy.stats.hmean")
def hmean(
    a: Any, axis: Axis = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("hmean", nan_policy)
    return 1 / _average(1 / _as(a, dtype), weights, axis, keepdims)


@answers("scipy.stats.pmean")
def pmean(
    a: Any, p: Any, *, axis: Axis = 0, dtype: Any = None, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The power mean for a power other than 0; its limit at 0 is `gmean`."""
    propagates("pmean", nan_policy)
    return _average(_as(a, dtype) ** p, weights, axis, keepdims) ** (1 / p)


@answers("scipy.stats.trim_mean")
def trim_mean(
    a: Any, proportiontocut: float, axis: Axis = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("trim_mean", nan_policy)
    a = floats(a)
    if axis is None:
        a, axis, keepdims = np.ravel(a), 0, False
    size = np.shape(a)[axis]
    cut = int(proportiontocut * size)
    if cut >= size - cut:
        raise ValueError("Proportion too big.")
    kept = np.take(np.sort(a, axis=axis), np.arange(cut, size - cut), axis=axis)
    return np.mean(kept, axis=axis, keepdims=keepdims)


# -- moments ---------------------------------------------------------------------------------


@answers("scipy.stats.moment")
def moment(
    a: Any, order: int = 1, axis: Axis = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("moment", nan_policy)
    a = floats(a)
    deviations = _centered(a, axis) if center is None else a - center
    if np.ndim(order) != 0:
        uncovered("stats", "moment of several orders")
    result = np.mean(deviations ** index(order), axis=axis, keepdims=keepdims)
    return 0 * result if order == 1 and center is None else result


def _powers(a: Any, order: int, axis: Axis, keepdims: bool) -> tuple[Any, Any]:
    """The second central moment and the central moment of another order."""
    deviations = _centered(a, axis)
    second = np.mean(np.square(deviations), axis=axis, keepdims=keepdims)
    return second, np.mean(deviations**order, axis=axis, keepdims=keepdims)


@answers("scipy.stats.skew")
def skew(
    a: Any, axis: Axis = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("skew", nan_policy)
    a, n = floats(a), count(a, axis)
    second, third = _powers(a, 3, axis, keepdims)
    factor = 1.0 if bias or n < 3 else float(np.sqrt((n - 1) * n)) / (n - 2)
    return factor * third / second**1.5


@answers("scipy.stats.kurtosis")
def kurtosis(
    a: Any, axis: Axis = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("kurtosis", nan_policy)
    a, n = floats(a), count(a, axis)
    second, fourth = _powers(a, 4, axis, keepdims)
    result = fourth / np.square(second)
    if not bias and n > 3:
        result = ((n * n - 1) * result - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
    return result - 3 if fisher else result


@answers("scipy.stats.sem")
def sem(
    a: Any, axis: Axis = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    propagates("sem", nan_policy)
    a = floats(a)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(count(a, axis))


@answers("scipy.stats.variation")
def variation(
    a: Any, axis: Axis = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    propagates("variation", nan_policy)
    a = floats(a)
    means = np.mean(a, axis=axis, keepdims=keepdims)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / means


class DescribeResult(NamedTuple):
    """The result of ``describe``."""

    nobs: int
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@answers("scipy.stats.describe")
def describe(
    a: Any, axis: Axis = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate"
) -> DescribeResult:
    propagates("describe", nan_policy)
    a = floats(a)
    return DescribeResult(
        count(a, axis), (np.min(a, axis=axis), np.max(a, axis=axis)), np.mean(a, axis=axis),
        np.var(a, axis=axis, ddof=ddof), skew(a, axis, bias), kurtosis(a, axis, True, bias),
    )  # fmt: skip


# -- scores ----------------------------------------------------------------------------------


@answers("scipy.stats.zmap")
def zmap(
    scores: Any, compare: Any, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    propagates("zmap", nan_policy)
    compare = floats(compare)
    deviations = scores - np.mean(compare, axis=axis, keepdims=True)
    return deviations / np.std(compare, axis=axis, ddof=ddof, keepdims=True)


@answers("scipy.stats.zscore")
def zscore(a: Any, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zmap(a, a, axis, ddof, nan_policy)


@answers("scipy.stats.gzscore")
def gzscore(a: Any, *, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zscore(np.log(floats(a)), axis, ddof, nan_policy)


@answers("scipy.stats.rankdata")
def rankdata(
    a: Any, method: str = "average", *, axis: Axis = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of all elements, from 1 on; their derivative is 0 unless two are equal."""
    if method not in ("average", "min", "max") or axis is not None:
        uncovered("stats", f"rankdata with method={method!r}, axis={axis!r}")
    propagates("rankdata", nan_policy)
    flat = np.ravel(as_tracer(a))
    ordered = np.sort(flat)
    first = np.searchsorted(ordered, flat, side="left") + 1.0
    last = np.searchsorted(ordered, flat, side="right") * 1.0
    ranks = {"average": (first + last) / 2, "min": first, "max": last}[method]
    return np.where(np.any(flat != flat), np.nan, ranks)


# -- spread and information ------------------------------------------------------------------

#: The distance between the quartiles of the standard normal distribution.
NORMAL_QUARTILES = float(2 * sc.ndtri(0.75))


@answers("scipy.stats.iqr", tuples=("rng",))
def iqr(
    x: Any, axis: Axis = None, rng: tuple[float, float] = (25, 75), scale: Any = 1.0,
    nan_policy: str = "propagate", interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("iqr", nan_policy)
    percentile: Any = np.percentile
    low, high = (
        percentile(floats(x), q, axis=axis, method=interpolation, keepdims=keepdims)
        for q in sorted(rng)
    )
    return (high - low) / (NORMAL_QUARTILES if scale == "normal" else scale)


@answers("scipy.stats.median_abs_deviation")
def median_abs_deviation(
    x: Any, axis: Axis = 0, center: Any = None, scale: Any = 1.0, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    if center is not None:
        uncovered("stats", "median_abs_deviation with center=")
    propagates("median_abs_deviation", nan_policy)
    x = floats(x)
    middle = np.median(x, axis=axis, keepdims=True)
    spread = np.median(np.abs(x - middle), axis=axis, keepdims=keepdims)
    return spread / (NORMAL_QUARTILES / 2 if scale == "normal" else scale)


@answers("scipy.stats.entropy")
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Axis = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    propagates("entropy", nan_policy)
    pk = floats(pk)
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        terms = sc.entr(pk)
    else:
        terms = sc.rel_entr(pk, qk / np.sum(qk, axis=axis, keepdims=True))
    result = np.sum(terms, axis=axis, keepdims=keepdims)
    return result if base is None else result / np.log(base)


@answers("scipy.stats.boxcox_llf")
def boxcox_llf(
    lmb: Any, data: Any, *, axis: Axis = 0, keepdims: bool = False, nan_policy: str = "propagate"
) -> Any:
    propagates("boxcox_llf", nan_policy)
    logs = np.log(floats(data))
    spread = np.var(expm1_quotient(lmb, logs), axis=axis, keepdims=keepdims)
    total = np.sum(logs, axis=axis, keepdims=keepdims)
    return (lmb - 1) * total - count(logs, axis) / 2 * np.log(spread)
