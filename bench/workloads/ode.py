"""A chain of equations by Runge-Kutta: four short sweeps per step, none of which needs memory.

GradBench's `ode`, from cmpad's `an_ode`: y'[0] = x[0] and y'[i] = x[i] y[i - 1], over a time of 2
(https://github.com/gradbench/gradbench, evals/ode). There y begins at zero, and its last number is
differentiated; but it is 600 places away, and a hundred steps do not reach it, so that gradient is
zero. Here y begins at random numbers, and its sum is differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.loops import UNROLLED, scan_of

UNKNOWNS, STEPS = 1000, 100
H = 2.0 / STEPS
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def sum_at_end(np: Any, scan: Function) -> Function:
    def loss(x, start):
        def slope(y):
            return x * np.concatenate([np.ones(1), y[:-1]])

        def step(y, _):
            k1 = slope(y)
            k2 = slope(y + 0.5 * H * k1)
            k3 = slope(y + 0.5 * H * k2)
            k4 = slope(y + H * k3)
            return y + H / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

        last, _ = scan(step, start, length=STEPS)
        return np.sum(last)

    return loss


def primal(np: Any, special: Any) -> Function:
    return sum_at_end(np, scan_of(np))


def autojit_primal(autojit: Any) -> Function:
    return sum_at_end(numpy, autojit.scan)


def jax_primal(jax: Any) -> Function:
    return sum_at_end(jax.numpy, jax.lax.scan)


def torch_primal(torch: Any) -> Function:
    return primal(torch, None)


def numpy_gradient(np: Any) -> Function:
    """Stage by stage; the reverse of a slope moves a cotangent up the chain."""

    def behind(y):
        return np.concatenate(([1.0], y[:-1]))

    def moved(x, cotangent):
        return np.concatenate(((x * cotangent)[1:], [0.0]))

    def stages_of(x, y):
        """The arguments of the four slopes."""
        stages = [y]
        for share in (0.5, 0.5, 1.0):
            stages.append(y + share * H * x * behind(stages[-1]))
        return stages

    def gradient(x, start):
        all_stages, y = [], start
        for _ in range(STEPS):
            stages = stages_of(x, y)
            k1, k2, k3, k4 = (x * behind(stage) for stage in stages)
            y = y + H / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            all_stages.append(stages)
        back, result = np.ones_like(x), np.zeros_like(x)
        for stages in reversed(all_stages):
            before, passed = back, np.zeros_like(x)
            for stage, weight, share in zip(
                reversed(stages), (1.0, 2.0, 2.0, 1.0), (0.0, 1.0, 0.5, 0.5), strict=True
            ):
                slope = H / 6.0 * weight * back + share * H * passed
                result += slope * behind(stage)
                passed = moved(x, slope)
                before = before + passed
            back = before
        return result

    return gradient


def numba_weights(numba: Any) -> tuple[Function, Function]:
    """The system is linear, so a step is a sum of four: with S the slope and y[-1] = 1,
    y + H S y + H^2 / 2 S^2 y + H^3 / 6 S^3 y + H^4 / 24 S^4 y.

    The p-th term takes y[i - p] times `weights[p - 1, i]`.
    """
    njit = numba.njit(**OPTIONS)

    @njit
    def weights_of(x):
        weights = numpy.zeros((4, UNKNOWNS))
        for i in range(UNKNOWNS):
            weights[0, i] = H * x[i]
        for p in range(1, 4):
            scale = H / (p + 1)
            for i in range(UNKNOWNS - p):
                weights[p, i + p] = scale * weights[p - 1, i + p] * x[i]
        return weights

    @njit
    def slopes_of(x, weights, d_weights):
        """Turn the cotangents of the weights into those of `x`."""
        result = numpy.zeros(UNKNOWNS)
        for p in range(3, 0, -1):
            scale = H / (p + 1)
            for i in range(UNKNOWNS - p):
                d_weights[p - 1, i + p] += scale * x[i] * d_weights[p, i + p]
                result[i] += scale * weights[p - 1, i + p] * d_weights[p, i + p]
        for i in range(UNKNOWNS):
            result[i] += H * d_weights[0, i]
        return result

    return weights_of, slopes_of


def numba_sweeps(numba: Any) -> tuple[Function, Function]:
    """A step and its reverse. `y` has four more numbers at its start: zeros, then y[-1]."""
    njit = numba.njit(**OPTIONS)

    @njit
    def forward(y, weights, after):
        w1, w2, w3, w4 = weights[0], weights[1], weights[2], weights[3]
        for i in range(UNKNOWNS):
            near = y[i + 4] + w1[i] * y[i + 3] + w2[i] * y[i + 2]
            after[i + 4] = near + (w3[i] * y[i + 1] + w4[i] * y[i])

    @njit
    def backward(y, weights, back, before, d_weights):
        w1, w2, w3, w4 = weights[0], weights[1], weights[2], weights[3]
        d1, d2, d3, d4 = d_weights[0], d_weights[1], d_weights[2], d_weights[3]
        for i in range(UNKNOWNS):
            here = back[i]
            d1[i] += here * y[i + 3]
            d2[i] += here * y[i + 2]
            d3[i] += here * y[i + 1]
            d4[i] += here * y[i]
        for i in range(UNKNOWNS - 4):
            near = back[i] + w1[i + 1] * back[i + 1] + w2[i + 2] * back[i + 2]
            before[i] = near + (w3[i + 3] * back[i + 3] + w4[i + 4] * back[i + 4])
        for i in range(UNKNOWNS - 4, UNKNOWNS):
            before[i] = back[i]
            for p in range(min(4, UNKNOWNS - 1 - i)):
                before[i] += weights[p, i + p + 1] * back[i + p + 1]

    return forward, backward


def numba_version(numba: Any) -> tuple[Function, Function]:
    """One sweep per step. A thousand numbers are too few for a second thread."""
    weights_of, slopes_of = numba_weights(numba)
    forward, backward = numba_sweeps(numba)
    njit = numba.njit(**OPTIONS)

    @njit
    def value(x, start):
        weights = weights_of(x)
        y, after = numpy.zeros(UNKNOWNS + 4), numpy.zeros(UNKNOWNS + 4)
        y[3] = after[3] = 1.0
        y[4:] = start
        for _ in range(STEPS):
            forward(y, weights, after)
            y, after = after, y
        return y[4:].sum()

    @njit
    def gradient(x, start):
        weights, d_weights = weights_of(x), numpy.zeros((4, UNKNOWNS))
        ys = numpy.empty((STEPS, UNKNOWNS + 4))
        ys[:, :3], ys[:, 3] = 0.0, 1.0
        ys[0, 4:] = start
        for t in range(STEPS - 1):
            forward(ys[t], weights, ys[t + 1])
        back, before = numpy.ones(UNKNOWNS), numpy.empty(UNKNOWNS)
        for t in range(STEPS - 1, -1, -1):
            backward(ys[t], weights, back, before, d_weights)
            back, before = before, back
        return slopes_of(x, weights, d_weights)

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    return rng.uniform(0.0, 1.0, UNKNOWNS), rng.uniform(0.0, 1.0, UNKNOWNS)


WORKLOADS = (
    Workload(
        name="ode",
        derivative_of=f"sum of {UNKNOWNS:,} unknowns after {STEPS} steps of Runge-Kutta",
        dtype="float64",
        target=3.0,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "torch": torch_primal,
            "torch_compile": UNROLLED,
        },
        # Eight flops per step and unknown forward, sixteen back, with the four terms in one sweep.
        limit=Limit(flops=24 * STEPS * UNKNOWNS),
    ),
)
