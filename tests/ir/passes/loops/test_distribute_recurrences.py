"""Loops over numbers, in blocks, and loops with indices, over rows: the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import fori_loop, grad, jit, scan, trace
from autojit.ir.autodiff import indexed_scans
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import gt, select
from autojit.ir.ops.elementary import exp, sin
from autojit.ir.passes import optimize
from autojit.ir.passes.loops import distribute_recurrences
from autojit.ir.passes.loops.steps import recurrence_cost
from autojit.ir.passes.loops.steps.combinations import Combinations
from autojit.ir.passes.loops.steps.recurrence import Recurrence
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.scan import scan as emit_scan
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify

FLOAT, INDEX = Type(np.dtype(np.float64), ()), Type(np.dtype(np.int64), ())


class Drawn:
    """A random loop whose steps are linear in the carried numbers."""

    def __init__(self, seed: int, length: int) -> None:
        self.random = np.random.default_rng(seed)
        self.states, self.totals, self.rows = map(int, self.random.integers([1, 0, 0], [4, 3, 3]))
        self.length = length
        self.reverse = bool(self.random.integers(2))

    def program(self) -> Program:
        constants = [Value(FLOAT) for _ in range(2)]
        carries = [Value(FLOAT) for _ in range(self.states + self.totals)]
        rows = [Value(FLOAT.with_shape((self.length,))) for _ in range(self.rows)]
        builder = Builder()
        with building(builder):
            params = {
                "body": self.body(), "constants": 2, "carries": len(carries),
                "length": self.length, "reverse": self.reverse, "derivative": True,
            }  # fmt: skip
            results = builder.emit(emit_scan, [*constants, *carries, *rows], params)
        return builder.finish([*constants, *carries, *rows], results, name="drawn")

    def body(self) -> Program:
        constants = [Value(FLOAT) for _ in range(2)]
        index = Value(INDEX)
        states = [Value(FLOAT) for _ in range(self.states)]
        totals = [Value(FLOAT) for _ in range(self.totals)]
        rows = [Value(FLOAT) for _ in range(self.rows)]
        builder = Builder()
        with building(builder):
            fixed = [*constants, *rows]
            for _ in range(8):
                fixed.append(self.nonlinear(fixed))
            linear = list(states)
            for _ in range(14):
                linear.append(self.linear(linear, fixed))
            small = full(0.3, FLOAT)
            after = [small * (self.pick(linear[-6:]) + s) for s in states]
            sums = [t + (self.pick(linear) * self.pick(fixed) + self.pick(fixed)) for t in totals]
            ys = [self.pick([*linear, *fixed]), sin(self.pick(linear)), after[0]]
        inputs = [*constants, index, *states, *totals, *rows]
        return builder.finish(inputs, [*after, *sums, *ys], name="step")

    def pick(self, values: list[Value]) -> Value:
        return values[int(self.random.integers(len(values)))]

    def nonlinear(self, values: list[Value]) -> Value:
        a, b = self.pick(values), self.pick(values)
        kinds: list[Callable[[], Value]] = [
            lambda: sin(a), lambda: sin(a * b), lambda: exp(-(a * a)), lambda: sin(a - b),
        ]  # fmt: skip
        return kinds[int(self.random.integers(len(kinds)))]()

    def linear(self, linear: list[Value], fixed: list[Value]) -> Value:
        a, b, c = self.pick(linear), self.pick(linear), self.pick(fixed)
        half = full(0.5, FLOAT)
        kinds: list[Callable[[], Value]] = [
            lambda: half * (a + b), lambda: half * (a - b), lambda: a + c, lambda: c - a,
            lambda: sin(c) * a, lambda: a * sin(c), lambda: a / (full(1.5, FLOAT) + c * c),
            lambda: -a, lambda: select(gt(c, self.pick(fixed)), a, half * a),
        ]  # fmt: skip
        return kinds[int(self.random.integers(len(kinds)))]()


def has_more_than_its_chain(loop: Recurrence) -> bool:
    return (
        recurrence_cost._work(loop, loop.factors()) + recurrence_cost._work(loop, loop.terms()) > 0
    )


@pytest.mark.sampled(28)
@pytest.mark.parametrize("length", [64, 100, 512, 513, 523, 1200, 1009])
@pytest.mark.parametrize("seed", range(6))
def test_linear_loops_in_blocks(length: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute_recurrences, "pays", has_more_than_its_chain)
    monkeypatch.setattr(Combinations, "_cancel", lambda *_: False)
    program = Drawn(seed, length).program()
    blocks = distribute_recurrences.run(program)
    verify(blocks)
    assert blocks is not program
    random = np.random.default_rng(seed)
    arguments = [random.normal(size=t.shape) for t in program.in_types]
    for found, wanted in zip(
        interpret(blocks, arguments), interpret(program, arguments), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def lengths(program: Program) -> list[int]:
    """The lengths of all loops in a program, including nested ones."""
    found = []
    for op in program.ops:
        if isinstance(op.kind, Scan):
            found += [op.params["length"], *lengths(op.params["body"])]
    return found


def euler(step: Callable[[Any], Any], length: int) -> Callable[[Any], Any]:
    return lambda start: np.sum(scan(lambda y, _: (step(y), y), start, length=length)[1] ** 2)


def prey(y: Any) -> Any:
    return y + 0.01 * np.array([y[0] - 0.4 * y[0] * y[1], 0.1 * y[0] * y[1] - 0.4 * y[1]])


START = np.array([5.0, 2.0])


def test_the_adjoint_of_a_loop_over_a_small_array() -> None:
    loss = euler(prey, 1000)
    program = optimize(jit(grad(loss)).lower(START).program)
    assert lengths(program) == [1000, 5, 200]
    h = 1e-6
    wanted = [(loss(START + d) - loss(START - d)) / (2 * h) for d in h * np.eye(2)]
    np.testing.assert_allclose(jit(grad(loss))(START), wanted, rtol=1e-6)


def test_what_is_not_linear_or_not_slow_stays() -> None:
    scale = np.linspace(0.5, 1.5, 300)
    for loss in (
        lambda x: scan(lambda c, v: (np.sin(c) + v, None), 0.0, x)[0],
        lambda x: scan(lambda c, v: (c + v, c), 0.0, x)[1],
        lambda x: scan(lambda c, v: (np.maximum(c, v), c), 0.0, x)[1],
        lambda x: scan(lambda c, v: (c * c + v, None), 0.0, 0.1 * x)[0],
        lambda x: scan(lambda c, v: (np.where(c > 0.5, 0.1 * c, c + v), None), 0.0, x)[0],
    ):
        assert lengths(optimize(jit(loss).lower(scale).program)) == [300]


def test_a_linear_loop_with_dear_rows_is_taken_apart() -> None:
    def smoothed(x: Any) -> Any:
        return scan(lambda c, v: (0.9 * c + np.exp(np.sin(v)), np.log1p(c * c)), 0.0, x)[1]

    x = np.linspace(-1.0, 2.0, 640)
    assert lengths(optimize(jit(smoothed).lower(x).program)) == [2, 320]
    np.testing.assert_allclose(jit(smoothed)(x), smoothed(x), rtol=1e-13)


def test_what_is_not_chosen_stays_out() -> None:
    """A NaN or infinite state has no effect if the other alternative is selected."""

    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            c = np.where(v > 0, c * np.exp(np.sin(v)) * np.sqrt(v), np.cos(v))
            return c, np.log(np.abs(c))

        return scan(step, np.inf, x)[1]

    x = np.cos(np.arange(400.0))
    np.testing.assert_allclose(jit(f)(x), trace(f)(x)(x), rtol=1e-11)
    assert np.isfinite(jit(f)(x)[3:]).all()


def test_truth_values_are_not_summed() -> None:
    def f(x: Any) -> Any:
        return scan(lambda c, v: (c + (v > 0.99), None), x[0] > 2, x)[0]

    assert jit(f)(np.cos(np.arange(400.0)))
    assert not jit(f)(np.zeros(400))


def test_an_infinite_factor_is_no_nan_elsewhere() -> None:
    """A selection between two branches remains one: the branch that is not taken adds nothing."""

    def f(x: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            safe = np.where(v > 0, 1 / v, 0.0)
            return np.where(v > 0, c * safe * np.exp(np.sin(v)), 0.5 * c) + 1.0, None

        return scan(step, 1.0, x)[0]

    x = np.where(np.arange(400) % 7 == 0, 0.0, 1.5)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
    assert np.isfinite(jit(f)(x))


# -- indices --------------------------------------------------------------------------


def euler_by_index(x: Any) -> Any:
    u = np.zeros((x.size, 2))
    u[0] = np.array([1.0, 0.5])
    for i in range(x.size - 1):
        u[i + 1, 0] = u[i, 0] + 0.1 * u[i, 1] * x[i]
        u[i + 1, 1] = u[i, 1] - 0.1 * u[i, 0] * x[i + 1]
    return u


def put(y: Any, i: Any, v: Any) -> Any:
    y = y.copy()
    y[i] = v
    return y


def backwards(x: Any) -> Any:
    n = x.size

    def step(i: Any, carry: Any) -> Any:
        y, total = carry
        total = 0.5 * total + x[n - 1 - i]
        return put(y, n - 1 - i, total * x[i]), total

    return fori_loop(0, n, step, (np.zeros(n), 0.0))[0]


def every_second(x: Any) -> Any:
    half = x.size // 2
    return fori_loop(0, half, lambda i, c: np.sin(c) + x[2 * i] * x[2 * i + 1], 0.0)


def columns(x: Any) -> Any:
    table = np.outer(x[:40], x[:50])
    return fori_loop(0, 50, lambda i, c: 0.5 * c * table[3, i] + np.sum(table[:, i]), 0.0)


def added(x: Any) -> Any:
    n = x.size

    def step(i: Any, y: Any) -> Any:
        y = y.copy()
        np.add.at(y, i, x[i] ** 2)
        np.add.at(y, n - 1 - i, x[i])
        return y

    return fori_loop(0, n, step, np.ones(n))


def written_twice(x: Any) -> Any:
    """The next step overwrites an element that a step writes, so the order matters."""
    n = x.size
    return fori_loop(0, n - 1, lambda i, y: put(put(y, i, x[i]), i + 1, 2 * x[i]), np.zeros(n))


def read_too(x: Any) -> Any:
    return fori_loop(1, x.size, lambda i, y: put(y, i, 0.9 * y[i - 1] + x[i]), x)


def wrapped(x: Any) -> Any:
    """Indices that count from the end."""
    return fori_loop(0, 60, lambda i, c: c * x[i - 60] + 1, 0.0)


INDEXED = [
    euler_by_index, backwards, every_second, columns, added, written_twice, read_too, wrapped,
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", INDEXED, ids=lambda f: f.__name__)
def test_loops_with_indices(function: Callable[[Any], Any]) -> None:
    x = np.cos(np.arange(128.0))
    program = trace(function)(x)
    np.testing.assert_allclose(jit(function)(x), program(x), rtol=1e-12, atol=1e-12)

    def loss(x: Any) -> Any:
        return np.sum(np.sin(program(x)))

    by_hand = []
    for k in (0, 1, 63, 126, 127):
        d = 1e-6 * (np.arange(128) == k)
        by_hand.append((loss(x + d) - loss(x - d)) / 2e-6)
    found = jit(grad(lambda x: np.sum(np.sin(function(x)))))(x)
    np.testing.assert_allclose(found[[0, 1, 63, 126, 127]], by_hand, rtol=1e-6, atol=1e-7)


def kinds(program: Program) -> set[str]:
    """The kinds of all ops, including those in loops."""
    found = set()
    for op in program.ops:
        found.add(op.kind.name)
        if isinstance(op.kind, Scan):
            found |= kinds(op.params["body"])
    return found


@pytest.mark.parametrize("function", [euler_by_index, backwards, every_second, columns])
@pytest.mark.usefixtures("uncaptured")
def test_elements_are_neither_gathered_nor_added_to(function: Callable[[Any], Any]) -> None:
    x = np.cos(np.arange(128.0))
    program = optimize(jit(grad(lambda x: np.sum(np.sin(function(x))))).lower(x).program)
    assert kinds(program).isdisjoint({"gather", "scatter", "add_at", "scatter_add"})


@pytest.mark.parametrize("function", [written_twice, read_too])
def test_what_depends_on_the_order_stays(function: Callable[[Any], Any]) -> None:
    x = np.cos(np.arange(128.0))
    assert "scatter" in kinds(optimize(jit(function).lower(x).program))


def test_an_index_out_of_bounds_is_an_error_as_before() -> None:
    def f(x: Any) -> Any:
        return fori_loop(0, 70, lambda i, c: c + x[i], 0.0)

    with pytest.raises(IndexError, match="out of bounds"):
        jit(f)(np.ones(64))


def test_a_loop_without_indices_is_left_alone() -> None:
    program = Drawn(0, 64).program()
    assert indexed_scans.run(program) is program


# -- what is more than rounding stays as it is ---------------------------------


def kahan(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        total, lost = c
        y = v - lost
        t = total + y
        return (t, (t - total) - y), None

    return scan(step, (0.0, 0.0), x)[0][0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [64, 640, 1000, 100_000])
def test_compensated_sums_stay_exact(count: int) -> None:
    x = np.full(count, 0.1)
    assert jit(kahan)(x) == trace(kahan)(x)(x) == count / 10


def test_factors_may_leave_the_range_of_floats() -> None:
    def f(c: Any, v: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            return c * np.exp(-v) * np.exp(-v) * np.exp(v) * np.exp(v), c

        return scan(step, c, v)[1]

    v = np.full(640, 400.0)
    np.testing.assert_allclose(jit(f)(1e200, v), 1e200)
    np.testing.assert_array_equal(jit(f)(0.0, -v), 0.0)


@pytest.mark.parametrize("name", ["step", "step_linear", "step_transpose"])
def test_names_of_steps_mean_nothing(name: str) -> None:
    def step(c: Any, v: Any) -> Any:
        return c * np.exp(v) * np.exp(v) * np.exp(-v) * np.exp(-v), c

    step.__name__ = name
    arguments = 1e-300, np.full(640, 400.0)
    program = optimize(trace(lambda c, v: scan(step, c, v)[1])(*arguments))
    assert lengths(program) == [640]
    np.testing.assert_allclose(program(*arguments), 1e-300, rtol=1e-10)


def test_divisors_may_be_tiny() -> None:
    def f(c: Any, v: Any) -> Any:
        return scan(lambda c, v: (c / np.exp(-v), c * np.exp(np.sin(v))), c, v)[1]

    np.testing.assert_array_equal(jit(f)(0.0, np.full(640, 740.0)), 0.0)


def test_sums_are_not_distributed() -> None:
    def f(v: Any, w: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            v, w = row
            c = 0.5 * (c + np.sin(v)) / np.sin(w)
            return c, np.arctan(c)

        return scan(step, 1.0, (v, w))[1]

    v, w = np.zeros(640), np.full(640, 1.5)
    w[7] = 0.0
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(jit(f)(v, w), trace(f)(v, w)(v, w))


def test_filters_of_users_go_in_blocks() -> None:
    """Filters that multiply by one number of each step, or by several that are the same in all
    steps."""

    def f(a: Any, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            decay, new = row
            c = a * (0.9 * (np.exp(-decay) * c)) + np.sin(new)
            return c, np.cos(c)

        return np.sum(scan(step, 0.1, (x, x))[1])

    x = np.linspace(0.0, 1.0, 640)
    assert lengths(optimize(trace(f)(0.9, x))) != [640]
    np.testing.assert_allclose(jit(f)(0.9, x), trace(f)(0.9, x)(0.9, x), rtol=1e-12)
