"""Elements that a function does not read have derivative 0, also where that of a part is
infinite."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit

X = np.array([0.0, 1.0, 2.5])


def masked(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    y[y > 0] = 1 / y[y > 0]
    return np.sum(np.triu(-np.outer(x, x) * y, 1))


def in_another_shape(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    return np.sum(y[np.triu_indices(3, 1)])


def replaced(x):
    y = np.sqrt((x - x[:, None]) ** 2)
    np.fill_diagonal(y, 1)
    return np.sum(1 / y)


@pytest.mark.parametrize("f", [masked, in_another_shape, replaced])
def test_parts_that_are_not_read(f):
    expected = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    for g in (grad(f), jit(grad(f))):
        assert np.allclose(g(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("part", "derivative"),
    [
        (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (np.log, lambda x: 1 / x),
        (np.reciprocal, lambda x: -1 / x**2),
        (lambda x: x**-1.5, lambda x: -1.5 * x**-2.5),
    ],
)
@pytest.mark.parametrize("rest", [slice(1, None), np.array([1, 2])], ids=["slice", "places"])
def test_elements_that_are_left_out(part, derivative, rest):
    with np.errstate(divide="ignore"):
        found = grad(lambda x: np.sum(part(x)[rest]))(X)
    assert np.allclose(found, [0.0, *derivative(X[1:])])
