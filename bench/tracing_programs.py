"""Programs with long traces, at any size: loops over data, numbers in lists, irregular programs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

#: A function and its arguments; it is differentiated by the first.
Made = tuple[Callable[..., Any], tuple[Any, ...]]


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


# -- loops over data ------------------------------------------------------------------


def closed_over(n: int) -> Made:
    y = draw(n)

    def f(a: Any) -> Any:
        s = 0.0
        for t in range(n):
            s = s * a + y[t]
        return s * s

    return f, (0.5,)


def zipped_lists(n: int) -> Made:
    y, z = draw(n).tolist(), draw(n).tolist()

    def f(a: Any) -> Any:
        s = 0.0
        for v, w in zip(y, z, strict=True):
            s = np.tanh(s * a + v) * w
        return s

    return f, (0.5,)


def as_argument(n: int) -> Made:
    def f(a: Any, y: Any) -> Any:
        s = 0.0
        for t in range(n):
            s = s * a + y[t]
        return s * s

    return f, (0.5, draw(n))


def pairs(n: int) -> Made:
    def f(x: Any) -> Any:
        e = 0.0
        for i in range(n):
            for j in range(i):
                e = e + 1 / (1 + (x[i] - x[j]) ** 2)
        return e

    return f, (draw(n),)


def edges(n: int) -> Made:
    ends = np.random.default_rng(0).integers(0, n // 4, (n, 2)).tolist()

    def f(x: Any) -> Any:
        e = 0.0
        for i, j in ends:
            e = e + (x[i] - x[j]) ** 2
        return e

    return f, (draw(n // 4),)


def delay_list(n: int) -> Made:
    def f(a: Any) -> Any:
        history = [a] * 18
        for t in range(n):
            history.append(history[-1] + 0.1 * (a * history[t] - history[-1]))
        return history[-1]

    return f, (0.5,)


# -- numbers in lists -------------------------------------------------------------------


def list_of_floats(n: int) -> Made:
    def f(values: Any) -> Any:
        s = 0.0
        for v in values:
            s = s + np.sin(v) * v
        return s

    return f, (draw(n).tolist(),)


def neurons(n: int) -> Made:
    """micrograd's MLP(10, [n, n, 1]), with its numbers in lists."""
    sizes = [10, n, n, 1]
    layers = [
        [(row[:-1].tolist(), float(row[-1])) for row in draw(b, a + 1) / a**0.5]
        for a, b in pairwise(sizes)
    ]
    x = draw(10).tolist()

    def f(layers: Any) -> Any:
        out = x
        for layer in layers:
            sums = [sum((a * b for a, b in zip(w, out, strict=True)), bias) for w, bias in layer]
            out = [np.tanh(s) for s in sums]
        return out[0]

    return f, (layers,)


# -- irregular programs -----------------------------------------------------------------


def irregular(n: int) -> Made:
    from bench.latency_probe import operations

    return operations(n)(np, None), (np.linspace(0.1, 0.9, 10),)


def irregular_numbers(n: int) -> Made:
    from bench.latency_probe import operations

    return operations(n)(np, None), (0.3,)


def lattice(n: int) -> Made:
    """An American put by its volatility, node by node."""

    def f(sigma: Any) -> Any:
        dt = 1 / n
        up, discount = np.exp(sigma * dt**0.5), np.exp(-0.03 * dt)
        p = (1 / discount - 1 / up) / (up - 1 / up)
        values = [max(105 - 100 * up ** (n - 2 * j), 0.0) for j in range(n + 1)]
        for i in range(n - 1, -1, -1):
            values = [
                max(
                    discount * (p * values[j] + (1 - p) * values[j + 1]),
                    105 - 100 * up ** (i - 2 * j),
                )
                for j in range(i + 1)
            ]
        return values[0]

    return f, (0.2,)


def two_arrays_in_place(n: int) -> Made:
    def f(x: Any) -> Any:
        a, b = np.zeros(n), np.zeros(n)
        a[0], b[0] = x, x / 2
        for i in range(1, n):
            a[i] = np.tanh(a[i - 1]) * 0.9 + 0.1 * b[i - 1]
            b[i] = np.sin(a[i]) + 0.5 * b[i - 1]
        return np.sum(a) + np.sum(b)

    return f, (0.3,)


def rows_and_columns(n: int) -> Made:
    """Rows and columns of a small array written in place, in no order."""
    steps = np.random.default_rng(0).integers(0, 9, (n, 3)).tolist()

    def f(given: Any) -> Any:
        a = np.copy(given)
        for i, j, k in steps:
            if k % 2:
                a[i] = np.tanh(a[i] + 0.1 * a[:, j])
            else:
                a[:, j] = a[:, j] * 0.9 + np.sin(a[i])
        return np.sum(a * a)

    return f, (draw(9, 9),)


def mixture(n: int) -> Made:
    y = draw(n)

    def f(p: Any) -> Any:
        weights = np.exp(p[0])
        weights = weights / np.sum(weights)
        total = 0.0
        for t in range(n):
            far = (y[t] - p[1]) / np.exp(p[2])
            total = total + np.log(np.sum(weights * np.exp(-(far**2) / 2 - p[2])))
        return total

    return f, (draw(3, 4),)


def binomial_tree(n: int) -> Made:
    """An American put, by its volatility."""

    def f(sigma: Any) -> Any:
        dt = 1 / n
        up = np.exp(sigma * dt**0.5)
        discount = np.exp(-0.03 * dt)
        p = (1 / discount - 1 / up) / (up - 1 / up)
        value = np.maximum(105 - 100 * up ** np.arange(n, -n - 1, -2), 0)
        for i in range(n - 1, -1, -1):
            now = 105 - 100 * up ** np.arange(i, -i - 1, -2)
            value = np.maximum(discount * (p * value[:-1] + (1 - p) * value[1:]), now)
        return value[0]

    return f, (0.2,)


# -- kernels of NPBench, unrolled ---------------------------------------------------------


def _definite(n: int) -> np.ndarray:
    a = draw(n, n)
    return a @ a.T + n * np.eye(n)


def cholesky(n: int) -> Made:
    def f(given: Any) -> Any:
        a = np.copy(given)
        for i in range(n):
            for j in range(i):
                a[i, j] -= a[i, :j] @ a[j, :j]
                a[i, j] /= a[j, j]
            a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
        return np.sum(a)

    return f, (_definite(n),)


def _decompose(a: Any) -> None:
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]


def lu(n: int) -> Made:
    def f(given: Any) -> Any:
        a = np.copy(given)
        _decompose(a)
        return np.sum(a)

    return f, (_definite(n),)


def ludcmp(n: int) -> Made:
    def f(given: Any, b: Any) -> Any:
        a = np.copy(given)
        x, y = np.zeros(n), np.zeros(n)
        _decompose(a)
        for i in range(n):
            y[i] = b[i] - a[i, :i] @ y[:i]
        for i in range(n - 1, -1, -1):
            x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
        return np.sum(x)

    return f, (_definite(n), draw(n))


def seidel_2d(n: int) -> Made:
    def f(given: Any) -> Any:
        a = np.copy(given)
        for _ in range(7):
            for i in range(1, n - 1):
                above, below = a[i - 1], a[i + 1]
                a[i, 1:-1] += (above[:-2] + above[1:-1] + above[2:] + a[i, 2:]
                               + below[:-2] + below[1:-1] + below[2:])  # fmt: skip
                for j in range(1, n - 1):
                    a[i, j] += a[i, j - 1]
                    a[i, j] /= 9.0
        return np.sum(a)

    return f, (draw(n, n),)


def trmm(n: int) -> Made:
    def f(a: Any, given: Any) -> Any:
        b = np.copy(given)
        for i in range(len(a)):
            for j in range(b.shape[1]):
                b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
        return np.sum(b * 1.5)

    return f, (draw(n, n), draw(n, n * 5 // 4))
