"""Functions made by `np.vectorize`, passed directly to the transformations."""

from __future__ import annotations

import numpy as np

from autojit import grad, jit, vmap


@np.vectorize
def clipped(a: float, b: float) -> float:
    return a * b if a > b else b - a


products = np.vectorize(lambda a, b: np.dot(a, b), signature="(n),(n)->()")
X, Y = np.array([0.3, -0.7, 1.2]), np.array([0.1, 0.9, -0.4])


def test_values_and_batches() -> None:
    np.testing.assert_array_equal(jit(clipped)(X, Y), clipped(X, Y))
    np.testing.assert_array_equal(vmap(clipped)(X, Y), clipped(X, Y))
    np.testing.assert_allclose(jit(products)(np.outer(X, Y), Y), products(np.outer(X, Y), Y))


def test_a_derivative() -> None:
    assert jit(grad(clipped))(0.3, 0.1) == 0.1
    assert jit(grad(clipped))(0.1, 0.3) == -1.0
