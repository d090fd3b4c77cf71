"""Runs programs with the executor of device programs, and compares them with the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.nodes import DeviceProgram
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.loop_text.interpreter import shaped
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret

#: A card so small that arrays of a few elements reach every path.
SMALL = Machine(threads=8, processors=2, resident=16, warp=4, tile=4, row=2, few=6)


def mapped(program: Program, machine: Machine = SMALL) -> DeviceProgram:
    """The device program of an SSA program."""
    return device_program(lower(optimize(program), CUDA), machine)


def arguments_of(program: Program, arguments: Sequence[Any]) -> list[np.ndarray]:
    """Arrays of the program's types, including those that it closed over."""
    every = (*arguments, *program.captured)
    return [np.asarray(a, t.dtype) for a, t in zip(every, program.in_types, strict=True)]


def run(device: DeviceProgram, like: Program, arrays: list[Any]) -> list[Any]:
    """The results in their shapes."""
    found = execute(device, arrays)
    return [shaped(x, t) for x, t in zip(found, like.out_types, strict=True)]


def assert_same(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Check that results agree, up to the order of sums."""
    for got, want in zip(found, wanted, strict=True):
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype
        tolerance = 2e-4 if want.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(got, want, tolerance, tolerance)


def check(program: Program, arguments: Sequence[Any], machine: Machine = SMALL) -> DeviceProgram:
    """Check that the executor gives the interpreter's results."""
    arrays = arguments_of(program, arguments)
    device = mapped(program, machine)
    assert_same(run(device, program, arrays), interpret(program, arrays))
    return device
