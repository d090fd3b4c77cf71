"""Distributions of vectors and matrices, with SciPy's names, arguments and shapes of results.

Covariances must be positive definite, except with `allow_singular`; a traced one that is not gives
NaN. SciPy's documentation of each distribution has its formulas.

>>> from autojit import grad
>>> from scipy.stats import multivariate_normal
>>> grad(lambda mu: multivariate_normal.logpdf([1.0, 2.0], mu, np.eye(2)))(np.zeros(2))
array([1., 2.])
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.special as sc

from autojit.errors import ShapeError, with_place
from autojit.functions.checks import ensured
from autojit.functions.linalg.factorizations import cholesky
from autojit.protocols.lifting import as_tracer
from autojit.scipy.linalg import solve_triangular
from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers
from autojit.scipy.special import multigammaln
from autojit.scipy.whole import without_derivative
from autojit.tracing.source import user_source

from .standardized import number

LOG_2PI = float(np.log(2 * np.pi))


def squeezed(result: Any) -> Any:
    """A result without axes of length 1, as SciPy returns it."""
    return np.squeeze(result)


class Scatter:
    """A positive definite matrix and its Cholesky factor."""

    def __init__(self, matrix: Any, dim: int, what: str) -> None:
        matrix = number(matrix)
        if np.ndim(matrix) == 0:
            matrix = matrix * np.eye(dim)
        elif np.ndim(matrix) == 1:
            matrix = matrix[:, None] * np.eye(np.shape(matrix)[0])
        if np.shape(matrix) != (dim, dim):
            raise ShapeError(
                with_place(
                    f"{what} has the shape {np.shape(matrix)}; for {dim} dimensions it must be a "
                    f"number, {dim} numbers, or a matrix of shape {(dim, dim)}",
                    user_source(),
                )
            )
        self.dim: int = dim
        self.matrix: Any = matrix

    @functools.cached_property
    def factor(self) -> Any:
        return cholesky(as_tracer(self.matrix))

    @property
    def log_det(self) -> Any:
        return 2 * np.sum(np.log(np.diagonal(self.factor)))

    def whitened(self, columns: Any) -> Any:
        """The inverse of the factor times columns."""
        return solve_triangular(self.factor, columns, lower=True)

    def distances(self, deviations: Any) -> Any:
        """The squared Mahalanobis distances of deviations, which are vectors on the last axis."""
        rows = np.reshape(deviations, (-1, self.dim))
        squares = np.sum(np.square(self.whitened(rows.T)), axis=0)
        return np.reshape(squares, np.shape(deviations)[:-1])


def dimension(center: Any, matrix: Any) -> int:
    """The number of dimensions, determined as in SciPy."""
    shape = np.shape(matrix)
    if len(shape) == 2:
        return int(shape[0])
    return 1 if center is None else int(np.size(center))


def vectors(x: Any, dim: int) -> Any:
    """Points as vectors on the last axis."""
    x = number(x)
    if np.ndim(x) == 0:
        return np.reshape(x, (1,))
    if np.ndim(x) == 1 and dim == 1:
        return x[:, None]
    return x


# -- normal and t ----------------------------------------------------------------------------


#: Eigenvalues below this share of the greatest one count as 0, as in SciPy.
SINGULAR = 1e6 * np.finfo(float).eps


def _singular_logpdf(deviations: Any, covariance: Any) -> Any:
    """The log-density on the span of a positive semidefinite matrix, by its pseudoinverse."""
    s: Any
    s, vectors = np.linalg.eigh(as_tracer(covariance))
    limit = SINGULAR * np.max(np.abs(s))
    s = ensured(s, np.min(s) >= -limit, ValueError(
        "The input matrix must be symmetric positive semidefinite."))  # fmt: skip
    used = s > limit
    log_det = np.sum(np.where(used, np.log(np.where(used, s, 1.0)), 0.0))
    inverse = np.linalg.pinv(as_tracer(covariance), rcond=SINGULAR, hermitian=True)
    distances = np.sum((deviations @ inverse) * deviations, axis=-1)
    off = np.where(used, 0.0, deviations @ vectors)
    inside = np.sqrt(np.sum(off**2, axis=-1)) < limit
    result = -(np.sum(used) * LOG_2PI + log_det + distances) / 2
    return np.where(inside, result, -np.inf)


@answers("scipy.stats.multivariate_normal.logpdf")
def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    scatter = Scatter(cov, dimension(mean, cov), "cov")
    center = 0.0 if mean is None else number(mean)
    if allow_singular:
        return squeezed(_singular_logpdf(vectors(x, scatter.dim) - center, scatter.matrix))
    distances = scatter.distances(vectors(x, scatter.dim) - center)
    return squeezed(-(scatter.dim * LOG_2PI + scatter.log_det + distances) / 2)


@answers("scipy.stats.multivariate_normal.pdf")
def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


@answers("scipy.stats.multivariate_normal.entropy")
def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    scatter = Scatter(cov, dimension(mean, cov), "cov")
    return (scatter.dim * (LOG_2PI + 1) + scatter.log_det) / 2


@answers("scipy.stats.multivariate_t.logpdf")
def t_logpdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    scatter = Scatter(shape, dimension(loc, shape), "shape")
    dim, df = scatter.dim, number(df)
    center = 0.0 if loc is None else number(loc)
    distances = scatter.distances(vectors(x, dim) - center)
    constant = sc.gammaln((df + dim) / 2) - sc.gammaln(df / 2) - dim / 2 * np.log(df * np.pi)
    return squeezed(constant - scatter.log_det / 2 - (df + dim) / 2 * np.log1p(distances / df))


@answers("scipy.stats.multivariate_t.pdf")
def t_pdf(
    x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False
) -> Any:
    if allow_singular:
        uncovered("stats", "multivariate_t with allow_singular=True")
    return np.exp(t_logpdf(x, loc, shape, df))


@answers("scipy.stats.multivariate_t.entropy")
def t_entropy(loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    scatter = Scatter(shape, dimension(loc, shape), "shape")
    half, df = (scatter.dim + number(df)) / 2, number(df)
    by_df = -sc.gammaln(half) + sc.gammaln(df / 2) + scatter.dim / 2 * np.log(df * np.pi)
    return by_df + half * (sc.digamma(half) - sc.digamma(df / 2)) + scatter.log_det / 2


@answers("scipy.stats.matrix_normal.logpdf")
def matrix_logpdf(X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    points = number(X)
    rows, columns = np.shape(points)[-2:]
    row, column = Scatter(rowcov, rows, "rowcov"), Scatter(colcov, columns, "colcov")
    deviations = np.reshape(points if mean is None else points - number(mean), (-1, rows, columns))
    count = deviations.shape[0]
    by_rows = row.whitened(np.reshape(np.moveaxis(deviations, 1, 0), (rows, -1)))
    by_columns = np.moveaxis(np.reshape(by_rows, (rows, count, columns)), 2, 0)
    turned = np.reshape(by_columns, (columns, -1))
    whitened = np.reshape(column.whitened(turned), (columns, rows, count))
    distances = np.reshape(np.sum(np.square(whitened), axis=(0, 1)), np.shape(points)[:-2])
    log_det = columns * row.log_det + rows * column.log_det
    return squeezed(-(rows * columns * LOG_2PI + log_det + distances) / 2)


@answers("scipy.stats.matrix_normal.pdf")
def matrix_pdf(X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    return np.exp(matrix_logpdf(X, mean, rowcov, colcov))


# -- points of the simplex, and counts -------------------------------------------------------


@answers("scipy.stats.dirichlet.logpdf")
def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """The log-density at points of the simplex, on the first axis, which are not checked."""
    x, alpha = number(x), number(alpha)
    if np.shape(x)[0] + 1 == np.shape(alpha)[0]:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    constant = sc.gammaln(np.sum(alpha)) - np.sum(sc.gammaln(alpha))
    return squeezed(constant + np.sum(sc.xlogy(alpha - 1, x.T), axis=-1))


@answers("scipy.stats.dirichlet.pdf")
def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    return np.exp(dirichlet_logpdf(x, alpha))


@answers("scipy.stats.dirichlet.mean")
def dirichlet_mean(alpha: Any) -> Any:
    alpha = number(alpha)
    return squeezed(alpha / np.sum(alpha))


@answers("scipy.stats.dirichlet.var")
def dirichlet_var(alpha: Any) -> Any:
    alpha = number(alpha)
    total = np.sum(alpha)
    return squeezed(alpha * (total - alpha) / (total * total * (total + 1)))


@answers("scipy.stats.dirichlet.entropy")
def dirichlet_entropy(alpha: Any) -> Any:
    alpha = number(alpha)
    total, count = np.sum(alpha), np.shape(alpha)[0]
    constant = np.sum(sc.gammaln(alpha)) - sc.gammaln(total)
    by_total = (total - count) * sc.digamma(total)
    return squeezed(constant + by_total - np.sum((alpha - 1) * sc.digamma(alpha)))


@answers("scipy.stats.multinomial.logpmf")
def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    x, n, p = without_derivative(number(x)), without_derivative(number(n)), number(p)
    p = _summing_to_one(p)
    valid = np.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
    possible = np.all((x >= 0) & (x == np.floor(x)), axis=-1) & (np.sum(x, axis=-1) == n)
    counts = np.where(possible[..., None], x, 0.0)
    terms = sc.xlogy(counts, np.where(valid[..., None], p, np.nan)) - sc.gammaln(counts + 1)
    result = sc.gammaln(n + 1) + np.sum(terms, axis=-1)
    return np.where(valid, np.where(possible, result, -np.inf), np.nan)


def _summing_to_one(p: Any) -> Any:
    """The probabilities; if they do not sum to 1, the last one is adjusted, as in SciPy."""
    others = np.sum(p[..., :-1], axis=-1)
    adjusted = np.abs(1 - np.sum(p, axis=-1)) > 10 * np.finfo(np.float64).eps
    last = np.where(adjusted, 1 - others, p[..., -1])
    return np.concatenate([p[..., :-1], last[..., None]], axis=-1)


@answers("scipy.stats.multinomial.pmf")
def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    return np.exp(multinomial_logpmf(x, n, p))


# -- positive definite matrices --------------------------------------------------------------


def _matrices(x: Any, dim: int) -> Any:
    """The matrices stacked along the first axis; SciPy stacks them along the last one."""
    x = number(x)
    if np.ndim(x) == 0:
        x = x * np.eye(dim)
    if np.ndim(x) == 1:
        return x[:, None, None] if dim == 1 else (x[:, None] * np.eye(dim))[None]
    return x[None] if np.ndim(x) == 2 else np.moveaxis(x, -1, 0)


def _log_dets(matrices: Any) -> Any:
    return 2 * np.sum(np.log(np.diagonal(cholesky(as_tracer(matrices)), 0, -2, -1)), axis=-1)


def _wishart_constant(df: Any, dim: int) -> Any:
    return df * dim * np.log(2) / 2 + multigammaln(df / 2, dim)


@answers("scipy.stats.wishart.logpdf")
def wishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    dim = dimension(None, scale)
    scatter, df, points = Scatter(scale, dim, "scale"), number(df), _matrices(x, dim)
    traces = np.sum(np.linalg.inv(scatter.matrix) * points, axis=(1, 2))
    constant = _wishart_constant(df, dim) + df / 2 * scatter.log_det
    return squeezed((df - dim - 1) / 2 * _log_dets(points) - traces / 2 - constant)


@answers("scipy.stats.wishart.pdf")
def wishart_pdf(x: Any, df: Any, scale: Any) -> Any:
    return np.exp(wishart_logpdf(x, df, scale))


@answers("scipy.stats.wishart.mean")
def wishart_mean(df: Any, scale: Any) -> Any:
    return squeezed(number(df) * number(scale))


@answers("scipy.stats.invwishart.logpdf")
def invwishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    dim = dimension(None, scale)
    scatter, df, points = Scatter(scale, dim, "scale"), number(df), _matrices(x, dim)
    traces = np.sum(np.linalg.inv(points) * scatter.matrix, axis=(1, 2))
    constant = _wishart_constant(df, dim) - df / 2 * scatter.log_det
    return squeezed(-(df + dim + 1) / 2 * _log_dets(points) - traces / 2 - constant)


@answers("scipy.stats.invwishart.pdf")
def invwishart_pdf(x: Any, df: Any, scale: Any) -> Any:
    return np.exp(invwishart_logpdf(x, df, scale))
