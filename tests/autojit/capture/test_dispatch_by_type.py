"""``functools.singledispatch`` and ``__class__`` see the types that traced values stand for."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autojit import grad, jit


@functools.singledispatch
def measure(x: Any) -> Any:
    return 1.0


@measure.register
def _(x: float) -> Any:
    return 2.0 * x if x > 0 else x


@measure.register(np.ndarray)
def _(x: Any) -> Any:
    return 3.0 * np.sum(x)


@measure.register(int)
def _(x: Any) -> Any:
    return 5.0 * x


@measure.register(list)
def _(x: Any) -> Any:
    return sum(measure(each) for each in x)


class Scale:
    def __init__(self, by: float) -> None:
        self.by = by

    @functools.singledispatchmethod
    def of(self, x: Any) -> Any:
        return self.by

    @of.register
    def _(self, x: float) -> Any:
        return self.by * x

    @of.register(np.ndarray)
    def _(self, x: Any) -> Any:
        return self.by * x.sum()


def of_all(x: Any) -> Any:
    scale = Scale(7.0)
    return (
        measure(x) + measure(x[0]) + measure([x[0], x]) + measure("a") + scale.of(x)
        + scale.of(x[0]) + scale.of(None)
    )  # fmt: skip


def of_a_number(x: Any) -> Any:
    return measure(x) + measure(x > 1) + measure(True) + Scale(2.0).of(x)


def test_single_dispatch() -> None:
    x = np.array([3.0, 1.0])
    assert jit(of_all)(x) == of_all(x)
    assert np.array_equal(grad(of_all)(x), [24.0, 13.0])
    for number in (2.0, -2.0):
        assert jit(of_a_number)(number) == of_a_number(number)
    assert jit(measure)(3) == 15.0
    assert jit(measure)(3.0) == 6.0
    assert jit(measure)(np.float64(3.0)) == 6.0


def test_the_class_of_a_value() -> None:
    def f(x: Any) -> Any:
        return (x.__class__ is float) * x + (x.__class__.__name__ == "float64") * 2 * x

    for x in (3.0, np.float64(3.0)):
        assert jit(f)(x) == f(x)
