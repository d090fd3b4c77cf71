"""Loops and branches under vmap: batched rows, carries, captured arrays and conditions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, disable_jit, fori_loop, grad, jit, scan, switch, vmap, while_loop

RNG = np.random.default_rng(0)
SIZE = 3


def check(f: Callable[..., Any], in_axes: Any, *arguments: Any) -> Any:
    """Compare vmap of f, interpreted and compiled, with a loop over the batch."""

    def element(k: int) -> Any:
        pairs = zip(arguments, in_axes, strict=True)
        return f(*(a if axis is None else np.take(a, k, axis) for a, axis in pairs))

    with disable_jit():
        want = np.stack([element(k) for k in range(SIZE)])
        np.testing.assert_allclose(vmap(f, in_axes)(*arguments), want, rtol=1e-12, atol=1e-13)
    got = jit(vmap(f, in_axes))(*arguments)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    assert got.dtype == want.dtype
    return got


def batched(*shape: int, axis: int | None) -> Any:
    """Return random numbers with a batch along an axis, or without a batch if it is None."""
    whole = list(shape)
    if axis is not None:
        whole.insert(axis, SIZE)
    return RNG.normal(size=whole)


AXES = [axes for axes in itertools.product((None, 0, 1), repeat=3) if axes != (None, None, None)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("axes", AXES)
def test_scan(axes: Any) -> None:
    """A carry may be batched only because a row or a constant is."""

    def f(first: Any, rows: Any, w: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            h, still = c
            return (np.sin(h) * w + row[0], still * 0.5), (h * row[1], still)

        (h, still), (ys, others) = scan(step, (first, 2.0), rows, reverse=True)
        return np.sum(ys, axis=0) * still + h + np.sum(others)

    check(f, axes, *(batched(*s, axis=a) for s, a in zip([(2,), (4, 2), (2,)], axes, strict=True)))


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_while_loop_whose_condition_is_batched(axes: Any) -> None:
    """Elements whose loop has ended keep their carries."""

    def f(x: Any, limit: Any) -> Any:
        def body(state: Any) -> Any:
            k, x = state
            return k + 1, x * 1.5

        count, x = while_loop(lambda s: np.sum(s[1] ** 2) < limit, body, (0, x))
        return x * count

    x, limit = np.ones(2), 20.0
    if axes[0] is not None:
        x = np.array([[1.0, 2.0], [0.1, 0.0], [9.0, 9.0]])
    if axes[1] is not None:
        limit = np.array([1e3, 5.0, 0.0])
    check(f, axes, x, limit)
    check(lambda x, limit: grad(lambda x: np.sum(f(x, limit)))(x), axes, x, limit)


def test_while_loop_whose_condition_is_not_batched_runs_each_step_once() -> None:
    def f(x: Any, n: Any) -> Any:
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, 1.0))[1]

    check(f, (0, None), np.array([0.5, 2.0, -1.0]), 4)
    program = autojit.trace(vmap(f, (0, None)))(np.ones(SIZE), 4)
    (op,) = [op for op in program.ops if op.kind.name == "while"]
    assert all(inner.kind.name != "select" for inner in op.params["sweeps"][0].ops)


def test_traced_bounds_of_fori_loop() -> None:
    def f(low: Any, high: Any, x: Any) -> Any:
        return fori_loop(low, high, lambda i, c: c * x + i, x)

    low, high, x = np.array([0, 3, 2]), np.array([4, 1, 3]), RNG.normal(size=SIZE)
    check(f, (0, 0, 0), low, high, x)
    check(f, (None, 0, 0), 1, high, x)
    check(f, (0, None, None), low, 3, 0.5)
    check(grad(f, 2), (0, 0, 0), low, high, x)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_branches(axes: Any) -> None:
    p = np.array([1, -2, 0]) if axes[0] is not None else 1
    x = np.array([0.5, 2.0, -1.0]) if axes[1] is not None else 0.7

    def one(p: Any, x: Any) -> Any:
        return cond(p > 0, lambda x: np.exp(x) * x, lambda x: x**3, x)

    def several(p: Any, x: Any) -> Any:
        cases = [lambda x: np.stack([x, x]), lambda x: np.ones(2), lambda x: np.stack([x * x, 1.0])]
        return switch(p + 1, cases, x)

    check(one, axes, p, x)
    check(several, axes, p, x)
    check(grad(one, 1), axes, p, x)
    check(grad(lambda p, x: np.sum(several(p, x) ** 2), 1), axes, p, x)


def test_a_branch_that_is_not_batched_stays_a_branch() -> None:
    program = autojit.trace(
        vmap(lambda p, x: cond(p, lambda: np.sin(x), lambda: x), in_axes=(None, 0))
    )(True, np.ones(3))
    assert "switch" in {op.kind.name for op in program.ops}


def test_elements_that_take_another_branch_have_derivatives_of_their_own() -> None:
    """The derivative of a branch that an element does not take may be infinite or NaN there."""

    def root(x: Any) -> Any:
        return cond(x > 0, np.sqrt, lambda x: x * 0.0, x)

    x = np.array([-1.0, 0.0, 4.0])
    want = np.array([0.0, 0.0, 0.25])
    for derivative in (vmap(grad(root)), grad(lambda x: np.sum(vmap(root)(x)))):
        with disable_jit():
            np.testing.assert_allclose(derivative(x), want)
        np.testing.assert_allclose(jit(derivative)(x), want)


def test_elements_whose_loop_has_ended_have_derivatives_of_their_own() -> None:
    """A further step of an element whose loop has ended would divide by zero."""

    def f(x: Any) -> Any:
        return while_loop(lambda c: c > 0.5, lambda c: np.sqrt(c - 0.5), x)

    def reference(x: Any) -> Any:
        while x > 0.5:
            x = np.sqrt(x - 0.5)
        return x

    x = np.array([0.5, 2.0, 0.51, 0.2])
    want = np.array([reference(v) for v in x])
    slopes = np.array([grad(lambda v: f(v))(v) for v in x])
    assert np.all(np.isfinite(slopes))
    for derivative in (vmap(grad(f)), grad(lambda x: np.sum(vmap(f)(x)))):
        np.testing.assert_allclose(jit(vmap(f))(x), want)
        with disable_jit():
            np.testing.assert_allclose(derivative(x), slopes)
        np.testing.assert_allclose(jit(derivative)(x), slopes)


def test_nested() -> None:
    """vmap may be nested, and may be called inside a body."""

    def f(x: Any, y: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            return vmap(lambda a, b: np.sin(a) * b + y)(c, row), np.sum(c)

        c, ys = scan(step, x * y, np.arange(6.0).reshape(3, 2))
        return np.sum(c) + np.sum(ys**2)

    x, y = RNG.normal(size=(SIZE, 2)), RNG.normal(size=(4,))
    table = np.array([[f(a, b) for b in y] for a in x])
    both = vmap(vmap(f, (None, 0)), (0, None))
    with disable_jit():
        np.testing.assert_allclose(both(x, y), table)
    np.testing.assert_allclose(jit(both)(x, y), table)


def test_associative_scan_and_map() -> None:
    rows = RNG.normal(size=(4, SIZE, 2))
    check(lambda r: autojit.associative_scan(np.multiply, r), (1,), rows)
    check(lambda r: autojit.map(lambda row: np.sum(np.exp(row)), r), (1,), rows)
