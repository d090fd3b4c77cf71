"""Arrays that functions close over: the same is captured once, parts of one array as parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.tracing.captures import part_of_another

WHOLE = np.random.default_rng(0).normal(size=(6, 4, 5))
PARTS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda a: a[2], lambda a: a[2, 1], lambda a: a[:, 1], lambda a: a[:, :, 3], lambda a: a[1:5:2],
    lambda a: a[3, 1:3], lambda a: a[1:2], lambda a: a[:, 1:4:2, 2:], lambda a: a[...],
    lambda a: a[5, 3], lambda a: a[2:4, None, 1], lambda a: a[1, :, ::2],
]  # fmt: skip
OTHERS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda a: a[::-1], lambda a: a.T, lambda a: a.ravel()[3:17], lambda a: a[[0, 2]],
    lambda a: a.astype(np.float32)[0], lambda a: np.broadcast_to(a[0], (3, 4, 5)),
    lambda a: a[0, 0, :0], lambda a: a.transpose(0, 2, 1)[1], lambda a: a.view(np.int64)[1],
]  # fmt: skip


@pytest.mark.parametrize("read", PARTS)
def test_parts(read: Callable[[np.ndarray], np.ndarray]) -> None:
    part = part_of_another(read(WHOLE))
    assert part is not None
    ranges = zip(part.start, part.stop, part.stride, strict=True)
    found = part.whole[tuple(slice(*r) for r in ranges)].reshape(read(WHOLE).shape)
    np.testing.assert_array_equal(found, read(WHOLE))


@pytest.mark.parametrize("read", OTHERS)
def test_what_is_no_part(read: Callable[[np.ndarray], np.ndarray]) -> None:
    part = part_of_another(read(WHOLE))
    assert part is None or part.whole is not WHOLE


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", [PARTS[0], OTHERS[1]])
@pytest.mark.parametrize("second", [*PARTS, *OTHERS])
def test_values(first: Any, second: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(first(WHOLE)) * x + np.sum(second(WHOLE) * x) + np.sum(second(WHOLE) ** 2)

    np.testing.assert_allclose(jit(f)(1.5), f(1.5), rtol=1e-6)


def rolled(f: Any, *arguments: Any) -> bool:
    program = trace(f)(*arguments)
    return any(op.kind.name == "scan" for op in program.ops) and len(program.ops) < 100


def test_loops_over_closed_over_data_roll_up() -> None:
    data = np.random.default_rng(1).normal(size=(80, 2))
    f = np.array([[1.0, 0.1], [0.0, 0.9]])

    def likelihood(parameters: Any) -> Any:
        q, r = np.eye(2) * parameters[0], np.eye(2) * parameters[1]
        m, p, total = np.zeros(2), np.eye(2), 0.0
        for t in range(len(data)):
            m, p = f @ m, f @ p @ f.T + q
            s, v = p + r, data[t] - m
            gain = p @ np.linalg.inv(s)
            total += v @ np.linalg.solve(s, v) + np.linalg.slogdet(s)[1]
            m, p = m + gain @ v, p - gain @ p * np.ones((2, 2))
        return total

    x = np.array([0.3, 0.7])
    assert rolled(likelihood, x)
    np.testing.assert_allclose(jit(likelihood)(x), likelihood(x))
    step = np.array([1e-6, 0.0])
    difference = (likelihood(x + step) - likelihood(x - step)) / 2e-6
    np.testing.assert_allclose(jit(grad(likelihood))(x)[0], difference, rtol=1e-6)


def test_rows_of_what_is_iterated_over() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 90, 3))

    def f(x: Any) -> Any:
        for p, q in zip(a, b, strict=True):
            x = np.tanh(p * x + q)
        return np.sum(x)

    assert rolled(f, np.ones(3))
    np.testing.assert_allclose(jit(f)(np.ones(3)), f(np.ones(3)), rtol=1e-12)


def test_what_changes_in_between_is_not_the_same() -> None:
    a = np.arange(12.0).reshape(4, 3)

    def f(x: Any) -> Any:
        a[:] = np.arange(12.0).reshape(4, 3)
        total = x * np.sum(a[0] * x) + np.sum(a[1] * x)
        a[1] = 100.0
        return total + np.sum(a[1] * x) + np.sum(a[2] * x) + np.sum(np.sqrt(a.T) * x)

    np.testing.assert_allclose(jit(f)(2.0), f(2.0))


def test_what_the_function_makes_in_each_step() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            table = np.array([1.0, 2.0, 3.0])
            x = np.tanh(x * table)
            table[1] = 5.0
            x = x + x * table
        return x

    program = trace(f)(np.ones(3))
    assert len(program.captured) == 2
    np.testing.assert_allclose(jit(f)(np.ones(3)), f(np.ones(3)))
