"""Loops over what cannot be a table, with an end that depends on a traced value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import ConcreteValueError


def income_tax(income):
    brackets = [(10.0, 0.1), (40.0, 0.12), (85.0, 0.22), (float("inf"), 0.24)]
    tax, lower = 0.0, 0.0
    for k, (upper, rate) in enumerate(brackets):
        if income <= lower:
            break
        tax += (min(income, upper) - lower) * rate
        lower = upper
    return tax + k


def limits_in_a_dict(x):
    for limit in {"a": 1.0, "b": 20.0}.values():
        if x < limit:
            return limit * x
    return x * x


def zipped(x):
    for name, limit in zip(["u", "v", "w"], [1.0, 12.0, 33.0], strict=True):
        if x < limit:
            return limit * x + len(name)
    else:
        x = x * 2
    return x


@pytest.mark.parametrize("f", [income_tax, limits_in_a_dict, zipped])
@pytest.mark.parametrize("x", [0.5, 11.5, 55.0, 300.0])
def test_the_loop_ends_where_python_ends_it(f, x):
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(jit(grad(f))(x), slope, rtol=1e-6)


def test_an_endless_iterable_is_refused():
    def f(x):
        for k in itertools.count():
            if x < k:
                break
        return x * k

    with pytest.raises(ConcreteValueError):
        jit(f)(2.5)
