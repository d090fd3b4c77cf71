"""Logistic regression: a matrix read twice by BLAS calls, or once by a fused loop over its rows."""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

ROWS, COLUMNS = 100_000, 50
BLOCK = 64  # rows of features that stay in the first-level cache: 25 kB


def primal(np: Any, special: Any) -> Function:
    def log_loss(weights, bias, features, labels):
        logits = features @ weights + bias
        return np.mean(np.logaddexp(0.0, logits) - labels * logits)

    return log_loss


def torch_primal(torch: Any) -> Function:
    """Use `binary_cross_entropy_with_logits`, PyTorch's name for this loss."""

    def log_loss(weights, bias, features, labels):
        logits = features @ weights + bias
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)

    return log_loss


def pytensor_primal(pt: Any) -> Function:
    def log_loss(weights, bias, features, labels):
        logits = features @ weights + bias
        return pt.mean(pt.softplus(logits) - labels * logits)

    return log_loss


def numpy_gradient(np: Any) -> Function:
    from scipy.special import expit

    def gradient(weights, bias, features, labels):
        residual = (expit(features @ weights + bias) - labels) / labels.size
        return residual @ features, np.asarray(np.sum(residual))

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_version(numba: Any) -> tuple[Function, Function]:
    return numba_value(numba), numba_gradient(numba)


def numba_value(numba: Any) -> Function:
    @numba.njit(parallel=True, **OPTIONS)
    def value(weights, bias, features, labels):
        total = 0.0
        intercept = bias.item()
        for i in numba.prange(labels.size):
            logit = intercept
            for j in range(weights.size):
                logit += features[i, j] * weights[j]
            softplus = max(logit, 0.0) + numpy.log1p(numpy.exp(-abs(logit)))
            total += softplus - labels[i] * logit
        return total / labels.size

    return value


def numba_share(numba: Any) -> Function:
    """The sums of the gradient over some rows, the bias last; each block is read only once from
    memory."""
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def share(weights, intercept, features, labels, start, stop, result):
        # BLOCK and COLUMNS are compile-time constants, so that the loops are unrolled.
        sums = numpy.zeros(COLUMNS)
        residual = numpy.empty(BLOCK)
        bias_sum = 0.0
        for first in range(start, stop, BLOCK):
            count = min(BLOCK, stop - first)
            for i in range(count):
                logit = intercept
                for j in range(COLUMNS):
                    logit += features[first + i, j] * weights[j]
                residual[i] = logit
            for i in range(count):
                residual[i] = 1.0 / (1.0 + exp(-residual[i])) - labels[first + i]
                bias_sum += residual[i]
            for i in range(count):
                for j in range(COLUMNS):
                    sums[j] += residual[i] * features[first + i, j]
        result[:COLUMNS] = sums
        result[COLUMNS] = bias_sum

    return share


def numba_gradient(numba: Any) -> Function:
    share = numba_share(numba)

    @numba.njit(parallel=True, **OPTIONS)
    def gradient(weights, bias, features, labels):
        shares = numba.get_num_threads()
        # Rows are padded to whole cache lines, so two threads never write to the same line.
        partial = numpy.zeros((shares, COLUMNS + 14))
        rows = labels.size
        intercept = bias.item()
        for k in numba.prange(shares):
            start, stop = rows * k // shares, rows * (k + 1) // shares
            share(weights, intercept, features, labels, start, stop, partial[k])
        total = partial.sum(axis=0) / rows
        return total[:COLUMNS], numpy.array(total[COLUMNS])

    return gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    features = rng.normal(size=(ROWS, COLUMNS))
    truth = rng.normal(size=COLUMNS)
    labels = (features @ truth + rng.normal(size=ROWS) > 0).astype(numpy.float64)
    return 0.1 * rng.normal(size=COLUMNS), numpy.array(0.1), features, labels


WORKLOADS = (
    Workload(
        name="logistic",
        derivative_of=f"mean log-loss, {ROWS:,} x {COLUMNS}, weights and bias",
        dtype="float64",
        target=1.3,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        limit=Limit(bytes_moved=8 * ROWS * (COLUMNS + 1), flops=ROWS * (4 * COLUMNS + 30)),
    ),
)
