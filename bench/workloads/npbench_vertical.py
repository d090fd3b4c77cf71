"""NPBench's vertical advection: a tridiagonal system for each column of a weather model.

It is from the COSMO model, in NPBench's NumPy text: elimination upwards and substitution downwards
(Thomas's algorithm), with a whole layer in each step. The solution is linear in the differentiated
velocity, so the gradient by hand solves one system, the transposed one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit
from bench.workloads import npbench_dace as dace
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.npbench import kernel

COLUMNS_X, COLUMNS_Y, LAYERS = 60, 60, 40
RATE = 3.0 / 20.0


def backwards(scan: Function, flip: Function) -> Function:
    """A scan from the last row to the first, with its results in the order of the rows."""

    def scan_back(f: Function, init: Any, xs: Any) -> tuple[Any, Any]:
        last, found = scan(f, init, tuple(flip(x) for x in xs))
        return last, flip(found)

    return scan_back


def vadv(np: Any, scan: Function, scan_back: Function) -> Function:
    def layers(x):
        return np.moveaxis(x, 2, 0)

    def loss(u_stage, utens_stage, wcon, u_pos, utens):
        nothing = np.zeros((COLUMNS_X, COLUMNS_Y, 1))
        wind = 0.125 * (wcon[1:, :, 1:] + wcon[:-1, :, 1:])
        below = np.concatenate((nothing, -wind), axis=2)
        above = np.concatenate((wind, nothing), axis=2)
        jump = u_stage[:, :, 1:] - u_stage[:, :, :-1]
        right = RATE * u_pos + utens + utens_stage
        right = right + below * np.concatenate((nothing, jump), axis=2)
        right = right - above * np.concatenate((jump, nothing), axis=2)

        def eliminate(last, layer):
            (c_last, d_last), (a, c, d) = last, layer
            divided = 1.0 / (RATE - a - c - c_last * a)
            new = c * divided, (d - d_last * a) * divided
            return new, new

        def substitute(x, layer):
            c, d = layer
            x = d - c * x
            return x, x

        zero = nothing[:, :, 0]
        _, (c, d) = scan(eliminate, (zero, zero), (layers(below), layers(above), layers(right)))
        _, x = scan_back(substitute, zero, (c, d))
        return np.sum(RATE * (x - layers(u_pos)))

    return loss


def numpy_vadv(np: Any, special: Any) -> Function:
    scan = scan_of(np)
    return vadv(np, scan, backwards(scan, lambda x: x[::-1]))


def autojit_vadv(autojit: Any) -> Function:
    return vadv(numpy, autojit.scan, partial(autojit.scan, reverse=True))


def jax_vadv(jax: Any) -> Function:
    return vadv(jax.numpy, jax.lax.scan, partial(jax.lax.scan, reverse=True))


def torch_vadv(torch: Any) -> Function:
    scan = scan_of(torch)
    return vadv(torch, scan, backwards(scan, lambda x: torch.flip(x, (0,))))


def vadv_gradient(np: Any) -> Function:
    """Solve with the transpose: each entry above the diagonal goes below it, one row later."""

    def gradient(u_stage, utens_stage, wcon, u_pos, utens):
        wind = 0.125 * (wcon[1:, :, 1:] + wcon[:-1, :, 1:])
        below, above = np.zeros_like(u_stage), np.zeros_like(u_stage)
        below[:, :, 1:], above[:, :, :-1] = -wind, wind
        diagonal = RATE - below - above
        back = np.full_like(u_stage, RATE)
        for k in range(1, LAYERS):
            factor = wind[:, :, k - 1] / diagonal[:, :, k - 1]
            diagonal[:, :, k] += factor * wind[:, :, k - 1]
            back[:, :, k] -= factor * back[:, :, k - 1]
        back[:, :, -1] /= diagonal[:, :, -1]
        for k in range(LAYERS - 2, -1, -1):
            back[:, :, k] += wind[:, :, k] * back[:, :, k + 1]
            back[:, :, k] /= diagonal[:, :, k]
        by_jump = below[:, :, 1:] * back[:, :, 1:] - above[:, :, :-1] * back[:, :, :-1]
        result = np.zeros_like(u_stage)
        result[:, :, 1:] += by_jump
        result[:, :, :-1] -= by_jump
        return result

    return gradient


def inputs() -> Arrays:
    """A wind a fifth as strong as NPBench's, so that no pivot is near zero."""
    rng = numpy.random.default_rng(0)
    shape = (COLUMNS_X, COLUMNS_Y, LAYERS)
    u_stage, utens_stage, u_pos, utens = rng.uniform(size=(4, *shape))
    wcon = 0.2 * rng.uniform(size=(COLUMNS_X + 1, COLUMNS_Y, LAYERS))
    return u_stage, utens_stage, wcon, u_pos, utens


POINTS = COLUMNS_X * COLUMNS_Y * LAYERS

WORKLOADS = (
    kernel(
        "vadv",
        f"sum of an advection's tendency, {COLUMNS_X} x {COLUMNS_Y} columns of {LAYERS} layers",
        inputs,
        numpy_vadv,
        vadv_gradient,
        Limit(bytes_moved=16 * POINTS, flops=20 * POINTS, chain=6 * LAYERS),
        versions={
            "dace": dace.program(dace.vadv(RATE, LAYERS)),
            "autojit": autojit_vadv,
            "jax": jax_vadv,
            "torch": torch_vadv,
            "torch_compile": UNROLLED,
        },
    ),
)
