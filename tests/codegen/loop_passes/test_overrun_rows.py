"""Stencils: loops over whole rows, and elements that stay in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, scan
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.nodes import Compute, Loop
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

pytestmark = pytest.mark.optimised

RNG = np.random.default_rng(0)
FIELD = RNG.uniform(1.0, 2.0, size=(40, 32))


def check(f: Callable[..., Any], *arguments: Any) -> tuple[LoopProgram, str]:
    """Check that compiled and interpreted results agree; return the loops and the LLVM IR."""
    program = autojit.trace(f)(*arguments)
    executable = Executable(program)
    with np.errstate(all="ignore"):
        want = interpret(program, list(arguments))
    for g, w in zip(executable.call(list(arguments)), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)
    return lower(optimize(program)), executable.llvm()


def longest_row(program: LoopProgram) -> tuple[int, int]:
    """The range of the longest loop with arithmetic."""
    rows = [s for s in statements(program) if isinstance(s, Loop)]
    computing = [s for s in rows if any(isinstance(x, Compute) for x in s.body)]
    longest = max(computing, key=lambda s: s.stop - s.start)
    return longest.start, longest.stop


def five_points(u: np.ndarray) -> np.ndarray:
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def inner(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def step(u: np.ndarray) -> np.ndarray:
        result = u.copy()
        result[1:-1, 1:-1] = f(u)
        return result

    return step


def test_the_middle_of_a_row_runs_over_all_of_it() -> None:
    loops, _ = check(inner(lambda u: u[1:-1, 1:-1] + 0.1 * five_points(u)), FIELD)
    assert longest_row(loops) == (0, 32)


def test_the_reverse_of_a_stencil_runs_over_whole_rows() -> None:
    step = inner(lambda u: u[1:-1, 1:-1] * five_points(u))
    loops, _ = check(grad(lambda u: np.sum(step(u) ** 2)), FIELD)
    assert longest_row(loops) == (0, 32)


def test_meaningless_values_at_the_ends_are_overwritten() -> None:
    """There the logarithm gets a negative number."""
    field = FIELD.copy()
    field[:, [0, -1]] = -1.0
    loops, _ = check(inner(lambda u: np.log(u[1:-1, 1:-1])), field)
    assert longest_row(loops) == (0, 32)


def test_two_results_of_one_row() -> None:
    def both(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return inner(lambda v: v[1:-1, 2:] * 2.0)(u), inner(lambda v: v[1:-1, :-2] * 3.0)(u)

    check(both, FIELD)


def test_a_middle_that_would_read_outside_of_the_array_stays() -> None:
    x = RNG.normal(size=64)

    def differences(x: np.ndarray) -> np.ndarray:
        result = x.copy()
        result[1:-1] = x[2:] - x[:-2]
        return result

    loops, _ = check(differences, x)
    assert longest_row(loops) == (1, 63)


def test_integers_stay() -> None:
    """Division by the elements at the ends could fail."""
    numbers = RNG.integers(1, 9, size=(40, 32))
    numbers[:, 0] = 0
    loops, _ = check(inner(lambda u: 100 // u[1:-1, 1:-1]), numbers)
    assert longest_row(loops) == (1, 31)


def test_rows_changed_in_place_stay() -> None:
    """A step that overwrites its own operands."""

    def rows(u: np.ndarray) -> np.ndarray:
        def step(carry: np.ndarray, _: None) -> tuple[np.ndarray, None]:
            carry = carry.copy()
            carry[:, 1:-1] = np.sin(carry[:, 1:-1])
            return carry, None

        return scan(step, u, length=3)[0]

    check(rows, FIELD)
    check(grad(lambda u: np.sum(rows(u))), FIELD)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [9, 17, 31, 33])
def test_widths_that_fit_no_vector(width: int) -> None:
    field = RNG.uniform(size=(11, width))
    step = inner(lambda u: u[1:-1, 1:-1] * five_points(u))
    check(step, field)
    check(grad(lambda u: np.sum(step(step(u)) ** 2)), field)


def test_elements_are_carried_in_registers() -> None:
    _, llvm = check(inner(lambda u: u[1:-1, 1:-1] + 0.1 * five_points(u)), FIELD)
    assert "vector.recur" in llvm  # the vectoriser recognised it


def test_elements_of_arrays_beyond_the_cache_are_loaded() -> None:
    big = np.ones((1000, 200))
    _, llvm = check(inner(lambda u: u[1:-1, 1:-1] + 0.1 * five_points(u)), big)
    assert "vector.recur" not in llvm


def test_zeros_keep_their_sign() -> None:
    """Zeros next to padding behave like all others: -0.0 + 0.0 is 0.0."""

    def emptied(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[1:2] = 0.0
        return x + np.pad(v, (1, 1))

    x, v = np.array([-0.0, 1.0, -0.0]), np.array([-0.0])
    assert not np.signbit(autojit.jit(emptied)(x, v)).any()
