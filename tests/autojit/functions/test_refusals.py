"""Functions whose result has a shape, or a place, that values decide: what is said, and done."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import errors, grad, jit, trace

X = np.array([3.0, 1.0, 3.0, 2.0, 0.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.unique(x), "first = np.append(True, s[1:] != s[:-1])"),
        (lambda x: np.unique_counts(x).counts, "first = np.append(True, s[1:] != s[:-1])"),
        (lambda x: np.concatenate(np.nonzero(x)), "np.where(m, x, 0)"),
        (lambda x: np.trim_zeros(x), "np.where(x > 0, x, 0)"),
        (lambda x: np.setdiff1d(x, [1.0]), "np.isin(x, y)"),
        (lambda x: np.bincount(x.astype(int)), "np.bincount(x, weights, minlength=n)"),
        (lambda x: np.histogram(x, "auto"), "np.histogram(x, bins=10, range=(0.0, 1.0))"),
        (lambda x: np.add.reduceat(x, x.astype(int)), "np.bincount(part, weights=x, minlength=n)"),
        (lambda x: np.nditer(x), "for at in np.ndindex(x.shape): x[at]"),
        (lambda x: np.save("file", x), "y = jit(f)(x)"),
        (lambda x: np.partition(x, x[0].astype(int)), "jit(f, static_argnums=1)(x, n)"),
        (lambda x: np.real_if_close(x + 0j), "whose values determine the dtype"),
        (lambda x: np.min_scalar_type(x[0]), "whose value determines the result"),
    ],
)
def test_what_is_refused_names_the_rewrite(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(errors.AutojitError, match=re.escape(words)):
        jit(call)(X)


def test_the_rewrites_work() -> None:
    def different(x: Any) -> Any:
        s = np.sort(x)
        first = np.append(True, s[1:] != s[:-1])
        return np.sum(first)

    assert jit(different)(X) == len(np.unique(X))


def test_shapes_by_values_without_jit() -> None:
    x = np.array([3.0, 1.0, 3.0, 2.0, 0.0])

    def sum_of_squares(x: Any) -> Any:
        return np.sum(np.unique(x) ** 2) + np.sum(np.setdiff1d(x, [1.0]) ** 3)

    assert np.array_equal(grad(sum_of_squares)(x), [33.0, 2.0, 0.0, 16.0, 0.0])
    assert grad(lambda x: np.sum(np.trim_zeros(x) ** 2))(x).tolist() == [6.0, 2.0, 6.0, 4.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.bincount(x, minlength=4), ValueError, "not below minlength=4"),
        (lambda x: np.choose(x, [1.0, 2.0]), ValueError, "invalid entry in choice array"),
        (lambda x: np.unravel_index(x, (2, 2))[0], ValueError, "index is out of bounds"),
        (lambda x: np.ravel_multi_index((x, x), (2, 2)), ValueError, "invalid entry"),
        (lambda x: np.asarray_chkfinite(np.log(x - 9.0)), ValueError, "must not contain infs"),
        (lambda x: np.nanargmax(np.log(x - 9.0)), ValueError, "All-NaN slice encountered"),
    ],
)
def test_compiled_code_raises(call: Any, error: type[Exception], words: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(error, match=words):
        jit(call)(np.array([1, 4]))


# -- complex numbers ------------------------------------------------------------------

PARTS = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0)
EDGES = np.array([complex(a, b) for a in PARTS for b in PARTS])
INVERSES = (np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.sign)
EXPONENTIALS = (np.exp2, np.expm1, np.log1p, np.log2, np.log10, np.rint)


def test_complex_functions_at_the_edges() -> None:
    functions = INVERSES + EXPONENTIALS
    compiled = jit(lambda z: tuple(f(z) for f in functions))
    with np.errstate(all="ignore"):
        pairs = zip(functions, compiled(EDGES), strict=True)
        for f, found in pairs:
            for part in (np.real, np.imag):
                np.testing.assert_allclose(part(found), part(f(EDGES)), err_msg=f.__name__)


ORDERED = (
    np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum, np.fmax, np.fmin,
)  # fmt: skip


def test_complex_numbers_in_order() -> None:
    a, b = np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))
    found = jit(lambda a, b: tuple(f(a, b) for f in ORDERED))(a, b)
    with np.errstate(all="ignore"):
        for f, got in zip(ORDERED, found, strict=True):
            np.testing.assert_array_equal(got, f(a, b), err_msg=f.__name__)


@pytest.mark.parametrize("with_nan", [False, True])
def test_extremes_of_complex_numbers(with_nan: bool) -> None:
    z = np.array([1 + 2j, 1 - 1j, 3 + 0j, 3 + 1j, -2 + 5j, -2 - 5j])
    if with_nan:
        z[2] = complex(1, np.nan)
    for f in (np.max, np.min, np.argmax, np.argmin, np.sort, np.argsort, np.median):
        np.testing.assert_array_equal(autojit.trace(f)(z)(z), f(z), err_msg=f.__name__)


def test_pythons_complex_numbers_have_no_order() -> None:
    with pytest.raises(TypeError, match="order is not supported"):
        jit(lambda a: a < 1j)(2.0)


# -- numbers of Python's in NumPy's own code --------------------------------------------


def test_polynomials_without_source() -> None:
    space: dict[str, Any] = {"P": np.polynomial.Polynomial}
    exec("f = lambda c, x: (P(c) * P([1.0, 2.0]))(x)", space)
    c, x = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.2])
    np.testing.assert_allclose(jit(space["f"])(c, x), space["f"](c, x))


def test_division_of_polynomials_by_zero() -> None:
    divide = jit(lambda a, b: np.polynomial.polynomial.polydiv(a, b))
    quotient, rest = divide(X, np.array([1.0, 2.0]))
    wanted = np.polynomial.polynomial.polydiv(X, np.array([1.0, 2.0]))
    np.testing.assert_allclose(np.trim_zeros(quotient, "b"), wanted[0])
    np.testing.assert_allclose(rest, wanted[1])
    with pytest.raises(ZeroDivisionError):
        divide(X, np.zeros(2))


def test_poly1d() -> None:
    p = np.poly1d([1.0, 2.0])

    def f(c: Any) -> Any:
        q = np.poly1d(c)
        assert isinstance(q, np.poly1d)
        return ((q + p) * q / 2.0 - 1.0).integ().deriv()(0.7) + q[0] + (p * q)(1.0)

    c = np.array([2.0, -1.0, 0.5])
    assert np.isclose(jit(f)(c), f(c))


def test_bins_that_do_not_rise_and_ranges_that_are_none() -> None:
    x = np.array([0.1, 0.6, 0.9])
    falling, text = np.array([1.0, 0.5, 0.0]), "must increase monotonically"
    for f in (np.histogram, np.histogram_bin_edges):
        with pytest.raises(ValueError, match=text):
            trace(lambda x, f=f: f(x, falling))(x)
        with pytest.raises(ValueError, match=text):
            jit(lambda x, b, f=f: f(x, b))(x, falling)
        with pytest.raises(ValueError, match="max must be larger than min"):
            trace(lambda x, f=f: f(x, 3, (1, 0)))(x)
        with pytest.raises(ValueError, match="max must be larger than min"):
            jit(lambda x, b, f=f: f(x, 3, (1.0, b)))(x, 0.5)
        with pytest.raises(TypeError, match="bins must be an integer"):
            trace(lambda x, f=f: f(x, 2.5))(x)
    with pytest.raises(ValueError, match="traced bins must increase"):
        jit(np.digitize)(x, falling)
    np.testing.assert_array_equal(jit(lambda x: np.digitize(x, falling))(x), [2, 1, 1])
    got = jit(lambda x: np.histogram(x, 2, (1.0, 1.0)))(x)
    for a, b in zip(got, np.histogram(x, 2, (1.0, 1.0)), strict=True):
        np.testing.assert_allclose(a, b)


def test_inverse_transforms_of_the_length_that_is_there() -> None:
    x = np.arange(20.0).reshape(4, 5)
    for f in (np.fft.irfft2, np.fft.irfftn, np.fft.ifft2):
        got = trace(lambda x, f=f: f(x, (3, -1), (0, 1)))(x)(x)
        np.testing.assert_allclose(got, f(x, (3, -1), (0, 1)), atol=1e-12)
