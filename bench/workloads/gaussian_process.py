"""The evidence of a Gaussian process: a Cholesky factor, with one loop around it.

The squared-exponential kernel with a length for each input; see C. Rasmussen and C. Williams,
"Gaussian Processes for Machine Learning", 2006, equations 5.1, 5.8 and 5.9.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import vector_math

POINTS, COLUMNS = 500, 3
LOG_TWO_PI = float(numpy.log(2.0 * numpy.pi))


def evidence(np: Any, solve_triangular: Function) -> Function:
    """Minus the log marginal likelihood of `ys` (POINTS,) at `xs` (POINTS, COLUMNS).

    The hyperparameters are logarithms: of the lengths, and of the variances of signal and noise.
    """

    def loss(log_lengths, log_signal, log_noise, xs, ys):
        scaled = xs / np.exp(log_lengths)
        squares = np.sum((scaled[:, None, :] - scaled[None, :, :]) ** 2, axis=-1)
        kernel = np.exp(log_signal - 0.5 * squares)
        factor = np.linalg.cholesky(kernel + np.exp(log_noise) * np.eye(POINTS))
        white = solve_triangular(factor, ys, lower=True)
        log_root_det = np.sum(np.log(np.diag(factor)))
        return 0.5 * white @ white + log_root_det + 0.5 * POINTS * LOG_TWO_PI

    return loss


def primal(np: Any, special: Any) -> Function:
    from scipy.linalg import solve_triangular

    return evidence(np, solve_triangular)


def autojit_primal(autojit: Any) -> Function:
    from autojit.scipy.linalg import solve_triangular

    return evidence(numpy, solve_triangular)


def jax_primal(jax: Any) -> Function:
    from jax.scipy.linalg import solve_triangular

    return evidence(jax.numpy, solve_triangular)


def autograd_primal(autograd: Any) -> Function:
    from autograd.scipy.linalg import solve_triangular

    return evidence(autograd.numpy, solve_triangular)


def pytensor_primal(pt: Any) -> Function:
    return evidence(pt, pt.linalg.solve_triangular)


def torch_primal(torch: Any) -> Function:
    def loss(log_lengths, log_signal, log_noise, xs, ys):
        scaled = xs / torch.exp(log_lengths)
        squares = torch.sum((scaled[:, None, :] - scaled[None, :, :]) ** 2, dim=-1)
        kernel = torch.exp(log_signal - 0.5 * squares)
        noise = torch.exp(log_noise) * torch.eye(POINTS, dtype=xs.dtype)
        factor = torch.linalg.cholesky(kernel + noise)
        white = torch.linalg.solve_triangular(factor, ys[:, None], upper=False)
        log_root_det = torch.sum(torch.log(torch.diagonal(factor)))
        return 0.5 * torch.sum(white**2) + log_root_det + 0.5 * POINTS * LOG_TWO_PI

    return loss


def numpy_gradient(np: Any) -> Function:
    """Equation 5.9: half the trace of (K^-1 - a a^T) dK, where K a = y."""

    def gradient(log_lengths, log_signal, log_noise, xs, ys):
        scaled = xs / np.exp(log_lengths)
        squares = (scaled[:, None, :] - scaled[None, :, :]) ** 2
        kernel = np.exp(log_signal - 0.5 * squares.sum(axis=-1))
        noise = np.exp(log_noise)
        inverse = np.linalg.inv(kernel + noise * np.eye(POINTS))
        weights = inverse @ ys
        outside = 0.5 * (inverse - np.outer(weights, weights))
        inside = outside * kernel
        return (
            np.tensordot(inside, squares, axes=2),
            np.asarray(inside.sum()),
            np.asarray(noise * np.trace(outside)),
        )

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_kernel(numba: Any) -> Function:
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def fill(log_lengths, log_signal, log_noise, xs, kernel, factor):
        """One triangle of the kernel, and once more with the noise; return the scaled columns."""
        scaled = (xs / numpy.exp(log_lengths)).T.copy()
        first, second, third = scaled
        signal = log_signal.item()
        for i in range(POINTS):
            a, b, c = first[i], second[i], third[i]
            for j in range(i + 1):
                x, y, z = a - first[j], b - second[j], c - third[j]
                kernel[i, j] = factor[i, j] = exp(signal - 0.5 * (x * x + y * y + z * z))
            factor[i, i] += numpy.exp(log_noise.item())
        return scaled

    return fill


def numba_version(numba: Any) -> tuple[Function, Function]:
    """LAPACK for the factor and the inverse, each of one triangle, and one loop before and after.

    The loops have an eighth of a million elements and run in one thread, since LAPACK's threads are
    still spinning.
    """
    from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

    njit = numba.njit(**OPTIONS)
    fill = numba_kernel(numba)

    @njit
    def value_of(factor, white):
        total = 0.5 * numpy.dot(white, white) + 0.5 * POINTS * LOG_TWO_PI
        for i in range(POINTS):
            total += numpy.log(factor[i, i])
        return total

    @njit
    def contracted(log_noise, scaled, kernel, inverse, weights):
        first, second, third = scaled
        along_x = along_y = along_z = inside = trace = 0.0
        for i in range(POINTS):
            a, b, c, weight = first[i], second[i], third[i], weights[i]
            trace += inverse[i, i] - weight * weight
            inside += 0.5 * (inverse[i, i] - weight * weight) * kernel[i, i]
            for j in range(i):
                x, y, z = a - first[j], b - second[j], c - third[j]
                slope = (inverse[i, j] - weight * weights[j]) * kernel[i, j]
                inside += slope
                along_x += slope * x * x
                along_y += slope * y * y
                along_z += slope * z * z
        noise = numpy.exp(log_noise.item())
        return (
            numpy.array([along_x, along_y, along_z]),
            numpy.array(inside),
            numpy.array(0.5 * noise * trace),
        )

    # The transpose of an array in C order is in Fortran order, so LAPACK needs no copies, and the
    # lower triangle here is the upper one there.
    def value(log_lengths, log_signal, log_noise, xs, ys):
        kernel, factor = numpy.empty((POINTS, POINTS)), numpy.empty((POINTS, POINTS))
        fill(log_lengths, log_signal, log_noise, xs, kernel, factor)
        dpotrf(factor.T, lower=0, clean=0, overwrite_a=1)
        white, _ = dtrtrs(factor.T, ys, lower=0, trans=1)
        return value_of(factor, white)

    def gradient(log_lengths, log_signal, log_noise, xs, ys):
        kernel, factor = numpy.empty((POINTS, POINTS)), numpy.empty((POINTS, POINTS))
        scaled = fill(log_lengths, log_signal, log_noise, xs, kernel, factor)
        dpotrf(factor.T, lower=0, clean=0, overwrite_a=1)
        weights, _ = dpotrs(factor.T, ys, lower=0)
        dpotri(factor.T, lower=0, overwrite_c=1)
        return contracted(log_noise, scaled, kernel, factor, weights)

    return value, gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    xs = rng.uniform(-3.0, 3.0, (POINTS, COLUMNS))
    ys = numpy.sin(xs[:, 0]) + 0.5 * xs[:, 1] * numpy.cos(xs[:, 2])
    ys += 0.3 * rng.normal(size=POINTS)
    log_lengths = numpy.array([0.1, 0.4, 0.2])
    return log_lengths, numpy.array(0.2), numpy.array(-2.0), xs, ys


PAIRS = POINTS * (POINTS + 1) // 2

WORKLOADS = (
    Workload(
        name="gaussian_process",
        derivative_of=f"log marginal likelihood, {POINTS} points, {COLUMNS} lengths, 2 variances",
        dtype="float64",
        target=1.0,
        inputs=inputs,
        argnums=(0, 1, 2),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "autojit": autojit_primal,
            "jax": jax_primal,
            "autograd": autograd_primal,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        # A third of n^3 for the factor, two thirds for the inverse; an exponential for each pair.
        limit=Limit(flops=POINTS**3 + 50 * PAIRS),
    ),
)
