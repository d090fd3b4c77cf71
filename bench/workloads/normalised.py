"""Layer norm, softmax and gelu in a chain: passes over each row, which could stay in the cache.

Each intermediate array that is written to memory moves 16 MB.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import largest_of_row, vector_math_32

ROWS, COLUMNS = 4096, 1024
EPSILON = 1e-5
ROOT_TWO = math.sqrt(2.0)
DENSITY_SCALE = 1.0 / math.sqrt(2.0 * math.pi)


def primal(np: Any, special: Any) -> Function:
    def layer_norm(x, scale, bias):
        mean = np.mean(x, axis=-1, keepdims=True)
        variance = np.var(x, axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + EPSILON) * scale + bias

    def softmax(x):
        weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return weights / np.sum(weights, axis=-1, keepdims=True)

    def gelu(x):
        return 0.5 * x * (1.0 + special.erf(x / ROOT_TWO))

    def loss(x, scale, bias):
        return np.sum(gelu(softmax(layer_norm(x, scale, bias))) ** 2)

    return loss


def jax_primal(jax: Any) -> Function:
    def loss(x, scale, bias):
        normal = jax.nn.standardize(x, epsilon=EPSILON) * scale + bias
        return jax.numpy.sum(jax.nn.gelu(jax.nn.softmax(normal), approximate=False) ** 2)

    return loss


def torch_primal(torch: Any) -> Function:
    functional = torch.nn.functional

    def loss(x, scale, bias):
        normal = functional.layer_norm(x, (COLUMNS,), scale, bias, EPSILON)
        return torch.sum(functional.gelu(torch.softmax(normal, dim=-1)) ** 2)

    return loss


def pytensor_primal(pt: Any) -> Function:
    def loss(x, scale, bias):
        deviation = pt.sqrt(pt.var(x, axis=-1, keepdims=True) + EPSILON)
        normal = (x - pt.mean(x, axis=-1, keepdims=True)) / deviation * scale + bias
        share = pt.special.softmax(normal, axis=-1)
        return pt.sum((0.5 * share * (1.0 + pt.erf(share / ROOT_TWO))) ** 2)

    return loss


def numpy_gradient(np: Any) -> Function:
    """The slope of gelu, x cdf(x), is cdf(x) + x density(x)."""
    from scipy.special import ndtr

    def gradient(x, scale, bias):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + EPSILON)
        normal = centred / deviation
        logits = normal * scale + bias
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        cdf = ndtr(share)
        slope = cdf + share * np.exp(-0.5 * share * share) * DENSITY_SCALE
        back = 2.0 * share * cdf * slope
        back = share * (back - np.sum(back * share, axis=1, keepdims=True))
        d_scale, d_bias = np.sum(back * normal, axis=0), back.sum(axis=0)
        back *= scale
        along = np.mean(back * normal, axis=1, keepdims=True)
        back = (back - back.mean(axis=1, keepdims=True) - normal * along) / deviation
        return back, d_scale, d_bias

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}
ONE, TWO, HALF = numpy.float32(1.0), numpy.float32(2.0), numpy.float32(0.5)
SPREAD, TINY = numpy.float32(1.0 / COLUMNS), numpy.float32(EPSILON)
DENSITY = numpy.float32(DENSITY_SCALE)


def numba_forward(numba: Any) -> Function:
    exp, _ = vector_math_32(numba)
    largest_of = largest_of_row(numba)

    @numba.njit(**OPTIONS)
    def forward(row, scale, bias, normal, share):
        """Fill in the normalised row and its softmax; return the reciprocal of the deviation."""
        total = numpy.float32(0.0)
        for j in range(COLUMNS):
            total += row[j]
        mean = total * SPREAD
        squares = numpy.float32(0.0)
        for j in range(COLUMNS):
            squares += (row[j] - mean) * (row[j] - mean)
        inverse = ONE / numpy.sqrt(squares * SPREAD + TINY)
        for j in range(COLUMNS):
            normal[j] = (row[j] - mean) * inverse
            share[j] = normal[j] * scale[j] + bias[j]
        largest = largest_of(share)
        weights = numpy.float32(0.0)
        for j in range(COLUMNS):
            share[j] = exp(share[j] - largest)
            weights += share[j]
        for j in range(COLUMNS):
            share[j] *= ONE / weights
        return inverse

    return forward


def numba_back(numba: Any) -> Function:
    exp, cdf = vector_math_32(numba)

    @numba.njit(**OPTIONS)
    def back(normal, share, inverse, scale, result, d_scale, d_bias):
        """Compute the cotangent of the row; `result` also holds intermediate cotangents."""
        inner = numpy.float32(0.0)
        for j in range(COLUMNS):
            p = share[j]
            bell = exp(-HALF * p * p)
            below = cdf(p, bell)
            result[j] = TWO * p * below * (below + p * bell * DENSITY)
            inner += result[j] * p
        total, along = numpy.float32(0.0), numpy.float32(0.0)
        for j in range(COLUMNS):
            slope = share[j] * (result[j] - inner)
            d_scale[j] += slope * normal[j]
            d_bias[j] += slope
            slope *= scale[j]
            result[j] = slope
            total += slope
            along += slope * normal[j]
        total, along = total * SPREAD, along * SPREAD
        for j in range(COLUMNS):
            result[j] = (result[j] - total - normal[j] * along) * inverse

    return back


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Each thread takes a block of rows, and each row is read and written once."""
    forward, back = numba_forward(numba), numba_back(numba)
    exp, cdf = vector_math_32(numba)

    @numba.njit(**OPTIONS)
    def row_loss(share):
        loss = numpy.float32(0.0)
        for j in range(COLUMNS):
            p = share[j]
            out = p * cdf(p, exp(-HALF * p * p))
            loss += out * out
        return loss

    @numba.njit(parallel=True, **OPTIONS)
    def value(x, scale, bias):
        shares = numba.get_num_threads()
        losses = numpy.zeros(shares)
        for k in numba.prange(shares):
            normal, share = numpy.empty_like(bias), numpy.empty_like(bias)
            loss = 0.0
            for i in range(ROWS * k // shares, ROWS * (k + 1) // shares):
                forward(x[i], scale, bias, normal, share)
                loss += row_loss(share)
            losses[k] = loss
        return numpy.float32(losses.sum())

    @numba.njit(parallel=True, **OPTIONS)
    def fill(x, scale, bias, result):
        shares = numba.get_num_threads()
        sums = numpy.zeros((shares, 2, COLUMNS), x.dtype)
        for k in numba.prange(shares):
            normal, share = numpy.empty_like(bias), numpy.empty_like(bias)
            for i in range(ROWS * k // shares, ROWS * (k + 1) // shares):
                inverse = forward(x[i], scale, bias, normal, share)
                back(normal, share, inverse, scale, result[i], sums[k, 0], sums[k, 1])
        return sums.sum(axis=0)

    def gradient(x, scale, bias):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        result = numpy.empty_like(x)
        sums = fill(x, scale, bias, result)
        return result, sums[0], sums[1]

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    x = 1.0 + 2.0 * rng.normal(size=(ROWS, COLUMNS))
    scale = 1.0 + 0.1 * rng.normal(size=COLUMNS)
    bias = 0.1 * rng.normal(size=COLUMNS)
    return tuple(array.astype(numpy.float32) for array in (x, scale, bias))


WORKLOADS = (
    Workload(
        name="normalised",
        derivative_of=f"layer norm, softmax and gelu of {ROWS:,} x {COLUMNS:,}, float32",
        dtype="float32",
        target=2.0,
        inputs=inputs,
        argnums=(0, 1, 2),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # Two exponentials of about 20 flops, the error function of about 15, and some 40 others.
        limit=Limit(bytes_moved=8 * ROWS * COLUMNS, flops=95 * ROWS * COLUMNS),
    ),
)
