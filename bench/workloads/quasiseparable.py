"""The O(n) Cholesky factor of a quasiseparable matrix: a loop that carries a 3 x 3 matrix.

A Gaussian process with a Matern-5/2 kernel at n sorted times has the covariance
M[i, j] = p_i^T a_{i-1} ... a_{j+1} q_j below the diagonal and d_i on it; its factor has the same
form, with w instead of q and c instead of d (Foreman-Mackey et al., 2017, arXiv:1703.09710; the
method of `SymmQSM.cholesky` in the package tinygp). JAX's `lax.scan` became ten times slower for
it: https://github.com/jax-ml/jax/issues/36799.
"""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.loops import UNROLLED, scan_of

POINTS, RANK = 2000, 3
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def factor_loss(np: Any, scan: Function) -> Function:
    """Half of the log-determinant plus the squares of the factor's w.

    With f the covariance of the state so far: c = sqrt(d - p f p), w = (q - a f p) / c, and
    a f a + w w is the next f.
    """

    def loss(d, p, q, a):
        def step(f, row):
            d, p, q, a = row
            fp = f @ p
            c = np.sqrt(d - p @ fp)
            w = (q - a @ fp) / c
            return a @ f @ a.T + np.outer(w, w), (c, w)

        start = np.zeros((RANK, RANK), dtype=d.dtype)
        _, (cs, ws) = scan(step, start, (d, p, q, a))
        return np.sum(np.log(cs)) + np.sum(ws**2)

    return loss


def primal(np: Any, special: Any) -> Function:
    return factor_loss(np, scan_of(np))


def jax_primal(jax: Any) -> Function:
    return factor_loss(jax.numpy, jax.lax.scan)


def autojit_primal(autojit: Any) -> Function:
    return factor_loss(numpy, autojit.scan)


def torch_primal(torch: Any) -> Function:
    return primal(torch, None)


def numpy_gradient(np: Any) -> Function:
    def forward(d, p, q, a):
        f, states = np.zeros((RANK, RANK)), []
        for row_d, row_p, row_q, row_a in zip(d, p, q, a, strict=True):
            fp = f @ row_p
            c = np.sqrt(row_d - row_p @ fp)
            w = (row_q - row_a @ fp) / c
            states.append((f, fp, c, w))
            f = row_a @ f @ row_a.T + np.outer(w, w)
        return states

    def gradient(d, p, q, a):
        d_d, d_p, d_q, d_a = map(np.empty_like, (d, p, q, a))
        back = np.zeros((RANK, RANK))
        states = forward(d, p, q, a)
        for k in range(POINTS - 1, -1, -1):
            f, fp, c, w = states[k]
            by_w = 2.0 * (back @ w + w)
            d_q[k] = by_w / c
            d_d[k] = (1.0 - by_w @ w) / (2.0 * c**2)
            by_fp = -a[k].T @ d_q[k] - d_d[k] * p[k]
            d_p[k] = f @ by_fp - d_d[k] * fp
            d_a[k] = 2.0 * back @ a[k] @ f - np.outer(d_q[k], fp)
            back = a[k].T @ back @ a[k] + 0.5 * (np.outer(by_fp, p[k]) + np.outer(p[k], by_fp))
        return d_d, d_p, d_q, d_a

    return gradient


def numba_algebra(numba: Any) -> tuple[Function, Function, Function]:
    """Vectors of three and symmetric matrices of six scalars, so that they stay in registers."""
    njit = numba.njit(**OPTIONS, forceinline=True)

    @njit
    def times(f, x):
        """f x"""
        xx, xy, xz, yy, yz, zz = f
        return (
            xx * x[0] + xy * x[1] + xz * x[2],
            xy * x[0] + yy * x[1] + yz * x[2],
            xz * x[0] + yz * x[1] + zz * x[2],
        )

    @njit
    def full_times(a, x):
        """a x, or with a.T its transpose."""
        return (
            a[0, 0] * x[0] + a[0, 1] * x[1] + a[0, 2] * x[2],
            a[1, 0] * x[0] + a[1, 1] * x[1] + a[1, 2] * x[2],
            a[2, 0] * x[0] + a[2, 1] * x[1] + a[2, 2] * x[2],
        )

    @njit
    def around(a, f):
        """The rows of a f, and a f a^T."""
        x = times(f, (a[0, 0], a[0, 1], a[0, 2]))
        y = times(f, (a[1, 0], a[1, 1], a[1, 2]))
        z = times(f, (a[2, 0], a[2, 1], a[2, 2]))
        by_x, by_y, by_z = full_times(a, x), full_times(a, y), full_times(a, z)
        return (x, y, z), (by_x[0], by_x[1], by_x[2], by_y[1], by_y[2], by_z[2])

    return times, full_times, around


def numba_steps(numba: Any) -> tuple[Function, Function]:
    """With s = c^2 and r = c w there is no root in the loop, and one division."""
    times, full_times, around = numba_algebra(numba)
    njit = numba.njit(**OPTIONS, forceinline=True)

    @njit
    def forward(f, d, p, q, a):
        fp = times(f, p)
        moved = full_times(a, fp)
        x, y, z = q[0] - moved[0], q[1] - moved[1], q[2] - moved[2]
        inverse = 1.0 / (d - (p[0] * fp[0] + p[1] * fp[1] + p[2] * fp[2]))
        _, (xx, xy, xz, yy, yz, zz) = around(a, f)
        sx, sy, sz = x * inverse, y * inverse, z * inverse
        following = (xx + x * sx, xy + x * sy, xz + x * sz, yy + y * sy, yz + y * sz, zz + z * sz)
        return following, fp, (x, y, z), inverse

    @njit
    def backward(back, f, fp, r, inverse, p, a, d_p, d_q, d_a):
        """Return the cotangents of f and d; write those of p, q and a."""
        sx, sy, sz = r[0] * inverse, r[1] * inverse, r[2] * inverse
        bx, by, bz = times(back, (sx, sy, sz))
        rx, ry, rz = 2.0 * (bx + sx), 2.0 * (by + sy), 2.0 * (bz + sz)
        by_d = 0.5 * inverse - 0.5 * (rx * sx + ry * sy + rz * sz)
        d_q[0], d_q[1], d_q[2] = rx, ry, rz
        moved = full_times(a.T, (rx, ry, rz))
        gx, gy, gz = -moved[0] - by_d * p[0], -moved[1] - by_d * p[1], -moved[2] - by_d * p[2]
        ux, uy, uz = times(f, (gx, gy, gz))
        d_p[0], d_p[1], d_p[2] = ux - by_d * fp[0], uy - by_d * fp[1], uz - by_d * fp[2]
        (x, y, z), (xx, xy, xz, yy, yz, zz) = around(a.T, back)
        # The rows of back a, from those of a^T back.
        for i, row, own in (
            (0, (x[0], y[0], z[0]), rx),
            (1, (x[1], y[1], z[1]), ry),
            (2, (x[2], y[2], z[2]), rz),
        ):
            along = times(f, row)
            d_a[i, 0] = 2.0 * along[0] - own * fp[0]
            d_a[i, 1] = 2.0 * along[1] - own * fp[1]
            d_a[i, 2] = 2.0 * along[2] - own * fp[2]
        before = (
            xx + gx * p[0],
            xy + 0.5 * (gx * p[1] + gy * p[0]),
            xz + 0.5 * (gx * p[2] + gz * p[0]),
            yy + gy * p[1],
            yz + 0.5 * (gy * p[2] + gz * p[1]),
            zz + gz * p[2],
        )
        return before, by_d

    return forward, backward


def numba_version(numba: Any) -> tuple[Function, Function]:
    forward, backward = numba_steps(numba)
    zeros = (0.0,) * 6

    @numba.njit(**OPTIONS)
    def value(d, p, q, a):
        f, total, product = zeros, 0.0, 1.0
        for k in range(POINTS):
            f, _, r, inverse = forward(f, d[k], p[k], q[k], a[k])
            total += (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) * inverse
            product *= inverse
            if k % 16 == 15:  # a logarithm for sixteen steps
                total -= 0.5 * numpy.log(product)
                product = 1.0
        return total - 0.5 * numpy.log(product)

    @numba.njit(**OPTIONS)
    def gradient(d, p, q, a):
        d_d, d_p = numpy.empty_like(d), numpy.empty_like(p)
        d_q, d_a = numpy.empty_like(q), numpy.empty_like(a)
        fs, vectors = numpy.empty((POINTS, 6)), numpy.empty((POINTS, 7))
        f = zeros
        for k in range(POINTS):
            fs[k, 0], fs[k, 1], fs[k, 2], fs[k, 3], fs[k, 4], fs[k, 5] = f
            f, fp, r, inverse = forward(f, d[k], p[k], q[k], a[k])
            vectors[k, 0], vectors[k, 1], vectors[k, 2] = fp
            vectors[k, 3], vectors[k, 4], vectors[k, 5] = r
            vectors[k, 6] = inverse
        back = zeros
        for k in range(POINTS - 1, -1, -1):
            f, v = (fs[k, 0], fs[k, 1], fs[k, 2], fs[k, 3], fs[k, 4], fs[k, 5]), vectors[k]
            back, d_d[k] = backward(
                back, f, (v[0], v[1], v[2]), (v[3], v[4], v[5]), v[6],
                p[k], a[k], d_p[k], d_q[k], d_a[k],
            )  # fmt: skip
        return d_d, d_p, d_q, d_a

    return value, gradient


def inputs() -> Arrays:
    """A Matern-5/2 kernel of scale 1 at irregular times, as a stochastic differential equation.

    Its state is a process and its two derivatives, with F = N - rate I, where N^3 = 0, so that
    exp(F t) = exp(-rate t) (I + N t + N N t^2 / 2); see S. Sarkka and A. Solin, "Applied Stochastic
    Differential Equations", 12.3.
    """
    rng = numpy.random.default_rng(0)
    gaps = rng.uniform(0.05, 0.15, POINTS)
    rate = 5.0**0.5
    nilpotent = numpy.array([[rate, 1, 0], [0, rate, 1], [-(rate**3), -3 * rate**2, -2 * rate]])
    power = nilpotent @ nilpotent
    t = gaps[:, None, None]
    a = numpy.exp(-rate * t) * (numpy.eye(RANK) + nilpotent * t + power * t**2 / 2.0)
    middle = rate**2 / 3.0
    stationary = numpy.array([[1, 0, -middle], [0, middle, 0], [-middle, 0, rate**4]])
    noise = rng.uniform(0.1, 0.3, POINTS)
    return 1.0 + noise, a[:, 0, :].copy(), numpy.tile(stationary[:, 0], (POINTS, 1)), a


WORKLOADS = (
    Workload(
        name="quasiseparable_cholesky",
        derivative_of=f"log-determinant and factor of a quasiseparable matrix, n={POINTS:,}",
        dtype="float64",
        target=1.5,
        inputs=inputs,
        argnums=(0, 1, 2, 3),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "torch": torch_primal,
            "torch_compile": UNROLLED,
        },
        # A step waits for f p, p f p, a division and two products; as much back.
        limit=Limit(bytes_moved=256 * POINTS, flops=340 * POINTS, chain=18 * POINTS),
    ),
)
