"""logsumexp of 160,000 numbers: three sweeps over data that stay in the cache.

GradBench's `lse` (https://github.com/gradbench/gradbench, evals/lse), in the stable form that
subtracts the largest number. Its gradient is the softmax: the derivative of the largest number
itself cancels, and a library that uses this saves another sweep.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

NUMBERS = 160_000
LANES = 32
BLOCK = 8000  # numbers that a thread takes at a time; a multiple of LANES that divides NUMBERS
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    def logsumexp(x):
        largest = np.max(x)
        return largest + np.log(np.sum(np.exp(x - largest)))

    return logsumexp


def jax_primal(jax: Any) -> Function:
    return lambda x: jax.nn.logsumexp(x)


def torch_primal(torch: Any) -> Function:
    return lambda x: torch.logsumexp(x, 0)


def pytensor_primal(pt: Any) -> Function:
    return lambda x: pt.logsumexp(x)


def numpy_gradient(np: Any) -> Function:
    def gradient(x):
        shares = np.exp(x - np.max(x))
        return shares / np.sum(shares)

    return gradient


def numba_sweeps(numba: Any) -> tuple[Function, Function, Function]:
    """The sweeps of a block; each is vectorised."""
    exp, _, _ = vector_math(numba)
    njit = numba.njit(**OPTIONS)

    @njit
    def block_largest(x):
        """Several running maxima, since the compiler cannot reorder one that may be NaN."""
        best = x[:LANES].copy()
        for start in range(LANES, x.size, LANES):
            row = x[start : start + LANES]
            for lane in range(LANES):
                best[lane] = row[lane] if row[lane] > best[lane] else best[lane]
        return best.max()

    @njit
    def total_of(x, largest):
        total = 0.0
        for i in range(x.size):
            total += exp(x[i] - largest)
        return total

    @njit
    def shares_of(x, largest, result):
        total = 0.0
        for i in range(x.size):
            result[i] = exp(x[i] - largest)
            total += result[i]
        return total

    return block_largest, total_of, shares_of


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Each sweep runs on all threads, block after block."""
    block_largest, total_of, shares_of = numba_sweeps(numba)
    njit = numba.njit(parallel=True, **OPTIONS)
    blocks = NUMBERS // BLOCK

    @njit
    def largest_of(x):
        found = numpy.empty(blocks)
        for k in numba.prange(blocks):
            found[k] = block_largest(x[k * BLOCK : (k + 1) * BLOCK])
        return found.max()

    @njit
    def value(x):
        largest, total = largest_of(x), 0.0
        for k in numba.prange(blocks):
            total += total_of(x[k * BLOCK : (k + 1) * BLOCK], largest)
        return largest + numpy.log(total)

    @njit
    def fill(x, result):
        largest, total = largest_of(x), 0.0
        for k in numba.prange(blocks):
            start, stop = k * BLOCK, (k + 1) * BLOCK
            total += shares_of(x[start:stop], largest, result[start:stop])
        scale = 1.0 / total
        for k in numba.prange(blocks):
            share = result[k * BLOCK : (k + 1) * BLOCK]
            for i in range(BLOCK):
                share[i] *= scale

    def gradient(x):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        result = numpy.empty_like(x)
        fill(x, result)
        return result

    return value, gradient


def inputs() -> Arrays:
    return (numpy.random.default_rng(0).uniform(0.0, 1.0, NUMBERS),)


WORKLOADS = (
    Workload(
        name="lse",
        derivative_of=f"logsumexp of {NUMBERS:,} numbers",
        dtype="float64",
        target=2.0,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # An exponential of about 25 flops, a comparison, a difference, a sum and a product.
        limit=Limit(bytes_moved=16 * NUMBERS, flops=28 * NUMBERS),
    ),
)
