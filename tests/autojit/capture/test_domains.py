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
def test_handlers_of_compiled_code_are_refused(f):
    for run in (jit(f), jit(grad(f))):
        with pytest.raises(
            HandledFailureError,
            match=r"(`math\.(sqrt|exp)`|A division of Python's numbers) may raise",
        ):
            run(4.0)


def test_compiled_code_gives_nan_as_numba():
    assert np.isnan(jit(lambda x: math.sqrt(x))(-1.0))
    with pytest.raises(ValueError, match="math domain error"):
        grad(lambda x: math.sqrt(x))(-1.0)
