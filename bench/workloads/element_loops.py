"""Loops over elements as Numba's users write them: plain Python, one text for autojit and Numba.

Users of the other peers would not write such loops.  The adjoints are written by hand, as in
Fortran; Numba compiles them, and Python runs them for comparison.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.workload import Arrays, Function, Limit, Workload, not_written

SWEEPS, WIDTH = 10, 16


def gauss_seidel(a, b):
    """Sweeps of Gauss and Seidel for Poisson's equation."""
    a = a.copy()
    n, m = a.shape
    for _ in range(SWEEPS):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - b[i, j])
    return np.sum(a * a)


def gauss_seidel_adjoint(a, b):
    a = a.copy()
    n, m = a.shape
    for _ in range(SWEEPS):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - b[i, j])
    back = 2 * a
    for _ in range(SWEEPS):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                g = 0.25 * back[i, j]
                back[i, j] = 0
                back[i - 1, j] += g
                back[i + 1, j] += g
                back[i, j - 1] += g
                back[i, j + 1] += g
    return back


def levinson(r, y):
    """A symmetric Toeplitz system by Levinson's recursion."""
    n = y.shape[0]
    x = np.zeros(n)
    a = np.zeros(n)
    z = np.zeros(n)
    beta = r[0]
    x[0] = y[0] / r[0]
    a[0] = -r[1] / r[0]
    alpha = -r[1] / r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = y[k]
        for i in range(k):
            s -= r[k - i] * x[i]
        mu = s / beta
        for i in range(k):
            x[i] += mu * a[k - 1 - i]
        x[k] = mu
        if k < n - 1:
            s = -r[k + 1]
            for i in range(k):
                s -= r[k - i] * a[i]
            alpha = s / beta
            for i in range(k):
                z[i] = a[i] + alpha * a[k - 1 - i]
            for i in range(k):
                a[i] = z[i]
            a[k] = alpha
    return np.sum(x * x)


def levinson_adjoint(r, y):  # noqa: C901 - one loop after the other, as in Fortran
    n = y.shape[0]
    xs, rows = np.zeros((n, n)), np.zeros((n, n))
    betas, mus, alphas = np.zeros(n), np.zeros(n), np.zeros(n)
    x, a, z = np.zeros(n), np.zeros(n), np.zeros(n)
    beta, alpha = r[0], -r[1] / r[0]
    x[0], a[0] = y[0] / r[0], alpha
    betas[0], alphas[0] = beta, alpha
    for k in range(1, n):
        for i in range(k):
            xs[k, i], rows[k, i] = x[i], a[i]
        beta = (1 - alpha * alpha) * beta
        betas[k] = beta
        s = y[k]
        for i in range(k):
            s -= r[k - i] * x[i]
        mu = s / beta
        mus[k] = mu
        for i in range(k):
            x[i] += mu * a[k - 1 - i]
        x[k] = mu
        if k < n - 1:
            s = -r[k + 1]
            for i in range(k):
                s -= r[k - i] * a[i]
            alpha = s / beta
            alphas[k] = alpha
            for i in range(k):
                z[i] = a[i] + alpha * a[k - 1 - i]
            for i in range(k):
                a[i] = z[i]
            a[k] = alpha
    gx, ga, gz, gr = 2 * x, np.zeros(n), np.zeros(n), np.zeros_like(r)
    gbeta, galpha = 0.0, 0.0
    for k in range(n - 1, 0, -1):
        beta = betas[k]
        if k < n - 1:
            alpha = alphas[k]
            galpha += ga[k]
            ga[k] = 0
            for i in range(k):
                gz[i] = ga[i]
                ga[i] = 0
            for i in range(k):
                ga[i] += gz[i]
                galpha += gz[i] * rows[k, k - 1 - i]
                ga[k - 1 - i] += alpha * gz[i]
            gs = galpha / beta
            gbeta -= galpha * alpha / beta
            galpha = 0.0
            for i in range(k):
                gr[k - i] -= gs * rows[k, i]
                ga[i] -= gs * r[k - i]
            gr[k + 1] -= gs
        gmu, mu = gx[k], mus[k]
        gx[k] = 0
        for i in range(k):
            gmu += gx[i] * rows[k, k - 1 - i]
            ga[k - 1 - i] += mu * gx[i]
        gs = gmu / beta
        gbeta -= gmu * mu / beta
        for i in range(k):
            gr[k - i] -= gs * xs[k, i]
            gx[i] -= gs * r[k - i]
        galpha += -2 * alphas[k - 1] * betas[k - 1] * gbeta
        gbeta = (1 - alphas[k - 1] * alphas[k - 1]) * gbeta
    galpha += ga[0]
    gr[1] -= galpha / r[0]
    gr[0] += galpha * r[1] / r[0] ** 2 - gx[0] * y[0] / r[0] ** 2 + gbeta
    return gr


def time_warping(x, y):
    """The distance of two series by dynamic time warping."""
    n, m = x.shape[0], y.shape[0]
    cost = np.full((n + 1, m + 1), 1e30)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            here = (x[i - 1] - y[j - 1]) ** 2
            cost[i, j] = here + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def time_warping_adjoint(x, y):
    n, m = x.shape[0], y.shape[0]
    cost = np.full((n + 1, m + 1), 1e30)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            here = (x[i - 1] - y[j - 1]) ** 2
            cost[i, j] = here + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    back, gx = np.zeros((n + 1, m + 1)), np.zeros(n)
    back[n, m] = 1.0
    for i in range(n, 0, -1):
        for j in range(m, 0, -1):
            g = back[i, j]
            gx[i - 1] += 2 * (x[i - 1] - y[j - 1]) * g
            up, left, both = cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1]
            if both < min(up, left):
                back[i - 1, j - 1] += g
            elif left < up:
                back[i, j - 1] += g
            else:
                back[i - 1, j] += g
    return gx


def banded_cholesky(a):
    """The logarithm of half of a banded matrix's determinant; a[i, WIDTH - k] is its (i, i - k)."""
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(max(0, i - WIDTH), i + 1):
            s = a[i, j - i + WIDTH]
            for k in range(max(0, i - WIDTH), j):
                s -= factor[i, k - i + WIDTH] * factor[j, k - j + WIDTH]
            if j == i:
                factor[i, WIDTH] = np.sqrt(s)
            else:
                factor[i, j - i + WIDTH] = s / factor[j, WIDTH]
    total = 0.0
    for i in range(n):
        total += np.log(factor[i, WIDTH])
    return total


def banded_cholesky_adjoint(a):
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(max(0, i - WIDTH), i + 1):
            s = a[i, j - i + WIDTH]
            for k in range(max(0, i - WIDTH), j):
                s -= factor[i, k - i + WIDTH] * factor[j, k - j + WIDTH]
            if j == i:
                factor[i, WIDTH] = np.sqrt(s)
            else:
                factor[i, j - i + WIDTH] = s / factor[j, WIDTH]
    back, result = np.zeros_like(a), np.zeros_like(a)
    for i in range(n):
        back[i, WIDTH] = 1 / factor[i, WIDTH]
    for i in range(n - 1, -1, -1):
        for j in range(i, max(0, i - WIDTH) - 1, -1):
            if j == i:
                gs = back[i, WIDTH] * 0.5 / factor[i, WIDTH]
            else:
                gs = back[i, j - i + WIDTH] / factor[j, WIDTH]
                back[j, WIDTH] -= gs * factor[i, j - i + WIDTH]
            result[i, j - i + WIDTH] = gs
            for k in range(max(0, i - WIDTH), j):
                back[i, k - i + WIDTH] -= gs * factor[j, k - j + WIDTH]
                back[j, k - j + WIDTH] -= gs * factor[i, k - i + WIDTH]
    return result


def thomas(a, b, c, d):
    """A tridiagonal system by the algorithm of Thomas."""
    n = b.shape[0]
    cs, ds, x = np.zeros(n), np.zeros(n), np.zeros(n)
    cs[0], ds[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        w = b[i] - a[i] * cs[i - 1]
        cs[i] = c[i] / w
        ds[i] = (d[i] - a[i] * ds[i - 1]) / w
    x[n - 1] = ds[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = ds[i] - cs[i] * x[i + 1]
    return np.sum(x * x)


def thomas_adjoint(a, b, c, d):
    n = b.shape[0]
    cs, ds, x, ws = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    cs[0], ds[0], ws[0] = c[0] / b[0], d[0] / b[0], b[0]
    for i in range(1, n):
        w = b[i] - a[i] * cs[i - 1]
        ws[i] = w
        cs[i] = c[i] / w
        ds[i] = (d[i] - a[i] * ds[i - 1]) / w
    x[n - 1] = ds[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = ds[i] - cs[i] * x[i + 1]
    gx, gc, gd, ga = 2 * x, np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n - 1):
        gd[i] = gx[i]
        gc[i] = -gx[i] * x[i + 1]
        gx[i + 1] -= gx[i] * cs[i]
    gd[n - 1] += gx[n - 1]
    for i in range(n - 1, 0, -1):
        t = gd[i] / ws[i]
        gw = -(t * ds[i] + gc[i] / ws[i] * cs[i])
        ga[i] = -t * ds[i - 1] - gw * cs[i - 1]
        gd[i - 1] -= t * a[i]
        gc[i - 1] -= gw * a[i]
    return ga


def barrier_paths(p, z):
    """The mean of paths that end early, when they reach a barrier."""
    n, m = z.shape
    total = 0.0
    start, drift, sigma, barrier = p[0], p[1], p[2], p[3]
    for k in range(n):
        s = start
        t = 0
        while t < m and s < barrier:
            s = s * np.exp(drift + sigma * z[k, t])
            t += 1
        total += s if s < barrier else 0.1 * s
    return total / n


def barrier_paths_adjoint(p, z):
    n, m = z.shape
    g, states = np.zeros(4), np.zeros(m + 1)
    start, drift, sigma, barrier = p[0], p[1], p[2], p[3]
    for k in range(n):
        s = start
        t = 0
        while t < m and s < barrier:
            states[t] = s
            s = s * np.exp(drift + sigma * z[k, t])
            t += 1
        gs = 1.0 / n if s < barrier else 0.1 / n
        while t > 0:
            t -= 1
            g[1] += gs * s
            g[2] += gs * s * z[k, t]
            gs = gs * s / states[t]
            s = states[t]
        g[0] += gs
    return g


def workload(
    primal: Function, adjoint: Function, words: str, inputs: Callable[[], Arrays], limit: Limit
) -> Workload:
    none = not_written("its users write no loops over elements")
    return Workload(
        name=primal.__name__,
        derivative_of=words,
        dtype="float64",
        target=None,
        inputs=inputs,
        argnums=(0,),
        primal=lambda np, special: primal,
        versions={
            "numpy": lambda np: adjoint,
            "numba": lambda numba: (numba.njit(primal), numba.njit(adjoint)),
            "jax": none,
            "autograd": none,
        },
        limit=limit,
    )


def draw(*shapes: tuple[int, ...]) -> Arrays:
    generator = np.random.default_rng(0)
    return tuple(generator.random(shape) for shape in shapes)


def toeplitz() -> Arrays:
    r, y = draw((301,), (300,))
    r[0] = 150.0
    return r, y


def banded() -> Arrays:
    (a,) = draw((1000, WIDTH + 1))
    return (np.concatenate([0.1 * a[:, :WIDTH], 10 + a[:, WIDTH:]], axis=1),)


def tridiagonal() -> Arrays:
    a, b, c, d = draw((10_000,), (10_000,), (10_000,), (10_000,))
    return a, 4 + b, c, d


def paths() -> Arrays:
    z = np.random.default_rng(0).standard_normal((1000, 100))
    return np.array([1.0, 0.001, 0.1, 1.5]), z


WORKLOADS = (
    workload(
        gauss_seidel, gauss_seidel_adjoint, f"{SWEEPS} sweeps over 100 x 100 points",
        lambda: draw((100, 100), (100, 100)), Limit(chain=4 * SWEEPS * 98 * 98),
    ),
    workload(
        levinson, levinson_adjoint, "a Toeplitz system of 300 unknowns",
        toeplitz, Limit(flops=16 * 300**2),
    ),
    workload(
        time_warping, time_warping_adjoint, "two series of 200 values",
        lambda: draw((200,), (200,)), Limit(chain=2 * 200 * 200),
    ),
    workload(
        banded_cholesky, banded_cholesky_adjoint, f"1,000 rows, {WIDTH} below the diagonal",
        banded, Limit(flops=3 * 1000 * WIDTH**2),
    ),
    workload(
        thomas, thomas_adjoint, "a tridiagonal system of 10,000 unknowns",
        tridiagonal, Limit(chain=6 * 10_000),
    ),
    workload(
        barrier_paths, barrier_paths_adjoint, "1,000 paths of at most 100 steps",
        paths, Limit(chain=4 * 100_000),
    ),
)  # fmt: skip
