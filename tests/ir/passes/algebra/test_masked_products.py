"""Products of a row with a part of a matrix in loops: their values, derivatives and places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.ir.core.program import Program
from autojit.ir.ops.contract import Dot
from autojit.ir.passes import optimize
from autojit.ir.regions.scan import Scan
from tests.thresholds import Thresholds

pytestmark = pytest.mark.usefixtures("one_machine")

RNG = np.random.default_rng(0)


def covariance(a: Any) -> Any:
    n = a.shape[1]
    made = np.zeros((n, n), a.dtype)
    for i in range(n):
        made[i:, i] = made[i, i:] = a[:, i] @ a[:, i:] / 7
    return made


def tail(a: Any) -> Any:
    """Two matrices, of which the first three columns are not read."""
    n = a.shape[1]
    b, made = np.sin(a), np.zeros((n, n), a.dtype)
    for i in range(3, n):
        made[i:, i] = made[i, i:] = np.cos(a[:, i]) @ b[:, i:]
    return made


def carried(a: Any) -> Any:
    """A vector depends on the step before, so its products stay in the loop."""
    n = a.shape[1]
    made = np.ones((n, n), a.dtype)
    for i in range(1, n):
        v = np.tanh(made[i - 1] @ a.T / n)
        made[i, i:] = v @ a[:, i:]
    return made


SMALL = {"ir.regions.scan_products.LARGE": 0}
SHAPES = [(7, 35), (40, 33), (1, 37), (0, 33), (5, 1), (3, 0)]
VARIANTS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda a: a,
    "float32": lambda a: a.astype(np.float32),
    "reversed": lambda a: a[::-1, ::-1],
    "every second": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(a: Any) -> Any:
        made = f(a)
        weights = np.cos(np.arange(made.size)).reshape(made.shape).astype(a.dtype)
        return np.sum(weights * made * made)

    return total


@pytest.mark.sampled(8)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("f", [covariance, tail, carried])
def test_values_and_gradients(f: Any, shape: tuple[int, int], variant: str) -> None:
    a = VARIANTS[variant](RNG.normal(size=shape) / np.sqrt(max(1, *shape)))
    precise = a.dtype == np.float64
    tolerance = 1e-10 if precise else 2e-4
    with Thresholds(SMALL):
        np.testing.assert_allclose(jit(f)(a), f(a), rtol=tolerance, atol=tolerance)
        got = jit(grad(weighted(f)))(a)
    assert got.dtype == a.dtype
    assert got.shape == a.shape
    direction, h = RNG.normal(size=shape), 1e-6
    wide = a.astype(np.float64)
    ends = [weighted(f)(wide + sign * h * direction) for sign in (1, -1)]
    want = (ends[0] - ends[1]) / (2 * h)
    assert np.isclose(np.sum(got * direction), want, rtol=1e-6 if precise else 1e-3, atol=1e-4)


def products(program: Program, *, inside: bool = False) -> int:
    """The number of products in a program, or in the loops of a program."""
    found = 0 if inside else sum(isinstance(op.kind, Dot) for op in program.ops)
    loops = [op for op in program.ops if isinstance(op.kind, Scan)]
    return found + sum(products(body) for op in loops if inside for body in op.programs)


@pytest.mark.parametrize(
    ("f", "of_value", "of_gradient"), [(covariance, 0, 0), (tail, 0, 0), (carried, 2, 4)]
)
def test_which_products_leave_the_loop(f: Any, of_value: int, of_gradient: int) -> None:
    a = np.ones((12, 33))
    with Thresholds(SMALL):
        assert products(optimize(trace(f)(a)), inside=True) == of_value
        assert products(optimize(trace(grad(weighted(f)))(a)), inside=True) == of_gradient


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_elements_that_no_step_reads_may_be_anything(bad: float) -> None:
    """The product of matrices multiplies them with zeros."""
    a = RNG.normal(size=(6, 40))
    b = np.sin(a)
    b[:, :3] = bad

    def f(a: Any, b: Any) -> Any:
        n = a.shape[1]
        made = np.zeros((n, n))
        for i in range(3, n):
            made[i:, i] = made[i, i:] = a[:, i] @ b[:, i:]
        return made

    def total(a: Any, b: Any) -> Any:
        return np.sum(np.sin(f(a, b)))

    finite = np.where(np.isfinite(b), b, 1.0)
    with Thresholds(SMALL):
        np.testing.assert_allclose(jit(f)(a, b), f(a, b), rtol=1e-12, atol=1e-12)
        compiled = jit(grad(total, (0, 1)))
        for got, want in zip(compiled(a, b), compiled(a, finite), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_masks_that_keep_little_are_not_worth_a_product_of_matrices() -> None:
    def f(a: Any) -> Any:
        n = a.shape[1]
        made = np.zeros((n, n))
        for i in range(n - 3):
            made[i, i : i + 3] = made[i : i + 3, i] = a[:, i] @ a[:, i : i + 3]
        return made

    with Thresholds(SMALL):
        program = optimize(trace(f)(np.ones((5, 64))))
    loops = [op for op in program.ops if isinstance(op.kind, Scan)]
    assert products(program) == 0 if not loops else products(program, inside=True) == 1
