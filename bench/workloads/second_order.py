"""Hessians and their products with a direction: the cost of structure, and of its absence.

Rosenbrock's Hessian has three diagonals; a library that does not see this computes 200 columns. The
Hessian of a logistic loss is dense, a matrix product of the features with themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads import rosenbrock
from bench.workloads.vector_math import vector_math

UNKNOWNS = 200
ROWS, COLUMNS = 1000, 50
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def rosenbrock_hessian(np: Any) -> Function:
    """The formula of `scipy.optimize.rosen_hess`."""

    def hessian(x):
        beside = np.diag(-400.0 * x[:-1], 1)
        diagonal = np.zeros_like(x)
        diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        diagonal[1:] += 200.0
        return beside + beside.T + np.diag(diagonal)

    return hessian


def rosenbrock_product(np: Any) -> Function:
    def product(x, direction):
        v = direction
        result = np.zeros_like(x)
        bent = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        result[:-1] = bent * v[:-1] - 400.0 * x[:-1] * v[1:]
        result[1:] += 200.0 * v[1:] - 400.0 * x[:-1] * v[:-1]
        return result

    return product


def numba_rosenbrock_hessian(numba: Any) -> tuple[Function, Function]:
    value, _ = rosenbrock.numba_loops(numba)

    @numba.njit(**OPTIONS)
    def hessian(x):
        n = x.size
        result = numpy.zeros((n, n))
        for i in range(n - 1):
            result[i, i] += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0
            result[i + 1, i + 1] = 200.0
            result[i, i + 1] = result[i + 1, i] = -400.0 * x[i]
        return result

    return value, hessian


def numba_rosenbrock_product(numba: Any) -> tuple[Function, Function]:
    loop, _ = rosenbrock.numba_loops(numba)

    @numba.njit
    def value(x, direction):
        return loop(x)

    @numba.njit(**OPTIONS)
    def product(x, v):
        result = numpy.empty_like(x)
        for i in range(x.size - 2):
            here, ahead = x[i + 1], x[i + 2]
            bent = 1200.0 * here * here - 400.0 * ahead + 202.0
            result[i + 1] = bent * v[i + 1] - 400.0 * (x[i] * v[i] + here * v[i + 2])
        bent = 1200.0 * x[0] * x[0] - 400.0 * x[1] + 2.0
        result[0] = bent * v[0] - 400.0 * x[0] * v[1]
        result[-1] = 200.0 * v[-1] - 400.0 * x[-2] * v[-2]
        return result

    return value, product


def log_loss(np: Any, special: Any) -> Function:
    def log_loss(weights, features, labels):
        logits = features @ weights
        return np.mean(np.logaddexp(0.0, logits) - labels * logits)

    return log_loss


def torch_log_loss(torch: Any) -> Function:
    def log_loss(weights, features, labels):
        logits = features @ weights
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)

    return log_loss


def pytensor_log_loss(pt: Any) -> Function:
    def log_loss(weights, features, labels):
        logits = features @ weights
        return pt.mean(pt.softplus(logits) - labels * logits)

    return log_loss


def logistic_hessian(np: Any) -> Function:
    from scipy.special import expit

    def hessian(weights, features, labels):
        share = expit(features @ weights)
        return features.T @ ((share * (1.0 - share) / labels.size)[:, None] * features)

    return hessian


def logistic_product(np: Any) -> Function:
    from scipy.special import expit

    def product(weights, features, labels, direction):
        share = expit(features @ weights)
        return (share * (1.0 - share) / labels.size * (features @ direction)) @ features

    return product


def numba_logistic(numba: Any) -> tuple[Function, Function]:
    """The loss, and its second derivatives by the logits."""
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def value(weights, features, labels):
        logits = numpy.dot(features, weights)
        total = 0.0
        for i in range(labels.size):
            softplus = max(logits[i], 0.0) + numpy.log1p(numpy.exp(-abs(logits[i])))
            total += softplus - labels[i] * logits[i]
        return total / labels.size

    @numba.njit(**OPTIONS)
    def curvatures(weights, features):
        result = numpy.dot(features, weights)
        for i in range(result.size):
            share = 1.0 / (1.0 + exp(-result[i]))
            result[i] = share * (1.0 - share) / result.size
        return result

    return value, curvatures


def numba_logistic_hessian(numba: Any) -> tuple[Function, Function]:
    value, curvatures = numba_logistic(numba)

    @numba.njit(**OPTIONS)
    def hessian(weights, features, labels):
        curvature = curvatures(weights, features)
        scaled = numpy.empty_like(features)
        for i in range(features.shape[0]):
            for j in range(features.shape[1]):
                scaled[i, j] = curvature[i] * features[i, j]
        return numpy.dot(features.T, scaled)

    return value, hessian


def numba_logistic_product(numba: Any) -> tuple[Function, Function]:
    loss, curvatures = numba_logistic(numba)

    @numba.njit
    def value(weights, features, labels, direction):
        return loss(weights, features, labels)

    @numba.njit(**OPTIONS)
    def product(weights, features, labels, direction):
        along = curvatures(weights, features) * numpy.dot(features, direction)
        return numpy.dot(along, features)

    return value, product


def rosenbrock_inputs() -> Arrays:
    return (numpy.random.default_rng(0).uniform(-2.0, 2.0, UNKNOWNS),)


def logistic_inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    features = rng.normal(size=(ROWS, COLUMNS))
    truth = rng.normal(size=COLUMNS)
    labels = (features @ truth + rng.normal(size=ROWS) > 0).astype(numpy.float64)
    return 0.1 * rng.normal(size=COLUMNS), features, labels


def with_direction(inputs: Any) -> Any:
    def and_direction() -> Arrays:
        arguments = inputs()
        return *arguments, numpy.random.default_rng(1).normal(size=arguments[0].shape)

    return and_direction


HESSIAN_ROSENBROCK = Workload(
    name="hessian_rosenbrock",
    derivative_of=f"Rosenbrock's function, n={UNKNOWNS}",
    derivative="hessian",
    dtype="float64",
    target=1.5,
    inputs=rosenbrock_inputs,
    argnums=(0,),
    primal=rosenbrock.primal,
    versions={
        "numba": numba_rosenbrock_hessian,
        "numpy": rosenbrock_hessian,
        "torch": rosenbrock.torch_primal,
        "pytensor": rosenbrock.pytensor_primal,
    },
    limit=Limit(bytes_moved=8 * UNKNOWNS * (UNKNOWNS + 1), flops=6 * UNKNOWNS),
)
HVP_ROSENBROCK = replace(
    HESSIAN_ROSENBROCK,
    name="hvp_rosenbrock",
    derivative="hvp",
    inputs=with_direction(rosenbrock_inputs),
    versions={
        **HESSIAN_ROSENBROCK.versions,
        "numba": numba_rosenbrock_product,
        "numpy": rosenbrock_product,
    },
    limit=Limit(bytes_moved=24 * UNKNOWNS, flops=11 * UNKNOWNS),
)
HESSIAN_LOGISTIC = Workload(
    name="hessian_logistic",
    derivative_of=f"mean log-loss, {ROWS:,} x {COLUMNS}, weights",
    derivative="hessian",
    dtype="float64",
    target=1.5,
    inputs=logistic_inputs,
    argnums=(0,),
    primal=log_loss,
    versions={
        "numba": numba_logistic_hessian,
        "numpy": logistic_hessian,
        "torch": torch_log_loss,
        "pytensor": pytensor_log_loss,
    },
    # Half of the symmetric product would suffice, but no BLAS has it for a scaled operand.
    limit=Limit(
        bytes_moved=8 * ROWS * (COLUMNS + 1),
        gemms=((ROWS, COLUMNS, 1), (COLUMNS, ROWS, COLUMNS)),
    ),
)
HVP_LOGISTIC = replace(
    HESSIAN_LOGISTIC,
    name="hvp_logistic",
    derivative="hvp",
    inputs=with_direction(logistic_inputs),
    versions={
        **HESSIAN_LOGISTIC.versions,
        "numba": numba_logistic_product,
        "numpy": logistic_product,
    },
    limit=Limit(bytes_moved=8 * ROWS * COLUMNS, flops=ROWS * (6 * COLUMNS + 30)),
)

WORKLOADS = (HESSIAN_ROSENBROCK, HVP_ROSENBROCK, HESSIAN_LOGISTIC, HVP_LOGISTIC)
