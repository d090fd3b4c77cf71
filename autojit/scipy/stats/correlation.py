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
