"""Tests of types whose answers depend on the way or the step are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import jit
from autojit.errors import CaptureError


def first_step(a: Any) -> Any:
    x, n = 0, 0
    while x < a * 9:
        if isinstance(x, int):
            n += 1
        x = x + 0.5
    return n


def inner_loop(a: Any) -> Any:
    n = c = 0
    while c < 5 and a <= 1.0:
        c += 1
        k = 0
        while k < 5 and isinstance(a, float):
            k += 1
            a = np.float32(0.5)
        else:
            n += 1
    return n


def after_a_loop(a: Any) -> Any:
    y = 0
    for _ in range(int(a * 2)):
        y = y + a
    return 1.0 if isinstance(y, int) else 2.0


def after_a_branch(a: Any) -> Any:
    y = a
    if a > 0.5:
        y = 1
    return 1.0 if type(y) is int else 2.0


def in_an_expression(a: Any) -> Any:
    y = np.float32(1) if a > 0.5 else a
    return 1.0 if isinstance(y, float) else 2.0


def number_or_array(a: Any) -> Any:
    y = np.array(1.0) if a > 0.5 else np.float64(a)
    return 1.0 if isinstance(y, np.ndarray) else 2.0


def of_a_call(a: Any) -> Any:
    def f(v: Any) -> Any:
        if v > 1:
            return 0
        return v

    return 1.0 if f(a).__class__ is int else 2.0


@pytest.mark.parametrize(
    "f",
    [first_step, inner_loop, after_a_loop, after_a_branch, in_an_expression, of_a_call,
     number_or_array],
)  # fmt: skip
def test_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(CaptureError, match="The type of a variable is tested"):
        jit(f)(0.75)


def any_number(a: Any) -> Any:
    x, n = 0, 0
    while x < a * 9:
        if isinstance(x, (int, float)) and not isinstance(x, np.ndarray):
            n += 1
        x = x + 0.5
    y = 1 if a > 0.5 else a
    return n + isinstance(y, (int, float)) + 2 * isinstance(y, np.ndarray)


def same_type(a: Any) -> Any:
    x, n = a, 0
    while x < a * 9:
        n += 2 if type(x) is float else 1
        x = x * 2.0
    y = a * 2 if a > 0.5 else a
    return n + isinstance(y, float)


@pytest.mark.parametrize("f", [any_number, same_type])
def test_the_same_answer_on_all_ways(f: Callable[[Any], Any]) -> None:
    for a in (0.75, 0.25):
        assert jit(f)(a) == f(a)
