"""Functions of `math` outside of their domains, and divisions by zero."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import HandledFailureError


def root_or_zero(x):
    try:
        return math.sqrt(x) + 2.0 * x
    except ValueError:
        return 3.0 * x


def large_or_one(x):
    try:
        return math.exp(x)
    except OverflowError:
        return x


def inverse_or_one(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 1.0 + 5.0 * x


@pytest.mark.parametrize(("f", "x", "slope"), [
    (inverse_or_one, 2.0, -0.25), (inverse_or_one, 0.0, 5.0),
    (root_or_zero, 4.0, 2.25), (root_or_zero, -4.0, 3.0), (large_or_one, 1000.0, 1.0),
])  # fmt: skip
def test_known_values_take_the_way_of_python(f, x, slope):
    assert grad(f)(x) == slope


@pytest.mark.parametrize("f", [root_or_zero, large_or_one, inverse_or_one])
def test_compiled_code_takes_the_way_of_python(f):
    value, slope = jit(f), jit(grad(f))
    for x in (4.0, 0.0, -4.0, 1000.0):
        assert value(x) == pytest.approx(f(x), rel=1e-15)
        if x or f is not root_or_zero:
            assert slope(x) == pytest.approx(grad(f)(x), rel=1e-15)


@pytest.mark.parametrize("function", [
    math.acos, math.acosh, math.asin, math.atanh, math.cosh, math.exp, math.exp2, math.expm1,
    math.log, math.log10, math.log1p, math.log2, math.sinh, math.sqrt,
])  # fmt: skip
def test_domains(function):
    def guarded(x):
        try:
            return function(x)
        except ValueError as error:
            return -100.0 - len(str(error))
        except OverflowError:
            return 100.0

    compiled = jit(guarded)
    for x in (0.0, 0.5, 1.0, -1.0, -1.5, 2.0, 800.0, 1e5, -1e5, np.inf, -np.inf):
        assert compiled(x) == pytest.approx(guarded(x), rel=1e-14, nan_ok=True), x


def test_a_domain_of_two_numbers_is_refused():
    def logarithm(x):
        try:
            return math.log(x, 3.0)
        except ValueError:
            return 0.0

    with pytest.raises(HandledFailureError, match=r"`math\.log` may raise"):
        jit(logarithm)(4.0)


def test_compiled_code_gives_nan_as_numba():
    assert np.isnan(jit(lambda x: math.sqrt(x))(-1.0))
    with pytest.raises(ValueError, match="math domain error"):
        grad(lambda x: math.sqrt(x))(-1.0)
