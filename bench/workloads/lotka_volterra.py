"""Lotka-Volterra by RK4: the cost of a step of a long loop of scalars, beyond its arithmetic.

10,000 steps, each of which waits for the previous one. The state is a pair of scalars.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written
from bench.workloads.loops import scan_of

STEPS = 10_000
DT = 0.01
BLOCK = 256  # steps whose derivatives stay in the first-level cache


def path_loss(np: Any, scan: Function) -> Function:
    def loss(theta, start):
        alpha, beta, gamma, delta = theta[0], theta[1], theta[2], theta[3]

        def slope(x, y):
            return alpha * x - beta * x * y, delta * x * y - gamma * y

        def step(state, _):
            x, y = state
            x1, y1 = slope(x, y)
            x2, y2 = slope(x + 0.5 * DT * x1, y + 0.5 * DT * y1)
            x3, y3 = slope(x + 0.5 * DT * x2, y + 0.5 * DT * y2)
            x4, y4 = slope(x + DT * x3, y + DT * y3)
            x = x + DT / 6.0 * (x1 + 2.0 * x2 + 2.0 * x3 + x4)
            y = y + DT / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4)
            return (x, y), (x, y)

        _, (xs, ys) = scan(step, (start[0], start[1]), length=STEPS)
        return np.mean(xs**2 + ys**2)

    return loss


def primal(np: Any, special: Any) -> Function:
    return path_loss(np, scan_of(np))


def jax_primal(jax: Any) -> Function:
    return path_loss(jax.numpy, jax.lax.scan)


def autojit_primal(autojit: Any) -> Function:
    return path_loss(numpy, autojit.scan)


def numpy_gradient(np: Any) -> Function:
    """The path step by step; each step's Jacobian by forward mode, for all steps at once."""

    def slope_along(theta, x, y, dx, dy):
        """The slope, and its derivatives along the rows of `dx` and `dy` (by x, y, theta)."""
        alpha, beta, gamma, delta = theta
        along_x = (alpha - beta * y) * dx - beta * x * dy
        along_y = delta * y * dx + (delta * x - gamma) * dy
        along_x[2] += x
        along_x[3] -= x * y
        along_y[4] -= y
        along_y[5] += x * y
        return x * (alpha - beta * y), y * (delta * x - gamma), along_x, along_y

    def jacobians(theta, x, y):
        """Derivatives of the step from (x, y) by x, y and theta: two arrays (6, steps)."""
        dx, dy = np.zeros((2, 6, x.size))
        dx[0], dy[1] = 1.0, 1.0
        stage, total_x, total_y = (x, y, dx, dy), dx, dy
        for weight, ahead in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)):
            fx, fy, along_x, along_y = slope_along(theta, *stage)
            total_x = total_x + DT / 6.0 * weight * along_x
            total_y = total_y + DT / 6.0 * weight * along_y
            h = ahead * DT
            stage = (x + h * fx, y + h * fy, dx + h * along_x, dy + h * along_y)
        return total_x, total_y

    def path(theta, start):
        alpha, beta, gamma, delta = theta.tolist()
        states = [start.tolist()]
        for _ in range(STEPS):
            x, y = px, py = states[-1]
            nx, ny = x, y
            for weight, ahead in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)):
                fx, fy = px * (alpha - beta * py), py * (delta * px - gamma)
                nx, ny = nx + DT / 6.0 * weight * fx, ny + DT / 6.0 * weight * fy
                px, py = x + ahead * DT * fx, y + ahead * DT * fy
            states.append((nx, ny))
        return np.array(states).T

    def gradient(theta, start):
        x, y = path(theta, start)
        by_x, by_y = jacobians(theta, x[:-1], y[:-1])
        (xx, xy), (yx, yy) = by_x[:2].tolist(), by_y[:2].tolist()
        source_x, source_y = (2.0 / STEPS * x).tolist(), (2.0 / STEPS * y).tolist()
        back_x, back_y = source_x[-1], source_y[-1]
        backs = []
        for t in range(STEPS - 1, -1, -1):
            backs.append((back_x, back_y))
            back_x, back_y = (
                back_x * xx[t] + back_y * yx[t] + source_x[t],
                back_x * xy[t] + back_y * yy[t] + source_y[t],
            )
        back = np.array(backs[::-1]).T
        by_start = np.array([back_x - source_x[0], back_y - source_y[0]])
        return by_x[2:] @ back[0] + by_y[2:] @ back[1], by_start

    return gradient


def numba_steps(numba: Any) -> tuple[Function, Function]:
    """The path, and the pullback of one step, made for loops over many steps at once."""
    half, sixth = 0.5 * DT, DT / 6.0

    @numba.njit(fastmath={"contract"})
    def fill_path(theta, start, xs, ys):
        """Products with the time step are computed aside, where nothing waits for them."""
        a, b, c, d = theta
        x, y = start
        xs[0], ys[0] = x, y
        for t in range(STEPS):
            x1, y1 = x * (a - b * y), y * (d * x - c)
            px, py = x + half * x1, y + half * y1
            gx, gy = a - b * py, d * px - c
            qx, qy = x + (half * px) * gx, y + (half * py) * gy
            hx, hy = a - b * qy, d * qx - c
            rx, ry = x + (DT * qx) * hx, y + (DT * qy) * hy
            sx = x + sixth * (x1 + 2.0 * (px * gx + qx * hx))
            sy = y + sixth * (y1 + 2.0 * (py * gy + qy * hy))
            x, y = sx + (sixth * rx) * (a - b * ry), sy + (sixth * ry) * (d * rx - c)
            xs[t + 1], ys[t + 1] = x, y

    @numba.njit(fastmath={"contract", "reassoc"}, forceinline=True)
    def pullback(a, b, c, d, x, y, u, v):
        """The cotangents of the state and of theta, from those of the next state."""
        px, py = x + half * x * (a - b * y), y + half * y * (d * x - c)
        qx, qy = x + half * px * (a - b * py), y + half * py * (d * px - c)
        rx, ry = x + DT * qx * (a - b * qy), y + DT * qy * (d * qx - c)
        u4, v4 = sixth * u, sixth * v
        ru, rv = u4 * (a - b * ry) + v4 * d * ry, v4 * (d * rx - c) - u4 * b * rx
        u3, v3 = 2.0 * u4 + DT * ru, 2.0 * v4 + DT * rv
        qu, qv = u3 * (a - b * qy) + v3 * d * qy, v3 * (d * qx - c) - u3 * b * qx
        u2, v2 = 2.0 * u4 + half * qu, 2.0 * v4 + half * qv
        pu, pv = u2 * (a - b * py) + v2 * d * py, v2 * (d * px - c) - u2 * b * px
        u1, v1 = u4 + half * pu, v4 + half * pv
        xu, yv = u1 * (a - b * y) + v1 * d * y, v1 * (d * x - c) - u1 * b * x
        by_a = u1 * x + u2 * px + u3 * qx + u4 * rx
        by_b = -(u1 * x * y + u2 * px * py + u3 * qx * qy + u4 * rx * ry)
        by_c = -(v1 * y + v2 * py + v3 * qy + v4 * ry)
        by_d = v1 * x * y + v2 * px * py + v3 * qx * qy + v4 * rx * ry
        return u + xu + pu + qu + ru, v + yv + pv + qv + rv, by_a, by_b, by_c, by_d

    return fill_path, pullback


def numba_blocks(numba: Any, pullback: Function) -> tuple[Function, Function, Function]:
    """A block of steps backwards: Jacobians and theta's share for many steps at once.

    Between these is the chain of cotangents, with two dependent multiplications per step.
    """
    njit = numba.njit(fastmath={"contract", "reassoc"})

    @njit
    def jacobians(theta, x, y, xx, xy, yx, yy):
        a, b, c, d = theta
        for t in range(xx.size):
            xx[t], xy[t], _, _, _, _ = pullback(a, b, c, d, x[t], y[t], 1.0, 0.0)
            yx[t], yy[t], _, _, _, _ = pullback(a, b, c, d, x[t], y[t], 0.0, 1.0)

    @njit
    def chain(u, v, x, y, xx, xy, yx, yy, us, vs):
        scale = 2.0 / STEPS
        for t in range(us.size - 1, -1, -1):
            us[t], vs[t] = u, v
            u, v = (
                xx[t] * u + (yx[t] * v + scale * x[t]),
                yy[t] * v + (xy[t] * u + scale * y[t]),
            )
        return u, v

    @njit
    def share(theta, x, y, us, vs, result):
        a, b, c, d = theta
        by_a = by_b = by_c = by_d = 0.0
        for t in range(us.size):
            _, _, da, db, dc, dd = pullback(a, b, c, d, x[t], y[t], us[t], vs[t])
            by_a += da
            by_b += db
            by_c += dc
            by_d += dd
        result += numpy.array((by_a, by_b, by_c, by_d))

    return jacobians, chain, share


def numba_version(numba: Any) -> tuple[Function, Function]:
    fill_path, pullback = numba_steps(numba)
    jacobians, chain, share = numba_blocks(numba, pullback)
    njit = numba.njit(fastmath={"contract", "reassoc"})

    @njit
    def value(theta, start):
        xs, ys = numpy.empty(STEPS + 1), numpy.empty(STEPS + 1)
        fill_path((theta[0], theta[1], theta[2], theta[3]), (start[0], start[1]), xs, ys)
        total = 0.0
        for t in range(STEPS):
            total += xs[t + 1] * xs[t + 1] + ys[t + 1] * ys[t + 1]
        return total / STEPS

    @njit
    def gradient(theta, start):
        rates = (theta[0], theta[1], theta[2], theta[3])
        xs, ys = numpy.empty(STEPS + 1), numpy.empty(STEPS + 1)
        fill_path(rates, (start[0], start[1]), xs, ys)
        block = numpy.empty((6, BLOCK))
        by_theta = numpy.zeros(4)
        u, v = 2.0 / STEPS * xs[STEPS], 2.0 / STEPS * ys[STEPS]
        stop = STEPS
        while stop > 0:
            first = max(0, stop - BLOCK)
            x, y, size = xs[first:stop], ys[first:stop], stop - first
            xx, xy, yx, yy = block[0][:size], block[1][:size], block[2][:size], block[3][:size]
            us, vs = block[4][:size], block[5][:size]
            jacobians(rates, x, y, xx, xy, yx, yy)
            u, v = chain(u, v, x, y, xx, xy, yx, yy, us, vs)
            share(rates, x, y, us, vs, by_theta)
            stop = first
        by_start = numpy.array((u - 2.0 / STEPS * xs[0], v - 2.0 / STEPS * ys[0]))
        return by_theta, by_start

    return value, gradient


def inputs() -> Arrays:
    """Prey and predators for 100 units of time: some ten cycles."""
    return numpy.array([1.1, 0.4, 0.4, 0.1]), numpy.array([5.0, 2.0])


WORKLOADS = (
    Workload(
        name="lotka_volterra",
        derivative_of=f"mean square of a path of {STEPS:,} RK4 steps, four rates and the start",
        dtype="float64",
        target=50.0,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "autograd": not_written("taping a million operations takes over a minute a call"),
        },
        # A step forward waits for two operations per stage, a step back for two in all.
        limit=Limit(flops=150 * STEPS, chain=10 * STEPS),
    ),
)
