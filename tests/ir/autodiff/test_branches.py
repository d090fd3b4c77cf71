"""Branches over array elements: their derivatives are those of elements, and fail in the same
cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autojit import cond, fori_loop, grad, jit, trace
from autojit.ir.core.program import Op, Program
from autojit.ir.passes import optimize
from autojit.ir.regions.switch import Switch
from autojit.ir.tools.interpreter import interpret

N = 60
X = np.random.default_rng(0).uniform(-1.5, 1.5, N)


def put(y: Any, i: Any, v: Any) -> Any:
    y = y.copy()
    y[i] = v
    return y


def sum_of_some(x: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        return cond(x[i] > 0, lambda s: s + x[i] * x[i], lambda s: s, s)

    return fori_loop(0, N, step, 0.0)


def largest(x: Any) -> Any:
    return fori_loop(1, N, lambda i, m: cond(x[i] > m, lambda m: x[i], lambda m: m, m), x[0])


def clipped(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        def middle(y: Any) -> Any:
            return cond(x[i] > 1, lambda y: put(y, i, 1.0), lambda y: put(y, i, x[i] ** 2), y)

        return cond(x[i] < -1, lambda y: put(y, i, -1.0), middle, y)

    return np.sum(fori_loop(0, N, step, np.zeros(N)))


def smoothed(x: Any) -> Any:
    """An update in place, at one of two indices or not at all."""

    def step(i: Any, y: Any) -> Any:
        def down(y: Any) -> Any:
            return cond(y[i] < -1, lambda y: put(y, i - 1, y[i] * y[i - 1]), lambda y: y, y)

        return cond(y[i - 1] > 0, lambda y: put(y, i, np.sin(y[i] + y[i - 1])), down, y)

    return np.sum(fori_loop(1, N, step, x) ** 2)


def roots(x: Any) -> Any:
    """The branch that is not taken gives NaN, and so does its derivative."""

    def step(i: Any, s: Any) -> Any:
        return cond(x[i] > 0, lambda s: s + np.sqrt(x[i]), lambda s: s - x[i], s)

    return fori_loop(0, N, step, 0.0)


EXAMPLES = [sum_of_some, largest, clipped, smoothed, roots]


def taken_apart(x: np.ndarray, f: Callable[[Any], Any]) -> np.ndarray:
    h = 1e-6
    lines = np.eye(N) * h
    return np.array([(jit(f)(x + d) - jit(f)(x - d)) / (2 * h) for d in lines])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", EXAMPLES)
def test_derivatives(f: Callable[[Any], Any]) -> None:
    gradient = jit(grad(f))(X)
    np.testing.assert_allclose(gradient, taken_apart(X, f), rtol=1e-6, atol=1e-6)
    program = trace(grad(f))(X)
    for p in (program, optimize(program)):
        np.testing.assert_allclose(interpret(p, [X, *p.captured])[0], gradient, 1e-12, 1e-12)
    weights = np.linspace(-1, 1, N)
    second = jit(grad(lambda x: np.sum(grad(f)(x) * weights)))(X)
    moved = [jit(grad(f))(X + d * weights) for d in (1e-5, -1e-5)]
    np.testing.assert_allclose(second, (moved[0] - moved[1]) / 2e-5, rtol=1e-4, atol=1e-4)


def switches(program: Program) -> Iterator[Op]:
    for op in program.ops:
        if isinstance(op.kind, Switch):
            yield op
        for body in op.programs:
            yield from switches(body)


@pytest.mark.parametrize("f", EXAMPLES)
def test_no_branch_has_an_array(f: Callable[[Any], Any]) -> None:
    program = optimize(trace(grad(f))(X))
    assert all(v.type.size < N for op in switches(program) for v in (*op.operands, *op.results))


def test_zero_beside_what_is_not_taken_is_not_nan() -> None:
    x = np.where(X > 0, X, 0.0)
    with np.errstate(all="raise"):
        expected = np.where(x > 0, 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), -1.0)
    np.testing.assert_allclose(jit(grad(roots))(x), expected, rtol=1e-12)


@pytest.mark.parametrize("derivative", [lambda f: f, grad])
def test_an_index_out_of_bounds_fails_where_its_branch_is_taken(derivative: Any) -> None:
    def f(x: Any, last: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            return cond(i < last, lambda s: s + x[i + 1] ** 2, lambda s: s, s)

        return fori_loop(0, N, step, 0.0)

    compiled = jit(derivative(f))
    expected = np.sum(X[1:] ** 2) if derivative is not grad else 2 * X * (np.arange(N) > 0)
    np.testing.assert_allclose(compiled(X, N - 1), expected, rtol=1e-12)
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(X, N)


def test_a_place_out_of_bounds_fails_where_its_branch_is_taken() -> None:
    def f(x: Any, last: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return cond(i < last, lambda y: put(y, i + 1, y[i] * 0.5), lambda y: y, y)

        return np.sum(fori_loop(0, N, step, x))

    assert np.isfinite(jit(grad(f))(X, N - 1)).all()
    with pytest.raises(IndexError, match="out of bounds"):
        jit(f)(X, N)
