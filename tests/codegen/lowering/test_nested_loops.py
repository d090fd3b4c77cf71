"""Nested loops update a carry in place, but only if nothing reads the old one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, while_loop
from autojit.codegen.analysis import verifier
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.sequences import Repeat, Steps
from autojit.codegen.loop_ir.traversal import statements, walk
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CPU
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import interpret

N, M = 5, 40
X = np.random.default_rng(0).uniform(0.5, 1.5, (N, M))


def put(a: Any, place: Any, value: Any) -> Any:
    a = a.copy()
    a[place] = value
    return a


def sweep(x: Any) -> Any:
    def point(i: Any, j: Any, a: Any) -> Any:
        return put(a, (i, j), 0.5 * a[i, j - 1] + np.sin(a[i - 1, j]))

    def row(i: Any, a: Any) -> Any:
        return fori_loop(1, M, lambda j, a: point(i, j, a), a)

    return fori_loop(1, N, row, x)


def triangle(x: Any) -> Any:
    """The inner bound is the outer index."""
    return fori_loop(
        1,
        M,
        lambda i, a: fori_loop(0, i, lambda j, a: put(a, i, 0.3 * a[i] + a[j] * a[i - 1]), a),
        x[0],
    )


def one_after_the_other(x: Any) -> Any:
    def step(i: Any, a: Any) -> Any:
        a = put(a, i, a[i] * 2.0)
        a = fori_loop(1, M, lambda j, a: put(a, j, a[j] + 0.1 * a[j - 1]), a)
        a = put(a, i, np.cos(a[i]))
        return fori_loop(0, i, lambda j, a: put(a, j, a[j] * a[i]), a)

    return fori_loop(0, N, step, x[0])


def in_a_while(x: Any) -> Any:
    def step(state: Any) -> Any:
        i, a = state
        return i + 1, fori_loop(1, M, lambda j, a: put(a, j, a[j] - 0.1 * a[j - 1]), a)

    return while_loop(lambda s: (s[0] < 20) & (s[1][7] > 0.1), step, (0, x[0]))[1]


def two(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        def inner(j: Any, pair: Any) -> Any:
            a, b = pair
            return put(a, j, b[j - 1] * 0.5), put(b, j, a[j] + b[j])

        return fori_loop(1, M, inner, state)

    return np.sum(fori_loop(0, N, step, (x[0], x[1])))


def branching(x: Any) -> Any:
    def step(i: Any, a: Any) -> Any:
        return cond(
            a[i] > 1.0,
            lambda a: put(a, i + 1, a[i] * 0.5),
            lambda a: put(put(a, i, 1.1), i + 1, a[i] * a[i + 1]),
            a,
        )

    return fori_loop(0, M - 1, step, x[0])


IN_PLACE = [sweep, triangle, one_after_the_other, in_a_while, two]


def turned(x: Any) -> Any:
    """The inner loop's carries are the outer loop's, swapped."""

    def step(i: Any, state: Any) -> Any:
        a, b = state
        return fori_loop(1, M, lambda j, s: (put(s[0], j, s[0][j - 1]), s[1] * 0.9), (b, a))

    return fori_loop(0, 3, step, (x[0], x[1]))


def read_later(x: Any) -> Any:
    def step(i: Any, a: Any) -> Any:
        b = fori_loop(1, M, lambda j, b: put(b, j, np.sin(b[j] * b[j - 1])), a)
        return fori_loop(1, M, lambda j, b: put(b, j, b[j] + a[j - 1]), b)

    return fori_loop(0, 3, step, x[0])


def read_as_constant(x: Any) -> Any:
    def step(i: Any, a: Any) -> Any:
        return fori_loop(1, M, lambda j, b: put(b, j, np.sin(b[j - 1] + a[M - 1 - j])), a)

    return fori_loop(0, 3, step, x[0])


def twice(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        a, _ = state
        return fori_loop(
            1,
            M,
            lambda j, s: (put(s[0], j, np.sin(s[0][j - 1])), put(s[1], j, np.cos(s[1][j - 1]))),
            (a, a),
        )

    return fori_loop(0, 3, step, (x[0], x[1]))


def read_after_a_step(x: Any) -> Any:
    """The outer body returns the carry as it was before the step."""
    return autojit.scan(
        lambda a, i: (fori_loop(1, M, lambda j, b: put(b, j, b[j] * b[j - 1]), a), a * 1.0),
        x[0],
        np.arange(3),
    )


NOT_IN_PLACE = [turned, read_later, read_as_constant, twice, read_after_a_step]


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    weights = np.linspace(-1, 1, M)
    return lambda x: sum(np.sum(np.sin(y) * weights) for y in leaves(f(x)))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("f", [*IN_PLACE, *NOT_IN_PLACE, branching])
def test_results(f: Callable[..., Any]) -> None:
    for g in (f, autojit.grad(total(f)), autojit.grad(total(autojit.grad(total(f))))):
        program = autojit.trace(g)(X)
        lowered = lower(optimize(program), CPU)
        verifier.verify(lowered)
        everything = [X, *program.captured]
        got = leaves(autojit.jit(g)(X))
        for a, b in zip(got, interpret(program, everything), strict=True):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def whole_copies(f: Callable[..., Any]) -> int:
    """Loops over (nearly) all elements of a carry, inside a sequential loop."""
    found = 0
    for s in statements(lower(optimize(autojit.trace(f)(X)), CPU)):
        if isinstance(s, (Repeat, Steps)) or (isinstance(s, Loop) and s.role == "sequence"):
            inner = [b for b in walk(s.body) if isinstance(b, Loop) and b.role == "map"]
            found += sum(b.stop - b.start >= M - 1 for b in inner)
    return found


@pytest.mark.parametrize("f", IN_PLACE)
def test_nothing_is_copied(f: Callable[..., Any]) -> None:
    assert whole_copies(f) == 0


@pytest.mark.parametrize("f", NOT_IN_PLACE)
def test_what_is_read_later_is_copied(f: Callable[..., Any]) -> None:
    assert whole_copies(f) > 0
