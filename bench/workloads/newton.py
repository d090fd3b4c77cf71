"""Newton's method in a loop that ends by itself: Kepler's equation, 1000 orbits together.

E - e sin E = M is solved for E until the largest residual is below 1e-12. autojit differentiates
the loop itself in reverse mode. JAX refuses to ("Reverse-mode differentiation does not work for
lax.while_loop"), so its text wraps the same loop in `lax.custom_root`, which computes the gradient
by the implicit function theorem, like the gradients by hand.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads import loops
from bench.workloads.vector_math import sine_cosine

ORBITS = 1000
BLOCK = 50  # orbits that are iterated together by hand: an even share of all
TOLERANCE = 1e-12


def orbits_loss(np: Any, while_loop: Function) -> Function:
    """The sum of squared eccentric anomalies, from eccentricities and mean anomalies."""

    def loss(eccentricity, mean_anomaly):
        def residual(anomaly):
            return anomaly - eccentricity * np.sin(anomaly) - mean_anomaly

        def unfinished(anomaly):
            return np.max(np.abs(residual(anomaly))) > TOLERANCE

        def improve(anomaly):
            return anomaly - residual(anomaly) / (1.0 - eccentricity * np.cos(anomaly))

        start = mean_anomaly + eccentricity * np.sin(mean_anomaly)
        return np.sum(while_loop(unfinished, improve, start) ** 2)

    return loss


def primal(np: Any, special: Any) -> Function:
    return orbits_loss(np, loops.while_loop)


def autojit_primal(autojit: Any) -> Function:
    return orbits_loss(numpy, autojit.while_loop)


def torch_primal(torch: Any) -> Function:
    return orbits_loss(torch, loops.while_loop)


def jax_primal(jax: Any) -> Function:
    jnp = jax.numpy

    def loss(eccentricity, mean_anomaly):
        def residual(anomaly):
            return anomaly - eccentricity * jnp.sin(anomaly) - mean_anomaly

        def solve(f, start):
            def unfinished(anomaly):
                return jnp.max(jnp.abs(f(anomaly))) > TOLERANCE

            def improve(anomaly):
                return anomaly - f(anomaly) / (1.0 - eccentricity * jnp.cos(anomaly))

            return jax.lax.while_loop(unfinished, improve, start)

        def tangent_solve(linear, y):
            return y / linear(jnp.ones_like(y))  # elementwise, so its matrix is diagonal

        start = mean_anomaly + eccentricity * jnp.sin(mean_anomaly)
        return jnp.sum(jax.lax.custom_root(residual, start, solve, tangent_solve) ** 2)

    return loss


def numpy_gradient(np: Any) -> Function:
    """Bisection to the last bit, then the implicit function theorem, without Newton's steps."""

    def gradient(eccentricity, mean_anomaly):
        low, high = mean_anomaly - 1.0, mean_anomaly + 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = middle - eccentricity * np.sin(middle) > mean_anomaly
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        anomaly = 0.5 * (low + high)
        by_mean = 2.0 * anomaly / (1.0 - eccentricity * np.cos(anomaly))
        return by_mean * np.sin(anomaly), by_mean

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_parts(numba: Any) -> tuple[Function, Function]:
    """The solutions of a block of orbits, and their slopes."""
    both = sine_cosine(numba)

    @numba.njit(**OPTIONS)
    def solve(eccentricity, mean_anomaly, anomaly):
        for i in range(BLOCK):
            sine, _ = both(mean_anomaly[i])
            anomaly[i] = mean_anomaly[i] + eccentricity[i] * sine
        unfinished = 1
        while unfinished > 0:
            unfinished = 0
            for i in range(BLOCK):
                sine, cosine = both(anomaly[i])
                residual = anomaly[i] - eccentricity[i] * sine - mean_anomaly[i]
                unfinished += 1 if abs(residual) > TOLERANCE else 0
                anomaly[i] -= residual / (1.0 - eccentricity[i] * cosine)

    @numba.njit(**OPTIONS)
    def slopes(eccentricity, anomaly, by_eccentricity, by_mean):
        for i in range(BLOCK):
            sine, cosine = both(anomaly[i])
            by_mean[i] = 2.0 * anomaly[i] / (1.0 - eccentricity[i] * cosine)
            by_eccentricity[i] = by_mean[i] * sine

    return solve, slopes


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Block by block, so that not all orbits wait for the slowest one."""
    solve, slopes = numba_parts(numba)

    @numba.njit(**OPTIONS)
    def value(eccentricity, mean_anomaly):
        anomaly = numpy.empty(BLOCK)
        total = 0.0
        for first in range(0, ORBITS, BLOCK):
            stop = first + BLOCK
            solve(eccentricity[first:stop], mean_anomaly[first:stop], anomaly)
            for i in range(BLOCK):
                total += anomaly[i] * anomaly[i]
        return total

    @numba.njit(**OPTIONS)
    def gradient(eccentricity, mean_anomaly):
        by_eccentricity, by_mean = numpy.empty(ORBITS), numpy.empty(ORBITS)
        anomaly = numpy.empty(BLOCK)
        for first in range(0, ORBITS, BLOCK):
            stop = first + BLOCK
            e = eccentricity[first:stop]
            solve(e, mean_anomaly[first:stop], anomaly)
            slopes(e, anomaly, by_eccentricity[first:stop], by_mean[first:stop])
        return by_eccentricity, by_mean

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    return rng.uniform(0.05, 0.8, ORBITS), rng.uniform(0.0, 2.0 * numpy.pi, ORBITS)


WORKLOADS = (
    Workload(
        name="newton",
        derivative_of=f"squares of the solutions of Kepler's equation for {ORBITS:,} orbits",
        dtype="float64",
        target=1.0,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "torch": torch_primal,
        },
        # Six evaluations of sine and cosine at some 35 flops, with ten other flops each.
        limit=Limit(bytes_moved=32 * ORBITS, flops=6 * 45 * ORBITS),
    ),
)
