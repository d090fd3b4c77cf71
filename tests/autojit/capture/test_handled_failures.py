"""Handled failures of operations: values and derivatives are those of the way that Python takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit

VALUES = [1.0, 2.0, 3.0]


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(20):
        total = total + 1.0 / (x - i)
    return total


def in_a_while(x: Any) -> Any:
    i, total = 0, 0.0
    while i < x + 3:
        total = total + math.sqrt(3.0 - x * i)
        i += 1
    return total


def solved(x: Any) -> Any:
    return np.linalg.solve(np.array([[x, 0.0], [0.0, 1.0]]), np.ones(2)).sum()


CASES: dict[str, tuple[Callable[[Any], Any], Any, tuple[float, ...]]] = {
    "division": (lambda x: 1.0 / x, ZeroDivisionError, (2.0, 0.0)),
    "square over x": (lambda x: x * x / x, ZeroDivisionError, (2.0, 0.0)),
    "floor division": (lambda x: 7.0 // x + x, ZeroDivisionError, (2.0, 0.0)),
    "integers": (lambda x: 7 // int(x) * x, ZeroDivisionError, (2.0, 0.0)),
    "remainder": (lambda x: 7.0 % x, ZeroDivisionError, (2.0, 0.0)),
    "divmod": (lambda x: divmod(7.0, x)[1], ZeroDivisionError, (2.0, 0.0)),
    "power": (lambda x: x**-1.5, ZeroDivisionError, (2.0, 0.0)),
    "whole power": (lambda x: x**-1, ZeroDivisionError, (2.0, 0.0)),
    "power by x": (lambda x: 0.0**x + x, ZeroDivisionError, (2.0, -1.0)),
    "root": (lambda x: math.sqrt(x), ValueError, (2.0, -1.0)),
    "logarithm": (lambda x: math.log(x), ValueError, (2.0, 0.0, -1.0)),
    "log1p": (lambda x: math.log1p(x), ValueError, (2.0, -1.0)),
    "acos": (lambda x: math.acos(x), ValueError, (0.5, 3.0)),
    "exponential": (lambda x: math.exp(x * 1000), OverflowError, (0.01, 3.0)),
    "integer": (lambda x: int(1e300 * x * 1e300), OverflowError, (0.0, 3.0)),
    "list": (lambda x: VALUES[int(x)] * x, IndexError, (1.0, 7.0)),
    "array": (lambda x: np.array(VALUES)[int(x)] * x, IndexError, (1.0, 7.0)),
    "dict": (lambda x: {1: 2.0, 2: 3.0}[int(x)] * x, KeyError, (1.0, 7.0)),
    "loop": (in_a_loop, ZeroDivisionError, (2.5, 3.0)),
    "while": (in_a_while, ValueError, (0.5, 2.0)),
    "base class": (lambda x: 1.0 / x + math.sqrt(x - 1), ArithmeticError, (2.0, 0.0)),
    "two": (lambda x: math.sqrt(x) / (x - 1), (ValueError, ZeroDivisionError), (2.0, 1.0, -1.0)),
    "solve": (solved, np.linalg.LinAlgError, (2.0, 0.0)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_the_way_of_python(name: str) -> None:
    operation, error, arguments = CASES[name]

    def f(x: Any) -> Any:
        y = x * 2.0
        try:
            z = operation(x)
            y = y + z * 3.0
        except error:
            y = y + 5.0 * x
        else:
            y = y + x
        return y * x

    value, slope = jit(f), jit(grad(f))
    for x in arguments:
        assert value(x) == pytest.approx(f(x), rel=1e-12)
        assert slope(x) == pytest.approx(grad(f)(x), rel=1e-12)
