"""Programs of many operations: time in proportion, and no code for what is run once."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jacfwd, jit, jvp, trace, vjp
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.lowering.lower import lower
from autojit.ir.pass_manager.passes import verify_each
from autojit.ir.passes.pipeline import optimize
from autojit.session.transform_cache import clear
from autojit.staging import execute, unrolled

pytestmark = pytest.mark.filterwarnings("ignore::autojit.errors.UnrolledLoopWarning")

UNARY = (np.sin, np.cos, np.tanh, lambda v: np.exp(-v * v), lambda v: 0.7 * v + 0.1)


def irregular(n: int) -> Callable[[Any], Any]:
    """A chain of operations drawn at random, each on the last result and sometimes an older one."""
    drawn = random.Random(n)
    plan = [(drawn.randrange(8), drawn.randrange(20)) for _ in range(n)]

    def f(x: Any) -> Any:
        found = [x]
        for kind, back in plan:
            v = found[-1]
            older = found[-1 - min(back, len(found) - 1)]
            found.append(UNARY[kind](v) if kind < len(UNARY) else 0.5 * (v + older))
        return np.sum(found[-1])

    return f


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many Python functions the work calls."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def up_to_llvm(f: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    def work() -> None:
        with verify_each(False):
            program = trace(grad(f))(*args)
            Module(lower(optimize(program)), program.in_types, program.out_types)

    return work


@pytest.mark.slow
def test_all_before_llvm_takes_calls_in_proportion() -> None:
    up_to_llvm(irregular(50), 0.3)()  # imports
    few, many = (calls_of(up_to_llvm(irregular(n), 0.3)) for n in (200, 800))
    assert many < 4.8 * few


@pytest.mark.parametrize("backwards", [False, True])
def test_reads_of_what_a_long_chain_has_not_replaced(backwards: bool) -> None:
    def f(x: Any, a: Any) -> Any:
        a = np.copy(a)
        order = range(1, len(a))
        for i in reversed(order) if backwards else order:
            a[i] = a[i] * np.sin(a[i - 1]) + x
        return np.sum(a)

    counts = []
    for n in (50, 200, 800):
        a = np.linspace(0.1, 0.9, n)
        counts.append(calls_of(lambda a=a: trace(f)(0.3, a)))
    assert counts[2] < 4.6 * counts[1]
    a = np.linspace(0.1, 0.9, 60)
    np.testing.assert_allclose(jit(f)(0.3, a), f(0.3, a), rtol=1e-14)


def test_parts_of_arrays_replaced_at_random_are_found() -> None:
    """Windows that overlap, with steps, one after the other, read in between."""
    drawn = random.Random(3)
    plan = []
    for _ in range(60):
        start, step, count = drawn.randrange(30), drawn.randrange(1, 4), drawn.randrange(1, 6)
        plan.append((slice(start, start + step * count, step), drawn.randrange(40)))

    def f(a: Any) -> Any:
        a = np.copy(a)
        read = []
        for window, place in plan:
            a[window] = a[window] * 0.5 + a[place]
            read.append(a[(place * 7) % 40] + a[place : place + 3].sum())
        return np.sum(a * np.arange(40.0)) + np.sum(np.array(read))

    a = np.linspace(-1, 1, 40)
    np.testing.assert_allclose(jit(f)(a), f(a), rtol=1e-13)


# -- what is run once -----------------------------------------------------------------


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("code was made")

    monkeypatch.setattr(execute, "executable", refuse)


N = 1_000  # operations whose gradient is longer than DEAR


@pytest.mark.slow
@pytest.mark.usefixtures("uncompiled")
def test_without_jit_long_programs_are_not_compiled() -> None:
    f = irregular(N)
    found = grad(f)(0.3)
    step = 1e-6
    np.testing.assert_allclose(found, (f(0.3 + step) - f(0.3 - step)) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(jvp(f, (0.3,), (1.0,))[1], found, rtol=1e-12)
    np.testing.assert_allclose(vjp(irregular(3 * N), 0.3)[1](1.0), grad(irregular(3 * N))(0.3))
    assert jacfwd(f)(0.3).shape == ()


@pytest.mark.slow
def test_compiled_and_interpreted_gradients_agree() -> None:
    f = irregular(N)
    np.testing.assert_allclose(grad(f)(0.3), jit(grad(f))(0.3), rtol=1e-11)


@pytest.mark.slow
def test_what_is_compiled_without_jit() -> None:
    """Test `is_dear` on short programs, large arrays, and loops of unknown length."""
    assert not execute.is_dear(trace(irregular(100))(0.3))
    long = trace(irregular(4 * N))(0.3)
    assert execute.is_dear(long)
    assert not execute.is_dear(trace(irregular(4 * N))(np.zeros(execute.MEAN + 500)))

    def with_a_loop(x: Any) -> Any:
        x = autojit.while_loop(lambda v: v > 1.0, lambda v: v / 2, x)
        return irregular(4 * N)(x)

    assert not execute.is_dear(trace(with_a_loop)(0.3))


# -- the order of statements ----------------------------------------------------------


def shuffled_neurons(order: list[int]) -> Callable[[Any, Any], Any]:
    """Neurons of single numbers whose derivatives are written in some order."""

    def f(w: Any, x: Any) -> Any:
        outs, ins = w.shape
        hidden = []
        for i in range(outs):
            total = w[i, 0] * x[0]
            for j in range(1, ins):
                total = total + w[i, j] * x[j]
            hidden.append(np.tanh(total))
        found = [[None] * ins for _ in range(outs)]
        for k in order:
            i, j = divmod(k, ins)
            found[i][j] = (1 - hidden[i] ** 2) * x[j]
        return np.array(found)

    return f


@pytest.mark.slow
def test_the_order_of_statements_does_not_matter() -> None:
    outs, ins = 16, 10
    values = np.random.default_rng(0)
    w, x = values.normal(size=(outs, ins)), values.normal(size=ins)
    programs = []
    for seed in range(3):
        order = list(range(outs * ins))
        random.Random(seed).shuffle(order)
        f = shuffled_neurons(order)
        np.testing.assert_allclose(jit(f)(w, x), f(w, x), rtol=1e-12)
        programs.append(trace(f)(w, x))
    assert len({p.text() for p in programs}) == 1
    assert len(programs[0].ops) < 100


def put_tree(steps: int) -> tuple[Callable[..., Any], float]:
    """Maxima of maxima: each cotangent is 0 where one of many conditions does not hold."""

    def f(x: Any) -> Any:
        values = [max(x * k - 1.0, 0.3) for k in range(steps + 1)]
        while len(values) > 1:
            values = [max(x * a + 0.4 * b, a * a) for a, b in pairwise(values)]
        return values[0]

    return f, 0.7


def test_conditions_of_cotangents_are_emitted_once() -> None:
    f, x = put_tree(9)
    kinds = Counter(op.kind.name for op in trace(grad(f))(x).ops)
    assert 0 < kinds["not"] == kinds["gt"] + kinds["lt"]
    assert 0 < kinds["and"] <= kinds["not"]
    f, x = put_tree(7)
    step = 1e-6
    assert jit(grad(f))(x) == pytest.approx((f(x + step) - f(x - step)) / (2 * step), rel=1e-7)


def test_gradients_of_what_has_no_repetitions_are_not_searched_for_them() -> None:
    searched: list[int] = []

    def note(program: Any, *rest: Any, **named: Any) -> Any:
        searched.append(len(program.ops))
        return program

    f, x = irregular(300), np.ones(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unrolled, "BUDGET", 300)
        patch.setattr("autojit.ir.passes.reroll.reroll.roll", note)
        clear()
        jit(grad(f)).lower(x)
        assert len(searched) == 1
        searched.clear()
        clear()
        jit(lambda x: grad(f)(x) + grad(f)(2 * x)).lower(x)  # these may repeat each other
        assert len(searched) == 2  # f's own program is there
        assert max(searched) > 2 * min(searched)
    clear()
