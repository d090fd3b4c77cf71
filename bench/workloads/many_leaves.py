"""A loop whose state is a dictionary of sixty scalars: the cost of each of a thousand tiny
operations.

A chain of twenty nodes, each with a mean, a precision and a volatility, filters a signal:
prediction errors go up the chain, and the mean above determines the volatility that a node expects.
It is modelled on a program of the package pyhgf, for which JAX's gradient became sixty times
slower: https://github.com/jax-ml/jax/issues/40150. By hand, the nodes are vectors; only the errors,
each of which needs the one below, are computed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written
from bench.workloads.loops import scan_of
from bench.workloads.recurrent import numba_functions
from bench.workloads.vector_math import vector_math

STEPS, NODES = 614, 20
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def surprise(np: Any, scan: Function) -> Function:
    """`parameters`: coupling, drift and rate of the volatilities; `start`: (3, NODES)."""

    def loss(parameters, start, signals):
        coupling, drift, rate = parameters[0], parameters[1], parameters[2]

        def step(leaves, signal):
            after, total = {}, 0.0
            for i in range(NODES):
                mean, volatility = leaves[f"mean{i}"], leaves[f"volatility{i}"]
                above = np.tanh(leaves[f"mean{i + 1}"]) if i + 1 < NODES else 0.0
                spread = np.exp(volatility + coupling * above)
                expected = 1.0 / (1.0 / leaves[f"precision{i}"] + spread)
                error = signal - mean
                weighted = expected * error * error
                total = total + 0.5 * (weighted - np.log(expected))
                after[f"mean{i}"] = mean + error / (1.0 + expected)
                after[f"precision{i}"] = 1.0 + expected
                pull = np.tanh(weighted - 1.0) + drift - volatility
                after[f"volatility{i}"] = volatility + rate * pull
                signal = np.tanh(error)
            return after, total

        leaves = {}
        for i in range(NODES):
            leaves[f"mean{i}"] = start[0, i]
            leaves[f"precision{i}"] = start[1, i]
            leaves[f"volatility{i}"] = start[2, i]
        _, totals = scan(step, leaves, signals)
        return np.sum(totals)

    return loss


def primal(np: Any, special: Any) -> Function:
    return surprise(np, scan_of(np))


def jax_primal(jax: Any) -> Function:
    return surprise(jax.numpy, jax.lax.scan)


def autojit_primal(autojit: Any) -> Function:
    return surprise(numpy, autojit.scan)


def numpy_gradient(np: Any) -> Function:
    """Forward mode: the state's derivatives by all 63 parameters, (NODES, 63) for each kind of
    leaf."""
    count = 3 + 3 * NODES

    def errors_of(signal, mean, d_mean):
        """The prediction errors, from the bottom up, and their derivatives."""
        error, d_error, d_signal = np.empty(NODES), np.empty((NODES, count)), 0.0
        for i in range(NODES):
            error[i] = signal - mean[i]
            d_error[i] = d_signal - d_mean[i]
            signal = np.tanh(error[i])
            d_signal = (1.0 - signal**2) * d_error[i]
        return error[:, None], d_error

    def expected_of(parameters, state, d_state):
        mean, precision, volatility = state
        d_mean, d_precision, d_volatility = d_state
        above, d_above = np.zeros((NODES, 1)), np.zeros((NODES, count))
        above[:-1] = np.tanh(mean[1:])
        d_above[:-1] = (1.0 - above[:-1] ** 2) * d_mean[1:]
        spread = np.exp(volatility + parameters[0] * above)
        d_spread = d_volatility + parameters[0] * d_above
        d_spread[:, :1] += above
        expected = precision / (1.0 + precision * spread)
        d_inverse = spread * d_spread - d_precision / precision**2
        return expected, -(expected**2) * d_inverse

    def step(parameters, state, d_state, signal):
        mean, _, volatility = state
        d_mean, _, d_volatility = d_state
        _, drift, rate = parameters
        expected, d_expected = expected_of(parameters, state, d_state)
        error, d_error = errors_of(signal, mean[:, 0], d_mean)
        d_weighted = error**2 * d_expected + 2.0 * expected * error * d_error
        gain = 1.0 / (1.0 + expected)
        outside = np.tanh(expected * error**2 - 1.0)
        pull = outside + drift - volatility
        d_pull = (1.0 - outside**2) * d_weighted - d_volatility
        d_pull[:, 1] += 1.0
        d_next = d_volatility + rate * d_pull
        d_next[:, 2:3] += pull
        after = mean + gain * error, 1.0 + expected, volatility + rate * pull
        d_after = d_mean + gain * d_error - gain**2 * error * d_expected, d_expected, d_next
        return after, d_after, 0.5 * np.sum(d_weighted - d_expected / expected, axis=0)

    def gradient(parameters, start, signals):
        state = tuple(start[:, :, None])
        d_state = tuple(np.eye(3 * NODES, count, 3).reshape(3, NODES, count))
        total = np.zeros(count)
        for signal in signals:
            state, d_state, share = step(parameters, state, d_state, signal)
            total += share
        return total[:3], total[3:].reshape(3, NODES)

    return gradient


def numba_forward(numba: Any) -> Function:
    exp, _, _ = vector_math(numba)
    tanh, _ = numba_functions(numba)

    @numba.njit(**OPTIONS)
    def forward(parameters, state, signal, kept, after):
        """Loops over the nodes, of which only that of the errors is sequential.

        Rows of `kept`: tanh of the mean above, spread, expected, error, its tanh, outside pull.
        """
        coupling, drift, rate = parameters[0], parameters[1], parameters[2]
        mean, precision, volatility = state[0], state[1], state[2]
        above, spread, expected = kept[0], kept[1], kept[2]
        error, passed, outside = kept[3], kept[4], kept[5]
        above[NODES - 1] = 0.0
        for i in range(NODES - 1):
            above[i] = tanh(mean[i + 1])
        for i in range(NODES):
            spread[i] = exp(volatility[i] + coupling * above[i])
            expected[i] = 1.0 / (1.0 / precision[i] + spread[i])
        for i in range(NODES):
            error[i] = signal - mean[i]
            # In this sequential chain, libm's table has a shorter latency than the polynomial.
            signal = passed[i] = 1.0 - 2.0 / (numpy.exp(2.0 * error[i]) + 1.0)
        for i in range(NODES):
            outside[i] = tanh(expected[i] * error[i] * error[i] - 1.0)
            after[0, i] = mean[i] + error[i] / (1.0 + expected[i])
            after[1, i] = 1.0 + expected[i]
            after[2, i] = volatility[i] + rate * (outside[i] + drift - volatility[i])

    return forward


def numba_backward(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def backward(parameters, state, kept, d_state, d_expected, d_error, d_parameters):
        """Turn `d_state` into the cotangent of the previous state."""
        coupling, drift, rate = parameters[0], parameters[1], parameters[2]
        precision, volatility, above, spread = state[1], state[2], kept[0], kept[1]
        expected, error, passed, outside = kept[2], kept[3], kept[4], kept[5]
        d_mean, d_precision, d_volatility = d_state[0], d_state[1], d_state[2]
        by_coupling = by_drift = by_rate = 0.0
        for i in range(NODES):
            gain = 1.0 / (1.0 + expected[i])
            by_drift += rate * d_volatility[i]
            by_rate += d_volatility[i] * (outside[i] + drift - volatility[i])
            by_weighted = 0.5 + rate * d_volatility[i] * (1.0 - outside[i] * outside[i])
            d_expected[i] = (
                d_precision[i]
                - d_mean[i] * error[i] * gain * gain
                - 0.5 / expected[i]
                + by_weighted * error[i] * error[i]
            )
            d_error[i] = d_mean[i] * gain + 2.0 * by_weighted * expected[i] * error[i]
        for i in range(NODES - 2, -1, -1):
            d_error[i] += d_error[i + 1] * (1.0 - passed[i] * passed[i])
        for i in range(NODES):
            d_mean[i] -= d_error[i]
            by_inverse = -d_expected[i] * expected[i] * expected[i]
            d_precision[i] = -by_inverse / (precision[i] * precision[i])
            by_exponent = by_inverse * spread[i]
            d_volatility[i] = (1.0 - rate) * d_volatility[i] + by_exponent
            by_coupling += by_exponent * above[i]
            d_expected[i] = by_exponent * coupling * (1.0 - above[i] * above[i])
        for i in range(NODES - 1):
            d_mean[i + 1] += d_expected[i]
        d_parameters[0] += by_coupling
        d_parameters[1] += by_drift
        d_parameters[2] += by_rate

    return backward


def numba_version(numba: Any) -> tuple[Function, Function]:
    forward, backward = numba_forward(numba), numba_backward(numba)

    @numba.njit(**OPTIONS)
    def value(parameters, start, signals):
        state, after = start.copy(), numpy.empty_like(start)
        kept = numpy.empty((6, NODES))
        total = 0.0
        for t in range(STEPS):
            forward(parameters, state, signals[t], kept, after)
            product = 1.0
            for i in range(NODES):
                total += kept[2, i] * kept[3, i] * kept[3, i]
                product *= kept[2, i]
            total -= numpy.log(product)  # of the whole chain at once
            state, after = after, state
        return 0.5 * total

    @numba.njit(**OPTIONS)
    def gradient(parameters, start, signals):
        states, kept = numpy.empty((STEPS + 1, 3, NODES)), numpy.empty((STEPS, 6, NODES))
        states[0] = start
        for t in range(STEPS):
            forward(parameters, states[t], signals[t], kept[t], states[t + 1])
        d_parameters, d_state = numpy.zeros(3), numpy.zeros((3, NODES))
        d_expected, d_error = numpy.empty(NODES), numpy.empty(NODES)
        for t in range(STEPS - 1, -1, -1):
            backward(parameters, states[t], kept[t], d_state, d_expected, d_error, d_parameters)
        return d_parameters, d_state

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    signals = numpy.sin(0.05 * numpy.arange(STEPS)) + 0.5 * rng.normal(size=STEPS)
    mean, precision = 0.3 * rng.normal(size=NODES), rng.uniform(1.0, 2.0, NODES)
    start = numpy.array([mean, precision, rng.uniform(-2.0, -1.0, NODES)])
    return numpy.array([0.5, -1.5, 0.1]), start, signals


WORKLOADS = (
    Workload(
        name="scan_many_leaves",
        derivative_of=f"surprise of a chain of {NODES} nodes of 3 scalars, {STEPS} steps",
        dtype="float64",
        target=1.5,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "autograd": not_written("taping 300,000 scalars takes half a minute a call"),
        },
        # Five exponentials or logarithms of 20 flops, 25 other flops, and 50 flops back. A step
        # waits for the chain from one volatility to the next: eight operations, and as many back.
        limit=Limit(flops=175 * NODES * STEPS, chain=16 * STEPS),
    ),
)
