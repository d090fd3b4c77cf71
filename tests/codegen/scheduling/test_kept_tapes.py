"""Loops of unknown length run once: the first run keeps the values that the reverse needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, grad, hessian, hvp, jit, value_and_grad, vmap, while_loop
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

X = np.array([0.3, 0.5, 0.8])


def runs(f: Callable[..., Any], *arguments: Any) -> int:
    """Compare results; return how many loops with a condition f compiles to."""
    program = autojit.trace(f)(*arguments)
    everything = [np.asarray(a) for a in (*arguments, *program.captured)]
    want = interpret(program, everything)
    executable = Executable(program)
    for _ in range(3):  # the second and third call reuse tapes of the previous one
        for g, w in zip(executable.call(everything), want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12)
    return sum(isinstance(s, Repeat) for s in statements(lower(optimize(program))))


def until_large(x: Any, step: Callable[[Any], Any] = lambda y: y * np.exp(y)) -> Any:
    return while_loop(lambda y: np.max(y) < 4.0, step, x)


def squares(x: Any) -> Any:
    return np.sum(until_large(x) ** 2)


def test_the_reverse_does_not_run_the_loop_again() -> None:
    assert runs(grad(squares), X) == 1
    assert runs(value_and_grad(squares), X) == 1


def test_a_loop_that_ends_at_once() -> None:
    assert runs(grad(squares), X + 10.0) == 1


def test_a_reverse_that_needs_nothing_of_the_steps() -> None:
    """Only their number is kept."""
    assert runs(grad(lambda x: np.sum(until_large(x, lambda y: 2.0 * y) ** 2)), X) == 1


@pytest.mark.slow
def test_tapes_of_many_steps() -> None:
    """Far more than the tapes have room for at first."""

    def loss(x: Any) -> Any:
        return (
            while_loop(lambda y: np.max(y) < 9.0, lambda y: y + 1e-3 * np.exp(np.sin(y)), x)[1] ** 2
        )

    assert runs(grad(loss), X) == 1


def test_results_that_the_derivative_does_not_need() -> None:
    """A counter beside the differentiated value, which the reverse omits."""

    def loss(x: Any) -> tuple[Any, Any]:
        more = lambda s: np.max(s[1]) < 4.0  # noqa: E731
        steps, y = while_loop(more, lambda s: (s[0] + 1, s[1] * np.exp(s[1])), (0, x))
        return np.sum(y**2), steps

    assert runs(lambda x: value_and_grad(loss, has_aux=True)(x), X) == 1


def test_two_carries_that_begin_equal() -> None:
    def loss(x: Any) -> Any:
        more = lambda s: np.max(s[1]) < 4.0  # noqa: E731
        a, b = while_loop(more, lambda s: (np.sin(s[0]) + 1.0, s[1] * np.exp(s[0])), (x, x))
        return np.sum(a**2 * b**2)

    assert runs(grad(loss), X) == 1


def test_loops_that_end_differently_run_each_for_itself() -> None:
    def loss(x: Any) -> Any:
        other = while_loop(lambda y: np.max(y) < 50.0, lambda y: y * np.exp(y), x)
        return np.sum(other) * np.sum(np.floor(until_large(x)))

    assert runs(value_and_grad(loss), X) == 2


def test_two_loops() -> None:
    def loss(x: Any) -> Any:
        return np.sum(until_large(x) ** 2) + np.sum(until_large(np.sin(x), np.exp) ** 3)

    assert runs(grad(loss), X) == 2


def test_a_loop_whose_start_comes_from_another() -> None:
    def loss(x: Any) -> Any:
        return squares(np.cos(until_large(x)) ** 2 + 0.1)

    assert runs(grad(loss), X) == 2


def test_inside_of_a_loop() -> None:
    def f(x: Any) -> Any:
        return fori_loop(0, 3, lambda i, y: y - 0.01 * grad(squares)(y), x)

    assert runs(f, X) == 1


def test_in_one_branch() -> None:
    def f(x: Any) -> Any:
        return cond(x[0] > 0.0, grad(squares), lambda x: -x, x)

    assert runs(f, X) == 1
    assert runs(f, -X) == 1


def test_batched() -> None:
    rows = np.array([X, 2.0 * X])
    assert runs(vmap(grad(squares)), rows) == 1


def test_second_derivatives() -> None:
    program = autojit.trace(hessian(squares))(X)
    want = interpret(program, [X])[0]
    np.testing.assert_allclose(jit(hessian(squares))(X), want, rtol=1e-12)
    twice = grad(lambda x: np.sum(grad(squares)(x) ** 2))
    np.testing.assert_allclose(
        jit(twice)(X), interpret(autojit.trace(twice)(X), [X])[0], rtol=1e-12
    )


def test_results_that_both_loops_have_are_not_updated_in_place() -> None:
    """The later loop's results come from the first loop, whose results nothing else reads after the
    update."""

    def f(x: Any) -> Any:
        y = until_large(x).copy()
        y[np.argmax(x)] = 5.0
        return y, grad(lambda x: np.sum(until_large(x)))(x)

    program = optimize(autojit.trace(f)(X))
    later = next(op for op in program.ops if len(op.params.get("sweeps", ())) > 1)
    whole = program.with_body(program.ops, [*program.outputs, later.results[0]])
    for g, w in zip(Executable(whole).call([X]), interpret(whole, [X]), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def test_a_first_run_that_fails() -> None:
    def loss(x: Any) -> Any:
        body = lambda s: (s[0] + 1, s[1] * x[s[0]] + np.exp(s[1]))  # noqa: E731
        return np.sum(while_loop(lambda s: np.max(s[1]) < 1e9, body, (0, x))[1] ** 2)

    compiled = jit(grad(loss))
    for _ in range(3):
        with pytest.raises(IndexError):
            compiled(-0.01 * X)


def test_threads_share_no_tapes() -> None:
    compiled = jit(grad(squares))
    points = [X * (1.0 + 0.01 * k) for k in range(50)]
    want = [compiled(x) for x in points]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for g, w in zip(pool.map(compiled, points), want, strict=True):
                np.testing.assert_array_equal(g, w)


def once(x: Any) -> Any:
    """A loop whose step reads closed-over values, so directions of x are constants of the loop."""
    step = lambda state: (state[0] + 1, np.sin(x))  # noqa: E731
    return while_loop(lambda state: state[0] < 1, step, (0, x))[1]


def test_what_the_reverse_reads_is_computed_before_the_first_run() -> None:
    """The directions of a batch are computed between the two loops."""
    spread = vmap(hessian(lambda x: np.ptp(once(x), axis=1)))
    assert runs(spread, np.array([[[-2.198, 0.369]]])) == 1


def test_a_reverse_that_reads_what_the_first_run_computes_runs_the_loop_again() -> None:
    assert runs(lambda x: hvp(lambda x: np.sum(once(x) ** 2))(x, once(x)), X) == 2
