"""Correlation and regression of two samples, with SciPy's names, arguments and results.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda y: st.linregress(np.arange(3.0), y).slope)(np.array([1.0, 2.0, 4.0]))
array([-0.5,  0. ,  0.5])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc

from autojit.functions.checks import ensured
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .descriptive import floats, rankdata


class Correlation(NamedTuple):
    """The result of ``pearsonr`` and ``spearmanr``."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        """The statistic, by its older name."""
        return self.statistic


def _coefficient(x: Any, y: Any) -> Any:
    dx, dy = x - np.mean(x), y - np.mean(y)
    r = np.sum(dx * dy) / np.sqrt(np.sum(dx * dx) * np.sum(dy * dy))
    return np.clip(r, -1.0, 1.0)


def _samples(name: str, x: Any, y: Any, axis: Any) -> tuple[Any, Any]:
    x, y = floats(x), floats(y)
    if np.ndim(x) != 1 or np.shape(x) != np.shape(y):
        uncovered("stats", f"{name} of arrays of the shapes {np.shape(x)} and {np.shape(y)}")
    if axis not in (0, -1, None):
        uncovered("stats", f"{name} with axis={axis!r}")
    return x, y


def _of_tails(alternative: str, below: Any, above: Any) -> Any:
    """The p-value, given the probabilities of a smaller and of a larger statistic."""
    if alternative == "two-sided":
        return 2 * np.minimum(below, above)
    if alternative not in ("less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return below if alternative == "less" else above


@answers("scipy.stats.pearsonr")
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> Correlation:
    if method is not None:
        uncovered("stats", "pearsonr with method=")
    x, y = _samples("pearsonr", x, y, axis)
    r, n = _coefficient(x, y), np.shape(x)[0]
    if n == 2:
        return Correlation(r, 1.0)
    half = n / 2 - 1
    above, below = sc.betainc(half, half, (1 - r) / 2), sc.betainc(half, half, (1 + r) / 2)
    return Correlation(r, _of_tails(alternative, below, above))


@answers("scipy.stats.spearmanr")
def spearmanr(
    a: Any, b: Any = None, axis: Any = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> Correlation:  # fmt: skip
    """Pearson's coefficient of the ranks; its derivative is 0 unless two elements are equal."""
    if b is None or nan_policy != "propagate":
        uncovered("stats", "spearmanr of one array, or with nan_policy=")
    x, y = _samples("spearmanr", a, b, axis)
    r, dof = _coefficient(rankdata(x), rankdata(y)), np.shape(x)[0] - 2
    t = r * np.sqrt(dof / ((r + 1) * (1 - r)))
    return Correlation(r, _of_tails(alternative, sc.stdtr(dof, t), sc.stdtr(dof, -t)))


@answers("scipy.stats.pointbiserialr")
def pointbiserialr(
    x: Any, y: Any, *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Correlation:
    """Pearson's coefficient of booleans and numbers."""
    if nan_policy != "propagate" or keepdims:
        uncovered("stats", "pointbiserialr with nan_policy= or keepdims=")
    made: Correlation = pearsonr(floats(x), floats(y), axis=axis)
    return made


class LinregressResult(NamedTuple):
    """The result of ``linregress``."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


@answers("scipy.stats.linregress")
def linregress(
    x: Any, y: Any, alternative: str = "two-sided", *, axis: Any = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> LinregressResult:  # fmt: skip
    if nan_policy != "propagate" or keepdims:
        uncovered("stats", "linregress with nan_policy= or keepdims=")
    x, y = _samples("linregress", x, y, axis)
    dx, dy = x - np.mean(x), y - np.mean(y)
    xx, xy, yy = np.sum(dx * dx), np.sum(dx * dy), np.sum(dy * dy)
    slope, r, dof = xy / xx, np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0), np.shape(x)[0] - 2
    if not dof:
        uncovered("stats", "linregress of two points")
    t = r * np.sqrt(dof / ((1 - r + 1e-20) * (1 + r + 1e-20)))
    pvalue = _of_tails(alternative, sc.stdtr(dof, t), sc.stdtr(dof, -t))
    error = np.sqrt((1 - r * r) * yy / xx / dof)
    return LinregressResult(slope, np.mean(y) - slope * np.mean(x), r, pvalue, error)


class Slopes(NamedTuple):
    """What ``siegelslopes`` returns."""

    slope: Any
    intercept: Any


class SlopesWithLimits(NamedTuple):
    """What ``theilslopes`` returns."""

    slope: Any
    intercept: Any
    low_slope: Any
    high_slope: Any


def _places(name: str, y: Any, x: Any, method: str, methods: tuple[str, str]) -> tuple[Any, Any]:
    """Values and their places, which differ from each other."""
    if method not in methods:
        raise ValueError(f"method must be either {methods[0]!r} or {methods[1]!r}, not {method!r}.")
    y = np.ravel(floats(y))
    x = np.arange(float(y.shape[0])) if x is None else np.ravel(floats(x))
    if np.shape(x) != np.shape(y):
        raise ValueError("Array shapes are incompatible for broadcasting.")
    if np.shape(x)[0] < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    ordered = np.sort(x)
    words = f"scipy.stats.{name} of traced values needs places x of which no two are equal."
    return y, ensured(x, np.all(ordered[1:] > ordered[:-1]), ValueError(words))


@answers("scipy.stats.theilslopes")
def theilslopes(
    y: Any, x: Any = None, alpha: float = 0.95, method: str = "separate", *, axis: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> SlopesWithLimits:  # fmt: skip
    """The line whose slope is the median of the slopes between all pairs of points, and the
    confidence interval of the slope (Sen, "Estimates of the regression coefficient based on
    Kendall's tau", J. Am. Stat. Assoc. 63 (1968), equation 2.6).

    >>> from autojit import grad
    >>> import scipy.stats as st
    >>> grad(lambda y: st.theilslopes(y).slope)(np.array([0.0, 1.0, 3.0]))
    array([-0.5,  0. ,  0.5])
    """
    if axis is not None or nan_policy != "propagate" or keepdims:
        uncovered("stats", "theilslopes with axis=, nan_policy= or keepdims=")
    y, x = _places("theilslopes", y, x, method, ("joint", "separate"))
    n = y.shape[0]
    later, earlier = np.tril_indices(n, -1)
    slopes = np.sort((y[later] - y[earlier]) / (x[later] - x[earlier]))
    slope, count = np.median(slopes), later.size
    rest = np.median(y - slope * x) if method == "joint" else np.median(y) - slope * np.median(x)
    equal = np.sum(y[:, None] == y, axis=1)  # how often each value occurs
    ties = np.sum((equal - 1) * (2 * equal + 5))
    sigma = np.sqrt((n * (n - 1) * (2 * n + 5) - ties) / 18)
    reach = sc.ndtri(np.minimum(alpha, 1 - alpha) / 2) * sigma
    high = np.minimum(np.round((count - reach) / 2).astype(int), count - 1)
    low = np.maximum(np.round((count + reach) / 2).astype(int) - 1, 0)
    return SlopesWithLimits(slope, rest, slopes[low], slopes[high])


@answers("scipy.stats.siegelslopes")
def siegelslopes(
    y: Any, x: Any = None, method: str = "hierarchical", *, axis: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Slopes:  # fmt: skip
    """The line by repeated medians: of the slopes from each point, then of these (Siegel, "Robust
    regression using repeated medians", Biometrika 69 (1982)).

    >>> from autojit import grad
    >>> import scipy.stats as st
    >>> grad(lambda y: st.siegelslopes(y).slope)(np.array([0.0, 1.0, 3.0]))
    array([-0.5,  0. ,  0.5])
    """
    if axis is not None or nan_policy != "propagate" or keepdims:
        uncovered("stats", "siegelslopes with axis=, nan_policy= or keepdims=")
    y, x = _places("siegelslopes", y, x, method, ("hierarchical", "separate"))
    n = y.shape[0]
    points = np.arange(n)[:, None]
    others = (points + np.arange(1, n)) % n  # all but the point itself
    steps = x[points] - x[others]
    slope = np.median(np.median((y[points] - y[others]) / steps, axis=1))
    if method == "hierarchical":
        return Slopes(slope, np.median(y - slope * x))
    rests = (y[others] * x[points] - y[points] * x[others]) / steps
    return Slopes(slope, np.median(np.median(rests, axis=1)))
