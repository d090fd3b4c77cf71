"""Compiled sorting: NumPy's stable permutation for every dtype and layout, NaN last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.linalg import radix, ranks
from autojit.codegen.cpu.llvm import library
from autojit.control_flow.control import fori_loop
from autojit.errors import AutojitError
from autojit.ir.core.types import DTYPE_NAMES
from tests import thresholds

DTYPES = [dtype for dtype in DTYPE_NAMES if dtype.kind in "iuf"]


def drawn(dtype: Any, *shape: int) -> Any:
    """Random numbers with many equal elements, and with NaN if the dtype has it."""
    numbers = np.random.default_rng(0).integers(0, 20, shape)
    if np.dtype(dtype).kind != "f":
        return numbers.astype(dtype)
    return np.where(numbers == 7, np.nan, numbers / 4).astype(dtype)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 100, 3000])
def test_it_is_the_stable_order(dtype: Any, n: int) -> None:
    x = drawn(dtype, 3, n)
    for view in (x, x[:, ::-1], np.asfortranarray(x), x[:, ::2]):
        want = np.argsort(view, kind="stable")
        np.testing.assert_array_equal(jit(np.argsort)(view), want)
        np.testing.assert_array_equal(jit(lambda x: np.argsort(x, kind="stable"))(view), want)
        np.testing.assert_array_equal(jit(np.sort)(view), np.sort(view))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_function_is_that_of_numpys_table(dtype: Any) -> None:
    assert abi.library_function(f"{abi.ARGSORT}{DTYPE_NAMES[dtype]}")


def bits(dtype: Any, n: int) -> Any:
    """Numbers of random bits: of every magnitude, and of both signs if the dtype is signed."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(n * size), dtype)


def agreeing(dtype: Any, n: int) -> Any:
    """Groups of numbers that differ only in their last bits, some of them large."""
    rng = np.random.default_rng(2)
    groups = np.concatenate([np.arange(n // 4), np.full(n - n // 4, 7)])
    rng.shuffle(groups)
    if np.dtype(dtype).kind == "f":
        return ((1 + groups) * (1 + np.finfo(dtype).eps * rng.integers(0, 900, n))).astype(dtype)
    return (groups * 2 ** (8 * np.dtype(dtype).itemsize - 13) + rng.integers(0, 900, n)).astype(
        dtype
    )


def extreme(dtype: Any, n: int) -> Any:
    """The ends of the range; for floats also zeros of both signs, infinities and NaN."""
    if np.dtype(dtype).kind != "f":
        ends = np.iinfo(dtype)
        numbers = np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype)
    else:
        ends = np.finfo(dtype)
        whole = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, ends.tiny, -ends.tiny]
        numbers = np.array([*whole, ends.smallest_subnormal, ends.max, ends.min], dtype)
    return numbers[np.random.default_rng(3).integers(0, numbers.size, n)]


LONG = [d for d in DTYPES if d.itemsize >= 4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", LONG, ids=str)
@pytest.mark.parametrize("n", [ranks.MOST + 1, 1000, radix.LONG, 5000])
@pytest.mark.parametrize("numbers", [bits, agreeing, extreme], ids=lambda f: f.__name__)
def test_by_digits(dtype: Any, n: int, numbers: Any) -> None:
    argsort = jit(np.argsort)
    x = numbers(dtype, n)
    for y in (x, np.sort(x), np.sort(x)[::-1], np.full_like(x, x[0])):
        np.testing.assert_array_equal(argsort(y), np.argsort(y, kind="stable"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", LONG, ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 17, 64, ranks.MOST])
@pytest.mark.parametrize("numbers", [bits, agreeing, extreme], ids=lambda f: f.__name__)
def test_by_counting(dtype: Any, n: int, numbers: Any) -> None:
    test_by_digits(dtype, n, numbers)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [3, ranks.MOST, ranks.MOST + 1])
def test_rows_that_differ(dtype: Any, n: int) -> None:
    """Each row is sorted in the memory of the previous one."""
    x = drawn(dtype, 50, n)
    np.testing.assert_array_equal(jit(np.argsort)(x), np.argsort(x, kind="stable"))
    if np.dtype(dtype).itemsize >= 4:
        x = bits(dtype, 50 * n).reshape(50, n)
        np.testing.assert_array_equal(jit(np.argsort)(x), np.argsort(x, kind="stable"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [16, 32, 64])
def test_vectors_of_each_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_texts", {})
    x = extreme(np.float64, 21 + width)  # a separate program
    with thresholds.Thresholds({"machine.vector_bytes": width, "machine.vector_registers": 16}):
        np.testing.assert_array_equal(jit(np.argsort)(x), np.argsort(x, kind="stable"))


def test_a_gradient_goes_by_the_order_of_equal_numbers() -> None:
    """Of equal elements the first comes first, however many there are."""
    for n in (20, 300, 3000):
        x, w = drawn(np.int64, n).astype(float), np.arange(1.0, n + 1)
        got = jit(grad(lambda x, w: np.sum(w * np.sort(x))))(x, w)
        want = np.empty(n)
        want[np.argsort(x, kind="stable")] = w
        np.testing.assert_array_equal(got, want)


def test_a_batch_is_sorted_row_by_row() -> None:
    x = bits(np.int32, 6 * 1000).reshape(2, 3, 1000)
    np.testing.assert_array_equal(jit(np.argsort)(x), np.argsort(x, kind="stable"))
    got = jit(lambda x: np.argsort(x, axis=0))(x.reshape(1000, 6))
    np.testing.assert_array_equal(got, np.argsort(x.reshape(1000, 6), axis=0, kind="stable"))


def test_nan_makes_a_median_nan() -> None:
    x = drawn(np.float64, 40, 9)
    for function in (np.median, np.quantile):
        taken = [x] if function is np.median else [x, 0.3]
        for axis in (None, 0, 1):
            got = jit(lambda *a, axis=axis, f=function: f(*a, axis=axis))(*taken)
            np.testing.assert_allclose(got, function(*taken, axis=axis))


def test_in_a_loop() -> None:
    """In the body of a loop, sorting is a step like any other."""

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
        lambda x: np.sort(x, kind="fastest"),
        lambda x: np.quantile(x, 1.5),
        lambda x: np.bincount(x.astype(int)),
        lambda x: np.searchsorted(x, x, side="middle"),
        lambda x: np.searchsorted(x[None], x),
    ],
)
def test_what_is_refused(function: Any) -> None:
    with pytest.raises((AutojitError, ValueError), match=r"np\.") as caught:
        jit(function)(np.ones(3))
    assert len(str(caught.value)) > 30
