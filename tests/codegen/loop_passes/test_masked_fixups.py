"""Masks of single elements in rows: taken out of the loop, and fixed after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import fori_loop, hessian, jacfwd
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Compute, Loop
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Builder, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import convert, eq, mul
from autojit.ir.ops.linear import iota
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

N = 64
X = np.random.default_rng(0).uniform(1.0, 2.0, N)


def masks_in_rows(f: Callable[..., Any], *arguments: Any) -> int:
    """Check that compiled and interpreted results agree; count the comparisons in long loops."""
    program = autojit.trace(f)(*arguments)
    arrays = [*arguments, *program.captured]
    with np.errstate(all="ignore"):
        want = interpret(program, arrays)
    for g, w in zip(Executable(program).call(arrays), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-14)
    loops = [s for s in statements(lower(optimize(program))) if isinstance(s, Loop)]
    rows = [s for s in loops if s.stop - s.start > 8]
    return sum(isinstance(x, Compute) and x.name in ("eq", "ne") for s in rows for x in s.body)


def diagonal(x: Any, k: int) -> Any:
    """The matrix that shifts x by k places, made like a Jacobian: from rows of the identity
    matrix."""
    return jacfwd(lambda y: np.roll(y, k))(x)


@pytest.mark.parametrize("k", [0, 1, -3, N - 2])
def test_diagonals_are_fixed_after_the_row(k: int) -> None:
    assert masks_in_rows(lambda x: np.outer(x, x) + diagonal(x, k) * np.exp(x), X) == 0
    masks_in_rows(lambda x: diagonal(x, k) - diagonal(x, 1 - k).T, X)
    masks_in_rows(jacfwd(lambda x: x**2 + np.roll(x, k) * np.exp(x)), X)


def test_a_hessian_has_no_masks_in_its_rows() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    assert masks_in_rows(hessian(rosenbrock), X) == 0


def test_a_jacobian_has_no_masks_in_its_rows() -> None:
    assert masks_in_rows(jacfwd(lambda x: np.sin(x) * x), X) == 0


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_spreads_along_its_row(number: float) -> None:
    """0 times infinity is NaN, also off the diagonal."""
    x = X.copy()
    x[[0, 7]] = number
    assert masks_in_rows(jacfwd(lambda x: np.exp(x) * x), x) == 0


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "uint64", "float32"])
def test_indices_of_other_dtypes_may_wrap_around(dtype: str) -> None:
    """As eight-bit numbers, 0 and 256 are equal."""
    shape, builder = (20, 600), Builder()
    x = Value(Type(np.dtype(np.float64), shape))
    with building(builder):
        i, j = (iota(axis=axis, dtype=np.dtype(dtype), shape=shape) for axis in (0, 1))
        product = mul(x, convert(eq(i, j), dtype=x.dtype))
    program, a = builder.finish([x], [product]), np.outer(X[:20], np.arange(600.0))
    np.testing.assert_array_equal(Executable(program).call([a])[0], interpret(program, [a])[0])


def test_rows_that_are_short_keep_their_masks() -> None:
    assert masks_in_rows(jacfwd(lambda x: np.sin(x) * x), X[:12]) > 0


def test_a_matrix_changed_in_place() -> None:
    """If a row is both read and written, it cannot be run again."""

    def f(a: Any, x: Any) -> Any:
        return fori_loop(0, 5, lambda i, a: a * 0.5 + diagonal(x, 0) * a * x, a)

    masks_in_rows(f, np.outer(X, X), X)


def test_several_outputs() -> None:
    def f(x: Any) -> Any:
        a = np.where(diagonal(x, 1) == 1.0, x, np.cos(x))
        return a, a + diagonal(x, 2), a - np.exp(diagonal(x, 0))

    masks_in_rows(f, X)


def test_not_square() -> None:
    masks_in_rows(jacfwd(lambda x: np.exp(x[3:40]) * x[4:41]), X)
    masks_in_rows(jacfwd(lambda x: np.concatenate([x * x, np.sin(x), x[5:]])), X)
