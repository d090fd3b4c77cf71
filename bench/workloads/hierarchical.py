"""A hierarchical logistic regression: each row reads, and adds to, the parameters of its group.

Its gradient is vector mathematics for each row, and additions to computed places, which cannot be
vectorised.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

ROWS, GROUPS = 11_566, 85
BLOCK = 128  # rows whose logits and residuals stay in the first-level cache
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    def loss(intercepts, slopes, log_scale, group, x, labels):
        logits = intercepts[group] + slopes[group] * x
        fit = np.sum(np.logaddexp(0.0, logits) - labels * logits)
        squares = np.sum(intercepts**2) + np.sum(slopes**2)
        return fit + 0.5 * np.exp(-2.0 * log_scale) * squares + 2 * GROUPS * log_scale

    return loss


def torch_primal(torch: Any) -> Function:
    def loss(intercepts, slopes, log_scale, group, x, labels):
        logits = intercepts[group] + slopes[group] * x
        fit = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
        squares = torch.sum(intercepts**2) + torch.sum(slopes**2)
        return fit + 0.5 * torch.exp(-2.0 * log_scale) * squares + 2 * GROUPS * log_scale

    return loss


def pytensor_primal(pt: Any) -> Function:
    def loss(intercepts, slopes, log_scale, group, x, labels):
        logits = intercepts[group] + slopes[group] * x
        fit = pt.sum(pt.softplus(logits) - labels * logits)
        squares = pt.sum(intercepts**2) + pt.sum(slopes**2)
        return fit + 0.5 * pt.exp(-2.0 * log_scale) * squares + 2 * GROUPS * log_scale

    return loss


def numpy_gradient(np: Any) -> Function:
    from scipy.special import expit

    def gradient(intercepts, slopes, log_scale, group, x, labels):
        residual = expit(intercepts[group] + slopes[group] * x) - labels
        precision = np.exp(-2.0 * log_scale)
        squares = np.sum(intercepts**2) + np.sum(slopes**2)
        return (
            np.bincount(group, residual, GROUPS) + precision * intercepts,
            np.bincount(group, residual * x, GROUPS) + precision * slopes,
            np.asarray(2.0 * GROUPS - precision * squares),
        )

    return gradient


def numba_version(numba: Any) -> tuple[Function, Function]:
    return numba_value(numba), numba_gradient(numba)


def numba_value(numba: Any) -> Function:
    exp, log, _ = vector_math(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def value(intercepts, slopes, log_scale, group, x, labels):
        total = 0.0
        for i in numba.prange(ROWS):
            logit = intercepts[group[i]] + slopes[group[i]] * x[i]
            total += max(logit, 0.0) + log(1.0 + exp(-abs(logit))) - labels[i] * logit
        squares = 0.0
        for k in range(GROUPS):
            squares += intercepts[k] * intercepts[k] + slopes[k] * slopes[k]
        scale = log_scale.item()
        return total + 0.5 * exp(-2.0 * scale) * squares + 2 * GROUPS * scale

    return value


def numba_share(numba: Any) -> Function:
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def share(intercepts, slopes, group, x, labels, start, stop, result):
        residual = numpy.empty(BLOCK)
        for first in range(start, stop, BLOCK):
            count = min(BLOCK, stop - first)
            for i in range(count):
                k = group[first + i]
                logit = intercepts[k] + slopes[k] * x[first + i]
                residual[i] = 1.0 / (1.0 + exp(-logit)) - labels[first + i]
            for i in range(count):
                k = group[first + i]
                result[0, k] += residual[i]
                result[1, k] += residual[i] * x[first + i]

    return share


def numba_gradient(numba: Any) -> Function:
    share = numba_share(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def gradient(intercepts, slopes, log_scale, group, x, labels):
        shares = numba.get_num_threads()
        partial = numpy.zeros((shares, 2, GROUPS + 7))  # threads do not share cache lines
        for k in numba.prange(shares):
            start, stop = ROWS * k // shares, ROWS * (k + 1) // shares
            share(intercepts, slopes, group, x, labels, start, stop, partial[k])
        precision = numpy.exp(-2.0 * log_scale.item())
        first, second = numpy.empty(GROUPS), numpy.empty(GROUPS)
        squares = 0.0
        for j in range(GROUPS):
            first[j], second[j] = precision * intercepts[j], precision * slopes[j]
            squares += intercepts[j] * intercepts[j] + slopes[j] * slopes[j]
            for k in range(shares):
                first[j] += partial[k, 0, j]
                second[j] += partial[k, 1, j]
        return first, second, numpy.array(2.0 * GROUPS - precision * squares)

    return gradient


def inputs() -> Arrays:
    """Rows sorted by group, as in most tables."""
    rng = numpy.random.default_rng(0)
    group = numpy.sort(rng.integers(0, GROUPS, ROWS))
    intercepts, slopes = rng.normal(size=(2, GROUPS))
    x = rng.normal(size=ROWS)
    logits = intercepts[group] + slopes[group] * x
    labels = (logits + rng.logistic(size=ROWS) > 0).astype(numpy.float64)
    start = 0.1 * rng.normal(size=(2, GROUPS))
    return start[0].copy(), start[1].copy(), numpy.array(0.1), group, x, labels


WORKLOADS = (
    Workload(
        name="hierarchical",
        derivative_of=f"log-loss with two parameters for each of {GROUPS} groups, {ROWS:,} rows",
        dtype="float64",
        target=1.5,
        inputs=inputs,
        argnums=(0, 1, 2),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        limit=Limit(bytes_moved=24 * ROWS, flops=ROWS * 34),
    ),
)
