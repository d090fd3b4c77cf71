"""Values computed by an iteration stay in a register for the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, scan
from autojit.codegen.cpu.emit.predictive_commoning import Commoning, commoning
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Compute, Loop
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

X = np.random.default_rng(0).uniform(0.5, 2.0, 1003)


def found(f: Callable[..., Any], *arguments: Any, rtol: float = 1e-13) -> list[Commoning]:
    """Check that compiled and interpreted results agree; return the values that long loops
    carry."""
    program = autojit.trace(f)(*arguments)
    arrays = [*arguments, *program.captured]
    for g, w in zip(Executable(program).call(arrays), interpret(program, arrays), strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)
    loops = [s for s in statements(lower(optimize(program))) if isinstance(s, Loop)]
    return [commoning(s) for s in loops if s.stop - s.start > 8]


def calls(found: list[Commoning], name: str) -> int:
    """How often the bodies call a function."""
    return sum(isinstance(s, Compute) and s.name == name for n in found for s in n.body)


def test_a_function_is_called_once_an_iteration() -> None:
    n = found(lambda x: np.exp(x[1:] * x[1:]) - np.exp(x[:-1] * x[:-1]), X)
    assert calls(n, "exp") == 1
    assert [x.computed for x in n] == [True]


def test_over_several_steps() -> None:
    def f(x: Any) -> Any:
        y = x * (x + 1.0) * (x - 1.0)
        return y[2:] - 2.0 * y[1:-1] + y[:-2] * x[1:-1]

    (n,) = found(f, X)
    assert calls([n], "mul") == 4
    assert sum(isinstance(a, Compute) for a, _ in n.carried) == 2


def test_of_every_second_element() -> None:
    (n,) = found(lambda x: np.exp(x[2::2] * x[3::2]) - np.exp(x[:-2:2] * x[1:-2:2]), X[:-1])
    assert calls([n], "exp") == 1


def test_with_invariants() -> None:
    n = found(lambda x, a: np.exp(a * x[1:]) * np.exp(a * x[:-1]), X, np.array(0.3))
    assert calls(n, "exp") == 1
    n = found(lambda x, a: np.exp(a * x[1:]) * np.exp((a + 1) * x[:-1]), X, np.array(0.3))
    assert calls(n, "exp") == 2


def test_values_that_save_little_are_computed_again() -> None:
    (n,) = found(lambda x: (x[1:] + 1.0) * (x[:-1] + 1.0), X)
    assert n.carried == []


def test_other_operands_are_not_commoned() -> None:
    n = found(lambda x, y: np.exp(x[1:] * y[1:]) - np.exp(x[:-1] * y[1:]), X, X + 1.0)
    assert calls(n, "exp") == 2


def test_in_sums_and_on_threads() -> None:
    def total(x: Any) -> Any:
        return np.sum(np.exp(-x[1:] * x[1:]) * np.exp(-x[:-1] * x[:-1]))

    long = np.random.default_rng(1).uniform(0.5, 2.0, 300_001)
    assert calls(found(total, X, rtol=1e-11), "exp") == 1
    found(total, long, rtol=1e-10)
    found(grad(total), long)


def test_memory_that_the_loop_writes_is_loaded_in_place() -> None:
    def steps(x: Any) -> Any:
        def step(c: Any, _: None) -> tuple[Any, None]:
            c = c.copy()
            c[1:] = np.exp(-c[1:] * c[1:]) + np.exp(-c[:-1] * c[:-1])
            return c, None

        return scan(step, x, length=4)[0]

    found(steps, X)
    found(grad(lambda x: np.sum(steps(x))), X)


def test_a_chain_of_stages() -> None:
    """In a Runge-Kutta step, each stage is computed once per element."""

    def slope(x: Any, y: Any) -> Any:
        return x * np.concatenate([np.ones(1), y[:-1]])

    def step(x: Any, y: Any) -> Any:
        k1 = slope(x, y)
        k2 = slope(x, y + 0.1 * k1)
        k3 = slope(x, y + 0.1 * k2)
        return y + k1 + k2 + k3 + slope(x, y + 0.2 * k3)

    most = max(found(step, X, X + 1.0), key=lambda n: len(n.body))
    assert len(most.carried) == 3
    assert len(most.body) <= 22
    found(grad(lambda x, y: np.sum(step(x, step(x, y)))), X, X + 1.0)


def test_backwards() -> None:
    found(lambda x: np.exp(x[:0:-1] * x[:0:-1]) - np.exp(x[-2::-1] * x[-2::-1]), X)


@pytest.mark.parametrize("n", [9, 10, 15, 17, 100])
def test_lengths_that_fit_no_vector(n: int) -> None:
    found(lambda x: np.exp(x[1:] * x[1:]) - np.exp(x[:-1] * x[:-1]), X[:n])


def test_powers_that_may_fail() -> None:
    """An integer to a negative power is an error in its own iteration, and in no other."""
    i = np.arange(1, 40)
    found(lambda i: i[1:] ** i[1:].clip(0, 3) - i[:-1] ** i[:-1].clip(0, 3), i)
    with pytest.raises(ValueError, match="negative"):
        autojit.jit(lambda i: i[1:] ** i[1:] - i[:-1] ** i[:-1])(i - 20)
