"""`np.piecewise`: each function is called with all elements that its condition selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vjp, vmap
from autojit.errors import ShapeError, UncoveredFunctionError
from autojit.testing import check_grads

X = np.array([1.5, -0.3, 0.4, -1.2, 2.1, -0.8])
A = np.array([[0.5, -1.0], [-0.7, 2.0], [1.1, 0.3]])


def shares(v: Any) -> Any:
    return v / v.sum()


CASES = {
    "shares": (lambda x: np.piecewise(x, [x > 0], [shares, -1.0]), X),
    "three": (lambda x: np.piecewise(
        x, [x > 0, x < -1], [lambda v: v - v.max(), lambda v: v * v.mean(), lambda v: v**3]), X),
    "the last one counts": (lambda x: np.piecewise(x, [x > -5, x > 1], [shares, np.exp]), X),
    "nothing picked": (lambda x: np.piecewise(
        x, [x > 9], [lambda v: v.max() * v[0] + np.log(-v), shares]), X),
    "one mask": (lambda x: np.piecewise(x, x > 0, [np.log, lambda v: -v]), X),
    "a number": (lambda x: np.piecewise(x, [x < 0, x > 0], [np.square, np.log]), X[0]),
    "a matrix": (lambda x: np.piecewise(x, [x > 0], [np.log, shares]), A),
    "rows": (lambda x: np.piecewise(
        x, [x[:, 0] > 0], [lambda v: v * np.arange(2), lambda v: v / v.sum(0)]), A),
    "known": (lambda x: np.piecewise(x, [np.arange(6) > 2], [shares, lambda v: v[0]]), X),
    "constants": (lambda x: np.piecewise(x, [x > 0, x < -1], [lambda v: 3, 5.0, x[0]]), X),
    "arguments": (lambda x: np.piecewise(
        x, [x > 0], [lambda v, a, b=1: v * a + b * v.size, 0], x[1], b=x[2]), X),
    "order": (lambda x: np.piecewise(x, [x < 0], [np.cumsum, lambda v: v * len(v)]), X),
}  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", CASES)
def test_functions_get_the_parts(name: str) -> None:
    function, x = CASES[name]
    want = function(x)
    for value in (jit(function)(x), vjp(function, x)[0], vmap(function)(np.stack([x, x]))[1]):
        assert np.asarray(value).shape == np.shape(want)
        np.testing.assert_allclose(value, want, rtol=1e-14)
    check_grads(function, (x,), order=2)
    check_grads(jit(function), (x,), order=1)


def test_a_function_without_elements_has_no_derivative() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.piecewise(x, [x > 9], [lambda v: np.log(v - v) / v.std(), np.square]))

    assert np.array_equal(grad(f)(X), 2 * X)
    assert np.array_equal(jit(grad(f))(X), 2 * X)


def test_refusals() -> None:
    with pytest.raises(UncoveredFunctionError, match=r"np\.sort is not covered"):
        jit(lambda x: np.piecewise(x, [x > 0], [np.sort]))(X)
    with pytest.raises(ShapeError, match=r"x has shape \(6,\), and the conditions have \(5,\)"):
        jit(lambda x: np.piecewise(x, [x[1:] > 0], [1.0]))(X)
    with pytest.raises(ValueError, match="with 1 conditions, 1 or 2 functions are given"):
        jit(lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]))(X)
