"""Loops with slices, as Numba's users write them, compared with `njit` on the same source."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import grad, jit

from .pairs import Pair


def triangular(a: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - np.dot(a[i, :i], x[:i])) / a[i, i]
    return x


def levinson(r: Any) -> Any:
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def cholesky(a: Any) -> Any:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return a


def pairs() -> list[Pair]:
    import numba

    warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
    rng = np.random.default_rng(0)
    cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for n in (100, 400):
        square = rng.normal(size=(n, n))
        lower = np.tril(square) + n * np.eye(n)
        cases[f"triangular system, {n}"] = triangular, (lower, rng.normal(size=n))
        cases[f"Levinson's recursion, {n}"] = levinson, (rng.normal(size=n) / n,)
        cases[f"Cholesky by two loops, {n}"] = cholesky, (square @ square.T + n * np.eye(n),)
    found = []
    for what, (function, arguments) in cases.items():
        ours, theirs = jit(function), numba.njit(function)
        slope = jit(grad(lambda *given, f=function: np.sum(np.sin(f(*given)))))
        found += [
            Pair(what, lambda f=ours, a=arguments: f(*a), "Numba",
                 lambda f=theirs, a=arguments: f(*a), 1e-9, target=1.2),
            Pair(f"{what}: gradient", lambda f=slope, a=arguments: f(*a), "our primal",
                 lambda f=ours, a=arguments: f(*a), None, target=4.0),
        ]  # fmt: skip
    return found
