"""The heat equation: a stencil in a loop, whose state should stay in the cache and in one place.

500 explicit steps on 128 x 128 points with fixed edges. The equation is linear, so the reverse
pass needs only the final field of the forward sweep.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written
from bench.workloads.loops import UNROLLED, scan_of

SIDE, STEPS = 128, 500
RATE = 0.2  # diffusivity times the time step over the square of the spacing; stable below 0.25


def field_loss(np: Any, scan: Function) -> Function:
    def loss(field):
        def step(u, _):
            u = u.copy()
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            u[1:-1, 1:-1] += RATE * (around - 4.0 * u[1:-1, 1:-1])
            return u, None

        last, _ = scan(step, field, length=STEPS)
        return np.sum(last**2)

    return loss


def primal(np: Any, special: Any) -> Function:
    return field_loss(np, scan_of(np))


def autojit_primal(autojit: Any) -> Function:
    return field_loss(numpy, autojit.scan)


def jax_primal(jax: Any) -> Function:
    """A text without assignment, which JAX's arrays do not support."""

    def loss(field):
        def step(u, _):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            return u.at[1:-1, 1:-1].add(RATE * (around - 4.0 * u[1:-1, 1:-1])), None

        last, _ = jax.lax.scan(step, field, length=STEPS)
        return jax.numpy.sum(last**2)

    return loss


def torch_primal(torch: Any) -> Function:
    def loss(field):
        u = field
        for _ in range(STEPS):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            change = RATE * (around - 4.0 * u[1:-1, 1:-1])
            u = u + torch.nn.functional.pad(change, (1, 1, 1, 1))
        return torch.sum(u**2)

    return loss


def numpy_gradient(np: Any) -> Function:
    """The transpose of a step: each inner point passes its cotangent to the points that it read."""

    def gradient(field):
        u = field.copy()
        for _ in range(STEPS):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            u[1:-1, 1:-1] += RATE * (around - 4.0 * u[1:-1, 1:-1])
        back = 2.0 * u
        for _ in range(STEPS):
            given = RATE * back[1:-1, 1:-1]
            back[1:-1, 1:-1] -= 4.0 * given
            back[2:, 1:-1] += given
            back[:-2, 1:-1] += given
            back[1:-1, 2:] += given
            back[1:-1, :-2] += given
        return back

    return gradient


def numba_sweeps(numba: Any) -> tuple[Function, Function, Function]:
    njit = numba.njit(fastmath={"contract", "reassoc"})

    @njit
    def inside(source, target):
        """A step of the inner points, as one loop over the rows joined end to end.

        So no vector is cut at the end of a row; the edges within the loop get wrong values.
        """
        u, result = source.ravel(), target.ravel()
        for i in range(u.size - 2 * SIDE - 2):
            around = (u[i + 1] + u[i + 2 * SIDE + 1]) + (u[i + SIDE] + u[i + SIDE + 2])
            result[i + SIDE + 1] = (1.0 - 4.0 * RATE) * u[i + SIDE + 1] + RATE * around

    @njit
    def collect(back, edges):
        """Add up, over the steps, the cotangents that the edges get from their neighbours."""
        last = back.shape[0] - 2
        for j in range(back.shape[1]):
            edges[0, j] += back[1, j]
            edges[1, j] += back[last, j]
        for i in range(back.shape[0]):
            edges[2, i] += back[i, 1]
            edges[3, i] += back[i, last]

    @njit
    def field_like(field):
        """A copy whose first inner point is at the start of a cache line."""
        room = numpy.empty(field.size + 8)
        skip = (-(room.ctypes.data // 8) - SIDE - 1) % 8
        result = room[skip : skip + field.size].reshape(field.shape)
        result[:] = field
        return result

    return inside, collect, field_like


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Two fields in turn. With zero edges, a step of the inner points is its own transpose."""
    inside, collect, field_like = numba_sweeps(numba)
    njit = numba.njit(fastmath={"contract", "reassoc"})

    @njit
    def last_field(field):
        source, target = field_like(field), field_like(field)
        for _ in range(STEPS):
            inside(source, target)
            for i in range(1, SIDE - 1):
                target[i, 0], target[i, SIDE - 1] = field[i, 0], field[i, SIDE - 1]
            source, target = target, source
        return source, target

    @njit
    def value(field):
        last, _ = last_field(field)
        return numpy.sum(last * last)

    @njit
    def gradient(field):
        last, back = last_field(field)
        back[:] = 0.0
        other = field_like(back)
        back[1:-1, 1:-1] = 2.0 * last[1:-1, 1:-1]
        edges = numpy.zeros((4, SIDE))
        for _ in range(STEPS):
            collect(back, edges)
            inside(back, other)
            for i in range(1, SIDE - 1):
                other[i, 0] = other[i, SIDE - 1] = 0.0
            back, other = other, back
        result = numpy.empty_like(field)
        result[:] = back
        result[0], result[-1] = 2.0 * last[0] + RATE * edges[0], 2.0 * last[-1] + RATE * edges[1]
        for i in range(1, SIDE - 1):
            result[i, 0] = 2.0 * last[i, 0] + RATE * edges[2, i]
            result[i, -1] = 2.0 * last[i, -1] + RATE * edges[3, i]
        return result

    return value, gradient


def inputs() -> Arrays:
    return (numpy.random.default_rng(0).uniform(0.0, 1.0, (SIDE, SIDE)),)


WORKLOADS = (
    Workload(
        name="heat",
        derivative_of=f"squares of a field of {SIDE} x {SIDE} after {STEPS} explicit steps",
        dtype="float64",
        target=4.0,
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
            "autograd": not_written("autograd's arrays take no assignment"),
        },
        # Six flops per point and step, forward and back; the fields stay in the second-level cache.
        limit=Limit(flops=12 * STEPS * (SIDE - 2) ** 2),
    ),
)
