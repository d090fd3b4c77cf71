"""A polynomial's least squares: the values of 128 powers at 4,096 places, which need no memory.

GradBench's `llsq`, from cmpad's `llsq_obj`: half the sum of squares of sign(t) minus the polynomial
in t, with t evenly spaced from -1 to 1 (https://github.com/gradbench/gradbench, evals/llsq). The
places are an input, so that no compiler can turn the powers into constants.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

POINTS, TERMS = 4096, 128
BLOCK = 256  # places that are processed together
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def primal(np: Any, special: Any) -> Function:
    """`coefficients[j]` belongs to t**j; `np.polyval` takes the highest power first."""

    def objective(coefficients, t, s):
        return 0.5 * np.sum((s - np.polyval(coefficients[::-1], t)) ** 2)

    return objective


def autograd_primal(autograd: Any) -> Function:
    """autograd does not differentiate `polyval`."""
    np = autograd.numpy

    def objective(coefficients, t, s):
        return 0.5 * np.sum((s - t[:, None] ** np.arange(TERMS) @ coefficients) ** 2)

    return objective


def torch_primal(torch: Any) -> Function:
    """One product for all places: PyTorch has no `polyval`, and a loop would tape 128 steps."""

    def objective(coefficients, t, s):
        return 0.5 * torch.sum((s - torch.linalg.vander(t, N=TERMS) @ coefficients) ** 2)

    return objective


def numpy_gradient(np: Any) -> Function:
    def gradient(coefficients, t, s):
        powers = np.vander(t, TERMS, increasing=True)
        return (powers @ coefficients - s) @ powers

    return gradient


def numba_sweeps(numba: Any) -> tuple[Function, Function]:
    """Horner's rule, and the powers, eight at a time for a block of places.

    So a number is loaded and stored once per eight operations, and the places of a block hide the
    latency of the chain.
    """
    njit = numba.njit(**OPTIONS)

    @njit
    def residuals(coefficients, t, s, result):
        result[:] = 0.0
        for j in range(TERMS - 8, -1, -8):
            c = coefficients[j : j + 8]
            c0, c1, c2, c3, c4, c5, c6, c7 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
            for i in range(BLOCK):
                high = (((result[i] * t[i] + c7) * t[i] + c6) * t[i] + c5) * t[i] + c4
                result[i] = (((high * t[i] + c3) * t[i] + c2) * t[i] + c1) * t[i] + c0
        for i in range(BLOCK):
            result[i] -= s[i]

    @njit
    def add_powers(t, powers, result):
        """Add up `powers`, the residuals, times 1, t, t^2, ..."""
        for j in range(0, TERMS, 8):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for i in range(BLOCK):
                p0 = powers[i]
                p1 = p0 * t[i]
                p2 = p1 * t[i]
                p3 = p2 * t[i]
                p4 = p3 * t[i]
                p5 = p4 * t[i]
                p6 = p5 * t[i]
                p7 = p6 * t[i]
                powers[i] = p7 * t[i]
                s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
                s4, s5, s6, s7 = s4 + p4, s5 + p5, s6 + p6, s7 + p7
            for k, total in enumerate((s0, s1, s2, s3, s4, s5, s6, s7)):
                result[j + k] += total

    return residuals, add_powers


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Block after block of places; the work is too short for a second thread."""
    residuals, add_powers = numba_sweeps(numba)
    njit = numba.njit(**OPTIONS)

    @njit
    def value(coefficients, t, s):
        residual, total = numpy.empty(BLOCK), 0.0
        for start in range(0, POINTS, BLOCK):
            stop = start + BLOCK
            residuals(coefficients, t[start:stop], s[start:stop], residual)
            for i in range(BLOCK):
                total += residual[i] * residual[i]
        return 0.5 * total

    @njit
    def gradient(coefficients, t, s):
        residual, result = numpy.empty(BLOCK), numpy.zeros(TERMS)
        for start in range(0, POINTS, BLOCK):
            stop = start + BLOCK
            residuals(coefficients, t[start:stop], s[start:stop], residual)
            add_powers(t[start:stop], residual, result)
        return result

    return value, gradient


def inputs() -> Arrays:
    t = numpy.linspace(-1.0, 1.0, POINTS)
    return numpy.random.default_rng(0).uniform(0.0, 1.0, TERMS), t, numpy.sign(t)


WORKLOADS = (
    Workload(
        name="llsq",
        derivative_of=f"squares of sign(t) minus a polynomial, n={POINTS:,}, {TERMS} coefficients",
        dtype="float64",
        target=4.0,
        inputs=inputs,
        argnums=(0,),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "torch": torch_primal,
            "autograd": autograd_primal,
        },
        # A multiplication and an addition for each power and place, forward and back.
        limit=Limit(flops=4 * POINTS * TERMS),
    ),
)
