"""More distributions of vectors and matrices: counts from urns, directions, and mixtures.

SciPy's documentation of each distribution has its formulas.

>>> from autojit import grad
>>> from scipy.stats import dirichlet_multinomial
>>> grad(lambda a: dirichlet_multinomial.logpmf([1, 0], [a, 2.0], 1))(2.0)
np.float64(0.25)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from autojit.scipy.arguments import at_hand
from autojit.scipy.registry import answers
from autojit.scipy.special import multigammaln
from autojit.scipy.whole import without_derivative

from .multivariate import LOG_2PI, Scatter, dimension, squeezed
from .standardized import number


def _whole(x: Any) -> Any:
    return without_derivative(number(x))


# -- counts ----------------------------------------------------------------------------------


@answers("scipy.stats.dirichlet_multinomial.logpmf")
def mixed_logpmf(x: Any, alpha: Any, n: Any) -> Any:
    x, alpha, n = _whole(x), number(alpha), _whole(n)
    total = np.sum(alpha, axis=-1)
    possible = np.sum(x, axis=-1) == n
    counts = np.where(possible[..., None], x, 0.0)
    by_total = sc.gammaln(total) + sc.gammaln(n + 1) - sc.gammaln(n + total)
    terms = sc.gammaln(counts + alpha) - sc.gammaln(alpha) - sc.gammaln(counts + 1)
    return np.where(possible, by_total + np.sum(terms, axis=-1), -np.inf)


@answers("scipy.stats.dirichlet_multinomial.pmf")
def mixed_pmf(x: Any, alpha: Any, n: Any) -> Any:
    return np.exp(mixed_logpmf(x, alpha, n))


def _mixed(alpha: Any, n: Any) -> tuple[Any, Any, Any]:
    alpha, n = number(alpha), _whole(n)
    return alpha, np.sum(alpha, axis=-1, keepdims=True), n[..., None]


@answers("scipy.stats.dirichlet_multinomial.mean")
def mixed_mean(alpha: Any, n: Any) -> Any:
    alpha, total, n = _mixed(alpha, n)
    return n * alpha / total


@answers("scipy.stats.dirichlet_multinomial.var")
def mixed_var(alpha: Any, n: Any) -> Any:
    alpha, total, n = _mixed(alpha, n)
    return n * alpha / total * (1 - alpha / total) * (n + total) / (1 + total)


@answers("scipy.stats.dirichlet_multinomial.cov")
def mixed_cov(alpha: Any, n: Any) -> Any:
    alpha, total, n = _mixed(alpha, n)
    share = alpha / total
    spread = n * (n + total) / (1 + total)
    products = share[..., :, None] * share[..., None, :]
    return spread[..., None] * (share[..., None] * np.eye(alpha.shape[-1]) - products)


# -- directions ------------------------------------------------------------------------------


def _direction(mu: Any) -> Any:
    """A unit vector; a known vector of another length is an error, as in SciPy."""
    here = at_hand(mu)
    if here is not None and not np.allclose(np.linalg.norm(here), 1.0):
        raise ValueError("'mu' must be a unit vector of norm 1.")
    mu = number(mu)
    if np.ndim(mu) != 1 or np.shape(mu)[0] < 2:
        raise ValueError("'mu' must be one-dimensional, with at least two entries.")
    return mu


def _log_norm(dim: int, kappa: Any) -> Any:
    order = dim / 2 - 1
    bessel = np.log(sc.ive(order, kappa)) + kappa
    return order * np.log(kappa) - dim / 2 * LOG_2PI - bessel


@answers("scipy.stats.vonmises_fisher.logpdf")
def fisher_logpdf(x: Any, mu: Any = None, kappa: Any = 1) -> Any:
    """The logarithm of the density of unit vectors along the last axis.

    The length of traced vectors is not checked.
    """
    mu, kappa, x = _direction(mu), number(kappa), number(x)
    return _log_norm(np.shape(mu)[0], kappa) + kappa * np.sum(x * mu, axis=-1)


@answers("scipy.stats.vonmises_fisher.pdf")
def fisher_pdf(x: Any, mu: Any = None, kappa: Any = 1) -> Any:
    return np.exp(fisher_logpdf(x, mu, kappa))


@answers("scipy.stats.vonmises_fisher.entropy")
def fisher_entropy(mu: Any = None, kappa: Any = 1) -> Any:
    dim, kappa = np.shape(_direction(mu))[0], number(kappa)
    length = sc.ive(dim / 2, kappa) / sc.ive(dim / 2 - 1, kappa)
    return -_log_norm(dim, kappa) - kappa * length


# -- matrices --------------------------------------------------------------------------------


@answers("scipy.stats.matrix_t.logpdf")
def matrix_t_logpdf(
    X: Any, mean: Any = None, row_spread: Any = 1, col_spread: Any = 1, df: Any = 1
) -> Any:
    shape = (1, 1) if mean is None else np.shape(mean)
    rows = dimension(None, row_spread) if np.ndim(row_spread) else shape[0]
    columns = dimension(None, col_spread) if np.ndim(col_spread) else shape[1]
    row, column = Scatter(row_spread, rows, "row_spread"), Scatter(
        col_spread, columns, "col_spread")  # fmt: skip
    deviations = number(X) - (0.0 if mean is None else number(mean))
    between = np.swapaxes(deviations, -1, -2) @ np.linalg.inv(row.matrix) @ deviations
    _, log_det = np.linalg.slogdet(np.eye(columns) + between @ np.linalg.inv(column.matrix))
    power = (number(df) + rows + columns - 1) / 2
    constant = multigammaln(power, columns) - multigammaln(power - rows / 2, columns)
    by_spreads = columns * row.log_det + rows * column.log_det + rows * columns * np.log(np.pi)
    return squeezed(constant - by_spreads / 2 - power * log_det)


@answers("scipy.stats.matrix_t.pdf")
def matrix_t_pdf(
    X: Any, mean: Any = None, row_spread: Any = 1, col_spread: Any = 1, df: Any = 1
) -> Any:
    return np.exp(matrix_t_logpdf(X, mean, row_spread, col_spread, df))


# -- a normal variable and its variance ------------------------------------------------------


def _if_valid(lmbda: Any, a: Any, b: Any, result: Any) -> Any:
    return np.where((lmbda > 0) & (a > 0) & (b > 0), result, np.nan)


@answers("scipy.stats.normal_inverse_gamma.logpdf")
def pair_logpdf(x: Any, s2: Any, mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> Any:
    x, s2, mu, lmbda, a, b = map(number, (x, s2, mu, lmbda, a, b))
    inside = s2 > 0
    v = np.where(inside, s2, 1.0)
    constant = (np.log(lmbda) - LOG_2PI) / 2 + a * np.log(b) - sc.gammaln(a)
    result = constant - (a + 1.5) * np.log(v) - (2 * b + lmbda * (x - mu) ** 2) / (2 * v)
    return _if_valid(lmbda, a, b, np.where(inside, result, -np.inf))


@answers("scipy.stats.normal_inverse_gamma.pdf")
def pair_pdf(x: Any, s2: Any, mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> Any:
    return np.exp(pair_logpdf(x, s2, mu, lmbda, a, b))


@answers("scipy.stats.normal_inverse_gamma.mean")
def pair_mean(mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> tuple[Any, Any]:
    mu, lmbda, a, b = map(number, (mu, lmbda, a, b))
    has_mean = a > 1
    variance = np.where(has_mean, b / np.where(has_mean, a - 1, 1.0), np.nan)
    center = np.where(has_mean, mu + 0.0 * variance, np.nan)
    return _if_valid(lmbda, a, b, center), _if_valid(lmbda, a, b, variance)


@answers("scipy.stats.normal_inverse_gamma.var")
def pair_var(mu: Any = 0, lmbda: Any = 1, a: Any = 1, b: Any = 1) -> tuple[Any, Any]:
    mu, lmbda, a, b = map(number, (mu, lmbda, a, b))
    has_first, has_second = a > 1, a > 2
    c, d = np.where(has_first, a - 1, 1.0), np.where(has_second, a - 2, 1.0)
    first = np.where(has_first, b / (c * lmbda), np.nan) + 0.0 * mu
    second = np.where(has_second, b * b / (c * c * d), np.nan) + 0.0 * mu
    return _if_valid(lmbda, a, b, first), _if_valid(lmbda, a, b, second)
