"""Python loops are rolled up again: the same values and gradients, and few operations."""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, scan
from autojit.errors import UnrolledLoopWarning
from autojit.ir.passes.reroll import reroll
from autojit.ir.passes.reroll.likeness import may_repeat
from autojit.ir.passes.reroll.repetitions import LEAST_STEPS
from autojit.ir.passes.reroll.reroll import roll
from autojit.ir.tools.verifier import verify
from autojit.session import transform_cache
from autojit.staging import unrolled
from autojit.testing import check_grads

#: Loops that are captured are never unrolled.
pytestmark = pytest.mark.usefixtures("uncaptured")


def two_steps_back(a: Any, b: Any) -> Any:
    for _ in range(300):
        a, b = b, np.sin(a) * 0.5 + b * 0.9
    return b


def three_steps_back(a: Any, b: Any, c: Any) -> Any:
    for _ in range(200):
        a, b, c = b, c, np.sin(a) * 0.5 + b * 0.3 * c
    return a + c


def a_list_of_steps(x: Any) -> Any:
    xs = [x]
    for i in range(200):
        xs.append(xs[-1] * 1.01 + np.sin(xs[-2] if i else x))
    return sum(xs[3::7]) + xs[5] * xs[100]


def stacked_steps(x: Any, w: Any) -> Any:
    ys = []
    for i in range(200):
        x = np.sin(x) * w[i] + 0.5 * i
        ys.append(x)
    return np.sum(np.stack(ys) ** 2) + np.sum(x)


def a_period_of_three(x: Any, w: Any) -> Any:
    for i in range(150):
        x = np.tanh(w @ x) + w[i % 3]
    return np.sum(x)


def normalised(x: Any, w: Any) -> Any:
    for i in range(100):
        x = np.tanh(w @ x) + w[i % 3] * 0.1
        x = x / np.linalg.norm(x)
    return np.sum(x * np.arange(3))


def nested(x: Any) -> Any:
    for i in range(20):
        for j in range(20):
            x = np.cos(x) * (1 + 0.01 * j) + i
    return x


def windows(x: Any) -> Any:
    total = 0.0
    for i in range(190):
        total = total + np.sum(x[i : i + 5] * x[i + 5 : i + 10]) * x[199 - i]
    return total


def rows(x: Any) -> Any:
    total = np.zeros(3)
    for i in range(x.shape[0]):
        total = np.tanh(total + x[i]) * x[i, 0]
    return np.sum(total)


def assigned(x: Any) -> Any:
    y = x * 1.0
    for i in range(2, 200):
        y[i] = 0.5 * y[i - 1] + np.cos(y[i - 2])
    return np.sum(y**2)


RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 3)) * 0.4
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (two_steps_back, (0.3, 0.4)),
    (three_steps_back, (0.3, 0.4, 0.5)),
    (a_list_of_steps, (0.3,)),
    (stacked_steps, (np.ones(3), np.linspace(0.5, 1, 200))),
    (a_period_of_three, (np.full(3, 0.1), MATRIX)),
    (normalised, (np.full(3, 0.1), MATRIX)),
    (nested, (0.3,)),
    (windows, (np.linspace(0, 1, 200),)),
    (rows, (RNG.normal(size=(200, 3)),)),
    (assigned, (RNG.normal(size=200),)),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_rolled_loops_compute_the_same(
    function: Callable[..., Any], arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = tuple(range(len(arguments)))
    rolled = autojit.trace(function)(*arguments)
    verify(rolled)
    gradients = jit(grad(function, everything))(*arguments)
    monkeypatch.setattr(unrolled, "roll", lambda program, is_body: program)
    plain = autojit.trace(function)(*arguments)
    assert len(rolled.ops) < len(plain.ops) / 6
    with autojit.disable_jit():
        assert np.allclose(rolled(*arguments), function(*arguments), rtol=1e-9)
        expected = grad(function, everything)(*arguments)
    for got, wanted in zip(gradients, expected, strict=True):
        scale = np.max(np.abs(wanted))
        assert np.max(np.abs(got - wanted)) <= 1e-9 * scale


def test_time_to_compile_does_not_grow_with_the_steps() -> None:
    def steps(n: int) -> int:
        def f(x: Any) -> Any:
            for i in range(n):
                x = np.sin(x) * (1 + i)
            return x

        return len(autojit.trace(grad(f))(0.5).ops)

    assert steps(2000) == steps(400)


def test_short_loops_stay_unrolled_and_are_fused() -> None:
    def f(x: Any) -> Any:
        for _ in range(10):
            x = np.sin(x) * 2
        return np.sum(x)

    assert all(op.kind.name != "scan" for op in autojit.trace(f)(np.ones(3)).ops)


def now_and_then(x: Any) -> Any:
    draw = random.Random(0)
    for _ in range(400):
        x = (np.sin(x) if draw.random() < 0.5 else np.cos(x)) * 1.5
    return x


def test_steps_that_differ_stay() -> None:
    program = autojit.trace(now_and_then)(0.5)
    assert roll(program, 500, 500) is program


def test_a_long_trace_is_warned_of_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "BUDGET", 700)
    with pytest.warns(UnrolledLoopWarning) as caught:
        autojit.trace(now_and_then)(0.5)
    words = str(caught[0].message)
    assert "The trace has 1200 operations" in words
    assert caught[0].filename == __file__
    assert "if draw.random() < 0.5 else" in linecache.getline(__file__, caught[0].lineno)
    assert "fori_loop(0, n," in words
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autojit.trace(lambda x: two_steps_back(x, x))(0.5)


# -- numbers from outside -----------------------------------------------------------


def variance_of_returns(returns: np.ndarray) -> Callable[[Any], Any]:
    """GARCH(1, 1): each step reads two numbers that are known, and is a loop's."""

    def loss(p: Any) -> Any:
        variance, total = 1.0, 0.0
        for t in range(1, len(returns)):
            variance = p[0] + p[1] * returns[t - 1] ** 2 + p[2] * variance
            total = total + np.log(variance) + returns[t] ** 2 / variance
        return total

    return loss


P = np.array([0.1, 0.2, 0.7])


@pytest.mark.slow
def test_numbers_that_differ_are_read_from_tables() -> None:
    rng = np.random.default_rng(0)
    first, second = (variance_of_returns(rng.normal(size=400)) for _ in range(2))
    program = autojit.trace(first)(P)
    assert len(program.ops) < 60
    assert program == autojit.trace(second)(P)  # so that data are no part of what is compiled
    for loss in (first, second):
        np.testing.assert_allclose(jit(loss)(P), loss(P), rtol=1e-12)
        np.testing.assert_allclose(grad(loss)(P), jit(grad(loss))(P), rtol=1e-10)
        check_grads(loss, (P,), order=2)


def test_tables_are_bound_to_the_function_that_has_them() -> None:
    """What is remembered of one function is not the numbers of another."""
    rng = np.random.default_rng(1)
    losses = [variance_of_returns(rng.normal(size=200)) for _ in range(2)]
    for _ in range(2):
        for loss in losses:
            np.testing.assert_allclose(autojit.value_and_grad(loss)(P)[0], loss(P), rtol=1e-12)


@pytest.mark.slow
def test_tables_in_batches_and_in_outer_traces() -> None:
    loss = variance_of_returns(np.random.default_rng(2).normal(size=400))
    several = np.stack([P, P * 0.9, P * 0.8])
    expected = [loss(p) for p in several]
    np.testing.assert_allclose(autojit.vmap(loss)(several), expected, rtol=1e-12)
    np.testing.assert_allclose(jit(lambda p: jit(loss)(p) * 2)(P), expected[0] * 2, rtol=1e-12)
    outer = jit(lambda ps: autojit.scan(lambda c, p: (c + loss(p), loss(p)), 0.0, ps))
    total, each = outer(several)
    np.testing.assert_allclose(each, expected, rtol=1e-12)
    np.testing.assert_allclose(total, sum(expected), rtol=1e-12)


def test_python_loops_in_native_ones() -> None:
    loss = variance_of_returns(np.random.default_rng(2).normal(size=400))

    def f(p: Any) -> Any:
        return autojit.fori_loop(0, 3, lambda i, s: s * 0.5 + 1e-3 * loss(p * (1 + 0.1 * s)), 0.0)

    (op,) = [op for op in autojit.trace(f)(P).ops if op.kind.name in ("scan", "while_loop")]
    assert len(op.params["body"].ops) < 100
    s = 0.0
    for _ in range(3):
        s = s * 0.5 + 1e-3 * loss(P * (1 + 0.1 * s))
    np.testing.assert_allclose(jit(f)(P), s, rtol=1e-12)
    check_grads(f, (P,), order=1)


def test_a_long_sum_in_the_body_of_a_loop() -> None:
    def f(x: Any) -> Any:
        def step(total: Any, row: Any) -> Any:
            draw = random.Random(0)
            for _ in range(2000):  # neither a loop nor an array
                total = total + (np.sin(row) if draw.random() < 0.5 else np.cos(row))
            return total, row

        return autojit.scan(step, 0.0, x)[0]

    x = np.array([0.1, 0.2])
    sines = sum(draw.random() < 0.5 for draw in [random.Random(0)] for _ in range(2000))
    expected = np.sum(sines * np.sin(x) + (2000 - sines) * np.cos(x))
    np.testing.assert_allclose(jit(f)(x), expected, rtol=1e-12)


def test_arrays_that_differ_are_stacked() -> None:
    """What NumPy makes of closed-over data is a new array in each step."""
    rng = np.random.default_rng(4)
    data, targets = rng.normal(size=(500, 8)), rng.normal(size=500)
    picks = [rng.permutation(500)[:20] for _ in range(80)]

    def loss(w: Any) -> Any:
        for pick in picks:
            x, y = data[pick], targets[pick] - 0.5
            residual = x @ w - y
            w = w - 0.1 * (residual @ x) / 20 - 0.01 * np.tanh(w)
        return np.sum(w**2)

    w = rng.normal(size=8)
    program = autojit.trace(loss)(w)
    assert len(program.ops) < 40
    assert len(program.captured) < 8  # and not 160
    np.testing.assert_allclose(jit(loss)(w), loss(w), rtol=1e-12)
    check_grads(loss, (w,), order=1)


def test_values_of_an_outer_trace_are_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.random.default_rng(5).normal(size=(80, 4)) * 0.3

    def outer(a: Any, w: Any) -> Any:
        rows = [np.sin(a) * data[k] for k in range(80)]

        def inner(w: Any) -> Any:
            for row in rows:
                w = np.tanh(w * row) + w * 0.5
                w = np.sin(w) * 0.2 + w * np.cos(np.mean(w) + row)
            return np.sum(w)

        return np.sum(grad(inner)(w) ** 2)

    w = np.array([0.3, -0.2, 0.9, 0.1])
    got = jit(grad(outer, argnums=(0, 1)))(0.3, w)
    monkeypatch.setattr(unrolled, "LEAST_OPS", 10**9)
    with autojit.disable_jit():
        expected = grad(outer, argnums=(0, 1))(0.3, w)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, bool])
def test_tables_of_other_dtypes(dtype: Any) -> None:
    numbers = np.random.default_rng(3).integers(-3, 4, size=300).astype(dtype)

    def f(x: Any) -> Any:
        for number in numbers:
            x = np.cos(x) + x * number * np.float32(0.1)
        return x

    x = np.array([0.5, -0.2], np.result_type(np.float32, dtype))
    assert len(autojit.trace(f)(x).ops) < 60
    got = jit(f)(x)
    assert got.dtype == f(x).dtype
    np.testing.assert_allclose(got, f(x), rtol=1e-4 if got.dtype == np.float32 else 1e-12)


def test_zeros_keep_their_signs() -> None:
    signs = np.where(np.random.default_rng(6).random(300) < 0.5, -0.0, 0.0)

    def f(x: Any) -> Any:
        for sign in signs:
            x = x * 0.9 + np.copysign(np.sin(x), sign)
        return x

    np.testing.assert_allclose(jit(f)(0.5), f(0.5), rtol=1e-12)
    np.testing.assert_allclose(jit(lambda x: f(x))(np.array([0.5, -2.0])), f(np.array([0.5, -2.0])))


def test_equal_and_evenly_spaced_numbers_need_no_tables() -> None:
    def f(x: Any) -> Any:
        for i in range(300):
            x = np.sin(x) * 0.5 + 0.25 * i
        return x

    assert not autojit.trace(f)(0.5).captured


# -- random repetitions ---------------------------------------------------------------

STEPS = [np.add, np.multiply, np.maximum, np.subtract, lambda a, b: np.sin(a)]
READS = ["fixed", "same step", "steps before", "input", "sliding", "first steps", "number"]


def repeated(seed: int) -> Callable[[Any, Any], Any]:
    """Steps of a few operations, before which there are some of the same kinds, and one of which
    may be odd.  What they read is fixed, of the same step or of earlier ones, or slides."""
    rng = np.random.default_rng(seed)
    period, steps = int(rng.integers(1, 5)), int(rng.integers(9, 14))
    kinds = [STEPS[i] for i in rng.integers(0, len(STEPS), period)]
    picks = [
        [(rng.choice(READS), *map(int, (rng.integers(0, 3), rng.integers(0, 6)))) for _ in range(2)]
        for _ in range(period)
    ]
    before, after = int(rng.integers(0, 6)), int(rng.integers(0, 4))
    odd = int(rng.integers(0, steps)) if rng.random() < 0.5 else -1
    numbers = rng.normal(size=(steps, 6))

    def function(x: Any, w: Any) -> Any:
        values = [x[0], x[1], x[2]]
        for i in range(before):
            values.append(kinds[i % period](values[-1], values[-2 - i % 2]))
        known = list(values)

        def read(how: str, back: int, n: int, s: int, k: int) -> Any:
            if s == odd:
                how = "steps before" if how == "fixed" else "fixed"
            earlier = min(len(values) - 1, back * period + n % period)
            return {
                "fixed": known[n % len(known)],
                "first steps": values[min(len(values) - 1, n)],
                "input": x[n],
                "sliding": w[s * 2 + n],
                "number": numbers[s, n],
                "same step": values[-1 - back % max(1, k)],
                "steps before": values[-1 - earlier],
            }[how]

        for s in range(steps):
            for k in range(period):
                values.append(kinds[k](*[read(*pick, s, k) for pick in picks[k]]) * 0.5)
        out = values[-1] + values[len(known)]
        for i in range(after):
            out = out + values[-1 - i * period]
        return out

    return function


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_random_repetitions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "LEAST_OPS", 10**9)
    rolled = 0
    for s in range(seed, seed + 50):
        rng = np.random.default_rng(s)
        x, w = rng.normal(size=6), rng.normal(size=40)
        function = repeated(s)
        program = autojit.trace(function)(x, w)
        made = roll(program, 16, 16)
        verify(made)
        rolled += made is not program
        got = made(x, w)
        np.testing.assert_allclose(got, function(x, w), rtol=1e-12, err_msg=f"seed {s}")
    assert rolled > 15


def a_fixed_value_of_the_kind_of_a_step(p: Any) -> Any:
    """The last maximum before the loop stands where each step has its own."""
    h = [np.maximum(p[0], 0.0), np.maximum(p[1], 0.0)]
    total = 0.0
    for k in range(60):
        total = total + np.maximum(p[3 * k + 2] + p[3 * k] * h[0] + p[3 * k + 1] * h[1], 0.0)
    return total


def a_value_that_is_carried_and_fixed(x: Any) -> Any:
    """The first step reads it twice; the others read it, and what the step before computed."""
    start = x[2] - x[1]
    value = start
    for _ in range(60):
        value = (value - start) * 0.5
    return value


@pytest.mark.parametrize(
    "function", [a_fixed_value_of_the_kind_of_a_step, a_value_that_is_carried_and_fixed]
)
def test_what_is_fixed_stays_fixed(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrolled, "LEAST_LOOP", 100)
    p = np.random.default_rng(0).uniform(-1, 1, 200)
    assert len(autojit.trace(function)(p).ops) < 40
    assert jit(function)(p) == pytest.approx(function(p), rel=1e-12)
    check_grads(function, (p,))


def test_what_is_computed_once_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursion over minors repeats itself: 1,000 operations, 100 different ones."""
    monkeypatch.setattr(unrolled, "BUDGET", 300)

    def minors(a: Any, row: int, columns: tuple[int, ...]) -> Any:
        if not columns:
            return 1.0
        rest = [columns[:k] + columns[k + 1 :] for k in range(len(columns))]
        signs = [1.0, -1.0, 1.0, -1.0, 1.0]
        return sum(
            s * a[row, j] * minors(a, row + 1, r)
            for s, j, r in zip(signs, columns, rest, strict=False)
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = autojit.trace(lambda a: minors(a, 0, (0, 1, 2, 3, 4)))(np.eye(5))
    assert len(program.ops) > 300


def test_numbers_that_a_loop_carries_are_not_put_into_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are in registers; for the arguments of a whole program it is worth it."""

    def chain(x: Any) -> Any:
        def step(numbers: Any, signal: Any) -> Any:
            made = []
            for number in numbers:
                signal = np.tanh(signal * number) + number
                made.append(np.exp(-number) * np.sin(signal) + np.cos(number))
            return tuple(made), signal

        return np.sum(scan(step, tuple(x[i] for i in range(100)), np.ones(3))[1])

    assert "concatenate" not in str(autojit.trace(chain)(np.ones(100)))
    roll = unrolled.roll
    monkeypatch.setattr(unrolled, "roll", lambda program, is_body: roll(program, False))
    transform_cache.clear()
    text = str(autojit.trace(chain)(np.ones(100)))
    transform_cache.clear()
    assert "concatenate" in text


def test_programs_without_sequences_that_come_again_are_not_searched() -> None:
    """Never one that has a stretch, however short and wherever it is."""
    rng = np.random.default_rng(0)
    for least in (24, 100):
        anything = rng.integers(0, 50, 4_000)
        assert not may_repeat(anything, least, LEAST_STEPS)
        for period in range(1, least // LEAST_STEPS + 1):
            steps = -(-least // period)
            stretch = np.tile(rng.integers(0, 50, period), steps)
            place = int(rng.integers(0, 3_000))
            anything[place : place + len(stretch)] = stretch
            assert may_repeat(anything, least, LEAST_STEPS)
            anything = rng.integers(0, 50, 4_000)


def test_a_program_that_stays_long_stays_as_it_was_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    kinds = [draw.randrange(4) for _ in range(1000)]

    def f(x: Any) -> Any:
        for i in range(200):
            x = x + np.sin(x) * i
        for kind in kinds:
            x = [np.tanh, np.sin, np.cos, lambda y: y * y + 1][kind](x)
        return x

    rolled = autojit.trace(f)(0.5)
    assert any(op.kind.name == "scan" for op in rolled.ops)
    monkeypatch.setattr(reroll, "LONG", 100)
    transform_cache.clear()
    traced = autojit.trace(f)(0.5)
    assert not any(op.kind.name == "scan" for op in traced.ops)
    assert autojit.jit(f)(0.5) == pytest.approx(f(0.5), rel=1e-12)
    transform_cache.clear()
