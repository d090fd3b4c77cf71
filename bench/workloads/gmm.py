"""A Gaussian mixture's log-likelihood with a Wishart prior: ADBench's first objective.

F. Srajer, Z. Kukelova and A. Fitzgibbon, "A Benchmark of Selected Algorithmic Differentiation
Tools on Some Problems in Computer Vision and Machine Learning", 2018. A component's covariance is
given by its inverse's triangular factor Q: a row of `icf` holds the logarithms of the diagonal,
then the columns below it. The text multiplies each factor with the centred points; the version by
hand uses the points only in two matrix products with their second moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

POINTS = 1000
GAMMA, FREEDOM = 1.0, 2  # of the Wishart prior
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


@dataclass(frozen=True)
class Tools:
    """The library functions of the common text.

    `lower(icf, diagonals)` makes the factors, `logsumexp(terms)` is over the first axis.
    """

    np: Any
    lower: Function
    logsumexp: Function


def below_diagonal(d: int) -> tuple[Any, Any]:
    """The rows and columns of the entries below the diagonal, column by column."""
    columns, rows = numpy.triu_indices(d, 1)
    return rows, columns


def constant(d: int, k: int) -> float:
    """The terms of the points' densities and of the prior that do not depend on the parameters."""
    freedom = d + FREEDOM + 1
    log_gammas = 0.25 * d * (d - 1) * math.log(math.pi)
    log_gammas += sum(math.lgamma(0.5 * (freedom - i)) for i in range(d))
    prior = freedom * d * (math.log(GAMMA) - 0.5 * math.log(2.0)) - log_gammas
    return -0.5 * POINTS * d * math.log(2.0 * math.pi) - k * prior


def posterior(tools: Tools) -> Function:
    np = tools.np

    def log_posterior(alphas, means, icf, x):
        n, d = x.shape
        logs, below = icf[:, :d], icf[:, d:]
        diagonals, log_dets = np.exp(logs), np.sum(logs, axis=1)
        factors = tools.lower(below, diagonals)
        scaled = (x - means[:, None, :]) @ np.swapaxes(factors, 1, 2)
        heights = (alphas + log_dets)[:, None] - 0.5 * np.sum(scaled**2, axis=2)
        likelihood = np.sum(tools.logsumexp(heights)) - n * tools.logsumexp(alphas)
        squares = np.sum(diagonals**2) + np.sum(below**2)
        prior = 0.5 * GAMMA**2 * squares - FREEDOM * np.sum(log_dets)
        return likelihood + prior + constant(d, alphas.shape[0])

    return log_posterior


def primal(np: Any, special: Any) -> Function:
    def lower(below, diagonals):
        k, d = diagonals.shape
        rows, columns = below_diagonal(d)
        factors = np.zeros((k, d, d))
        factors[:, rows, columns] = below
        factors[:, np.arange(d), np.arange(d)] = diagonals
        return factors

    def logsumexp(terms):
        largest = np.max(terms, axis=0)
        return largest + np.log(np.sum(np.exp(terms - largest), axis=0))

    return posterior(Tools(np, lower, logsumexp))


def jax_primal(jax: Any) -> Function:
    jnp = jax.numpy

    def lower(below, diagonals):
        k, d = diagonals.shape
        rows, columns = below_diagonal(d)
        factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(below)
        return factors.at[:, jnp.arange(d), jnp.arange(d)].set(diagonals)

    return posterior(Tools(jnp, lower, lambda terms: jax.nn.logsumexp(terms, axis=0)))


def autograd_primal(autograd: Any) -> Function:
    """A text without assignment: entries below the diagonal are gathered, the others masked."""
    np = autograd.numpy

    def lower(below, diagonals):
        d = diagonals.shape[1]
        rows, columns = below_diagonal(d)
        place, mask = numpy.zeros((d, d), int), numpy.zeros((d, d))
        place[rows, columns], mask[rows, columns] = numpy.arange(rows.size), 1.0
        return mask * below[:, place] + numpy.eye(d) * diagonals[:, None, :]

    def logsumexp(terms):
        largest = np.max(terms, axis=0)
        return largest + np.log(np.sum(np.exp(terms - largest), axis=0))

    return posterior(Tools(np, lower, logsumexp))


def torch_primal(torch: Any) -> Function:
    def lower(below, diagonals):
        d = diagonals.shape[1]
        rows, columns = (torch.from_numpy(indices) for indices in below_diagonal(d))
        factors = torch.diag_embed(diagonals)
        factors[:, rows, columns] = below
        return factors

    return posterior(Tools(torch, lower, lambda terms: torch.logsumexp(terms, 0)))


def numpy_gradient(np: Any) -> Function:
    """The slopes of the components' heights, weighted with the posterior `share` and summed."""

    def softmax(heights):
        share = np.exp(heights - heights.max(axis=0))
        return share / share.sum(axis=0)

    def gradient(alphas, means, icf, x):
        n, d = x.shape
        rows, columns = below_diagonal(d)
        diagonals = np.exp(icf[:, :d])
        factors = np.zeros((alphas.size, d, d))
        factors[:, rows, columns] = icf[:, d:]
        factors[:, np.arange(d), np.arange(d)] = diagonals
        centred = x - means[:, None, :]
        scaled = centred @ factors.transpose(0, 2, 1)
        heights = alphas[:, None] + icf[:, :d].sum(axis=1)[:, None]
        share = softmax(heights - 0.5 * (scaled**2).sum(axis=2))
        weighted, total = share[:, :, None] * scaled, share.sum(axis=1)
        d_factors = GAMMA**2 * factors - weighted.transpose(0, 2, 1) @ centred
        d_logs = diagonals * d_factors[:, np.arange(d), np.arange(d)]
        return (
            total - n * softmax(alphas),
            (weighted.sum(axis=1)[:, None, :] @ factors)[:, 0],
            np.concatenate(
                (d_logs + total[:, None] - FREEDOM, d_factors[:, rows, columns]), axis=1
            ),
        )

    return gradient


def numba_features(numba: Any, parallel: bool) -> Function:
    @numba.njit(parallel=parallel, **OPTIONS)
    def features_of(x):
        """The features of each point: products of coordinates, each pair once, coordinates, and
        1."""
        n, d = x.shape
        features = numpy.empty((n, d * (d + 1) // 2 + d + 1))
        for p in numba.prange(n):
            at = 0
            for i in range(d):
                for j in range(i + 1):
                    features[p, at + j] = x[p, i] * x[p, j]
                at += i + 1
            features[p, at : at + d] = x[p]
            features[p, at + d] = 1.0
        return features

    return features_of


def numba_factor(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)

    @njit
    def factor_of(row, d):
        factor = numpy.zeros((d, d))
        at = d
        for j in range(d):
            factor[j, j] = math.exp(row[j])
            for i in range(j + 1, d):
                factor[i, j] = row[at]
                at += 1
        return factor

    @njit
    def squared_of(factor):
        """factor.T @ factor, which is symmetric."""
        d = factor.shape[0]
        squared = numpy.zeros((d, d))
        for row in range(d):
            for i in range(row + 1):
                for j in range(i + 1):
                    squared[i, j] += factor[row, i] * factor[row, j]
        for i in range(d):
            for j in range(i):
                squared[j, i] = squared[i, j]
        return squared

    return factor_of, squared_of


def numba_heights(numba: Any, parallel: bool) -> Function:
    """The height of a component at a point is linear in the point's features."""
    factor_of, squared_of = numba_factor(numba)

    @numba.njit(**OPTIONS)
    def fill(alpha, mean, logs, squared, result):
        d = mean.size
        at, square = 0, 0.0
        for i in range(d):
            for j in range(i):
                result[at + j] = -squared[i, j]
            result[at + i] = -0.5 * squared[i, i]
            at += i + 1
        for i in range(d):
            moved = 0.0
            for j in range(d):
                moved += squared[i, j] * mean[j]
            result[at + i] = moved
            square += moved * mean[i]
        result[at + d] = alpha + logs.sum() - 0.5 * square

    @numba.njit(parallel=parallel, **OPTIONS)
    def coefficients_of(alphas, means, icf):
        k, d = means.shape
        factors = numpy.empty((k, d, d))
        result = numpy.empty((k, d * (d + 1) // 2 + d + 1))
        for c in numba.prange(k):
            factors[c] = factor_of(icf[c], d)
            fill(alphas[c], means[c], icf[c, :d], squared_of(factors[c]), result[c])
        return factors, result

    return coefficients_of


def numba_softmax(numba: Any, parallel: bool) -> tuple[Function, Function]:
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def softmax_row(row):
        """Turn heights into shares; return their logsumexp."""
        largest = row.max()
        total = 0.0
        for j in range(row.size):
            row[j] = exp(max(row[j] - largest, -700.0))
            total += row[j]
        for j in range(row.size):
            row[j] /= total
        return largest + numpy.log(total)

    @numba.njit(parallel=parallel, **OPTIONS)
    def softmax_rows(rows):
        total = 0.0
        for p in numba.prange(rows.shape[0]):
            total += softmax_row(rows[p])
        return total

    return softmax_row, softmax_rows


def numba_from_moments(numba: Any, parallel: bool) -> Function:
    @numba.njit(parallel=parallel, **OPTIONS)
    def from_moments(means, icf, factors, moments, d_means, d_icf):
        """`moments` holds the features' sums, weighted by each component's share."""
        k, d = means.shape
        for c in numba.prange(k):
            mean, factor, row = means[c], factors[c], moments[c]
            first = d * (d + 1) // 2
            total = row[first + d]
            shift = numpy.empty(d)
            spread = numpy.empty((d, d))
            at = 0
            for i in range(d):
                shift[i] = row[first + i] - total * mean[i]
            for i in range(d):
                for j in range(i + 1):
                    centred = row[at + j] - row[first + i] * mean[j] - mean[i] * shift[j]
                    spread[i, j] = spread[j, i] = centred
                at += i + 1
            d_means[c] = 0.0
            d_factor = numpy.empty(d)
            for i in range(d):
                scaled = 0.0
                d_factor[:] = 0.0
                for m in range(i + 1):
                    scaled += factor[i, m] * shift[m]
                    for j in range(i + 1):
                        d_factor[j] += factor[i, m] * spread[m, j]
                at = i + d - 1  # of column 0; the next column is shorter by one
                for j in range(i):
                    d_means[c, j] += factor[i, j] * scaled
                    d_icf[c, at] = GAMMA * GAMMA * factor[i, j] - d_factor[j]
                    at += d - 2 - j
                own = factor[i, i]
                d_means[c, i] += own * scaled
                d_icf[c, i] = own * (GAMMA * GAMMA * own - d_factor[i]) + total - FREEDOM

    return from_moments


def numba_version(numba: Any, parallel: bool) -> tuple[Function, Function]:
    """With A = Q^T Q, the heights are -x^T A x / 2 + (A m)^T x and a constant.

    So they are one product of the points' second moments, of which half suffice, and the sums for
    the gradient are another; the gradient by a factor is -Q S with S the weighted scatter. BLAS has
    its own threads; the loops are parallel only if they last for milliseconds.
    """
    features_of = numba_features(numba, parallel)
    coefficients_of = numba_heights(numba, parallel)
    softmax_row, softmax_rows = numba_softmax(numba, parallel)
    from_moments = numba_from_moments(numba, parallel)

    @numba.njit(**OPTIONS)
    def value(alphas, means, icf, x):
        n, d = x.shape
        _, coefficients = coefficients_of(alphas, means, icf)
        total = softmax_rows(numpy.dot(features_of(x), coefficients.T))
        total -= n * softmax_row(alphas.copy())
        for c in range(alphas.size):
            for i in range(d):
                diagonal = math.exp(icf[c, i])
                total += 0.5 * GAMMA * GAMMA * diagonal * diagonal - FREEDOM * icf[c, i]
            for i in range(d, icf.shape[1]):
                total += 0.5 * GAMMA * GAMMA * icf[c, i] * icf[c, i]
        return total

    @numba.njit(**OPTIONS)
    def gradient(alphas, means, icf, x):
        features = features_of(x)
        factors, coefficients = coefficients_of(alphas, means, icf)
        shares = numpy.dot(features, coefficients.T)
        softmax_rows(shares)
        moments = numpy.dot(shares.T, features)
        d_means, d_icf = numpy.empty_like(means), numpy.empty_like(icf)
        from_moments(means, icf, factors, moments, d_means, d_icf)
        d_alphas = alphas.copy()
        softmax_row(d_alphas)
        d_alphas *= -x.shape[0]
        d_alphas += moments[:, -1]
        return d_alphas, d_means, d_icf

    def whole_value(alphas, means, icf, x):
        return value(alphas, means, icf, x) + constant(x.shape[1], alphas.size)

    return whole_value, gradient


def _workload(d: int, k: int, target: float) -> Workload:
    def inputs() -> Arrays:
        """Points around means, of which the nearest overlap."""
        rng = numpy.random.default_rng(0)
        means = rng.normal(size=(k, d))
        icf = numpy.concatenate(
            (
                0.2 * rng.normal(size=(k, d)),
                rng.normal(size=(k, d * (d - 1) // 2)) / (2.0 * d**0.5),
            ),
            axis=1,
        )
        x = means[rng.integers(0, k, POINTS)] + rng.normal(size=(POINTS, d))
        return rng.normal(size=k), means, icf, x

    features = d * (d + 1) // 2 + d + 1
    return Workload(
        name=f"gmm_d{d}_k{k}",
        derivative_of=f"log-likelihood of {POINTS:,} points, {k} Gaussians in {d} dimensions",
        dtype="float64",
        target=target,
        inputs=inputs,
        argnums=(0, 1, 2),
        primal=primal,
        versions={
            "numba": partial(numba_version, parallel=d >= 64),
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autograd": autograd_primal,
            "torch": torch_primal,
        },
        # The two products by hand, and apart from them an exponential of some 25 flops for each
        # component and point.
        limit=Limit(flops=25 * POINTS * k, gemms=((POINTS, features, k), (k, POINTS, features))),
    )


WORKLOADS = (_workload(10, 25, 1.2), _workload(20, 50, 1.2), _workload(64, 100, 1.0))
