"""Rosenbrock's function: the cost of a call (n=10), and a stencil against memory speed (n=1e6)."""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload


def primal(np: Any, special: Any) -> Function:
    """The formula of `scipy.optimize.rosen`."""

    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return rosenbrock


def torch_primal(torch: Any) -> Function:
    return primal(torch, None)


def pytensor_primal(pt: Any) -> Function:
    return primal(pt, None)


def numpy_gradient(np: Any) -> Function:
    def gradient(x):
        residual = x[1:] - x[:-1] ** 2
        result = np.zeros_like(x)
        result[1:] = 200.0 * residual
        result[:-1] -= 400.0 * residual * x[:-1] + 2.0 * (1.0 - x[:-1])
        return result

    return gradient


def numba_loops(numba: Any) -> tuple[Function, Function]:
    """The value, and the gradient except for its two ends, of a stretch of the vector.

    It is a serial loop from 0 to a size: with any other start, or under `prange`, Numba cannot know
    that an index is not negative, and its check for that prevents vectorisation.
    """

    @numba.njit(fastmath={"contract", "reassoc"})
    def value(x):
        total = 0.0
        for i in range(x.size - 1):
            residual = x[i + 1] - x[i] * x[i]
            distance = 1.0 - x[i]
            total += 100.0 * residual * residual + distance * distance
        return total

    @numba.njit(fastmath={"contract", "reassoc"})
    def interior(x, result):
        for i in range(x.size - 2):
            here = x[i + 1]
            result[i + 1] = (
                200.0 * (here - x[i] * x[i])
                - 400.0 * (x[i + 2] - here * here) * here
                - 2.0 * (1.0 - here)
            )

    return value, interior


def numba_small(numba: Any) -> tuple[Function, Function]:
    value, interior = numba_loops(numba)

    @numba.njit
    def gradient(x):
        result = numpy.empty_like(x)
        interior(x, result)
        result[0] = -400.0 * (x[1] - x[0] * x[0]) * x[0] - 2.0 * (1.0 - x[0])
        result[-1] = 200.0 * (x[-1] - x[-2] * x[-2])
        return result

    return value, gradient


def numba_large(numba: Any) -> tuple[Function, Function]:
    """Each thread takes a stretch, which overlaps the neighbouring ones by the stencil's width."""
    value_of, interior = numba_loops(numba)

    @numba.njit(parallel=True)
    def value(x):
        shares, steps = numba.get_num_threads(), x.size - 1
        total = 0.0
        for k in numba.prange(shares):
            total += value_of(x[steps * k // shares : steps * (k + 1) // shares + 1])
        return total

    @numba.njit(parallel=True)
    def fill(x, result):
        shares, steps = numba.get_num_threads(), x.size - 2
        for k in numba.prange(shares):
            start, stop = steps * k // shares, steps * (k + 1) // shares + 2
            interior(x[start:stop], result[start:stop])
        result[0] = -400.0 * (x[1] - x[0] * x[0]) * x[0] - 2.0 * (1.0 - x[0])
        result[-1] = 200.0 * (x[-1] - x[-2] * x[-2])

    def gradient(x):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        result = numpy.empty_like(x)
        fill(x, result)
        return result

    return value, gradient


def _workload(name: str, n: int, target: float, numba_version: Any) -> Workload:
    def inputs() -> Arrays:
        return (numpy.random.default_rng(0).uniform(-2.0, 2.0, n),)

    return Workload(
        name=name,
        derivative_of=f"Rosenbrock's function, n={n:,}",
        dtype="float64",
        target=target,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # For ten numbers, only the overhead of the call is a limit.
        limit=Limit(bytes_moved=16 * n, flops=13 * n) if n > 1000 else Limit(),
    )


WORKLOADS = (
    _workload("rosenbrock_small", 10, 3.0, numba_small),
    _workload("rosenbrock_large", 1_000_000, 1.5, numba_large),
)
