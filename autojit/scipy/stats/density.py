"""``gaussian_kde``: of traced data, weights or bandwidths, and at traced points.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda data: st.gaussian_kde(data).logpdf(0.0)[0])(np.array([-1.0, 0.5, 1.5])).round(3)
array([ 0.393, -0.245, -0.323])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.linalg.factorizations import cholesky
from autojit.functions.reductions import logsumexp
from autojit.protocols.lifting import as_tracer
from autojit.scipy.linalg import solve_triangular
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .standardized import number

_LOG_2PI = float(np.log(2 * np.pi))


@answers("scipy.stats.gaussian_kde")
def gaussian_kde(dataset: Any, bw_method: Any = None, weights: Any = None) -> Estimate:
    return Estimate(dataset, bw_method, weights)


class Estimate:
    """What ``gaussian_kde`` makes of traced data; attributes have SciPy's names."""

    def __init__(self, dataset: Any, bw_method: Any, weights: Any) -> None:
        data = number(dataset)
        self.dataset: Any = data[None, :] if np.ndim(data) == 1 else data
        self.d: int
        self.n: int
        self.d, self.n = np.shape(self.dataset)
        if self.d > self.n:
            raise ValueError("gaussian_kde: there are more dimensions than samples (columns)")
        if weights is None:
            self.weights: Any = np.full(self.n, 1 / self.n)
            self.neff: Any = float(self.n)
        else:
            weights = number(weights)
            self.weights = weights / np.sum(weights)
            self.neff = 1 / np.sum(np.square(self.weights))
        self.factor: Any = self._factor(bw_method)
        deviations = self.dataset - np.sum(self.weights * self.dataset, axis=1, keepdims=True)
        covariance = (self.weights * deviations) @ deviations.T
        unbiased = covariance / (1 - np.sum(np.square(self.weights)))
        self.covariance: Any = unbiased * self.factor**2
        self.cho_cov: Any = cholesky(as_tracer(self.covariance))

    def _factor(self, method: Any) -> Any:
        if method is None or isinstance(method, str):
            if method in (None, "scott"):
                return self.neff ** (-1.0 / (self.d + 4))
            if method == "silverman":
                return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))
        if isinstance(method, str) or callable(method):
            uncovered("stats", "gaussian_kde with bw_method= other than a name or a number")
        return method

    def logpdf(self, x: Any) -> Any:
        return _log_density(self, x)

    def evaluate(self, points: Any) -> Any:
        return np.exp(_log_density(self, points))

    __call__ = evaluate

    def pdf(self, x: Any) -> Any:
        return self.evaluate(x)


def _log_density(estimate: Any, points: Any) -> Any:
    """The logarithm of the sum of the kernels, of ours or of SciPy's object."""
    points = number(points)
    dim = estimate.d
    columns = np.reshape(points, (1, -1)) if np.ndim(points) < 2 else points
    if np.shape(columns)[0] == 1 and np.shape(columns)[1] == dim:
        columns = np.reshape(columns, (dim, 1))
    if np.shape(columns)[0] != dim:
        have = np.shape(columns)[0]
        raise ValueError(f"points have dimension {have}, dataset has dimension {dim}")
    factor = as_tracer(estimate.cho_cov)
    near = solve_triangular(factor, as_tracer(columns), lower=True)
    data = solve_triangular(factor, as_tracer(estimate.dataset), lower=True)
    squares = np.sum(np.square(near[:, :, None] - data[:, None, :]), axis=0)
    log_norm = dim * _LOG_2PI / 2 + np.sum(np.log(np.diagonal(factor)))
    return logsumexp(-squares / 2, axis=1, b=as_tracer(estimate.weights)) - log_norm


@answers("scipy.stats.gaussian_kde.evaluate")
def evaluate(self: Any, points: Any) -> Any:
    return np.exp(_log_density(self, points))


@answers("scipy.stats.gaussian_kde.pdf")
def pdf(self: Any, x: Any) -> Any:
    return np.exp(_log_density(self, x))


@answers("scipy.stats.gaussian_kde.logpdf")
def logpdf(self: Any, x: Any) -> Any:
    return _log_density(self, x)
