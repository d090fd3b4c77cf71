"""Long traces: what is done to them grows no faster than they do, and they become short."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, value_and_grad
from autojit.codegen.lowering import sheets
from autojit.codegen.lowering.lower import lower
from autojit.errors import UnrolledLoopWarning
from autojit.ir.passes import optimize
from autojit.ir.passes.reroll.reroll import roll
from autojit.session.transform_cache import clear
from autojit.staging import unrolled
from autojit.testing import check_grads
from autojit.tracing import source
from bench import tracing_programs
from bench.tracing_programs import Made, list_of_floats


def draw(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=n)


def with_units(n: int) -> Made:
    """Data that simplification treats in another way: 0.0, -0.0, 1.0, -1.0, and equal ones."""
    y = np.resize([0.0, 1.0, -0.0, -1.0, 2.0, 2.0, 2.0, 0.5], n)

    def f(a: Any) -> Any:
        s = a
        for v in y:
            s = np.tanh(s * a * v + v)
        return s

    return f, (0.5,)


def neurons(n: int) -> Made:
    """A network of numbers in lists, as micrograd has them: each neuron is a sum and its tanh."""
    width = int(n**0.5)
    rng = np.random.default_rng(n)
    layers = [
        [(rng.normal(size=width).tolist(), float(rng.normal())) for _ in range(count)]
        for count in (width, 1)
    ]
    x = rng.normal(size=width).tolist()

    def f(layers: Any) -> Any:
        out = x
        for layer in layers:
            out = [
                np.tanh(sum((a * b for a, b in zip(w, out, strict=True)), b0)) for w, b0 in layer
            ]
        return out[0]

    return f, (layers,)


def pairs(n: int) -> Made:
    """Make a program with about n pairs."""
    return tracing_programs.pairs(int((2 * n) ** 0.5))


def sums_first(n: int) -> Made:
    """The steps of one repetition, sums of products, have no op that others have not."""
    return tracing_programs.neurons(int((n / 2) ** 0.5))


PROGRAMS = [
    tracing_programs.closed_over, tracing_programs.zipped_lists, with_units, pairs,
    tracing_programs.edges, tracing_programs.delay_list, list_of_floats, neurons, sums_first,
]  # fmt: skip


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions are called, Python's and others."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.sampled(9)
@pytest.mark.usefixtures("uncaptured")  # which long loops are
@pytest.mark.parametrize("make", PROGRAMS)
def test_the_work_is_linear(make: Callable[[int], Made]) -> None:
    counts = []
    for n in (400, 800):
        f, arguments = make(n)
        derived = autojit.trace(grad(f))
        clear()
        counts.append(calls_of(lambda d=derived, a=arguments: d(*a)))  # type: ignore[misc]
    assert counts[1] < 2.3 * counts[0]


@pytest.mark.parametrize("make", [tracing_programs.rows_and_columns, tracing_programs.irregular])
def test_the_work_of_irregular_programs_is_linear(make: Callable[[int], Made]) -> None:
    """From the trace of a gradient to its loops, which are rows of a table from some length on."""
    counts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sheets, "LEAST", 1)
        for n in (20, 40):
            f, arguments = make(n)
            derived = autojit.trace(grad(f))
            clear()
            counts.append(calls_of(lambda d=derived, a=arguments: lower(optimize(d(*a)))))  # type: ignore[misc]
    assert counts[1] < 2.3 * counts[0]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("make", PROGRAMS)
def test_a_long_trace_becomes_short(make: Callable[[int], Made]) -> None:
    f, arguments = make(1200)
    program = autojit.trace(f)(*arguments)
    numbers = len(program.inputs)
    assert len(program.ops) - numbers < 300


@pytest.mark.sampled(5)
@pytest.mark.parametrize("make", PROGRAMS)
def test_values_and_gradients_are_those_of_the_steps(make: Callable[[int], Made]) -> None:
    f, arguments = make(200)
    value, gradient = jit(value_and_grad(f))(*arguments)
    with pytest.MonkeyPatch.context() as patch, autojit.disable_jit():
        patch.setattr(unrolled, "roll", lambda program, is_body: program)
        wanted, steps = value_and_grad(f)(*arguments)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(value, f(*arguments), rtol=1e-12)
    got, want = (
        np.array(autojit.staging.pytrees.flatten(tree)[0]).ravel()
        if not isinstance(tree, np.ndarray)
        else tree
        for tree in (gradient, steps)
    )
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


# -- places of one array --------------------------------------------------------------


def test_rows_and_places_along_two_axes() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 5, (150, 3)).tolist()

    def f(x: Any, w: Any) -> Any:
        total = 0.0
        for i, j, k in places:
            total = total + np.sin(x[i, j] * w[k]) + x[j, k]
        return total

    arguments = rng.normal(size=(5, 5)), rng.normal(size=5)
    assert len(autojit.trace(f)(*arguments).ops) < 60
    check_grads(f, arguments, order=2)
    with autojit.disable_jit():
        wanted = grad(f, argnums=(0, 1))(*arguments)
    for a, b in zip(jit(grad(f, argnums=(0, 1)))(*arguments), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_chain_that_reads_at_uneven_places_is_a_loop() -> None:
    places = np.random.default_rng(1).integers(0, 20, 200).tolist()

    def f(x: Any) -> Any:
        s = 0.0
        for i in places:
            s = np.tanh(s * 0.5 + x[i])
        return s

    x = draw(20)
    program = autojit.trace(f)(x)
    assert [op.kind.name for op in program.ops].count("scan") == 1
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
    check_grads(f, (x,), order=1)


def test_what_reads_different_arrays_is_left_alone() -> None:
    rng = np.random.default_rng(2)
    steps = [
        (int(i), bool(b))
        for i, b in zip(rng.integers(0, 9, 150), rng.random(150) < 0.5, strict=True)
    ]

    def f(x: Any, y: Any) -> Any:
        s = 0.0
        for i, first in steps:
            s = np.tanh(s + (x if first else y)[i])
        return s

    arguments = draw(9), draw(9) + 1
    np.testing.assert_allclose(jit(f)(*arguments), f(*arguments), rtol=1e-12)
    check_grads(f, arguments, order=1)


def test_numbers_that_rounding_alone_makes_uneven() -> None:
    """Rounding of each sum moves ``t += dt`` off a straight line."""

    def f(a: Any) -> Any:
        s, t = a, 0.0
        for _ in range(600):
            s = 0.9 * s + 0.1 * np.sin(t + s)
            t += 0.1
        return s

    program = autojit.trace(f)(0.3)
    assert len(program.ops) < 400
    assert jit(f)(0.3) == pytest.approx(f(0.3), rel=1e-11)


# -- warnings ---------------------------------------------------------------------------


def test_a_trace_is_warned_of_while_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "TRACE_BUDGET", 300)

    def f(x: Any) -> Any:
        return sum(list(map(lambda k: np.sin(x * k), range(1, 400))))

    with pytest.warns(UnrolledLoopWarning) as caught:
        autojit.trace(f)(0.5)
    (warning,) = caught
    assert "The trace has 300 operations so far" in str(warning.message)
    assert "comprehensions and recursion are unrolled" in str(warning.message)
    assert warning.filename == __file__


def test_many_numbers_as_arguments_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "BUDGET", 500)
    monkeypatch.setattr(unrolled, "MANY_NUMBERS", 100)
    functions = np.random.default_rng(0).choice([np.sin, np.cos, np.tanh, np.exp], 600).tolist()

    def f(p: Any) -> Any:
        s = 0.0
        for k, function in enumerate(functions):
            s = s + function(p[k % len(p)] * s)
        return s

    with pytest.warns(
        UnrolledLoopWarning, match="Each of its 150 numbers is a separate argument"
    ) as caught:
        autojit.trace(f)(draw(150).tolist())
    assert "f(np.array(weights))" in str(caught[0].message)


def test_moves_of_many_numbers_are_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled, "BUDGET", 300)
    f, arguments = list_of_floats(400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autojit.trace(grad(f))(*arguments)


def test_roll_takes_numbers_one_by_one_as_an_array() -> None:
    f, arguments = list_of_floats(40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unrolled, "LEAST_OPS", 10**9)
        program = autojit.trace(f)(*arguments)
    made = roll(program, 50, 50)
    assert len(made.ops) < len(program.ops) // 2
    (values,) = arguments
    np.testing.assert_allclose(made(*values), f(values), rtol=1e-13)


def test_rows_of_a_captured_array_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 4))
    compared = 0
    equal = np.array_equal

    def counted(a: Any, b: Any, **settings: Any) -> bool:
        nonlocal compared
        compared += np.size(b)
        return equal(a, b, **settings)

    def f(w: Any) -> Any:
        total = 0.0
        for row in rows:
            total = total + np.tanh(row @ w)
        return total

    monkeypatch.setattr(np, "array_equal", counted)
    program = autojit.trace(f)(np.ones(4))
    assert compared <= 2 * rows.size
    assert len(program.ops) < 30


def test_a_row_that_was_changed_while_tracing_is_read_as_it_is() -> None:
    rows = np.arange(8.0).reshape(4, 2)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(4):
            rows[k, 0] = 10.0 * k
            total = total + np.sum(rows[k] * x) + np.sum(rows[0] * x)
        return total

    got, wanted = autojit.trace(f)(np.ones(2))(np.ones(2)), f(np.ones(2))
    assert got == wanted
