"""Programs that were once compiled wrongly, or could not be compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import cond, fori_loop, grad, hessian, jit, scan, vmap
from autojit.codegen.driver.executable import Executable
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import parse
from tests.codegen.row_chains import agrees


def check(body: str, *arguments: Any) -> None:
    """The compiled program gives what the interpreter gives."""
    program = parse(f"program main({body}\n}}")
    for got, want in zip(
        Executable(program).call(arguments), interpret(program, arguments), strict=True
    ):
        assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("old", "new"),
    [((1, 0, 0), (0, 0, 1)), ((0, 2), (0,)), ((0, 0, 0), (0,)), ((0,), (3, 0, 5))],
)
def test_reshape_of_nothing(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    check(
        f"""%x: f64{list(old)}) {{
        %y: f64{list(new)} = reshape %x {{shape={new}}}
        return %y""",
        np.ones(old),
    )


def test_complex_sums_kept_for_one_iteration() -> None:
    check(
        """%x: c128[9,2,9]) {
        %s: c128[9,9] = sum %x {axes=(1,)}
        %y: c128[9,9] = sinh %s
        %t: c128[9] = sum %y {axes=(1,)}
        %w: c128[9,9] = broadcast %t {dims=(0,), shape=(9,9)}
        %z: c128[9,9] = mul %w, %y
        return %z""",
        np.random.default_rng(0).normal(size=(9, 2, 9)) * (1 + 0.5j),
    )


def test_floor_divide_by_infinity() -> None:
    x = np.array([-0.3, 0.3, -0.3, 0.3, -7.0, 0.0, -0.0])
    y = np.array([np.inf, np.inf, -np.inf, -np.inf, 2.0, 3.0, 3.0])
    check(
        """%x: f64[7], %y: f64[7]) {
        %q: f64[7] = floor_divide %x, %y
        %r: f64[7] = remainder %x, %y
        return %q, %r""",
        x,
        y,
    )


def test_logaddexp2_of_large_numbers() -> None:
    check(
        """%x: f64[4], %y: f64[4]) {
        %z: f64[4] = logaddexp2 %x, %y
        return %z""",
        np.array([-710.0, 700.3, np.inf, -np.inf]),
        np.array([0.0, 700.1, np.inf, -np.inf]),
    )


BACKWARDS = (
    lambda x: x.T.reshape(24)[::-1] * 1.0,
    lambda x: np.pad(np.sin(x.T.reshape(24)), (3, 2))[::-1] + 1.0,
    lambda x: np.pad(x.T.reshape(3, 8)[:, ::-1], ((1, 1), (2, 2))) * 2.0,
    lambda x: np.pad(np.flip(x.T.reshape(2, 12)).reshape(8, 3), ((1, 1), (2, 2))) * 2.0,
    lambda x: np.roll(x.T.reshape(8, 3)[::-1], 2, axis=0) * 2.0,
    lambda x: np.flip(np.pad(np.sort(x, axis=0), ((0, 0), (1, 1))), axis=1) * 2.0,
)


@pytest.mark.parametrize("f", BACKWARDS)
def test_places_that_are_divided_are_not_negative(f: Any) -> None:
    x = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-14)
    agrees(grad(lambda x: np.sum(np.sin(f(x)))), x)


@pytest.mark.parametrize("shape", [(9, 9, 20), (17, 16, 34), (9, 3, 129)])
def test_borders_whose_reads_have_several_conditions(shape: tuple[int, ...]) -> None:
    """LLVM's vectoriser takes a vector's address from an element that is not read."""

    def f(x: Any) -> Any:
        steps = x[..., 1:] - x[..., :-1]
        h = steps * np.sum(steps**2, axis=2)[:, :, None]
        y = h * 1.0
        y[1:] = y[:-1] * 0.5 + y[1:]
        return np.sum(y**2)

    agrees(grad(f), np.random.default_rng(0).normal(size=shape), rtol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [7, 28, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_every_second_element_backwards(n: int, dtype: Any) -> None:
    """LLVM's vectoriser computed two different costs, and ended the process."""
    x = np.random.default_rng(0).normal(size=2 * n).astype(dtype)
    for f in (
        lambda x: x[::2] + x[1::2] + x[::-2] + x[-2::-2],
        lambda x: x[::-2] * 2 + x[-2::-2],
        lambda x: x[::2] * x[::-2],
    ):
        np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(40, 64, 17), (12, 64, 17), (5, 3, 17)])
@pytest.mark.parametrize("extreme", [np.max, np.min])
def test_what_equals_its_largest_is_rounded_as_it_was(shape: Any, extreme: Any) -> None:
    """A product and a sum are rounded once in one loop, and twice in the other."""

    def f(x: Any) -> Any:
        h = np.pad(x, ((0, 0), (0, 0), (1, 1)))
        h = 0.1 * np.sum(h, axis=0) + h
        h = np.where(h > 0, h, 0.1 * h) + extreme(h, axis=2, keepdims=True)
        return np.sum((h[1:] - h[:-1]) ** 2)

    agrees(grad(f), np.random.default_rng(0).normal(size=shape), rtol=1e-11)


def test_branches_that_factorise_and_that_copy() -> None:
    """One branch of a step writes a row by a solver, the other element by element."""

    def inverse(x: Any) -> Any:
        return cond(np.sum(x) > 1.0, lambda p: p, lambda p: np.linalg.inv(x), x)

    x = np.array([[[1.25]], [[2.0]], [[0.5]]])
    np.testing.assert_allclose(jit(vmap(inverse))(x), [[[1.25]], [[2.0]], [[2.0]]])
    solved = vmap(grad(lambda x: cond(np.sum(x), np.sum, lambda p: np.linalg.solve(x, p)[0, 0], x)))
    np.testing.assert_allclose(jit(solved)(x[:2]), np.ones((2, 1, 1)))


def test_second_derivatives_of_quantiles_of_tapes_in_loops() -> None:
    """Under a condition, a step of the reverse reads memory that the same step has written."""

    def f(x: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            first, second = state
            last, rows = scan(lambda c, _: (c * 0.9, c), first, length=7)
            return np.sin(last), np.tanh(second + np.quantile(rows, 0.3, axis=0))

        return fori_loop(0, np.sum(x > 0.0) + 1, step, (x, x))[1]

    x, h = np.array([0.7]), 1e-5
    found = jit(hessian(f))(x)
    first = jit(grad(lambda x: np.sum(f(x))))
    np.testing.assert_allclose(found.ravel(), (first(x + h) - first(x - h)) / (2 * h), rtol=1e-6)
