"""``while True`` without ``break``: the function leaves it by ``return`` or ``raise`` only."""

from __future__ import annotations

import pytest

from autojit import grad, jit


def returns_from_a_branch_of_a_branch(x):
    n = 0
    while True:
        if x > 100:
            n += 1
            if n == 3:
                return x * n
            x = x / 50
        else:
            x = x * 3


def in_a_branch_and_after_it(x):
    if x > 5:
        while True:
            x = x * 2
            if x > 50:
                return x
    y = -x
    while 1:
        y = y + 1
        if y > 7:
            return y * x


def in_a_loop(x):
    for i in range(5):
        while True:
            x = x * 1.5
            if x > 20:
                if i > 2:
                    return x * i
                return x
    return x


def with_break(x):
    total = 0.0
    for i in range(20):
        while True:
            total = total + x
            if total > i:
                break
            if total < -3:
                return -x
    return total


def raises(x):
    while True:
        x = x * 2
        if x > 100:
            raise ValueError("large")
        if x > 30:
            return x


FUNCTIONS = [
    returns_from_a_branch_of_a_branch, in_a_branch_and_after_it, in_a_loop, with_break, raises,
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("x", [0.31, 1.5, 7.0])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_slopes(f, x):
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-12)
    h = 1e-6
    slope = (f(x + h) - f(x - h)) / (2 * h)
    assert jit(grad(f))(x) == pytest.approx(slope, rel=1e-6)
    assert grad(f)(x) == pytest.approx(slope, rel=1e-6)


def test_an_error_in_such_a_loop():
    with pytest.raises(ValueError, match="large"):
        jit(raises)(120.0)
