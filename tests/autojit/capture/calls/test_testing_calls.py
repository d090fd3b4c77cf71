"""`np.testing` on traced arrayswhere values are known, and the suggested fix elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autojit import grad, jit, vmap
from autojit.errors import ConcreteValueError
from tests.autojit.capture.calls.asserting import checked_product

X = np.array([1.0, 2.0])

CHECKS = {
    "assert_allclose": lambda x: assert_allclose(x, [x[0], 2.0], rtol=1e-12),
    "assert_equal": lambda x: np.testing.assert_equal({"a": (x, None)}, {"a": (x, None)}),
    "assert_array_less": lambda x: np.testing.assert_array_less(0.0, x),
    "assert_almost_equal": lambda x: np.testing.assert_almost_equal(x, actual_of(x)),
}


def actual_of(x: Any) -> Any:
    return x * 1.0


@pytest.mark.parametrize("name", CHECKS)
def test_values_are_compared_without_jit(name: str) -> None:
    def f(x: Any) -> Any:
        CHECKS[name](x)
        return np.sum(x**2)

    assert np.array_equal(grad(f)(X), 2 * X)
    for traced in (jit(f), jit(grad(f)), vmap(lambda x: f(x * np.ones(2)))):
        with pytest.raises(ConcreteValueError, match=rf"np\.testing\.{name} compares values"):
            traced(X)


def test_a_comparison_that_fails() -> None:
    def f(x: Any) -> Any:
        assert_allclose(x, 2 * x)
        return np.sum(x)

    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        grad(f)(X)


def test_what_the_error_says_to_write() -> None:
    with pytest.raises(ConcreteValueError, match=r"assert np\.allclose\(x, y, rtol=1e-7, atol=0"):
        jit(lambda x: np.testing.assert_allclose(x, x))(X)
    assert jit(checked_product)(X, X) == 5.0
    with pytest.raises(AssertionError):
        jit(checked_product)(X, X + 1e-6)
