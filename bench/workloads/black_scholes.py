"""Black-Scholes: transcendental functions in one fused elementwise loop with five gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

OPTIONS = 1_000_000
ROOT_TWO = math.sqrt(2.0)


def primal(np: Any, special: Any) -> Function:
    def normal_cdf(x):
        return 0.5 * (1.0 + special.erf(x / ROOT_TWO))

    def call_prices(spot, strike, rate, volatility, maturity):
        deviation = volatility * np.sqrt(maturity)
        d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / deviation
        d2 = d1 - deviation
        discounted = strike * np.exp(-rate * maturity)
        return np.sum(spot * normal_cdf(d1) - discounted * normal_cdf(d2))

    return call_prices


def torch_primal(torch: Any) -> Function:
    return primal(torch, torch.special)


def pytensor_primal(pt: Any) -> Function:
    return primal(pt, pt)


def numpy_gradient(np: Any) -> Function:
    from scipy.special import ndtr

    def gradient(spot, strike, rate, volatility, maturity):
        root = np.sqrt(maturity)
        deviation = volatility * root
        d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / deviation
        discount = np.exp(-rate * maturity)
        exercise = discount * ndtr(d1 - deviation)
        vega = spot * root * np.exp(-0.5 * d1 * d1) / np.sqrt(2.0 * np.pi)
        return (
            ndtr(d1),
            -exercise,
            strike * maturity * exercise,
            vega,
            vega * volatility / (2.0 * maturity) + rate * strike * exercise,
        )

    return gradient


def numba_version(numba: Any) -> tuple[Function, Function]:
    """One loop with vectorisable `exp`, `log` and normal cdf; calls of libm would dominate."""
    exp, log, cdf = vector_math(numba)
    density_scale = 1.0 / numpy.sqrt(2.0 * numpy.pi)

    @numba.njit(parallel=True, fastmath={"contract", "reassoc"})
    def value(spot, strike, rate, volatility, maturity):
        total = 0.0
        for i in numba.prange(spot.size):
            t, v = maturity[i], volatility[i]
            deviation = v * numpy.sqrt(t)
            d1 = (log(spot[i] / strike[i]) + (rate[i] + 0.5 * v * v) * t) / deviation
            d2 = d1 - deviation
            at_d1 = cdf(d1, exp(-0.5 * d1 * d1))
            at_d2 = cdf(d2, exp(-0.5 * d2 * d2))
            total += spot[i] * at_d1 - strike[i] * exp(-rate[i] * t) * at_d2
        return total

    @numba.njit(parallel=True, fastmath={"contract"}, error_model="numpy")
    def fill(
        spot, strike, rate, volatility, maturity,
        d_spot, d_strike, d_rate, d_volatility, d_maturity,
    ):  # fmt: skip
        for i in numba.prange(spot.size):
            s, k, r, v, t = spot[i], strike[i], rate[i], volatility[i], maturity[i]
            root = numpy.sqrt(t)
            deviation = v * root
            d1 = (log(s / k) + (r + 0.5 * v * v) * t) / deviation
            d2 = d1 - deviation
            bell = exp(-0.5 * d1 * d1)
            exercise = exp(-r * t) * cdf(d2, exp(-0.5 * d2 * d2))
            slope = s * density_scale * bell
            d_spot[i] = cdf(d1, bell)
            d_strike[i] = -exercise
            d_rate[i] = k * t * exercise
            d_volatility[i] = slope * root
            d_maturity[i] = slope * v * 0.5 / root + r * k * exercise

    def gradient(*inputs):
        # NumPy asks for huge pages for its arrays and Numba does not: allocated in the loop's own
        # function, the results cost three times the loop in page faults.
        results = tuple(numpy.empty_like(array) for array in inputs)
        fill(*inputs, *results)
        return results

    return value, gradient


def inputs() -> Arrays:
    """Spot and strike of 10 to 50, rates to 10 %, volatilities to 50 %, up to two years."""
    rng = numpy.random.default_rng(0)
    ranges = ((10, 50), (10, 50), (0.01, 0.1), (0.1, 0.5), (0.2, 2.0))
    return tuple(rng.uniform(low, high, OPTIONS) for low, high in ranges)


WORKLOADS = (
    Workload(
        name="black_scholes",
        derivative_of=f"sum of {OPTIONS:,} call prices, five inputs",
        dtype="float64",
        target=8.0,
        inputs=inputs,
        argnums=(0, 1, 2, 3, 4),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # Four exponentials and a logarithm of about 25 flops, two rational cdfs of about 30.
        limit=Limit(bytes_moved=80 * OPTIONS, flops=220 * OPTIONS),
    ),
)
