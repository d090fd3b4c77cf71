"""Order statistics, and statistics of several p-values, tables and directions.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda x: st.lmoment(x, 2))(np.array([1.0, 4.0, 2.0]))
array([-0.33333333,  0.33333333,  0.        ])
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc
import scipy.stats as st

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import known
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .descriptive import Axis, count, floats, propagates
from .hypotheses import Significance, power_divergence

#: Whether `obrientransform` returns a tuple of samples.
_GIVES_TUPLES = "nan_policy" in inspect.signature(st.obrientransform).parameters

# -- parts of a sample -----------------------------------------------------------------------


def _kept(a: Any, low: int, high: int, axis: int) -> Any:
    """The elements of ranks from low to high (excluded), in ascending order."""
    return np.moveaxis(np.moveaxis(np.sort(a, axis=axis), axis, 0)[low:high], 0, axis)


def _flat(a: Any, axis: Axis) -> tuple[Any, int]:
    return (np.ravel(a), 0) if axis is None else (a, normalize_axis(axis, np.ndim(a)))


@answers("scipy.stats.trimboth")
def trimboth(a: Any, proportiontocut: Any, axis: Axis = 0) -> Any:
    """The sample without a share of its least and of its largest elements.

    The others are in ascending order, which SciPy does not promise.

    >>> from autojit import jit
    >>> jit(lambda x: trimboth(x, 0.25))(np.array([3.0, 1.0, 2.0, 9.0]))
    array([2., 3.])
    """
    a, axis = _flat(a, axis)
    size = np.shape(a)[axis]
    cut = int(known(proportiontocut, "proportiontocut", "trimboth") * size)
    if cut >= size - cut:
        raise ValueError("Proportion too big.")
    return _kept(a, cut, size - cut, axis)


@answers("scipy.stats.trim1")
def trim1(a: Any, proportiontocut: Any, tail: str = "right", axis: Axis = 0) -> Any:
    """The sample without a share of its least or of its largest elements: see :func:`trimboth`."""
    a, axis = _flat(a, axis)
    size = np.shape(a)[axis]
    cut = int(known(proportiontocut, "proportiontocut", "trim1") * size)
    if tail.lower() not in ("left", "right"):
        raise ValueError(f"tail must be 'left' or 'right', not {tail!r}")
    return _kept(a, 0, size - cut, axis) if tail.lower() == "right" else _kept(a, cut, size, axis)


_INTERPOLATIONS = {"fraction": "linear", "lower": "lower", "higher": "higher"}


@answers("scipy.stats.scoreatpercentile")
def scoreatpercentile(
    a: Any, per: Any, limit: Any = (), interpolation_method: str = "fraction", axis: Axis = None
) -> Any:
    """A percentile, as in ``np.percentile``.

    Limits are refused, because the number of elements between them is not known.
    """
    if limit:
        uncovered("stats", "scoreatpercentile with limit=")
    if interpolation_method not in _INTERPOLATIONS:
        raise ValueError(
            "interpolation_method can only be 'fraction', 'lower' or 'higher', not "
            f"{interpolation_method!r}"
        )
    percentile: Any = np.percentile
    return percentile(a, per, axis=axis, method=_INTERPOLATIONS[interpolation_method])


def _legendre_weights(n: int, order: int) -> np.ndarray:
    """The weight of each element of a sorted sample in an L-moment.

    Hosking, "L-moments", J. R. Statist. Soc. B 52 (1990), 105-124, equations 2.4 and 3.1.
    """
    ranks = np.arange(n, dtype=float)
    total = np.zeros(n)
    for k in range(order):
        sign = (-1.0) ** (order - 1 - k)
        shifted = sign * sc.comb(order - 1, k) * sc.comb(order - 1 + k, k)
        total += shifted * sc.comb(ranks, k) / sc.comb(n - 1, k)
    return total / n


@answers("scipy.stats.lmoment")
def lmoment(
    sample: Any, order: Any = None, *, axis: Axis = 0, nan_policy: str = "propagate",
    keepdims: bool = False, sorted: bool = False, standardize: bool = True,
) -> Any:  # fmt: skip
    """L-moments; with ``standardize``, those from the third on are divided by the second."""
    propagates("lmoment", nan_policy)
    if keepdims:
        uncovered("stats", "lmoment with keepdims=True")
    orders = np.arange(1, 5) if order is None else np.asarray(known(order, "order", "lmoment"))
    x, axis = _flat(floats(sample), axis)
    x = np.moveaxis(x if sorted else np.sort(x, axis=axis), axis, -1)

    def of(r: int) -> Any:
        if r > x.shape[-1]:
            return np.nan * np.sum(x, axis=-1)
        return np.sum(x * _legendre_weights(x.shape[-1], r), axis=-1)

    def scaled(r: int) -> Any:
        return of(r) / of(2) if standardize and r > 2 else of(r)

    made = [scaled(int(r)) for r in orders.ravel()]
    return np.stack(made) if orders.ndim else made[0]


_HYNDMAN = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased",
)  # fmt: skip


@answers("scipy.stats.quantile")
def quantile(
    x: Any, p: Any, *, method: str = "linear", axis: Axis = 0, nan_policy: str = "propagate",
    keepdims: Any = None, weights: Any = None,
) -> Any:  # fmt: skip
    """The quantile at one level, or, for a sample of one axis, at several levels."""
    propagates("quantile", nan_policy)
    if method not in _HYNDMAN or weights is not None:
        uncovered("stats", f"quantile with method={method!r} or weights=")
    if np.ndim(p) > 1 or (np.ndim(p) == 1 and (np.ndim(x) != 1 or keepdims is not None)):
        uncovered("stats", "quantile of levels along another axis")
    found: Any = np.quantile
    return found(floats(x), p, axis=axis, method=method, keepdims=bool(keepdims))


@answers("scipy.stats.expectile")
def expectile(a: Any, alpha: Any = 0.5, *, weights: Any = None) -> Any:
    """The number t at which ``alpha * sum(max(a - t, 0)) == (1 - alpha) * sum(max(t - a, 0))``.

    The equation is linear between elements. Each number of elements on the left gives a solution;
    t is the greatest of them if alpha is at least 1/2, and the least one otherwise.
    """
    x = np.ravel(floats(a))
    w = floats(np.ones(x.shape)) if weights is None else np.ravel(
        np.broadcast_to(floats(weights), np.shape(a)))  # fmt: skip
    level = floats(alpha)
    order = np.argsort(x)
    x, w = x[order], w[order]
    below = np.concatenate([np.zeros(1), np.cumsum(w)])
    moment = np.concatenate([np.zeros(1), np.cumsum(w * x)])
    mass = (1 - level) * below + level * (below[-1] - below)
    some = mass > 0
    above = ((1 - level) * moment + level * (moment[-1] - moment)) / np.where(some, mass, 1.0)
    high = np.max(np.where(some, above, -np.inf))
    return np.where(level >= 0.5, high, np.min(np.where(some, above, np.inf)))


@answers("scipy.stats.obrientransform")
def obrientransform(*samples: Any) -> Any:
    """Transform samples so that their means are the variances.

    The result has a row per sample, or is a tuple from SciPy 1.18 on.
    """
    made = []
    for sample in samples:
        a = floats(sample)
        n = np.shape(a)[0]
        squares = (a - np.mean(a)) ** 2
        made.append(((n - 1.5) * n * squares - 0.5 * np.sum(squares)) / ((n - 1) * (n - 2)))
    if _GIVES_TUPLES:
        return tuple(made)
    if len({np.shape(a) for a in made}) > 1:
        uncovered("stats", "obrientransform of samples of several lengths")
    return np.stack(made)


# -- several p-values ------------------------------------------------------------------------


def _fisher(p: Any, n: int, axis: Axis) -> tuple[Any, Any]:
    found = -2 * np.sum(np.log(p), axis=axis)
    return found, sc.chdtrc(2.0 * n, found)


def _pearson(p: Any, n: int, axis: Axis) -> tuple[Any, Any]:
    found = 2 * np.sum(np.log1p(-p), axis=axis)
    return found, sc.chdtr(2.0 * n, -found)


def _mudholkar_george(p: Any, n: int, axis: Axis) -> tuple[Any, Any]:
    found = np.sum(np.log1p(-p), axis=axis) - np.sum(np.log(p), axis=axis)
    df = 5.0 * n + 4
    return found, sc.stdtr(df, -found * np.sqrt(3 / n) / np.pi * np.sqrt(df / (df - 2)))


def _tippett(p: Any, n: int, axis: Axis) -> tuple[Any, Any]:
    found = np.min(p, axis=axis)
    return found, -np.expm1(n * np.log1p(-found))


_COMBINED = {"fisher": _fisher, "pearson": _pearson, "mudholkar_george": _mudholkar_george,
             "tippett": _tippett}  # fmt: skip


@answers("scipy.stats.combine_pvalues")
def combine_pvalues(
    pvalues: Any, method: str = "fisher", weights: Any = None, *, axis: Axis = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Significance:  # fmt: skip
    """The combined p-value of independent tests."""
    propagates("combine_pvalues", nan_policy)
    if keepdims:
        uncovered("stats", "combine_pvalues with keepdims=True")
    p = floats(pvalues)
    if method == "stouffer":
        w = np.ones(p.shape) if weights is None else np.broadcast_to(floats(weights), p.shape)
        length = np.sqrt(np.sum(w * w, axis=axis))
        found = -np.sum(w * sc.ndtri(p), axis=axis) / length
        return Significance(found, sc.ndtr(-found))
    if method not in _COMBINED:
        known_ones = ", ".join(map(repr, _COMBINED))
        raise ValueError(f"Invalid method {method!r}. Valid are {known_ones} and 'stouffer'")
    return Significance(*_COMBINED[method](p, count(p, axis), axis))


@answers("scipy.stats.false_discovery_control")
def false_discovery_control(ps: Any, *, axis: Axis = 0, method: str = "bh") -> Any:
    """P-values adjusted by the method of Benjamini and Hochberg, or Yekutieli (``"by"``)."""
    if method.lower() not in ("bh", "by"):
        raise ValueError(f"Unrecognized `method` '{method}'. Method must be 'bh' or 'by'.")
    p, axis = _flat(floats(ps), axis)
    p = np.moveaxis(p, axis, -1)
    n = p.shape[-1]
    if n <= 1:
        return np.moveaxis(p, -1, axis)
    ranks = np.arange(1.0, n + 1)
    order = np.argsort(p, axis=-1)
    scaled = np.take_along_axis(p, order, axis=-1) * (n / ranks)
    if method.lower() == "by":
        scaled = scaled * np.sum(1 / ranks)
    falling = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    back = np.take_along_axis(falling, np.argsort(order, axis=-1), axis=-1)
    return np.clip(np.moveaxis(back, -1, axis), 0.0, 1.0)


class Contingency(NamedTuple):
    """The result of a test of independence."""

    statistic: Any
    pvalue: Any
    dof: int
    expected_freq: Any


@answers("scipy.stats.chi2_contingency")
def chi2_contingency(
    observed: Any, correction: bool = True, lambda_: Any = None, *, method: Any = None
) -> Any:
    """The test of independence of the factors of a contingency table."""
    if method is not None:
        uncovered("stats", "chi2_contingency with method=")
    table = floats(observed)
    expected = _expected(table)
    dof = table.size - sum(table.shape) + table.ndim - 1
    if dof == 0:
        return Contingency(0.0, 1.0, dof, expected)
    if dof == 1 and correction:
        gap = expected - table
        table = table + np.minimum(0.5, np.abs(gap)) * np.sign(gap)
    found = power_divergence(table, expected, table.size - 1 - dof, None, lambda_)
    return Contingency(found.statistic, found.pvalue, dof, expected)


def _expected(table: Any) -> Any:
    """The frequencies expected of independent factors: the product of the margins."""
    made: Any = 1.0
    for axis in range(table.ndim):
        others = tuple(i for i in range(table.ndim) if i != axis)
        made = made * np.sum(table, axis=others, keepdims=True)
    return made / np.sum(table) ** (table.ndim - 1)


# -- directions ------------------------------------------------------------------------------


class Directions(NamedTuple):
    """The result of `directional_stats`."""

    mean_direction: Any
    mean_resultant_length: Any


@answers("scipy.stats.directional_stats")
def directional_stats(samples: Any, *, axis: int = 0, normalize: bool = True) -> Any:
    """The mean direction of vectors along the last axis, and the length of their mean."""
    x = np.moveaxis(floats(samples), axis, 0)
    if x.ndim < 2:
        raise ValueError(
            f"samples must at least be two-dimensional. Instead samples has shape: {x.shape}"
        )
    if normalize:
        x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    mean = np.mean(x, axis=0)
    length = np.linalg.norm(mean, axis=-1, keepdims=True)
    return Directions(mean / length, length[..., 0])
