"""Classes that the compiled function itself defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, value_and_grad


def with_conditions(x):
    class Scaled:
        factor = 2.0

        def at(self, v):
            return v * self.factor if v > 1 else self.below(v)

        def below(self, v):
            return -v

    class Tripled(Scaled):
        factor = 3.0

        def below(self, v):
            return super().below(v) * 2 + self.factor

    return Scaled().at(x) + Tripled().at(x)


def reads_a_variable(x):
    class Table:
        def __init__(self):
            self.rows = {"a": x}

        def get(self, name):
            if name in self.rows:
                return self.rows[name] * x
            return 0.0

    table = Table()
    if x > 1:
        table.rows["b"] = x * 2
    return table.get("a") + table.get("b")


def changes_a_variable(x):
    count = 0

    class Counter:
        def step(self, v):
            nonlocal count
            while v > 0.3:
                v = v * 0.5
                count += 1
            return v

    return Counter().step(x) + count


def a_manager(x):
    log = []

    class Noted:
        def __enter__(self):
            log.append(1.0)
            return x

        def __exit__(self, *error):
            log.append(2.0)

    s = 0.0
    for i in range(3):
        with Noted() as y:
            if y > i:
                continue
            s += y * i
    return s + sum(log)


def a_metaclass(x):
    class Made(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.extra = x
            return made

    class Point(metaclass=Made):
        def __init__(self, v):
            self.v = v

    p = Point(x * 2) if x > 1 else Point(1.0)
    return p.v + p.extra


def special_methods(x):
    class Stack:
        def __init__(self):
            self.items = []

        def __len__(self):
            return len(self.items)

        def __iter__(self):
            yield from self.items

    stack = Stack()
    while len(stack) < 5 and x > len(stack):
        stack.items.append(x * len(stack))
    return sum(stack) + len(stack)


FUNCTIONS = [
    with_conditions, reads_a_variable, changes_a_variable, a_manager, a_metaclass, special_methods,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.7, 1.3, 2.7])
def test_values_and_gradients(f: Callable[..., Any], x: float) -> None:
    wanted = float(f(x))
    assert float(jit(f)(x)) == wanted
    assert float(value_and_grad(f)(x)[0]) == wanted
    slope = (float(f(x + 1e-6)) - float(f(x - 1e-6))) / 2e-6
    for g in (grad(f), jit(grad(f))):
        np.testing.assert_allclose(g(x), slope, rtol=1e-6, atol=1e-8)
