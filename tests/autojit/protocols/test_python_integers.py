"""Integers that do not fit: by their value, and by NumPy's conversion to floats."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import hvp, jit, jvp, linearize, vjp

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
NUMBERS = [0, -1, 127, 128, 256, -129, 2**31, 2**32 - 1]
NUMBERS += [2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.sampled(44)
@pytest.mark.parametrize("dtype", [*INTEGERS, "f4", "f8"])
@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_are_by_value(dtype: str, compare: Callable[[Any, Any], Any]) -> None:
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        a = np.array([info.min, 0, 1, info.max], dtype)
    else:
        a = np.array([0, 1], dtype)
    for number in NUMBERS:
        want = compare(a, number), compare(number, a), compare(a[1], number)
        got = jit(lambda a, n=number: (compare(a, n), compare(n, a), compare(a[1], n)))(a)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)
        if abs(number) < 2**63:  # as an argument
            np.testing.assert_array_equal(jit(compare)(a, number), want[0])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_differences_and_products_of_integers(dtype: str) -> None:
    """NumPy computes these differences and products in float64."""
    info = np.iinfo(dtype)
    x = np.array([info.max, 1, 2, info.max - 3, 0], dtype)
    w = np.array([100, 50, 25, 1, 2], "i1").astype(dtype)
    for f in (
        lambda x, w: np.gradient(x),
        lambda x, w: np.average(x, weights=w),
        lambda x, w: np.average(w, weights=w),
        lambda x, w: np.isclose(w, w + 1, atol=2),
        lambda x, w: np.isclose(x, w, atol=3),
        lambda x, w: np.allclose(w, w + 1, atol=1),
    ):
        got, want = jit(f)(x, w), f(x, w)
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["i1", "i8", "f4", "f8"])
def test_directions_may_be_integers(dtype: str) -> None:
    """SciPy's `trust-constr` passes integer directions."""
    x, v = np.array([1.0, 2.0]), np.array([1, 0], dtype)
    np.testing.assert_allclose(jit(hvp(lambda x: np.sum(x**3)))(x, v), [6.0, 0.0])
    np.testing.assert_allclose(jit(lambda x, v: jvp(np.sin, (x,), (v,))[1])(x, v), np.cos(x) * v)
    np.testing.assert_allclose(jit(lambda x, v: vjp(np.sin, x)[1](v)[0])(x, v), np.cos(x) * v)
    np.testing.assert_allclose(jit(lambda x, v: linearize(np.sin, x)[1](v))(x, v), np.cos(x) * v)
