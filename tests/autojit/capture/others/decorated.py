"""Functions under Numba's decorators, which are traced by their Python source."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from .program import program

_rng = np.random.default_rng(17)


@program((np.array([1.0, 2.0, -3.0, 4.0]), 1.5), (np.arange(6.0) - 2.5, -0.5), by=(0, 1))
@njit
def leaky_sum(a, slope):
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 0:
            total += a[i]
        else:
            total += slope * a[i]
    return total


@njit(inline="always")
def _kernel(r, h):
    q = r / h
    if q >= 2:
        return 0.0
    if q < 1:
        return 1 - 1.5 * q**2 + 0.75 * q**3
    return 0.25 * (2 - q) ** 3


@program((_rng.uniform(0, 1, (6, 2)), 0.4), (_rng.uniform(0, 3, (6, 2)), 0.9), by=(0, 1))
@njit(cache=False, fastmath=True)
def smoothed_particles(x, h):
    n = x.shape[0]
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            r = math.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2)
            total += _kernel(r, h)
    return total


@program((_rng.normal(size=(7, 3)),), (np.ones((4, 3)) * np.arange(4)[:, None],))
@njit(parallel=True)
def sum_of_pairwise_distances(points):
    n = points.shape[0]
    m = points.shape[1]
    out = np.zeros(n)
    for i in prange(n):
        for j in range(n):
            if i == j:
                continue
            d = 0.0
            for k in range(m):
                d += (points[i, k] - points[j, k]) ** 2
            out[i] += np.sqrt(d)
    return out.sum()


@program((np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]),),
         (_rng.normal(size=(5, 4)),))  # fmt: skip
@njit
def relaxation(u):
    u = u.copy()
    n, m = u.shape
    for sweep in range(40):
        largest = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                largest = max(largest, abs(new - u[i, j]))
                u[i, j] = new
        if largest < 1e-12:
            break
    return np.sum(u * u)


@program((0.5, 5), (1.5, 9), by=(0,))
@njit
def bessel_series(x, terms):
    term, total = 1.0, 1.0
    for k in range(1, terms + 1):
        term *= -(x * x) / (4.0 * k * k)
        total += term
    return total


@program((_rng.uniform(size=10),), (np.array([0.05, 0.95, 0.5, 0.51, 0.1]),))
@njit
def soft_histogram_entropy(x):
    bins = np.zeros(4)
    for v in x:
        position = v * 4 - 0.5
        k = int(math.floor(position))
        w = position - k
        if k >= 0:
            bins[k] += 1 - w
        if k + 1 < 4:
            bins[k + 1] += w
    entropy = 0.0
    for b in bins:
        if b > 0:
            p = b / len(x)
            entropy -= p * np.log(p)
    return entropy
