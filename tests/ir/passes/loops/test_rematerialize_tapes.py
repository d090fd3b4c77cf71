"""Loops that recompute their tapes, one segment at a time: the same derivatives."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from autojit import grad, hessian, jit, scan, trace, vmap
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.passes.loops import rematerialize_tapes
from autojit.ir.regions.scan import Scan
from autojit.ir.tools.verifier import verify


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow tapes of any size, and steps of any cost."""
    monkeypatch.setattr(rematerialize_tapes, "LARGE", 0)
    monkeypatch.setattr(rematerialize_tapes, "WORK_OF_A_BYTE", inf)


def last(x: Any, length: int, reverse: bool) -> Any:
    y, _ = scan(lambda c, _: (c * np.sin(c) + x, None), x, length=length, reverse=reverse)
    return np.sum(y)


def rows(x: Any, length: int, reverse: bool) -> Any:
    """Rows that are read, rows that are returned, and the index."""
    table = np.outer(np.cos(np.arange(length)), x)

    def step(carry: Any, row: Any) -> Any:
        y, k = carry
        y = np.tanh(y * row + x) + 0.01 * k
        return (y, k + 1.0), y * y

    (y, _), squares = scan(step, (x, 0.5), table, reverse=reverse)
    return np.sum(y) + np.sum(squares * table)


def two(x: Any, length: int, reverse: bool) -> Any:
    """Two loops with a tape each; the second reads the results of the first."""
    ys = scan(lambda c, _: (np.sin(c) * x, c), x, length=length, reverse=reverse)[1]
    return np.sum(scan(lambda c, y: (np.cos(c * y), None), x, ys, reverse=reverse)[0])


LOOPS = [last, rows, two]


def loops(program: Program) -> list[tuple[int, bool]]:
    """Lengths and directions of loops, including nested ones."""
    found = []
    for op in program.ops:
        if isinstance(op.kind, Scan):
            found += [(op.params["length"], op.params["reverse"]), *loops(op.params["body"])]
    return found


@pytest.mark.sampled(16)
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", [16, 17, 36, 53, 100, 101])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.usefixtures("always")
def test_gradients(function: Callable[..., Any], length: int, reverse: bool) -> None:
    x = np.linspace(0.3, 0.9, 24)
    backward = vjp(trace(lambda x: function(x, length, reverse))(x), [0])
    segments = rematerialize_tapes.run(backward)
    assert segments is not backward
    verify(segments)
    seed = np.float64(1.0)
    for found, wanted in zip(segments(x, seed), backward(x, seed), strict=True):
        np.testing.assert_array_equal(found, wanted)
    compiled = jit(grad(lambda x: function(x, length, reverse)))(x)
    np.testing.assert_allclose(compiled, backward(x, seed)[1], rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("always")
def test_higher_orders_and_batches() -> None:
    x = np.linspace(0.3, 0.6, 3)

    def loss(x: Any) -> Any:
        return rows(x, 40, False)

    found = jit(hessian(loss))(x)
    gradient = jit(grad(loss))
    h = 1e-6
    wanted = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    many = np.stack([x, 2 * x, x**2])
    each = [gradient(row) for row in many]
    np.testing.assert_allclose(jit(vmap(grad(loss)))(many), each, rtol=1e-11, atol=1e-11)


def diffusion(u: Any, length: int) -> Any:
    def step(u: Any, _: Any) -> Any:
        before, after = np.roll(u, 1), np.roll(u, -1)
        return u - 0.1 * u * (after - before) + 0.05 * (after - 2 * u + before), None

    return np.sum(scan(step, u, length=length)[0] ** 2)


def test_long_tapes_of_cheap_steps() -> None:
    u = np.sin(np.linspace(0, 6, 2000))
    program = jit(grad(lambda u: diffusion(u, 400))).lower(u).program
    assert loops(optimize(program)) == [
        (20, False), (20, False), (20, True), (20, False), (20, True),
    ]  # fmt: skip
    assert loops(optimize(jit(grad(lambda u: diffusion(u, 100))).lower(u).program)) == [
        (100, False), (100, True),
    ]  # fmt: skip


def test_tapes_of_dear_steps_stay() -> None:
    def loss(x: Any) -> Any:
        return np.sum(scan(lambda c, _: (np.tanh(np.exp(c)) * x, None), x, length=400)[0])

    x = np.linspace(0, 1, 2000)
    assert loops(optimize(jit(grad(loss)).lower(x).program)) == [(400, False), (400, True)]


@pytest.mark.usefixtures("always")
def test_a_tape_that_something_else_reads_stays() -> None:
    def loss(x: Any) -> Any:
        ys = scan(lambda c, _: (np.sin(c) * x, c), x, length=64)[1]
        return np.sum(ys * ys)

    x = np.linspace(0.3, 0.9, 24)
    program = vjp(trace(loss)(x), [0])
    stacked = [op for op in program.ops if isinstance(op.kind, Scan)]
    segments = rematerialize_tapes.run(program)
    seed = np.float64(1.0)
    np.testing.assert_array_equal(segments(x, seed)[1], program(x, seed)[1])
    assert len(stacked) == 2


def test_tapes_without_elements_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to recompute, whatever the size limit."""
    monkeypatch.setattr(rematerialize_tapes, "LARGE", 0)
    backward = vjp(trace(lambda x: last(x, 36, False))(np.ones(0)), [0])
    assert rematerialize_tapes.run(backward) is backward
