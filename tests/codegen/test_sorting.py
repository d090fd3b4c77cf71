"""Compiled sorting: NumPy's permutation for every dtype and layout, NaN last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import jit
from autojit.codegen.cpu import abi
from autojit.control import fori_loop
from autojit.errors import AutojitError
from autojit.ir.types import DTYPE_NAMES

DTYPES = [dtype for dtype in DTYPE_NAMES if dtype.kind in "iuf"]


def drawn(dtype: Any, *shape: int) -> Any:
    """Many equal elements, and NaN where there is such a thing."""
    numbers = np.random.default_rng(0).integers(0, 20, shape)
    if np.dtype(dtype).kind != "f":
        return numbers.astype(dtype)
    return np.where(numbers == 7, np.nan, numbers / 4).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 100, 3000])
def test_it_is_numpys_own_order(dtype: Any, n: int) -> None:
    """Also among equal elements, whose order is NumPy's matter if the sort is not stable."""
    x = drawn(dtype, 3, n)
    for view in (x, x[:, ::-1], np.asfortranarray(x), x[:, ::2]):
        np.testing.assert_array_equal(jit(np.argsort)(view), np.argsort(view))
        got = jit(lambda x: np.argsort(x, kind="stable"))(view)
        np.testing.assert_array_equal(got, np.argsort(view, kind="stable"))
        np.testing.assert_array_equal(jit(np.sort)(view), np.sort(view))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_function_is_that_of_numpys_table(dtype: Any) -> None:
    names = [f"{abi.ARGSORT}{DTYPE_NAMES[dtype]}{kind}" for kind in ("", abi.STABLE)]
    assert all(abi.library_function(name) for name in names)


def test_nan_makes_a_median_nan() -> None:
    x = drawn(np.float64, 40, 9)
    for function in (np.median, np.quantile):
        taken = [x] if function is np.median else [x, 0.3]
        for axis in (None, 0, 1):
            got = jit(lambda *a, axis=axis, f=function: f(*a, axis=axis))(*taken)
            np.testing.assert_allclose(got, function(*taken, axis=axis))


def test_in_a_loop() -> None:
    """Sorting is a step like others in the body of a loop."""

    def rounds(x: Any) -> Any:
        return fori_loop(0, 3, lambda i, x: np.sort(np.cos(x) * 3)[::-1], x)

    x = np.linspace(-2, 2, 50)
    want = x
    for _ in range(3):
        want = np.sort(np.cos(want) * 3)[::-1]
    np.testing.assert_allclose(jit(rounds)(x), want)


def test_sorting_in_place() -> None:
    def sorted_copy(x: Any) -> Any:
        y = x * 2
        y.sort(axis=0)
        return y

    x = drawn(np.float64, 7, 3)
    np.testing.assert_array_equal(jit(sorted_copy)(x), np.sort(x * 2, axis=0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(x + 1j),
        lambda x: np.sort(x, kind="fastest"),
        lambda x: np.quantile(x, 1.5),
        lambda x: np.quantile(x, 0.5, method="lower"),
        lambda x: np.median(x[:0]),
        lambda x: np.bincount(x.astype(int)),
        lambda x: np.searchsorted(x, x, side="middle"),
        lambda x: np.searchsorted(x[None], x),
    ],
)
def test_what_is_refused(function: Any) -> None:
    with pytest.raises((AutojitError, ValueError), match=r"np\.") as caught:
        jit(function)(np.ones(3))
    assert len(str(caught.value)) > 30
