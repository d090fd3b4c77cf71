"""Tests of hypotheses whose statistic is a formula, with SciPy's names, arguments and results.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda a: st.ttest_1samp(a, 0.0).statistic)(np.array([1.0, 2.0, 3.0])).round(9)
array([ 2.30940108,  0.57735027, -1.15470054])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc

from autojit.functions.checks import ensured
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .descriptive import count, floats, kurtosis, propagates, skew


class Significance(NamedTuple):
    """The result of a test."""

    statistic: Any
    pvalue: Any


class TTest(Significance):
    """The result of a t-test, which has its degrees of freedom as well."""

    df: Any


def _of_tails(alternative: str, below: Any, above: Any) -> Any:
    """The p-value, given the probabilities of a smaller and of a larger statistic."""
    if alternative == "two-sided":
        return 2 * np.minimum(below, above)
    if alternative not in ("less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return below if alternative == "less" else above


def _t_test(difference: Any, error: Any, df: Any, alternative: str) -> TTest:
    t = difference / error
    made = TTest(t, _of_tails(alternative, sc.stdtr(df, t), sc.stdtr(df, -t)))
    made.df = np.broadcast_to(df, np.shape(t))
    return made


@answers("scipy.stats.ttest_1samp")
def ttest_1samp(
    a: Any, popmean: Any, axis: Any = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided", *, keepdims: bool = False,
) -> TTest:  # fmt: skip
    propagates("ttest_1samp", nan_policy)
    a, n = floats(a), count(a, axis)
    popmean = floats(popmean)
    if np.ndim(popmean) and not keepdims:
        popmean = np.squeeze(popmean, axis=axis)
    mean = np.mean(a, axis=axis, keepdims=keepdims)
    error = np.sqrt(np.var(a, axis=axis, ddof=1, keepdims=keepdims) / n)
    return _t_test(mean - popmean, error, n - 1.0, alternative)


@answers("scipy.stats.ttest_rel")
def ttest_rel(
    a: Any, b: Any, axis: Any = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided", *, keepdims: bool = False,
) -> TTest:  # fmt: skip
    made: TTest = ttest_1samp(
        floats(a) - floats(b), 0.0, axis, nan_policy, alternative, keepdims=keepdims
    )
    return made


@answers("scipy.stats.ttest_ind")
def ttest_ind(
    a: Any, b: Any, *, axis: Any = 0, equal_var: bool = True, nan_policy: str = "propagate",
    alternative: str = "two-sided", trim: float = 0, method: Any = None, keepdims: bool = False,
) -> TTest:  # fmt: skip
    propagates("ttest_ind", nan_policy)
    if trim or method is not None:
        uncovered("stats", "ttest_ind with trim= or method=")
    a, b = floats(a), floats(b)
    parts = [(np.mean(x, axis=axis, keepdims=keepdims),
              np.var(x, axis=axis, ddof=1, keepdims=keepdims), count(x, axis))
             for x in (a, b)]  # fmt: skip
    return _of_moments(parts, equal_var, alternative)


@answers("scipy.stats.ttest_ind_from_stats")
def ttest_ind_from_stats(
    mean1: Any, std1: Any, nobs1: Any, mean2: Any, std2: Any, nobs2: Any, equal_var: bool = True,
    alternative: str = "two-sided",
) -> TTest:  # fmt: skip
    parts = [(floats(m), floats(s) ** 2, floats(n))
             for m, s, n in ((mean1, std1, nobs1), (mean2, std2, nobs2))]  # fmt: skip
    return _of_moments(parts, equal_var, alternative)


def _of_moments(parts: Any, equal_var: bool, alternative: str) -> TTest:
    """Student's test, or Welch's, from the means, variances and sizes of two samples."""
    (m, v, n), (m2, v2, n2) = parts
    if equal_var:
        df = n + n2 - 2.0
        error = np.sqrt(((n - 1) * v + (n2 - 1) * v2) / df * (1.0 / n + 1.0 / n2))
    else:
        first, second = v / n, v2 / n2
        df = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (n2 - 1))
        error = np.sqrt(first + second)
    return _t_test(m - m2, error, df, alternative)


@answers("scipy.stats.f_oneway")
def f_oneway(
    *samples: Any, axis: Any = 0, equal_var: bool = True, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Significance:  # fmt: skip
    """The analysis of variance of groups, which must not be constant."""
    propagates("f_oneway", nan_policy)
    if not equal_var or keepdims or axis is None:
        uncovered("stats", "f_oneway with equal_var=False, keepdims= or axis=None")
    if len(samples) < 2:
        raise TypeError(f"at least two inputs are required; got {len(samples)}.")
    groups = [np.moveaxis(floats(x), axis, -1) for x in samples]
    mean = np.mean(np.concatenate(groups, axis=-1), axis=-1)
    total = sum(g.shape[-1] for g in groups)
    between, within = 0.0 * mean, 0.0 * mean
    for g in groups:
        own = np.mean(g, axis=-1)
        between = between + g.shape[-1] * (own - mean) ** 2
        within = within + np.sum((g - own[..., None]) ** 2, axis=-1)
    dfn, dfd = len(groups) - 1.0, float(total - len(groups))
    f = (between / dfn) / (within / dfd)
    return Significance(f, sc.fdtrc(dfn, dfd, f))


_POWERS = {"pearson": 1, "log-likelihood": 0, "freeman-tukey": -0.5, "mod-log-likelihood": -1,
           "neyman": -2, "cressie-read": 2 / 3}  # fmt: skip


#: The greatest relative difference between the sums of frequencies.
_SUMS = float(np.finfo(np.float64).eps) ** 0.5


def _of_one_sum(seen: Any, expected: Any, axis: Any) -> Any:
    """The expected frequencies; raise an error if their sums are not those of the observed ones."""
    above, below = np.sum(seen, axis=axis), np.sum(np.broadcast_to(expected, seen.shape), axis=axis)
    close = np.abs(above - below) <= _SUMS * np.minimum(above, below)
    return ensured(expected, np.all(close), ValueError(
        "For each axis slice, the sum of the observed frequencies must agree with the sum of the "
        f"expected frequencies to a relative tolerance of {_SUMS}. Scale them, or pass "
        "sum_check=False"
    ))  # fmt: skip


@answers("scipy.stats.power_divergence")
def power_divergence(
    f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: Any = 0, lambda_: Any = None
) -> Significance:
    """Cressie and Read's statistic."""
    return _power_divergence(f_obs, f_exp, ddof, axis, lambda_, True)


def _power_divergence(
    f_obs: Any, f_exp: Any, ddof: Any, axis: Any, lambda_: Any, sum_check: bool
) -> Significance:
    if lambda_ is None:
        lambda_ = 1
    power = _POWERS[lambda_] if isinstance(lambda_, str) else lambda_
    seen = floats(f_obs)
    if f_exp is None:
        expected = np.mean(seen, axis=axis, keepdims=True)
    else:
        expected = floats(f_exp)
        if sum_check:
            expected = _of_one_sum(seen, expected, axis)
    terms = _divergence(seen, expected, power)
    df = count(terms, axis) - 1.0 - ddof
    found = np.sum(terms, axis=axis)
    return Significance(found, sc.chdtrc(df, found))


def _divergence(seen: Any, expected: Any, power: Any) -> Any:
    if power == 1:
        return (seen - expected) ** 2 / expected
    if power == 0:
        return 2.0 * sc.xlogy(seen, seen / expected)
    if power == -1:
        return 2.0 * sc.xlogy(expected, expected / seen)
    return seen * ((seen / expected) ** power - 1) * (2.0 / (power * (power + 1)))


@answers("scipy.stats.chisquare")
def chisquare(
    f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: Any = 0, *, sum_check: bool = True
) -> Significance:
    return _power_divergence(f_obs, f_exp, ddof, axis, "pearson", sum_check)


@answers("scipy.stats.jarque_bera")
def jarque_bera(
    x: Any, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False
) -> Significance:
    propagates("jarque_bera", nan_policy)
    x = floats(x)
    s, k = skew(x, axis, keepdims=keepdims), kurtosis(x, axis, keepdims=keepdims)
    found = count(x, axis) / 6 * (s**2 + k**2 / 4)
    return Significance(found, np.exp(-found / 2))


def _normal(z: Any, alternative: str) -> Significance:
    return Significance(z, _of_tails(alternative, sc.ndtr(z), sc.ndtr(-z)))


@answers("scipy.stats.skewtest")
def skewtest(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> Significance:  # fmt: skip
    """D'Agostino's test of skewness (Biometrika 57 (1970), 679-681), for 8 elements or more."""
    propagates("skewtest", nan_policy)
    n = float(count(a, axis))
    if n < 8:
        uncovered("stats", "skewtest of fewer than 8 elements")
    y = skew(floats(a), axis, keepdims=keepdims) * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    bend = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    width = np.sqrt(2 * (bend / ((n - 2) * (n + 5) * (n + 7) * (n + 9)) - 1)) - 1
    z = np.arcsinh(y * np.sqrt((width - 1) / 2)) / np.sqrt(0.5 * np.log(width))
    return _normal(z, alternative)


@answers("scipy.stats.kurtosistest")
def kurtosistest(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> Significance:  # fmt: skip
    """The kurtosis test of Anscombe and Glynn, for 5 elements or more.

    Biometrika 70 (1983), 227-234.
    """
    propagates("kurtosistest", nan_policy)
    n = float(count(a, axis))
    if n < 5:
        uncovered("stats", "kurtosistest of fewer than 5 elements")
    mean = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis(floats(a), axis, False, keepdims=keepdims) - mean) / np.sqrt(variance)
    root = (6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
            * np.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3))))  # fmt: skip
    a_ = 6.0 + 8.0 / root * (2.0 / root + np.sqrt(1 + 4.0 / root**2))
    ratio = (1 - 2.0 / a_) / (1 + x * np.sqrt(2 / (a_ - 4.0)))
    z = (1 - 2 / (9.0 * a_) - np.cbrt(ratio)) / np.sqrt(2 / (9.0 * a_))
    return _normal(z, alternative)


@answers("scipy.stats.normaltest")
def normaltest(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Significance:
    """The test of D'Agostino and Pearson, of skewness and kurtosis together."""
    a = floats(a)
    parts = [f(a, axis, nan_policy, keepdims=keepdims)[0] for f in (skewtest, kurtosistest)]
    found = parts[0] ** 2 + parts[1] ** 2
    return Significance(found, np.exp(-found / 2))


def _centered(x: Any, center: str) -> Any:
    if center not in ("median", "mean"):
        uncovered("stats", f"levene with center={center!r}")
    return np.abs(x - (np.median if center == "median" else np.mean)(x))


@answers("scipy.stats.levene")
def levene(
    *samples: Any, center: str = "median", proportiontocut: float = 0.05, axis: Any = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Significance:  # fmt: skip
    """The analysis of variance of the distances to the center, for samples of one axis."""
    propagates("levene", nan_policy)
    made: Significance = f_oneway(
        *(_centered(x, center) for x in _lines("levene", samples, axis, keepdims))
    )
    return made


@answers("scipy.stats.bartlett")
def bartlett(
    *samples: Any, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Significance:
    """Bartlett's test of equal variances, for samples of one axis."""
    propagates("bartlett", nan_policy)
    groups = _lines("bartlett", samples, axis, keepdims)
    sizes = np.array([float(g.shape[0]) for g in groups])
    free, k = np.sum(sizes) - len(groups), len(groups)
    variances = [np.var(g, ddof=1) for g in groups]
    pooled = sum(((n - 1) * v for n, v in zip(sizes, variances, strict=True)), start=0.0) / free
    logs = sum(((n - 1) * np.log(v) for n, v in zip(sizes, variances, strict=True)), start=0.0)
    scale = 1 + (np.sum(1 / (sizes - 1)) - 1 / free) / (3 * (k - 1))
    found = (free * np.log(pooled) - logs) / scale
    return Significance(found, sc.chdtrc(k - 1.0, found))


def _lines(name: str, samples: Any, axis: Any, keepdims: bool) -> list[Any]:
    if len(samples) < 2:
        raise ValueError("Must enter at least two input sample vectors.")
    rows = [floats(x) for x in samples]
    if any(np.ndim(x) != 1 for x in rows):
        uncovered("stats", f"{name} of samples of several axes")
    if axis not in (0, -1, None) or keepdims:
        uncovered("stats", f"{name} with axis={axis!r}, keepdims={keepdims!r}")
    return rows
