"""``x.shape = …``: what NumPy does with arrays of the function's own, and refusals of others."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import RefusedInPlaceError

# NumPy 2.5 advises against it.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")

X = np.array([0.5, 1.0, 2.0, 3.0])


def result(x):
    c = x * 2.0
    also = c
    c.shape = (2, -1)
    c[0] *= 3.0
    return np.sum(c[0] ** 2) + also.shape[1] + c.T[1, 1]


def created(x):
    c = np.zeros(4)
    c.shape = 2, 2
    c[0, 1] = x[0]
    d = np.empty(6)
    d[:4], d[4:] = x, x[:2] ** 2
    d.shape = (3, 2)
    d[2] += c[0]
    return np.sum(d[1:] ** 2)


def in_blocks(x):
    total = 0.0
    for k in range(60):
        c = x * k
        if x[0] > k:
            d = c + 1.0
            d.shape = (4, 1)
            total += d[0, 0]
        c.shape = 4
        total += c[1]
    return total


@pytest.mark.parametrize("f", [result, created, in_blocks])
def test_shapes_of_the_functions_own_arrays(f):
    assert np.allclose(jit(f)(X), f(X.copy()), rtol=1e-12)
    slopes = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    for g in (grad(f), jit(grad(f))):
        assert np.allclose(g(X), slopes, rtol=1e-5)


def of_argument(x):
    x.shape = (2, 2)
    return x


def with_view(x):
    c = x * 2.0
    view = c[1:]
    c.shape = (2, 2)
    view[0] = 1.0
    return c


def in_one_branch(x):
    c = x * 2.0
    if x[0] > 0:
        c.shape = (2, 2)
    return np.sum(c[0])


def created_in_one_branch(x):
    c = np.zeros(4)
    if x[0] > 0:
        c.shape = (2, 2)
    return np.sum(c[0]) + x[0]


@pytest.mark.parametrize("f", [of_argument, with_view, in_one_branch, created_in_one_branch])
def test_shapes_that_others_may_see_are_refused(f):
    name = "x" if f is of_argument else "c"
    with pytest.raises(RefusedInPlaceError, match=rf"{name} = {name}.reshape\(\(2, 2\)\)"):
        jit(f)(X)
