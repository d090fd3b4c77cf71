"""Values that both a loop's condition and its body compute are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import fori_loop, grad, hessian, jit, jvp, value_and_grad, vmap, while_loop
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import statements, walk
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.kept_tapes import kept_tapes
from autojit.codegen.scheduling.rotate import rotated
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

X, E = np.linspace(0.1, 3.0, 200), np.linspace(0.0, 0.9, 200)


def within(f: Callable[..., Any], *arguments: Any, rtol: float = 1e-10) -> Counter[str]:
    """Check that compiled and interpreted results agree; count the operations in a step of f's
    loops."""
    program = autojit.trace(f)(*arguments)
    arrays = [*arguments, *program.captured]
    executable = Executable(program)
    for _ in range(2):
        for g, w in zip(executable.call(arrays), interpret(program, arrays), strict=True):
            np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-12)
    repeats = [s for s in statements(lower(optimize(program))) if isinstance(s, Repeat)]
    inside = [s for r in repeats for s in walk([*r.condition, *r.body])]
    return Counter(s.name for s in inside if isinstance(s, Compute))


def kepler(eccentricity: Any, mean: Any) -> Any:
    def residual(x: Any) -> Any:
        return x - eccentricity * np.sin(x) - mean

    def improve(x: Any) -> Any:
        return x - residual(x) / (1.0 - eccentricity * np.cos(x))

    return while_loop(lambda x: np.max(np.abs(residual(x))) > 1e-9, improve, mean)


def test_a_residual_is_computed_once_a_step() -> None:
    inside = within(kepler, E, X)
    assert (inside["sin"], inside["cos"]) == (1, 1)


def test_in_the_loop_that_keeps_tapes() -> None:
    inside = within(grad(lambda e, x: np.sum(kepler(e, x) ** 2), (0, 1)), E, X)
    assert (inside["sin"], inside["cos"]) == (1, 1)
    within(value_and_grad(lambda e, x: np.sum(kepler(e, x) ** 2), (0, 1)), E, X)


def test_products_of_matrices() -> None:
    """Gradient descent: the condition and the step both use the residual."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 20)) / 10.0, rng.normal(size=40)

    def residual(x: Any, a: Any, b: Any) -> Any:
        return a @ x - b

    def solved(a: Any, b: Any) -> Any:
        def unfinished(state: Any) -> Any:
            x, i = state
            return (np.sum(residual(x, a, b) ** 2) > 1e-6) & (i < 5)

        def improve(state: Any) -> Any:
            x, i = state
            return x - 0.5 * a.T @ residual(x, a, b), i + 1

        return while_loop(unfinished, improve, (np.zeros(20), np.int64(0)))[0]

    assert within(solved, a, b)["mul"] == 4
    within(grad(lambda a, b: np.sum(solved(a, b) ** 2), (0, 1)), a, b)


def test_what_is_cheap_is_computed_again() -> None:
    """A loop whose condition shares only cheap values is unchanged."""

    def f(x: Any) -> Any:
        return while_loop(lambda y: np.max(y * y) < 4.0, lambda y: y * y + np.exp(-y), x)

    assert within(f, X / 4.0)["mul"] == 2


def test_loops_that_end_at_once_or_never_see_a_number() -> None:
    within(kepler, E * 0.0, X)
    inside = within(kepler, E, np.full_like(X, np.nan))
    assert inside["sin"] == 1
    within(grad(lambda e, x: np.sum(kepler(e, x)), (0, 1)), E * 0.0, X)


def test_scalars_and_several_carries() -> None:
    def f(x: Any, n: Any) -> Any:
        def unfinished(state: Any) -> Any:
            y, i = state
            return (np.exp(y) > 1.5) & (i < 9)

        return while_loop(unfinished, lambda s: (s[0] - 0.1 * np.exp(s[0]), s[1] + n), (x, n))

    inside = within(f, np.float64(2.0), np.int64(1))
    assert inside["exp"] == 1
    within(grad(lambda x: f(x, np.int64(1))[0]), np.float64(2.0))


def test_inside_of_loops_and_transformations() -> None:
    small = slice(0, 9)
    e, x = E[small], X[small]
    within(lambda e, x: fori_loop(0, 3, lambda i, y: kepler(e, y), x), e, x)
    within(vmap(lambda e, x: kepler(np.stack([e, e]), np.stack([x, x + 1.0]))), e, x)
    within(lambda e, x: jvp(kepler, (e, x), (x, e)), e, x)
    within(hessian(lambda x: np.sum(kepler(e, x) ** 2)), x, rtol=1e-7)


@pytest.mark.parametrize("function", [np.expm1, np.tanh, np.log1p])
def test_other_functions(function: Any) -> None:
    def f(x: Any) -> Any:
        return while_loop(
            lambda y: np.max(function(y)) > 0.5, lambda y: y * 0.5 - 0.01 * function(y), x
        )

    assert within(f, X)[function.__name__] == 1
    np.testing.assert_allclose(jit(f)(X), autojit.trace(f)(X)(X), rtol=1e-12)


#: A condition and a step with two carries that both compute a sine of a small number.
SINES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "another carry": (lambda x, y: x, lambda x, y: (x - 0.1 * np.sin(y), y)),
    "carries that change places": (lambda x, y: x, lambda x, y: (y - 0.1 * np.sin(y), x)),
    "what the step computes": (lambda x, y: x, lambda x, y: (0.5 * x + 0.01 * np.sin(0.5 * x), y)),
    "another factor": (lambda x, y: 0.25 * x, lambda x, y: (x - 0.1 * np.sin(0.75 * x), y)),
    "another order": (lambda x, y: x - y, lambda x, y: (x - 0.1 - 0.1 * np.sin(y - x), y)),
}


@pytest.mark.parametrize("case", SINES)
def test_what_only_looks_like_the_condition_s_is_left(case: str) -> None:
    tested, improve = SINES[case]

    def f(x: Any, y: Any) -> Any:
        return while_loop(lambda s: np.max(np.sin(tested(*s))) > 0.1, lambda s: improve(*s), (x, y))

    x, y = np.linspace(0.3, 1.2, 40), np.linspace(0.01, 0.2, 40)
    assert within(f, x, y)["sin"] == 2
    program = optimize(autojit.trace(f)(x, y))
    kept = kept_tapes(program.ops, program.outputs)
    assert rotated(kept).ops == kept.ops
