"""Ufuncs with ``where=`` and ``out=``: only some elements are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, vmap
from autojit.errors import DtypeError, ShapeError, UncoveredFunctionError

A, B = np.array([1.0, 2.0, 3.0, -4.0]), np.array([2.0, 0.0, 4.0, 0.0])


def quotient(a: Any, b: Any) -> Any:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def logarithm(x: Any) -> Any:
    y = np.full(4, -7.0)
    np.log(x, out=y, where=x > 0)
    return y


def parts(x: Any) -> Any:
    fraction, whole = np.ones(4), np.ones(4)
    np.modf(x * 1.3, out=(fraction, whole), where=x > 1)
    return fraction, whole


def rows(x: Any) -> Any:
    y = np.zeros((3, 4), np.float32)
    np.multiply(x, 2, out=y, where=np.array([[True], [False], [True]]))
    return y


@pytest.mark.parametrize(
    ("f", "args"),
    [(quotient, (A, B)), (logarithm, (A,)), (parts, (A,)), (rows, (A,))],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_as_in_numpy(f: Any, args: Any) -> None:
    result, want = jit(f)(*args), f(*args)
    np.testing.assert_allclose(result, want, rtol=1e-15)
    assert np.asarray(result).dtype == np.asarray(want).dtype


def test_elements_that_are_left_out_have_no_derivative() -> None:
    def loss(a: Any, b: Any) -> Any:
        return np.sum(quotient(a, b) ** 2)

    for f in (grad(loss, argnums=(0, 1)), jit(grad(loss, argnums=(0, 1)))):
        by_a, by_b = f(A, B)
        np.testing.assert_allclose(by_a, [0.5, 0, 0.375, 0])
        np.testing.assert_allclose(by_b, [-0.25, 0, -0.28125, 0])
    twice = grad(lambda x: np.sum(grad(lambda x: np.sum(logarithm(x)))(x)))
    np.testing.assert_allclose(jit(twice)(A), [-1, -1 / 4, -1 / 9, 0])
    np.testing.assert_allclose(vmap(logarithm)(np.stack([A, B])), [logarithm(A), logarithm(B)])


def test_masks_that_are_traced_alone() -> None:
    def f(x: Any) -> Any:
        return np.sqrt(B, out=np.ones(4), where=x > 1)

    np.testing.assert_array_equal(jit(f)(A), f(A))


def test_wrong_ones() -> None:
    with pytest.raises(UncoveredFunctionError, match="without out="):
        jit(lambda x: np.sin(x, where=x > 0))(A)
    with pytest.raises(DtypeError, match="where=mask != 0"):
        jit(lambda x: np.sin(x, out=x * 1, where=np.ones(4, int)))(A)
    with pytest.raises(DtypeError, match="same_kind"):
        jit(lambda x: np.sin(x, out=np.zeros(4, int), where=x > 0))(A)
    with pytest.raises(ShapeError):
        jit(lambda x: np.sin(x, out=np.zeros(2), where=x > 0))(A)
