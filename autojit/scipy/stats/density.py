"""``gaussian_kde`` of traced data, weights, bandwidths or points, and statistics of bins.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda data: st.gaussian_kde(data).logpdf(0.0)[0])(np.array([-1.0, 0.5, 1.5])).round(3)
array([ 0.393, -0.245, -0.323])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st

from autojit.functions.linalg.factorizations import cholesky
from autojit.functions.reductions import logsumexp
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.linalg import solve_triangular
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers

from .standardized import number

_LOG_2PI = float(np.log(2 * np.pi))


@answers("scipy.stats.gaussian_kde")
def gaussian_kde(dataset: Any, bw_method: Any = None, weights: Any = None) -> Estimate:
    return Estimate(dataset, bw_method, weights)


class Estimate:
    """The result of ``gaussian_kde`` for traced data; its attributes have SciPy's names."""

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
    """The logarithm of the density of an `Estimate` or of SciPy's object."""
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


@answers("scipy.stats.binned_statistic")
def binned_statistic(
    x: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None
) -> Any:
    """SciPy's ``(statistic, bin_edges, binnumber)`` of traced values at known places x.

    >>> from autojit import grad
    >>> x, y = np.array([0.1, 0.2, 0.9]), np.array([1.0, 3.0, 5.0])
    >>> grad(lambda y: st.binned_statistic(x, y, bins=2)[0][0])(y)
    array([0.5, 0.5, 0. ])
    """
    name = "binned_statistic"
    places = known(x, "x", name)
    bins, range = known(bins, "bins", name), known(range, "range", name)
    rows = _values_of_bins(name, values, statistic, len(places))
    found = st.binned_statistic(places, np.zeros(len(places)), "count", bins, range)
    made = _in_bins(rows, found.binnumber, np.arange(1, found.bin_edges.size), statistic)
    return type(found)(made, found.bin_edges, found.binnumber)


def _values_of_bins(name: str, values: Any, statistic: Any, count: int) -> Any:
    if isinstance(statistic, str) and statistic not in _OF_BINS:
        raise ValueError(f"invalid statistic {statistic!r}")
    rows = floating(values)
    if rows.shape[-1:] != (count,):
        raise ValueError(f"{name}: there are {count} places, and values of the shape {rows.shape}: "
                         "each place needs a value")  # fmt: skip
    return rows


def _in_bins(rows: Any, number: np.ndarray, bins: np.ndarray, statistic: Any) -> Any:
    """The statistics of the bins with given numbers, on the last axis."""
    columns = [_of_bin(rows[..., np.flatnonzero(number == i)], statistic) for i in bins]
    return np.stack(columns, axis=-1)


@answers("scipy.stats.binned_statistic_2d")
def binned_statistic_2d(
    x: Any, y: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None,
    expand_binnumbers: bool = False,
) -> Any:  # fmt: skip
    """SciPy's ``(statistic, x_edge, y_edge, binnumber)`` of traced values at known places.

    >>> from autojit import grad
    >>> x, y, z = np.array([0.1, 0.2, 0.9]), np.array([0.0, 0.1, 1.0]), np.array([1.0, 3.0, 5.0])
    >>> grad(lambda z: st.binned_statistic_2d(x, y, z, bins=2)[0][0, 0])(z)
    array([0.5, 0.5, 0. ])
    """
    name = "binned_statistic_2d"
    places = [known(x, "x", name), known(y, "y", name)]
    if np.ndim(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    found = binned_statistic_dd(
        np.stack(places, axis=-1), values, statistic, bins, range, expand_binnumbers
    )
    of_counts = st.binned_statistic_2d(*places, np.zeros(len(places[0])), "count")
    return type(of_counts)(found.statistic, *found.bin_edges, found.binnumber)


@answers("scipy.stats.binned_statistic_dd")
def binned_statistic_dd(
    sample: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None,
    expand_binnumbers: bool = False, binned_statistic_result: Any = None,
) -> Any:  # fmt: skip
    """SciPy's ``(statistic, bin_edges, binnumber)`` of traced values at known places, in rows.

    >>> from autojit import grad
    >>> x, z = np.array([[0.1, 0.0], [0.2, 0.1], [0.9, 1.0]]), np.array([1.0, 3.0, 5.0])
    >>> grad(lambda z: st.binned_statistic_dd(x, z, bins=2)[0][0, 0])(z)
    array([0.5, 0.5, 0. ])
    """
    name = "binned_statistic_dd"
    places = known(sample, "sample", name)
    bins, range = known(bins, "bins", name), known(range, "range", name)
    places = places if isinstance(places, np.ndarray) else np.atleast_2d(places).T
    rows = _values_of_bins(name, values, statistic, len(places))
    found = st.binned_statistic_dd(
        places, np.zeros(len(places)), "count", bins, range,
        binned_statistic_result=binned_statistic_result,
    )  # fmt: skip
    # SciPy numbers the bins with those outside the edges, one at each end of each axis.
    inside = [np.arange(1, len(edges)) for edges in found.bin_edges]
    sizes = [len(edges) + 1 for edges in found.bin_edges]
    numbers = np.ravel_multi_index(np.meshgrid(*inside, indexing="ij"), sizes)
    made = _in_bins(rows, found.binnumber, np.ravel(numbers), statistic)
    number = found.binnumber
    if expand_binnumbers and len(sizes) > 1:
        number = np.asarray(np.unravel_index(number, sizes))
    return type(found)(
        np.reshape(made, (*rows.shape[:-1], *numbers.shape)), found.bin_edges, number
    )


_OF_BINS: dict[str, Any] = {
    "mean": np.mean, "std": np.std, "median": np.median, "min": np.min, "max": np.max,
    "sum": np.sum, "count": lambda x, axis: np.sum(0.0 * np.real(x) + 1.0, axis=axis),
}  # fmt: skip


def _of_bin(inside: Any, statistic: Any) -> Any:
    """The statistic of a bin's values; NaN if the bin is empty, as in SciPy."""
    if isinstance(statistic, str):
        empty = inside.shape[-1] == 0 and statistic not in ("sum", "count")
        if not empty:
            return _OF_BINS[statistic](inside, axis=-1)
        return np.full(inside.shape[:-1], np.nan)
    if inside.shape[-1] == 0 or inside.ndim > 1:
        raise refused(
            "scipy.stats.binned_statistic",
            "a function as statistic is covered only for one row of values, and only if no "
            "bin is empty.",
        )
    return statistic(inside)
