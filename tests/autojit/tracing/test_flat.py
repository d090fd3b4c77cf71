"""`x.flat`: reads and writes by NumPy's rules, in whatever order the array lies in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vmap

X = np.arange(6.0).reshape(2, 3) + 0.5


def writes(x: Any) -> Any:
    y = x.copy()
    y.flat[::4] = 7
    y.flat[[1, -1]] *= x.flat[2]
    y.T.flat[1:4] = [1, 2]
    y.flat[2] += x.flat[-2]
    return y


def into_made_arrays(x: Any) -> Any:
    y = np.zeros((3, 3))
    y.flat[::4] = x.flat[:3]
    y.flat[7] = x[0, 1]
    elements = y.flat
    y[0, 2] = x[1, 1]
    return y, elements[2], elements[2:4]


def whole(x: Any) -> Any:
    y: Any = np.zeros((3, 3))
    y.flat = x[0]
    y.flat[y.flat[:] > 1] = -1
    return y, np.sin(y.flat), np.concatenate([y.flat, x.flat])


def known(x: Any) -> Any:
    y = np.arange(4.0)
    elements = y.flat
    elements[1] = 9
    return y * x[0, 0], y.flat[1], len(elements)


def loops(x: Any) -> Any:
    y = np.zeros((3, 4))
    for i in range(12):
        y.flat[i] = x.flat[i % 6] * i
    total = 0.0
    for v in y.flat:
        if v > 4:
            total += v * v
    return total, sum(v * i for i, v in enumerate(x.flat)), np.max(x.T.flat)


@pytest.mark.parametrize("f", [writes, into_made_arrays, whole, known, loops])
def test_as_in_numpy(f: Callable[[Any], Any]) -> None:
    results, wanted = jit(f)(X), f(X)
    for result, want in zip(
        results if isinstance(results, tuple) else (results,),
        wanted if isinstance(wanted, tuple) else (wanted,),
        strict=True,
    ):
        np.testing.assert_array_equal(result, want)


def test_derivatives_and_batches() -> None:
    i = np.arange(6.0).reshape(2, 3)
    want = sum(np.where(X * k > 4, 2 * X * k**2, 0) for k in (i, i + 6))
    np.testing.assert_allclose(jit(grad(lambda x: loops(x)[0]))(X), want)
    np.testing.assert_array_equal(vmap(lambda x: x.flat[1])(np.stack([X, -X])), [1.5, -1.5])


@pytest.mark.parametrize("i", [0, 5, 3, -1, -6, 6, -7])
def test_traced_places(i: int) -> None:
    def f(x: Any, i: Any) -> Any:
        y = x.copy()
        y.flat[i] = 0
        return y, x.flat[i]

    if not -6 <= i < 6:
        for run in (lambda: jit(f)(X, i), lambda: jit(lambda x: f(x, i))(X)):
            with pytest.raises(IndexError):
                run()
        return
    for result, want in zip(jit(f)(X, i), f(X, i), strict=True):
        np.testing.assert_array_equal(result, want)
