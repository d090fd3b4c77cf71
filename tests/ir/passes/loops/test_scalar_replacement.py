"""Loops over small arrays as loops over numbers: the same results and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import fori_loop, grad, hessian, jit, scan, trace
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.passes.loops import scalar_replacement
from autojit.ir.regions.scan import Scan
from autojit.ir.tools.verifier import verify

STATE = np.array([0.3, 0.7, -0.2, 0.5])


def assembled(y: Any) -> Any:
    return np.array([y[1] * y[2], np.sin(y[0]), y[3] - y[1], y[0] * y[0]])


def euler(y: Any) -> Any:
    """An array of single elements that is added to the state; rows of two axes."""

    def step(y: Any, _: Any) -> Any:
        y = y + 0.1 * assembled(y)
        return y, np.reshape(y, (2, 2))

    return scan(step, y, length=20)[1]


def with_rows(y: Any) -> Any:
    rows = np.outer(np.cos(np.arange(30.0)), y)

    def step(y: Any, row: Any) -> Any:
        y = 0.5 * assembled(y + row) + np.flip(row)
        return y, (y * row)[1:3]

    last, ys = scan(step, y, rows, reverse=True)
    return np.sum(ys) * last


def with_products(y: Any) -> Any:
    matrix = np.outer(y, np.arange(4.0)) / 10

    def step(i: Any, y: Any) -> Any:
        z = np.stack([y[0], y[3], 0.1 * i, y[1]])
        return np.tanh(matrix @ z + np.sum(z) * np.max(matrix))

    return fori_loop(0, 12, step, y)


def with_kinds(y: Any) -> Any:
    """With integers and bools in addition."""

    def step(carry: Any, _: Any) -> Any:
        y, count = carry
        z = np.array([y[2], y[0], y[1], y[3]])
        positive = z > 0
        y = np.where(positive, 0.9 * z, z * z)
        return (y, count + np.array([positive[0] * 1, 1, 2])), positive

    (y, count), flags = scan(step, (y, np.array([0, 0, 0])), length=15)
    return y * count[0] + np.sum(flags)


LOOPS = [euler, with_rows, with_products, with_kinds]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[[Any], Any]) -> None:
    program = trace(function)(STATE)
    np.testing.assert_allclose(jit(function)(STATE), program(STATE), rtol=1e-12, atol=1e-13)

    def loss(y: Any) -> Any:
        return np.sum(np.cos(function(y)))

    backward = vjp(trace(loss)(STATE), [0])
    wanted = backward(STATE, np.float64(1.0))[1]
    np.testing.assert_allclose(jit(grad(loss))(STATE), wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_carries_are_numbers(function: Callable[[Any], Any]) -> None:
    program = optimize(trace(function)(STATE))
    loops = [op for op in program.ops if isinstance(op.kind, Scan)]
    assert loops
    for op in loops:
        n, m = op.params["constants"], op.params["carries"]
        assert all(v.shape == () for v in op.params["body"].inputs[n + 1 : n + 1 + m])
    again = scalar_replacement.run(program)
    verify(again)
    assert again is program


def unchanged(function: Callable[..., Any], *arguments: Any) -> bool:
    program: Program = trace(function)(*arguments)
    return scalar_replacement.run(program) is program


def test_what_stays() -> None:
    def rolled(y: Any) -> Any:
        return scan(lambda y, _: (np.sin(np.roll(y, 1)) * y, None), y, length=9)[0]

    def stacked(y: Any) -> Any:
        """Assembled only for the result."""
        return scan(lambda y, _: (np.sin(y), np.stack([y[0], y[1], y[2]])), y, length=9)[1]

    def large(y: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            return np.sin(y) * np.sum(np.stack([y[0], y[1], y[2]])), None

        return scan(step, y, length=9)[0]

    def nested(y: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            z = np.stack([y[1], y[2], y[3], y[0]])
            return scan(lambda c, _: (np.sin(c), None), z, length=3)[0], None

        return scan(step, y, length=9)[0]

    def constant(y: Any) -> Any:
        """Assembled from closed-over values: the same array in every step."""

        def step(c: Any, _: Any) -> Any:
            z = np.stack([y[0], y[1], y[2]])
            return np.tanh(c * (z @ z)), None

        return scan(step, 1.0, length=9)[0]

    assert unchanged(constant, STATE)
    assert unchanged(rolled, STATE)
    assert unchanged(stacked, STATE)
    assert unchanged(large, np.linspace(0, 1, 1000))
    assert unchanged(nested, STATE)


def test_constant_and_varying_arrays_in_one_step() -> None:
    """The pass decomposed its own result again, endlessly."""

    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            z, w = np.array([x, x, x]), np.array([c, x, c * c])
            return np.tanh(z @ z + w @ z)

        return fori_loop(0, 3, step, x)

    def unrolled(x: float) -> float:
        c = x
        for _ in range(3):
            c = np.tanh(3 * x * x + x * (c + x + c * c))
        return c

    x, h = 0.3, 1e-4
    second = (unrolled(x + h) - 2 * unrolled(x) + unrolled(x - h)) / h**2
    np.testing.assert_allclose(hessian(f)(x), second, rtol=1e-5)
    np.testing.assert_allclose(jit(f)(x), unrolled(x), rtol=1e-12)
