"""Updates: in place if nothing else reads the buffer, in a copy otherwise, and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, trace, vmap
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import InRange, Loop, RunTasks, ScatterInto, Store
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type, TypeMismatch
from autojit.ir.ops.move import slice_
from autojit.ir.ops.update import add_at, scatter, update
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

RNG = np.random.default_rng(0)
X, V, AT = RNG.normal(size=(40, 12)), RNG.normal(size=(5, 12)), np.array([3, 0, 3, 39, 0])


def program_of(function: Callable[..., Any], *arguments: Any) -> Program:
    builder = Builder()
    inputs = [Value(Type(np.asarray(a).dtype, np.shape(a))) for a in arguments]
    with building(builder):
        outputs = function(*inputs)
    return builder.finish(inputs, outputs if isinstance(outputs, list) else [outputs])


def check(function: Callable[..., Any], *arguments: Any) -> LoopProgram:
    """Check that the loops give the interpreter's results; return them."""
    program = program_of(function, *arguments)
    results = Executable(program).call(list(arguments))
    for got, want in zip(results, interpret(program, arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    return lower(program)


def all_statements(program: LoopProgram) -> list[Any]:
    return [s for kernel in program.steps for s in walk(kernel.body)]  # type: ignore[union-attr]


def stores(program: LoopProgram) -> int:
    return sum(isinstance(s, Store) for s in all_statements(program))


EACH = pytest.mark.parametrize("op", [scatter, add_at])


@EACH
def test_what_nothing_else_reads_is_updated_in_place(op: Any) -> None:
    def f(x: Any, v: Any, i: Any) -> Any:
        return op(op(x * 2.0, v, i, axes=(0,)), v + 1.0, i, axes=(0,))

    program = check(f, X, V, AT)
    assert not program.temps
    assert stores(program) == 1  # x * 2, in the buffer that is updated


@EACH
def test_what_is_read_again_is_copied(op: Any) -> None:
    for f in (
        lambda x, v, i: op(x, v, i, axes=(0,)),  # an argument
        lambda x, v, i: [y := x * 2.0, op(y, v, i, axes=(0,))],
        lambda x, v, i: op(y := x * 2.0, v, i, axes=(0,)) + y,
        lambda x, v, i: [op(y := op(x, v, i, axes=(0,)), v, i, axes=(0,)), y],
    ):
        check(f, X, V, AT)


def test_operands_that_are_the_array_itself() -> None:
    backwards = np.arange(40)[::-1].copy()
    for op in (scatter, add_at):
        check(lambda x, i, op=op: op(y := x * 2.0, y, i, axes=(0,)), X, backwards)


@EACH
def test_out_of_bounds(op: Any) -> None:
    program = program_of(lambda x, v, i: op(x, v, i, axes=(0,)), X, V, AT)
    for wrong in (AT + 1, AT - 1):
        with pytest.raises(IndexError):
            Executable(program).call([X, V, wrong])
        with pytest.raises(IndexError):
            interpret(program, [X, V, wrong])


@pytest.mark.parametrize("dtype", ["f4", "c16", "i4", "?"])
def test_dtypes(dtype: str) -> None:
    x, v = (X > 0).astype(dtype), (V > 0).astype(dtype)
    check(lambda x, v, i: scatter(x, v, i, axes=(0,)), x, v, AT)
    check(lambda x, v: update(x, v, start=(1, 2), stride=(3, 1)), x, v[:, :6])
    if dtype != "?":
        check(lambda x, v, i: add_at(x, v, i, axes=(0,)), x, v, AT)


def test_windows_are_loops_of_their_own() -> None:
    program = check(lambda x, v: update(x, v, start=(9, 0), stride=(1, 1)), X, X[:21] * 2)
    loops = [s for kernel in program.steps for s in kernel.body if isinstance(s, Loop)]  # type: ignore[union-attr]
    assert [(s.start, s.stop) for s in loops] == [
        (12 * low, 12 * high) for low, high in ((0, 9), (9, 30), (30, 40))
    ]
    assert "select" not in str(program)


def test_windows_with_strides_and_without_elements() -> None:
    for start, stride, extents in [((1, 0), (3, 2), (13, 6)), ((4, 12), (1, 1), (7, 0))]:
        part = RNG.normal(size=extents)
        check(lambda x, v, a=start, s=stride: update(x, v, start=a, stride=s), X, part)


def chain(n: int) -> Callable[..., Any]:
    """Replace n rows of an array one after the other, each by a different expression."""

    def f(x: Any, v: Any) -> Any:
        y = x + x
        for i in range(n):
            row = slice_(v, start=(i % 5, 0), stop=(i % 5 + 1, 12), stride=(1, 1))
            y = update(y, row * full(i + 1.0, row.type), start=(3 * i % 40, 0), stride=(1, 1))
        return y

    return f


def test_long_chains_are_written_window_by_window() -> None:
    for n in (8, 9, 30):
        program = check(chain(n), X, V)
        assert not program.temps
        assert "select" not in str(program)
        assert (stores(program) == 1 + n) == (n > 8)  # otherwise the loop over rows is split
    read_twice = check(lambda x, v: [y := chain(12)(x, v), chain(12)(y * y, v) + y], X, V)
    assert "select" not in str(read_twice)
    check(lambda x, v: chain(12)(chain(12)(x, v), v), X, V)


def test_long_chains_of_elements_are_one_kernel() -> None:
    def f(x: Any, v: Any) -> Any:
        for i in range(20):
            element = slice_(v, start=(i,), stop=(i + 1,), stride=(1,))
            x = update(x, element * element, start=(2 * i,), stride=(1,))
        return [x, slice_(x, start=(4,), stop=(5,), stride=(1,)) + 1.0]

    program = check(f, RNG.normal(size=40), RNG.normal(size=20))
    assert len(program.steps) == 2


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks add to their own copies; a loop that sets elements in order is not divided into
    tasks."""
    monkeypatch.setattr(task_cost, "WORTH_TRYING", 0)
    monkeypatch.setattr(task_cost, "WORK_OF_TASK", 1e-6)
    x, v, i = RNG.normal(size=7), RNG.normal(size=5000), RNG.integers(0, 7, 5000)
    for op in (scatter, add_at):
        program = check(lambda x, v, i, op=op: op(x, v, i, axes=(0,)), x, v, i)
        tasks = [s.tasks.body for s in all_statements(program) if isinstance(s, RunTasks)]
        cut = any(isinstance(s, ScatterInto) for body in tasks for s in walk(body))
        assert cut is (op is add_at)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, v, i: update(x, v, start=(36, 0), stride=(1, 1)), "update of f64"),
        (lambda x, v, i: update(x, v, start=(0, 0), stride=(8, 2)), "update of f64"),
        (lambda x, v, i: scatter(x, v, i, axes=(1,)), r"updates of shape \(5, 40\)"),
        (lambda x, v, i: scatter(v, i, i, axes=(0,)), "updates of shape"),
        (lambda x, v, i: scatter(x, v, v, axes=(0,)), "int64 index array"),
        (lambda x, v, i: add_at(x, v, i, i, axes=(0,)), "one int64 index array an axis"),
    ],
)
def test_operands_that_do_not_fit(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TypeMismatch, match=words):
        program_of(function, X, V, AT)


# -- few elements, far apart ----------------------------------------------------------


def agrees(function: Callable[..., Any], *arguments: Any) -> LoopProgram:
    """Check that compiled and interpreted results agree; return the loops of the optimised
    program."""
    program = trace(function)(*arguments)
    for got, wanted in zip(
        Executable(program).call(arguments), interpret(program, arguments), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-13)
    return lower(optimize(program))


def chosen(loops: LoopProgram) -> bool:
    return any(isinstance(s, InRange) for step in loops.steps for s in walk(step.body))  # type: ignore[union-attr]


SQUARE = RNG.normal(size=(30, 30))


def test_gradient_by_a_diagonal_does_not_look_for_it_everywhere() -> None:
    loops = agrees(grad(lambda a: np.sum(a * 2.0) + np.sum(np.diag(a) ** 2)), SQUARE)
    assert not chosen(loops)
    assert not loops.temps
    loops = agrees(grad(lambda a: np.sum(np.sin(a)) + np.sum(np.diagonal(a, 3) ** 2)), SQUARE)
    assert not chosen(loops)
    agrees(vmap(grad(lambda a: np.sum(np.diag(a) ** 2))), np.stack([SQUARE, -SQUARE]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", [2, 7, 8, 29])
def test_windows_of_every_density(step: int) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        y[::step] = 2.0 * y[::step]
        y[1:, ::step] += y[:-1, ::step]
        return y, np.sum(y * y)

    agrees(f, SQUARE)
    agrees(grad(lambda x: f(x)[1]), SQUARE)
    agrees(lambda x: (x[::step, ::step], x), SQUARE)
    agrees(grad(lambda x: np.sum(x[::step, ::step] ** 2) + np.sum(x[1::step] ** 3)), SQUARE)


def test_an_input_is_not_written_to() -> None:
    x = SQUARE.copy()

    def f(x: Any) -> Any:
        y = np.array(x)
        y[3, ::10] = 0.0
        return y, np.sum(x)

    changed, total = jit(f)(x)
    np.testing.assert_array_equal(x, SQUARE)
    assert changed[3, 10] == 0.0
    assert total == pytest.approx(SQUARE.sum())


def test_outputs_that_are_reshaped_are_written_where_they_go() -> None:
    loops = agrees(lambda x: np.reshape(np.reshape(np.exp(x), (-1,)), (10, 90)), SQUARE)
    assert not loops.temps
    assert len(loops.steps) == 1
    agrees(lambda x: (np.ravel(x), np.ravel(x), np.reshape(x.T, (2, -1))), SQUARE)
    agrees(lambda x: (np.sin(x), np.ravel(np.sin(x)), np.sin(x)[None]), SQUARE)
    agrees(lambda x: np.reshape(np.sum(x), (1, 1)), SQUARE)
    agrees(lambda x: np.reshape(np.sum(x[:1, :1], 1), ()), SQUARE)


def test_what_a_tape_keeps_is_not_overwritten_by_the_next_carry() -> None:
    """The gradient reads the array after the update, and the next array is computed from it."""

    def f(x: Any) -> Any:
        v, c = sum(x), x * 2.0
        for i in range(1, 64):
            near = 2.0 * np.eye(len(c)) + 0.3 * np.tanh(np.outer(c, c))
            v[i % len(v)] = 0.5 * np.tanh(np.abs(np.linalg.slogdet(near)[1]))
            c[(i + 1) % len(c)] += 0.5 * np.tanh(np.diagonal(c))
            c[c > 0.2] = 2.0
            if i % 2 == 0:
                c = c - 0.1 * x
        return np.sum(v * 0.5)

    x, step = np.array([[0.379], [1.653]]), 1e-6
    found = jit(grad(f))(x)
    for k in range(2):
        by = step * np.eye(2)[k][:, None]
        want = (f(x + by) - f(x - by)) / (2 * step)
        np.testing.assert_allclose(found[k, 0], want, atol=1e-8)
