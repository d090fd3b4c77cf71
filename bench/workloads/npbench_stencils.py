"""NPBench's stencils: loops over time whose state is a field, and an operator of a weather model.

They are from PolyBench/C 4.2 (jacobi_1d, jacobi_2d, heat_3d, seidel_2d, fdtd_2d) and the COSMO
model (hdiff), in NPBench's NumPy text. All except hdiff are linear in their field, so the reverse
pass needs no values of the forward sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads import npbench_dace as dace
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.npbench import NO_ASSIGNMENT, kernel, same_text, uniform

Transposed = Callable[[Any, Any], None]


def jacobi_1d(u):
    return 0.33333 * (u[:-2] + u[1:-1] + u[2:])


def jacobi_2d(u):
    return 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])


def heat_3d(u):
    inner = u[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (u[2:, 1:-1, 1:-1] - 2.0 * inner + u[:-2, 1:-1, 1:-1])
        + 0.125 * (u[1:-1, 2:, 1:-1] - 2.0 * inner + u[1:-1, :-2, 1:-1])
        + 0.125 * (u[1:-1, 1:-1, 2:] - 2.0 * inner + u[1:-1, 1:-1, :-2])
        + inner
    )


def relaxation(stencil: Function, sweeps: int, np: Any, scan: Function) -> Function:
    """Two fields in turn: the inner points of one are computed from the other; edges stay."""

    def loss(A, B):
        inside = (slice(1, -1),) * A.ndim

        def step(fields, _):
            a, b = fields
            b = b.copy()
            b[inside] = stencil(a)
            a = a.copy()
            a[inside] = stencil(b)
            return (a, b), None

        (a, b), _ = scan(step, (A, B), length=sweeps)
        return np.sum(a) + np.sum(b)

    return loss


def jax_relaxation(stencil: Function, sweeps: int, jax: Any) -> Function:
    """A text without assignment, which JAX's arrays do not support."""

    def loss(A, B):
        inside = (slice(1, -1),) * A.ndim

        def step(fields, _):
            a, b = fields
            b = b.at[inside].set(stencil(a))
            return (a.at[inside].set(stencil(b)), b), None

        (a, b), _ = jax.lax.scan(step, (A, B), length=sweeps)
        return jax.numpy.sum(a) + jax.numpy.sum(b)

    return loss


def torch_relaxation(stencil: Function, sweeps: int, torch: Any) -> Function:
    def loss(A, B):
        inside = (slice(1, -1),) * A.ndim
        a, b = A.clone(), B.clone()
        for _ in range(sweeps):
            b[inside] = stencil(a)
            a[inside] = stencil(b)
        return torch.sum(a) + torch.sum(b)

    return loss


def give_jacobi_1d(back, share):
    for part in (back[:-2], back[1:-1], back[2:]):
        part += 0.33333 * share


def give_jacobi_2d(back, share):
    inner, across = slice(1, -1), (slice(None, -2), slice(1, -1), slice(2, None))
    for part in (*(back[inner, at] for at in across), back[2:, inner], back[:-2, inner]):
        part += 0.2 * share


def give_heat_3d(back, share):
    inner = slice(1, -1)
    back[inner, inner, inner] += 0.25 * share
    for side in (slice(2, None), slice(None, -2)):
        for part in (back[side, inner, inner], back[inner, side, inner], back[inner, inner, side]):
            part += 0.125 * share


def relaxation_gradient(give: Transposed, sweeps: int) -> Callable[[Any], Function]:
    """Each half step adds the inner cotangents of its result to those of its source field."""

    def factory(np: Any) -> Function:
        def gradient(A, B):
            a, b = np.ones_like(A), np.ones_like(B)
            inside = (slice(1, -1),) * A.ndim
            for _ in range(sweeps):
                for source, result in ((b, a), (a, b)):
                    share = result[inside].copy()
                    result[inside] = 0.0
                    give(source, share)
            return a

        return gradient

    return factory


def relaxed(
    name: str,
    stencil: Function,
    give: Transposed,
    shape: tuple[int, ...],
    steps: int,
    flops: int,
    *stages: str,
) -> Workload:
    """A row; `stages` as for `npbench_dace.program`."""
    sweeps = steps - 1  # PolyBench counts from one
    points = int(numpy.prod([side - 2 for side in shape]))
    sides = " x ".join(map(str, shape))
    return kernel(
        name,
        f"sum of two fields of {sides} after {sweeps} double sweeps, by the first",
        uniform(shape, shape),
        lambda np, special: relaxation(stencil, sweeps, np, scan_of(np)),
        relaxation_gradient(give, sweeps),
        Limit(flops=2 * flops * points * sweeps),
        versions={
            "autojit": lambda autojit: relaxation(stencil, sweeps, numpy, autojit.scan),
            "dace": dace.program(getattr(dace, name)(sweeps), *stages),
            "jax": lambda jax: jax_relaxation(stencil, sweeps, jax),
            "torch": lambda torch: torch_relaxation(stencil, sweeps, torch),
            "torch_compile": UNROLLED,
            "autograd": NO_ASSIGNMENT,
        },
    )


def fdtd(np: Any, scan: Function) -> Function:
    """Yee's scheme for Maxwell's equations: two electric fields and a magnetic one."""

    def loss(ex, ey, hz, pulse):
        def step(fields, at_edge):
            ex, ey, hz = (field.copy() for field in fields)
            ey[0, :] = at_edge
            ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
            ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
            hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
            return (ex, ey, hz), None

        (ex, ey, hz), _ = scan(step, (ex, ey, hz), pulse)
        return np.sum(ex) + np.sum(ey) + np.sum(hz)

    return loss


def jax_fdtd(jax: Any) -> Function:
    def loss(ex, ey, hz, pulse):
        def step(fields, at_edge):
            ex, ey, hz = fields
            ey = ey.at[0, :].set(at_edge)
            ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
            curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
            return (ex, ey, hz.at[:-1, :-1].add(-0.7 * curl)), None

        (ex, ey, hz), _ = jax.lax.scan(step, (ex, ey, hz), pulse)
        return jax.numpy.sum(ex) + jax.numpy.sum(ey) + jax.numpy.sum(hz)

    return loss


def torch_fdtd(torch: Any) -> Function:
    def loss(ex, ey, hz, pulse):
        ex, ey, hz = ex.clone(), ey.clone(), hz.clone()
        for at_edge in pulse:
            ey[0, :] = at_edge
            ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
            ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
            hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        return torch.sum(ex) + torch.sum(ey) + torch.sum(hz)

    return loss


def fdtd_gradient(np: Any) -> Function:
    def gradient(ex, ey, hz, pulse):
        ex, ey, hz = np.ones_like(ex), np.ones_like(ey), np.ones_like(hz)
        for _ in pulse:
            share = 0.7 * hz[:-1, :-1]
            ex[:-1, 1:] -= share
            ex[:-1, :-1] += share
            ey[1:, :-1] -= share
            ey[:-1, :-1] += share
            share = 0.5 * ex[:, 1:]
            hz[:, 1:] -= share
            hz[:, :-1] += share
            share = 0.5 * ey[1:, :]
            hz[1:, :] -= share
            hz[:-1, :] += share
            ey[0, :] = 0.0
        return hz

    return gradient


def seidel(np: Any, scan: Function) -> Function:
    """Gauss-Seidel sweeps over nine neighbours: in a row, each point waits for the previous one."""

    def loss(A):
        def point(left, rest):
            value = (rest + left) / 9.0
            return value, value

        def row(above, here_and_below):
            here, below = here_and_below
            rest = above[:-2] + above[1:-1] + above[2:] + here[1:-1] + here[2:]
            rest = rest + below[:-2] + below[1:-1] + below[2:]
            _, inner = scan(point, here[0], rest)
            new = np.concatenate((here[:1], inner, here[-1:]))
            return new, new

        def sweep(A, _):
            _, inner = scan(row, A[0], (A[1:-1], A[2:]))
            return np.concatenate((A[:1], inner, A[-1:])), None

        last, _ = scan(sweep, A, length=SEIDEL_STEPS - 1)
        return np.sum(last)

    return loss


def seidel_gradient(np: Any) -> Function:
    def gradient(A):
        back = np.ones_like(A)
        for _ in range(SEIDEL_STEPS - 1):
            for i in range(len(A) - 2, 0, -1):
                row = back[i].tolist()
                for j in range(len(A) - 2, 0, -1):
                    row[j] /= 9.0
                    row[j - 1] += row[j]
                back[i] = row
                share = back[i, 1:-1].copy()
                for across in (slice(None, -2), slice(1, -1), slice(2, None)):
                    back[i - 1, across] += share
                    back[i + 1, across] += share
                back[i, 2:] += share
        return back

    return gradient


def hdiff(np: Any, special: Any) -> Function:
    """Horizontal diffusion: a Laplacian's limited differences."""

    def loss(field, coefficient):
        around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        lap = 4.0 * field[1:-1, 1:-1] - around
        flux = lap[1:, 1:-1] - lap[:-1, 1:-1]
        flux_x = np.where(flux * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux)
        flux = lap[1:-1, 1:] - lap[1:-1, :-1]
        flux_y = np.where(flux * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux)
        change = flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]
        return np.sum(field[2:-2, 2:-2] - coefficient * change)

    return loss


def hdiff_gradient(np: Any) -> Function:
    def gradient(field, coefficient):
        around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        lap = 4.0 * field[1:-1, 1:-1] - around
        flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
        flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
        back_x, back_y = np.zeros_like(flux_x), np.zeros_like(flux_y)
        back_x[1:] -= coefficient
        back_x[:-1] += coefficient
        back_y[:, 1:] -= coefficient
        back_y[:, :-1] += coefficient
        back_x[flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0] = 0.0
        back_y[flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0] = 0.0
        back_lap = np.zeros_like(lap)
        back_lap[1:, 1:-1] += back_x
        back_lap[:-1, 1:-1] -= back_x
        back_lap[1:-1, 1:] += back_y
        back_lap[1:-1, :-1] -= back_y
        back = np.zeros_like(field)
        back[2:-2, 2:-2] = 1.0
        back[1:-1, 1:-1] += 4.0 * back_lap
        for part in (back[2:, 1:-1], back[:-2, 1:-1], back[1:-1, 2:], back[1:-1, :-2]):
            part -= back_lap
        return back

    return gradient


def hdiff_inputs() -> Arrays:
    """Thousandths such that no two neighbours are equal, and no difference of Laplacians is zero.

    At such points the limiter jumps. Modulo 5, the differences of i**3 + j**3 are never 0, and
    those of its Laplacian always -1.
    """
    field, coefficient = uniform((HDIFF_X + 4, HDIFF_Y + 4, HDIFF_Z), (HDIFF_X, HDIFF_Y, HDIFF_Z))()
    rest = (numpy.arange(HDIFF_X + 4)[:, None] ** 3 + numpy.arange(HDIFF_Y + 4) ** 3) % 5
    return 0.001 * (5.0 * numpy.floor(200.0 * field) + rest[:, :, None]), coefficient


SEIDEL_STEPS, SEIDEL_SIDE = 8, 50
FDTD_STEPS, FDTD_X, FDTD_Y = 20, 200, 220
HDIFF_X, HDIFF_Y, HDIFF_Z = 64, 64, 60

WORKLOADS = (
    relaxed("jacobi_1d", jacobi_1d, give_jacobi_1d, (3200,), 800, 3, "forward", "whole"),
    relaxed("jacobi_2d", jacobi_2d, give_jacobi_2d, (150, 150), 50, 5, "forward", "whole"),
    relaxed("heat_3d", heat_3d, give_heat_3d, (25, 25, 25), 25, 7),
    kernel(
        "fdtd_2d",
        f"sum of three fields of {FDTD_X} x {FDTD_Y} after {FDTD_STEPS} steps, by the magnetic one",
        uniform(*[(FDTD_X, FDTD_Y)] * 3, (FDTD_STEPS,)),
        lambda np, special: fdtd(np, scan_of(np)),
        fdtd_gradient,
        Limit(flops=11 * FDTD_STEPS * FDTD_X * FDTD_Y),
        argnum=2,
        versions={
            "dace": dace.program(dace.fdtd_2d, "forward", "whole"),
            "autojit": lambda autojit: fdtd(numpy, autojit.scan),
            "jax": jax_fdtd,
            "torch": torch_fdtd,
            "torch_compile": UNROLLED,
            "autograd": NO_ASSIGNMENT,
        },
    ),
    kernel(
        "seidel_2d",
        f"sum of a field of {SEIDEL_SIDE} x {SEIDEL_SIDE} after {SEIDEL_STEPS - 1} Seidel sweeps",
        uniform((SEIDEL_SIDE, SEIDEL_SIDE)),
        lambda np, special: seidel(np, scan_of(np)),
        seidel_gradient,
        # The longest path of one sweep: along a row, and two points of each row below, an addition
        # and a division each; another sweep may follow a few rows behind.
        Limit(
            flops=9 * (SEIDEL_STEPS - 1) * (SEIDEL_SIDE - 2) ** 2,
            chain=6 * (SEIDEL_SIDE - 2),
        ),
        versions={
            "dace": dace.program(dace.seidel_2d(SEIDEL_STEPS - 1), "forward", "whole"),
            "autojit": lambda autojit: seidel(numpy, autojit.scan),
            "jax": lambda jax: seidel(jax.numpy, jax.lax.scan),
        },
    ),
    kernel(
        "hdiff",
        f"sum of a field of {HDIFF_X} x {HDIFF_Y} x {HDIFF_Z} after a step of limited diffusion",
        hdiff_inputs,
        hdiff,
        hdiff_gradient,
        Limit(
            bytes_moved=24 * HDIFF_X * HDIFF_Y * HDIFF_Z,
            flops=25 * HDIFF_X * HDIFF_Y * HDIFF_Z,
        ),
        versions={"dace": dace.program(dace.hdiff, "whole"), "torch": same_text(hdiff)},
    ),
)
