"""Tests of whether a sample comes from a distribution, and plots of its quantiles.

>>> from autojit import grad
>>> import scipy.stats as st
>>> x = np.array([0.1, -0.6, 1.3, 0.4])
>>> grad(lambda x: st.kstest(x, "norm").statistic)(x).round(9)
array([0.39695255, 0.        , 0.        , 0.        ])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc
import scipy.stats as st

from autojit.callbacks.pure import pure_callback
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers, original
from autojit.staging.bodies import check_function
from autojit.transformations.custom import custom_jvp

from .correlation import linregress
from .descriptive import floats, propagates
from .hypotheses import Significance
from .power_transformations import order_medians

# -- Kolmogorov and Smirnov ------------------------------------------------------------------


@answers("scipy.stats.ks_1samp", tuples=("args",), callables=True)
def ks_1samp(
    x: Any, cdf: Any, args: Any = (), alternative: str = "two-sided", method: str = "auto", *,
    axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False,
) -> Significance:  # fmt: skip
    """The greatest distance of a sample's distribution function from ``cdf``.

    The derivative of the p-value of the exact test (the default) is SciPy's density, which has
    about eight digits, and has no derivative itself. The result has a ``statistic`` and a
    ``pvalue``.
    """
    propagates("ks_1samp", nan_policy)
    x = floats(x)
    if axis is None:
        x, axis = np.ravel(x), 0
    rows = np.sort(np.moveaxis(x, axis, -1), axis=-1)
    n = rows.shape[-1]
    values = _distribution(cdf, "cdf")(rows, *args)
    places = np.arange(n + 1.0) / n
    above = np.max(places[1:] - values, axis=-1, keepdims=keepdims)
    below = np.max(values - places[:-1], axis=-1, keepdims=keepdims)
    kind = {"t": "two-sided", "g": "greater", "l": "less"}.get(alternative.lower()[:1], alternative)
    if kind not in ("two-sided", "greater", "less"):
        raise ValueError(f"Unexpected value alternative={alternative!r}")
    if kind == "two-sided":
        distance = np.maximum(above, below)
        p = np.clip(_two_sided(distance, n, method), 0.0, 1.0)
    else:
        distance = above if kind == "greater" else below
        p = sc.smirnov(n, distance)
    if keepdims:
        distance, p = (np.moveaxis(v, -1, axis) for v in (distance, p))
    return Significance(distance, p)


def _distribution(given: Any, method: str) -> Callable[..., Any]:
    """A method of a distribution of SciPy that is given by name, or a function."""
    if isinstance(given, str):
        found: Callable[..., Any] = getattr(getattr(st, given), method)
        return found
    return check_function(given, f"argument {method}", "scipy.stats.ks_1samp")


def _two_sided(distance: Any, n: int, method: str) -> Any:
    """The probability of a greater distance, for samples of n elements."""
    if method == "asymp":
        return sc.kolmogorov(distance * np.sqrt(n))
    if method == "approx":
        return 2 * sc.smirnov(n, distance)

    def by_scipy(name: str, d: Any) -> Any:
        of: Any = getattr(original("scipy.stats.kstwo"), name)
        return pure_callback(lambda d: np.asarray(of(d, n)), d, d, vmap_method="broadcast_all")

    @custom_jvp
    def survival(d: Any) -> Any:
        return by_scipy("sf", d)

    @survival.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return survival(*primals), -by_scipy("pdf", *primals) * tangents[0]

    return survival(distance)


@answers("scipy.stats.kstest", tuples=("args",), callables=True)
def kstest(
    rvs: Any, cdf: Any, args: Any = (), N: int = 20, alternative: str = "two-sided",
    method: str = "auto", *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """:func:`ks_1samp`, or ``ks_2samp`` if ``cdf`` is a sample too."""
    more = {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims}
    if isinstance(rvs, str) or callable(rvs):
        uncovered("stats", "kstest of random numbers")
    if isinstance(cdf, str) or callable(cdf):
        return ks_1samp(rvs, cdf, args, alternative, method, **more)
    return st.ks_2samp(rvs, cdf, alternative, method, **more)


# -- Shapiro and Wilk ------------------------------------------------------------------------

#: Royston's polynomials, from the constant term on (Remark AS R94, Applied Statistics 44 (1995),
#: 547-551).
_FIRST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_SECOND = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_MEAN_OF_FEW, _SCALE_OF_FEW = (0.544, -0.39978, 0.025054, -6.714e-4), (
    1.3822, -0.77857, 0.062767, -0.0020322)  # fmt: skip
_MEAN, _SCALE = (-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302)
_LIMIT = (-2.273, 0.459)
#: The most elements of a sample that counts as a small one.
_FEW = 11


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return float(np.polynomial.polynomial.polyval(x, coefficients))


def _royston(n: int) -> np.ndarray:
    """The weights of the sorted elements of a sample: a unit vector."""
    if n == 3:
        return np.array([-np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    m = sc.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    total, root = m @ m, 1 / np.sqrt(n)
    ends = [_polynomial(_FIRST, root) - m[0] / np.sqrt(total)]
    if n > 5:
        ends.append(_polynomial(_SECOND, root) - m[1] / np.sqrt(total))
    count = len(ends)
    outer = np.array(ends)
    scale = (total - 2 * np.sum(m[:count] ** 2)) / (1 - 2 * np.sum(outer**2))
    weights = m / np.sqrt(scale)
    weights[:count], weights[n - count :] = -outer, outer[::-1]
    return weights


@answers("scipy.stats.shapiro")
def shapiro(
    x: Any, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False
) -> Significance:
    """The test of Shapiro and Wilk for samples from a normal distribution, of 3 elements or more.

    The p-value of 3 elements is exact; others are Royston's approximations. SciPy's quantiles of
    the normal distribution have nine digits here, so its results differ in the ninth digit.
    """
    propagates("shapiro", nan_policy)
    if axis not in (None, 0, -1) or keepdims or (axis is not None and np.ndim(x) != 1):
        uncovered("stats", "shapiro of several samples, or with keepdims=True")
    x = np.sort(np.ravel(floats(x)))
    n = x.shape[0]
    if n < 3:
        raise ValueError("Data must be at least length 3.")
    centered = x - np.mean(x)
    length = np.sqrt(np.sum(centered**2))
    projected = _royston(n) @ centered
    missing = (length - projected) * (length + projected) / length**2  # 1 - W
    return Significance(1 - missing, _royston_p(missing, n))


def _royston_p(missing: Any, n: int) -> Any:
    if n == 3:
        edge = np.arcsin(np.sqrt(0.75))
        return np.maximum(6 / np.pi * (np.arcsin(np.sqrt(1 - missing)) - edge), 0.0)
    y, logs = np.log(missing), float(np.log(n))
    if n > _FEW:
        z = (y - _polynomial(_MEAN, logs)) / np.exp(_polynomial(_SCALE, logs))
        return sc.ndtr(-z)
    limit = _polynomial(_LIMIT, n)
    inside = y < limit
    y = -np.log(np.where(inside, limit - y, 1.0))
    z = (y - _polynomial(_MEAN_OF_FEW, n)) / np.exp(_polynomial(_SCALE_OF_FEW, n))
    return np.where(inside, sc.ndtr(-z), 1e-99)


# -- Anderson and Darling, Alexander and Govern ----------------------------------------------


class AndersonResult(NamedTuple):
    """The result of `anderson`."""

    statistic: Any
    critical_values: Any
    significance_level: Any


@answers("scipy.stats.anderson", tuples=("method",))
def anderson(x: Any, dist: str = "norm", *, method: Any = None) -> Any:
    """The test of Anderson and Darling for samples from a normal or an exponential distribution.

    The result has no ``fit_result``.
    """
    if dist not in ("norm", "expon") or method not in (None, "interpolate"):
        uncovered("stats", f"anderson with dist={dist!r}, method={method!r}")
    x = np.sort(floats(x))
    n = x.shape[0]
    if dist == "norm":
        w = (x - np.mean(x)) / np.std(x, ddof=1)
        below, above = sc.log_ndtr(w), sc.log_ndtr(-w)
    else:
        w = x / np.mean(x)
        below, above = np.log(-np.expm1(-w)), -w
    weights = (2 * np.arange(1, n + 1) - 1.0) / n
    found = -n - np.sum(weights * (below + above[::-1]))
    example = original("scipy.stats.anderson")
    sizes = _critical(example, dist, n)
    if method is None:
        return AndersonResult(found, *sizes)
    critical, levels = sizes
    return Significance(found, np.interp(found, critical, levels / 100))


def _critical(anderson: Any, dist: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's critical values, which depend on the size of the sample alone, and their levels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        made = anderson(np.arange(1.0, n + 1), dist)
    return np.asarray(made.critical_values), np.asarray(made.significance_level)


@answers("scipy.stats.alexandergovern")
def alexandergovern(
    *samples: Any, nan_policy: str = "propagate", axis: Any = 0, keepdims: bool = False
) -> Significance:
    """The test of Alexander and Govern of equal means, J. Educ. Statist. 19 (1994), 91-101."""
    propagates("alexandergovern", nan_policy)
    if keepdims or axis is None:
        uncovered("stats", "alexandergovern with keepdims=True or axis=None")
    if len(samples) < 2:
        raise TypeError(f"2 or more inputs required, got {len(samples)}")
    rows = [np.moveaxis(floats(x), axis, -1) for x in samples]
    sizes = np.array([float(x.shape[-1]) for x in rows])
    means = np.stack([np.mean(x, axis=-1) for x in rows], axis=-1)
    errors = np.stack([np.var(x, axis=-1, ddof=1) for x in rows], axis=-1) / sizes
    weights = 1 / errors / np.sum(1 / errors, axis=-1, keepdims=True)
    t = (means - np.sum(weights * means, axis=-1, keepdims=True)) / np.sqrt(errors)
    a = sizes - 1.5
    b = 48 * a**2
    q = a * np.log1p(t**2 / (sizes - 1))
    more = 4 * q**3 + 33 * q**2 + 240 * q + 855
    factor = 1 + (q + 3) / b - more / (10 * b**2 + 8 * b * q**2 + 1000 * b)
    found = np.sum(q * factor**2, axis=-1)
    return Significance(found, sc.chdtrc(len(rows) - 1.0, found))


# -- plots of quantiles ----------------------------------------------------------------------


@answers("scipy.stats.probplot", tuples=("sparams",))
def probplot(
    x: Any, sparams: Any = (), dist: Any = "norm", fit: bool = True, plot: Any = None,
    rvalue: bool = False,
) -> Any:  # fmt: skip
    """``((quantiles, sorted sample), (slope, intercept, r))``, without the line if ``fit=False``.

    ``plot`` is refused.
    """
    if plot is not None:
        uncovered("stats", "probplot with plot=")
    shapes = tuple(sparams) if isinstance(sparams, (tuple, list)) else (sparams or (),)
    values = np.sort(floats(x))
    family = getattr(st, dist) if isinstance(dist, str) else dist
    quantiles = family.ppf(order_medians(values.shape[0]), *shapes)
    if not fit:
        return quantiles, values
    line = linregress(quantiles, values)
    return (quantiles, values), (line.slope, line.intercept, line.rvalue)
