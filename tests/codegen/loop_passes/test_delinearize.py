"""Loops whose indices divide their variable become nests over rows and columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.loop_passes import delinearize

RNG = np.random.default_rng(0)
N, WIDTH = 40, 21


def loops_of(function: Any, *arguments: Any) -> str:
    return jit(function).lower(*arguments).text("loops")


def same(function: Any, *arguments: Any) -> None:
    np.testing.assert_array_equal(jit(function)(*arguments), function(*arguments))


def divides(text: str) -> bool:
    return "//" in text or "%" in text


def layer(p: Any, x: Any) -> Any:
    """Weights and a shift, row by row, followed by others."""
    rows = p[5 : 5 + N * WIDTH].reshape(N, WIDTH)
    return np.sum(np.tanh(rows[:, :-1] @ x + rows[:, -1])) + np.sum(p**2)


def test_the_gradient_by_a_part_of_a_vector() -> None:
    p, x = RNG.standard_normal(5 + N * WIDTH + 7), RNG.standard_normal(WIDTH - 1)
    text = loops_of(grad(layer), p, x)
    assert not divides(text)
    found = jit(grad(layer))(p, x)
    slope = 1 - np.tanh(p[5:-7].reshape(N, WIDTH) @ np.append(x, 1.0)) ** 2
    want = 2 * p
    want[5:-7] += np.outer(slope, np.append(x, 1.0)).ravel()
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("first", "last"), [(0, N * WIDTH), (3, -5), (WIDTH, -WIDTH), (20, -20)])
def test_ends_that_are_no_whole_rows(first: int, last: int) -> None:
    a, b = RNG.standard_normal((N, WIDTH)), RNG.standard_normal((WIDTH, N))

    def f(a: Any, b: Any) -> Any:
        return (a + b.T).reshape(-1)[first:last]

    assert not divides(loops_of(f, a, b))
    same(f, a, b)


def test_conditions_on_columns_divide_rows() -> None:
    a, b = RNG.standard_normal((N, WIDTH - 2)), RNG.standard_normal(N * WIDTH)

    def f(a: Any, b: Any) -> Any:
        return np.pad(a, ((0, 0), (1, 1))).reshape(-1) * b

    text = loops_of(f, a, b)
    assert not divides(text)
    assert len(re.findall(r"for j in", text)) == 3
    same(f, a, b)


def test_infinite_elements_outside_do_not_matter() -> None:
    """If a condition does not hold, the value is 0 and the element is not read."""
    a = np.full((N, WIDTH - 1), np.inf)

    def f(a: Any) -> Any:
        return np.pad(a, ((0, 0), (0, 1))).reshape(-1)[1:]

    same(f, a)


def test_loops_that_stay_linear() -> None:
    """Short rows, few of them, and rows of different lengths."""
    x = RNG.standard_normal(840)

    def narrow(x: Any) -> Any:
        return x + x.reshape(105, 8).T.copy().T.reshape(-1)[::-1]

    def few(x: Any) -> Any:
        return x[: 3 * WIDTH] + np.pad(x[: 3 * 20].reshape(3, 20), ((0, 0), (0, 1))).reshape(-1)

    def different(x: Any) -> Any:
        a = np.pad(x[:800].reshape(40, 20), ((0, 0), (0, 1))).reshape(-1)
        b = np.pad(x[:805].reshape(35, 23), ((0, 0), (0, 1))).reshape(-1)
        return a + b

    for f in (narrow, few, different):
        same(f, x)
    assert divides(loops_of(few, x))
    assert divides(loops_of(different, x))


@pytest.mark.slow
def test_rows_split_at_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delinearize, "LEAST_COLUMNS", 2)
    monkeypatch.setattr(delinearize, "LEAST_ROWS", 1)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(2, 9, 3))
        x = rng.standard_normal(shape)
        steps = rng.integers(0, 5, 5)
        low, high = rng.integers(0, 3, 2)

        def f(x: Any, steps: Any = steps, low: int = low, high: int = high) -> Any:
            for step in steps:
                if step == 0 and x.ndim == 2:
                    x = np.pad(x, ((low, 0), (0, high)))
                elif step == 1:
                    x = x.reshape(x.shape[0], -1) if x.ndim > 1 else x[low : x.size - high]
                elif step == 2:
                    x = x.T + 1.0
                elif step == 3:
                    x = x.reshape(-1)[low:]
                else:
                    x = np.concatenate([x, 2.0 * x], axis=-1)
            return x.reshape(-1) * 2.0

        same(f, x)
