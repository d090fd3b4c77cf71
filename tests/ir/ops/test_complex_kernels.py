"""Complex numbers with infinities, NaN, zeros and huge parts: compiled code compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit

# The signs of zeros depend on which products and sums LLVM fuses.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.optimised]

KINDS = pytest.mark.parametrize("dtype", [np.complex128, np.complex64])


def grid(dtype: Any) -> Any:
    """All pairs of edge cases."""
    limits = np.finfo(dtype)
    large, small = 0.6 * float(limits.max), 0.6 * float(limits.tiny)
    many = 1e3 if dtype == np.complex128 else 1e2
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, large, small, many, 0.5, -2.25]
    z = np.empty((len(edges), len(edges)), dtype)
    z.real, z.imag = np.array(edges)[:, None], edges
    return z.ravel()


def assert_part_same(got: Any, want: Any, size: Any) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    infinite = np.isinf(want) | np.isinf(got)
    np.testing.assert_array_equal(got[infinite], want[infinite])
    zero = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))
    finite = np.isfinite(want)
    limits = np.finfo(want.dtype)
    allowed = 64 * float(limits.eps) * np.where(np.isfinite(size), size, np.abs(want))
    wrong = np.abs(got[finite] - want[finite]) > allowed[finite] + float(limits.tiny)
    assert not wrong.any()


def assert_same(got: Any, want: Any) -> None:
    """Check infinities, NaN and signed zeros exactly, other numbers up to rounding."""
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind == "b":
        np.testing.assert_array_equal(got, want)
        return
    size = np.maximum(np.abs(np.real(want)), np.abs(np.imag(want))).astype(float)
    assert_part_same(np.real(got), np.real(want), size)
    assert_part_same(np.imag(got), np.imag(want), size)


FUNCTIONS = (
    np.exp, np.log, np.sqrt, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.absolute,
    np.reciprocal, np.square, np.negative, np.conjugate, np.isnan, np.isinf, np.isfinite, np.angle,
)  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    **{f.__name__: f for f in FUNCTIONS},
    "z ** 2": lambda z: z**2,
    "z ** -1": lambda z: z**-1,
    "z ** 0": lambda z: z**0,
    "z ** 0.5": lambda z: z**0.5,
    "1 / z": lambda z: 1 / z,
    "z / 0": lambda z: z / 0.0,
    "z / 2j": lambda z: z / 2j,
    "2 * z": lambda z: 2 * z,
    "1j * z": lambda z: 1j * z,
}


@pytest.mark.sampled(7)
@KINDS
@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, dtype: Any) -> None:
    """On an array, as vector code, and on single numbers."""
    function, z = UNARY[name], grid(dtype)
    want = function(z)
    compiled = jit(function)
    assert_same(compiled(z), want)
    assert_same(np.array([compiled(x) for x in z]), want)


@KINDS
@pytest.mark.parametrize("function", [np.add, np.subtract, np.divide, np.equal, np.not_equal])
def test_operators(function: Any, dtype: Any) -> None:
    a, b = np.meshgrid(grid(dtype), grid(dtype), indexing="ij")
    assert_same(jit(function)(a, b), function(a, b))


@KINDS
def test_products_that_do_not_overflow(dtype: Any) -> None:
    z = grid(dtype)
    parts = np.abs(np.stack([z.real, z.imag]))
    z = z[~np.any(np.isfinite(parts) & (parts > 1e5), axis=0)]
    a, b = np.meshgrid(z, z, indexing="ij")
    assert_same(jit(np.multiply)(a, b), a * b)


@KINDS
def test_powers_of_moderate_numbers_and_zeros(dtype: Any) -> None:
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -2.25]
    z = np.add.outer(np.array(edges), 1j * np.array(edges)).ravel().astype(dtype)
    a, b = np.meshgrid(z, z, indexing="ij")
    got, want = jit(np.power)(a, b), np.power(a, b)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    kept = ~np.isnan(want)
    np.testing.assert_allclose(got[kept], want[kept], rtol=1e3 * float(np.finfo(dtype).eps))


def test_exponentials_that_overflow_in_one_factor() -> None:
    z = np.array([709.9 + 1.57j, 710.3 - 1.5707j, 715 + 1e-6j, -715 + 1e-6j])
    for f in (np.exp, np.sinh, np.cosh):
        assert_same(jit(f)(z), f(z))
        assert_same(jit(f)(-z), f(-z))
    assert_same(jit(np.sin)(1j * z), np.sin(1j * z))
    assert_same(jit(np.cos)(1j * z), np.cos(1j * z))


def test_small_parts_beside_large_ones_keep_their_digits() -> None:
    z = np.array([30 + 0.5j, -25 + 1e-3j, 18 - 2j])
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(jit(np.tanh)(z)), part(np.tanh(z)), rtol=1e-13)
    z = np.array([1.7e308 + 1.7e308j, 5e-324 + 5e-324j, -1e-310 + 3e-320j])
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(jit(np.sqrt)(z)), part(np.sqrt(z)), rtol=1e-13)


def test_gradients_of_reciprocals_and_roots() -> None:
    z = np.array([0.5 - 1.25j, -2.0 + 0.1j])
    functions: list[Callable[[Any], Any]] = [np.reciprocal, lambda z: z**-1, lambda z: z**0.5]
    for f in functions:
        found = [jit(grad(f, holomorphic=True))(x) for x in z]
        h = 1e-6
        np.testing.assert_allclose(found, (f(z + h) - f(z - h)) / (2 * h), rtol=1e-8)
