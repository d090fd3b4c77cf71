"""Operations that are not compiled for GPUs are refused, with a way to compute them on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Program

from .mapping.machine import Machine
from .source import Source, print_source


def lowered(program: Program) -> LoopProgram:
    """The loops of an optimized program.

    Raises:
        TargetError: for an operation that is not compiled for GPUs, with the fix.
    """
    with _with_fix():
        return lower(program, CUDA)


def printed(loops: LoopProgram, machine: Machine | None = None) -> Source:
    """The source of a loop program for a machine.

    Raises:
        TargetError: for an operation that is not compiled for GPUs, with the fix.
    """
    with _with_fix():
        return print_source(loops, machine)


@contextmanager
def _with_fix() -> Iterator[None]:
    try:
        yield
    except TargetError as error:
        raise TargetError(
            f"{error}. Compute it on the CPU:\n"
            '    y = autojit.jit(f, device="cpu")(autojit.device_get(x))',
            error.source,
        ) from None
