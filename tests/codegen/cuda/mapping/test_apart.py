"""Loops over rows, in each of which a loop of its own runs: a thread for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, trace, while_loop
from autojit.codegen.cuda.device_program.nodes import DeviceKernel
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.sequences import Repeat, Steps
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core.program import Program
from tests.codegen.cuda.running import SMALL, arguments_of, check, mapped, run

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(1, 2, (40, 13))


def newton(x: Any) -> Any:
    return while_loop(lambda y: abs(y * y - x) > 1e-9, lambda y: (y + x / y) / 2, x)


def mapped_over(x: Any) -> Any:
    return autojit.map(newton, x[:, 0])


def looked_up(x: Any) -> Any:
    out = np.zeros(len(x))
    for r in range(len(x)):
        y = x[r, 0]
        while y > 0.5:
            y = y * (0.8 + 0.05 * x[r, int(y * 6)])
        out[r] = y
    return out


def chained(x: Any) -> Any:
    """Each row begins where the last one ended."""
    y = x[0, 0]
    out = np.zeros(len(x))
    for r in range(len(x)):
        while y > x[r, 1]:
            y = y * 0.9
        y = y + abs(x[r, 2])
        out[r] = y
    return out


def neighbours(x: Any) -> Any:
    """A row reads the result of the one before."""
    out = np.ones(len(x))
    for r in range(1, len(x)):
        y = x[r, 0]
        while y > 0.5 * out[r - 1]:
            y = y * 0.9
        out[r] = y
    return out


def last(x: Any) -> Any:
    """All rows write one number."""
    out = np.zeros(1)
    for r in range(len(x)):
        y = x[r, 0]
        while y > 0.5:
            y = y * 0.9
        out[0] = y
    return out


def windows(x: Any) -> Any:
    """Rows read rows of each other at computed places, to which their gradients add."""
    out = np.zeros(len(x) - 3)
    for r in range(len(x) - 3):
        y = x[r, 0]
        while y > 0.5:
            for k in range(3):
                y = y * (0.8 + 0.05 * x[r + k, int(y * 3)])
        out[r] = y
    return out


def added_within(x: Any) -> Any:
    """Rows add to one number in each of their steps."""
    total = 0.0
    for r in range(len(x)):
        y = x[r, 0]
        while y > 0.5:
            y = y * 0.7
            total = total + y
    return total


APART: dict[str, Callable[..., Any]] = {"map": mapped_over, "looked up": looked_up}
IN_TURN: dict[str, Callable[..., Any]] = {
    "chained": chained, "neighbours": neighbours, "last": last, "added within": added_within,
}  # fmt: skip


def program_of(f: Callable[..., Any], rows: Any = ROWS) -> Program:
    program: Program = jit(f).program(rows)
    return program


def threads_of_loops(program: Program, machine: Machine = SMALL) -> set[int]:
    """The numbers of threads of the launches with loops of unknown length."""
    kernels = [k for k in mapped(program, machine).launches if isinstance(k, DeviceKernel)]
    return {
        k.lanes for k in kernels if any(isinstance(s, Repeat | Steps) for s in walk(k.body))
    }  # fmt: skip


@pytest.mark.parametrize("name", [*APART, *IN_TURN])
def test_rows(name: str) -> None:
    f = {**APART, **IN_TURN}[name]
    program = program_of(f)
    check(program, [ROWS])
    np.testing.assert_allclose(run(mapped(program), program, [ROWS])[0], f(ROWS))
    many = threads_of_loops(program) != {1}
    assert many == (name in APART)


# -- gradients -------------------------------------------------------------------------


def squared(f: Callable[..., Any]) -> Callable[..., Any]:
    return grad(lambda x: np.sum(f(x) ** 2))


def with_a_factor(x: Any, w: Any) -> Any:
    """All rows read one number."""
    return np.sum(autojit.map(lambda a: newton(a * w[1] + w[0]), x[:, 0]))


def with_weights(x: Any, w: Any) -> Any:
    return np.sum(autojit.map(lambda a: newton(np.sum(a[:3] * w) + 0.5), x))


def with_weights_looked_up(x: Any, w: Any) -> Any:
    """Rows add to the same elements, at computed places."""
    total = 0.0
    for r in range(len(x)):
        y = x[r, 0]
        while y > 0.5:
            y = y * (0.8 + 0.05 * w[int(y * 3) % 3])
        total = total + y
    return total


WEIGHTS = np.array([0.5, 0.7, 1.1])
GRADIENTS: dict[str, Callable[..., Any]] = {
    "map": squared(mapped_over), "looked up": squared(looked_up),
    "a factor": grad(with_a_factor, argnums=(0, 1)), "weights": grad(with_weights, argnums=(0, 1)),
    "only weights": grad(with_weights, argnums=1),
}  # fmt: skip
IN_TURN_GRADIENTS: dict[str, Callable[..., Any]] = {
    "chained": squared(chained), "windows": squared(windows),
    "weights looked up": grad(with_weights_looked_up, argnums=1),
}  # fmt: skip


@pytest.mark.parametrize("name", [*GRADIENTS, *IN_TURN_GRADIENTS])
def test_gradients_of_rows(name: str) -> None:
    """Each thread has its own tapes; what rows add to all alike is summed up."""
    f = {**GRADIENTS, **IN_TURN_GRADIENTS}[name]
    given = [ROWS] if name in ("map", "looked up", "chained", "windows") else [ROWS, WEIGHTS]
    program: Program = jit(f).program(*given)
    check(program, given)
    many = min(threads_of_loops(program)) > SMALL.threads
    assert many == (name in GRADIENTS)


def test_threads_have_parts_of_tapes_side_by_side() -> None:
    """More rows than threads use the parts again; tapes grow until the longest row has room."""
    rows = np.linspace(1, 900, 90)[:, None] * np.ones(13)
    program: Program = jit(squared(mapped_over)).program(rows)
    device = check(program, [rows])
    (kernel,) = (k for k in device.launches if any(b.kind == "tape" for b in k.buffers))
    assert isinstance(kernel, DeviceKernel)
    assert kernel.lanes < len(rows)
    (tape,) = (b for b in kernel.buffers if b.kind == "tape")
    assert tape.size == kernel.lanes
    assert not kernel.is_elastic


def test_sums_over_rows_have_the_same_bits_in_each_run() -> None:
    program: Program = jit(grad(with_weights, argnums=1)).program(ROWS, WEIGHTS)
    given = arguments_of(program, [ROWS, WEIGHTS])
    first, second = (run(mapped(program), program, given)[0] for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_a_row_that_fails_ends_its_own_loop() -> None:
    """No thread waits for another within its loop, as the others may have ended theirs."""
    program = program_of(looked_up, ROWS)
    text = print_device_source(mapped(program), SMALL).text
    loop = text[text.index("while True:") :]
    assert "failed = status[" in loop
    assert "cuda.syncthreads()" not in loop[: loop.index("out0[")]
    rows = ROWS.copy()
    rows[7, 0] = 40.0
    with pytest.raises(IndexError, match="out of bounds"):
        run(mapped(program), program, arguments_of(program, [rows]))


def test_many_rows_take_the_whole_card() -> None:
    rows = np.broadcast_to(1.0, (100_000, 13))
    assert threads_of_loops(trace(mapped_over)(rows), Machine()) == {100_096}
