"""Loops over rows, in each of which a loop of its own runs: a thread for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit, trace, while_loop
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


APART: dict[str, Callable[..., Any]] = {"map": mapped_over, "looked up": looked_up}
IN_TURN: dict[str, Callable[..., Any]] = {
    "chained": chained, "neighbours": neighbours, "last": last,
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
