"""Loops that change an array in few places: updates in place, small tapes, and right results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import fori_loop, grad, jit, jvp, scan, trace, value_and_grad, vmap
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

RNG = np.random.default_rng(0)
N = 40
MATRIX = RNG.normal(size=(N, N)) / N + np.eye(N)
X = RNG.normal(size=N)


def agrees(f: Any, *arguments: Any) -> LoopProgram:
    """Check that compiled and interpreted results agree; return the loops."""
    program = trace(f)(*arguments)
    everything = [*arguments, *program.captured]
    wanted = interpret(program, everything)
    got = Executable(program).call(everything)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    return lower(optimize(program))


def memory(loops: LoopProgram) -> int:
    """Scalars in temporaries."""
    return sum(buffer.size for buffer in loops.temps)


def forward_substitution(L: Any, b: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        row = np.take(L, i, axis=0)
        x[i] = (np.take(b, i) - row @ x) / row[i]
        return x

    return fori_loop(0, N, step, np.zeros(N))


def test_tape_of_a_substitution_holds_what_was_replaced() -> None:
    loops = agrees(grad(lambda L: np.sum(forward_substitution(L, X))), np.tril(MATRIX))
    assert memory(loops) < 10 * N  # one array per step would be N * N
    agrees(grad(lambda b: np.sum(forward_substitution(np.tril(MATRIX), b) ** 2)), X)
    agrees(vmap(grad(lambda b: np.sum(forward_substitution(np.tril(MATRIX), b) ** 2))), MATRIX)


def test_cholesky_decomposition_by_columns() -> None:
    def loss(A: Any) -> Any:
        def step(j: Any, L: Any) -> Any:
            column = np.where(np.arange(N) >= j, A[j] - L @ L[j], 0.0)
            L[:, j] = column / np.sqrt(column[j])
            return L

        return np.sum(fori_loop(0, N, step, np.zeros((N, N))) ** 3)

    A = MATRIX @ MATRIX.T + np.eye(N)
    loops = agrees(grad(loss), A)
    assert memory(loops) < 12 * N * N
    expected = np.linalg.cholesky(A)
    np.testing.assert_allclose(jit(loss)(A), np.sum(expected**3))


def test_steps_that_go_the_other_way_and_nested_loops() -> None:
    def loss(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            x, total = carry
            x[3:5] = x[3:5] * row[:2] + np.sum(x)
            x[row.shape[0] - 1] += x[0] * total
            return (x, total + x @ x), x[3]

        (x, total), out = scan(step, (x, 0.0), MATRIX[:6] * 0.1, reverse=True)
        return np.sum(x) + np.sin(total) + out @ out

    agrees(value_and_grad(loss), 0.1 * X)
    agrees(grad(lambda x: np.sum(grad(loss)(x) ** 2)), 0.1 * X)
    agrees(lambda x: jvp(loss, (x,), (X,)), 0.1 * X)

    def outer(x: Any) -> Any:
        return fori_loop(0, 3, lambda i, x: fori_loop(0, 4, lambda j, y: one(i, j, y), x), x)

    def one(i: Any, j: Any, y: Any) -> Any:
        y[i + j] = np.tanh(y @ y)
        return y

    agrees(grad(lambda x: np.sum(outer(x) ** 2)), 0.1 * X)


# A random step's change of x in step i, with a place k and a factor c.


def set_to_sum(x: Any, i: Any, k: int, c: float) -> Any:
    x[i] = c * np.sum(x)
    return x


def move_window(x: Any, i: Any, k: int, c: float) -> Any:
    x[k : k + 3] = c * x[k + 1 : k + 4]
    return x


def add_elsewhere(x: Any, i: Any, k: int, c: float) -> Any:
    x[(i + k) % N] += c * x[i]
    return x


def add_everywhere(x: Any, i: Any, k: int, c: float) -> Any:
    return x + c * x[i] * np.cos(x)


def set_one_place_twice(x: Any, i: Any, k: int, c: float) -> Any:
    x[np.array([k, k + 1, k])] = c * x[:3] * x[i]
    return x


def scale_sparse_window(x: Any, i: Any, k: int, c: float) -> Any:
    x[::9] *= c
    return x


def set_to_norm(x: Any, i: Any, k: int, c: float) -> Any:
    x[k] = x[k] * c + x @ x / N
    return x


def eliminate(x: Any, i: Any, k: int, c: float) -> Any:
    before = x[i]
    x[i] = 0.0
    return x + c * before * np.take(MATRIX, i, axis=0)


def scale_beginning(x: Any, i: Any, k: int, c: float) -> Any:
    return np.where(np.arange(N) > i, x, c * x)


STATEMENTS = (
    set_to_sum, move_window, add_elsewhere, add_everywhere, set_one_place_twice,
    scale_sparse_window, set_to_norm, eliminate, scale_beginning,
)  # fmt: skip


@pytest.mark.sampled(18)
@pytest.mark.parametrize("seed", range(60))
def test_random_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    statements = rng.choice(STATEMENTS, size=int(rng.integers(1, 5)))
    places, factors = rng.integers(0, N - 4, size=4), 0.3 * rng.normal(size=4)
    start = int(rng.integers(0, 30))

    def step(i: Any, x: Any) -> Any:
        for statement, k, c in zip(statements, places, factors, strict=False):
            x = statement(x, i, int(k), float(c))
        return x

    def loss(x: Any) -> Any:
        return np.sum(np.sin(fori_loop(start, start + 6, step, x * 1.0)))

    agrees(value_and_grad(loss), 0.3 * X)
