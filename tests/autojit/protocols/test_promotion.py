"""NumPy 2's promotion, exactly: the dtype of every result, and every refusal."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.errors import DtypeError

NAMES = "? i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16"
DTYPES = [np.dtype(name) for name in NAMES.split()]
SCALARS = [True, 2, 2.0, 2j, *(d.type(1) for d in DTYPES)]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
]  # fmt: skip
UNARY = [
    np.negative, np.positive, np.absolute, np.invert, np.exp, np.sin, np.arcsin, np.sqrt, np.cbrt,
    np.square, np.reciprocal, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf,
    np.isfinite, np.signbit, np.conjugate, np.deg2rad, np.logical_not, np.fabs, np.exp2, np.log1p,
]  # fmt: skip
BINARY = [
    np.maximum, np.fmin, np.hypot, np.arctan2, np.copysign, np.logaddexp, np.fmod, np.logical_and,
    np.heaviside, np.power, np.true_divide,
]  # fmt: skip
FUNCTIONS: list[Callable[..., Any]] = [
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.argmin, np.any, np.count_nonzero,
    lambda x: np.where(x == x, x, 1), lambda x: np.where(x == x, 1.5, x), lambda x: np.dot(x, x),
    lambda x: np.concatenate([x, np.ones(1, np.float32)]), lambda x: np.stack([x, np.arange(2)]),
    lambda x: np.linalg.norm(x), lambda x: np.real(x), lambda x: np.imag(x), np.diff,
    lambda x: np.clip(x, 0, 1), lambda x: np.clip(x, 0, 1.5), lambda x: np.trace(np.diag(x)),
    lambda x: np.einsum("i,i", x, np.ones(2, np.float32)), lambda x: x @ np.ones(2, np.int16),
    lambda x: np.sum(x, dtype=np.float32), lambda x: x.astype(np.complex64), np.ptp,
    lambda x: np.pad(x, 1), lambda x: x.sum() * np.float32(2),
]  # fmt: skip


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with autojit.disable_jit():
        yield


def dtype_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The dtype of the result, or TypeError where the operands are refused."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(function(*arguments)).dtype
        except (TypeError, NotImplementedError) as error:
            return _known_gap(error) or TypeError


def _known_gap(error: Exception) -> str | None:
    """Complex loops that NumPy has and that are refused with that explanation."""
    return "gap" if "of complex operands is not covered" in str(error) else None


def assert_promotes(function: Callable[..., Any], *arguments: Any) -> None:
    """Traced results have NumPy's dtype with every argument traced, and with one of them."""
    want = dtype_of(function, *arguments)
    for traced in _choices(arguments):
        partial = _partially_traced(function, arguments, traced)
        got = dtype_of(partial, *(arguments[i] for i in traced))
        assert got in (want, "gap"), (traced, arguments)


def _choices(arguments: tuple[Any, ...]) -> list[tuple[int, ...]]:
    everything = tuple(range(len(arguments)))
    arrays = [(i,) for i in everything if isinstance(arguments[i], np.ndarray)]
    return [everything, *(a for a in arrays if a != everything)]


def _partially_traced(
    function: Callable[..., Any], arguments: tuple[Any, ...], traced: tuple[int, ...]
) -> Callable[..., Any]:
    def partial(*tracers: Any) -> Any:
        everything = list(arguments)
        for i, tracer in zip(traced, tracers, strict=True):
            everything[i] = tracer
        return function(*everything)

    return autojit.jit(partial)


def of(dtype: np.dtype) -> np.ndarray:
    return np.array([1, 1], dtype)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("operation", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_arrays(operation: Callable[..., Any]) -> None:
    for a, b in itertools.product(DTYPES, DTYPES):
        assert_promotes(operation, of(a), of(b))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("operation", OPERATORS, ids=lambda f: f.__name__)
def test_operators_with_scalars(operation: Callable[..., Any]) -> None:
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        # To NumPy, x ** 2 is np.square(x): int8 for bools, where x ** n is int64.
        if (operation, dtype, type(scalar)) != (operator.pow, np.dtype(bool), int):
            assert_promotes(operation, of(dtype), scalar)
        assert_promotes(operation, scalar, of(dtype))


def test_square_of_bools() -> None:
    square = autojit.jit(lambda x: x**2)(of(np.dtype(bool)))
    assert square.dtype == (of(np.dtype(bool)) ** 2).dtype


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda f: f.__name__)
def test_operators_among_python_numbers(operation: Callable[..., Any]) -> None:
    for a, b in itertools.product([2, 2.0, 2j], repeat=2):
        assert_promotes(operation, a, b)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_unary_ufuncs(ufunc: np.ufunc) -> None:
    for dtype in DTYPES:
        assert_promotes(ufunc, of(dtype))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_binary_ufuncs(ufunc: np.ufunc) -> None:
    for a, b in itertools.product(DTYPES, DTYPES):
        assert_promotes(ufunc, of(a), of(b))
    for dtype, scalar in itertools.product(DTYPES, [2, 2.0, np.float32(2), np.int8(1)]):
        assert_promotes(ufunc, of(dtype), scalar)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_functions(number: int) -> None:
    for dtype in DTYPES:
        assert_promotes(FUNCTIONS[number], of(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_python_numbers_stay_weak_through_arithmetic(dtype: np.dtype) -> None:
    for number in (2, 2.0):
        assert_promotes(lambda x, s: x * (s * s + s), of(dtype), number)
        assert_promotes(lambda x, s: x + abs(+s) - (-s + 3) // 1, of(dtype), number)


def test_weak_arguments_take_the_dtype_that_they_meet() -> None:
    f = autojit.jit(lambda x, s: x * s)
    x = np.ones(2, np.float32)
    assert f(x, 2.0).dtype == np.float32
    assert f(x, 2).dtype == np.float32
    assert f(x, np.float64(2)).dtype == np.float64
    assert f(np.ones(2, np.int8), 3).dtype == np.int8


def test_out_of_range_python_integers_are_refused_as_numpy_does() -> None:
    x = np.ones(2, np.uint8)
    with pytest.raises(OverflowError):
        x + 300
    with pytest.raises(OverflowError):
        autojit.jit(lambda x: x + 300)(x)


def test_asked_dtype() -> None:
    f = autojit.jit(lambda x: np.add(x, x, dtype=np.float32))
    assert f(np.ones(2, np.int16)).dtype == np.float32
    with pytest.raises(DtypeError):
        autojit.jit(lambda x: np.exp(x, dtype=np.int32))(np.ones(2))


@pytest.mark.parametrize("dtype", ["S3", "M8[s]", "O"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(DtypeError, match="not supported; supported are: bool, int8"):
        autojit.jit(lambda x: x)(np.zeros(2, dtype))
    with pytest.raises(DtypeError, match=r"not supported[\s\S]*astype"):
        autojit.jit(lambda x: x.astype(dtype))(np.zeros(2))


def test_float16_that_widens_at_once_is_welcome() -> None:
    half = np.array([0.5, 1.5], np.float16)
    result = autojit.jit(lambda x: x * half)(np.ones(2, np.float32))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [0.5, 1.5])


def test_long_double_is_refused() -> None:
    if np.longdouble == np.float64:
        pytest.skip("long double is double on this machine")
    with pytest.raises(DtypeError, match="is not supported"):
        autojit.jit(lambda x: x)(np.zeros(2, np.longdouble))
