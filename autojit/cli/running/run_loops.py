"""``autojit run`` for loop programs, as printed by the stage `loops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.cli.common.arguments import random_array, show_results
from autojit.cli.common.failures import Failure, running
from autojit.codegen.analysis.verifier import BrokenLoops, verify
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_text.parse import ParseError, parse_loops
from autojit.ir.core.types import dtype_from_name


def run_loops(
    file: str,
    text: str,
    args: Sequence[Any],
    drawn: tuple[int, float, float],
    interpret: bool,
    format: str = "text",
) -> None:
    """Print the outputs of a loop program, compiled or interpreted.

    Arguments may have any shape, as memory has none; missing arguments are drawn at random.
    """
    program = loops_in(text, file)
    arrays = _arguments(program, args, drawn)
    with running(f"program {program.name}"):
        if interpret:
            from autojit.codegen.loop_text.interpreter import interpret_loops

            results = interpret_loops(program, arrays)
        else:
            from autojit.codegen.driver.executable import run_loops as compiled

            results = compiled(program, arrays)
    show_results(program.name, results, [b.type for b in program.outputs], format)


def loops_in(text: str, file: str) -> LoopProgram:
    """The verified loop program in the text of a file."""
    try:
        program = parse_loops(text)
        verify(program)
    except ParseError as error:
        raise Failure(f"{file}: {error}") from None
    except BrokenLoops as error:
        raise Failure(f"{file} is not a valid program: {error}") from None
    return program


def _arguments(
    program: LoopProgram, args: Sequence[Any], drawn: tuple[int, float, float]
) -> list[np.ndarray]:
    if len(args) > len(program.inputs):
        raise Failure(
            f"program {program.name} takes {len(program.inputs)} arguments, {len(args)} were given"
        )
    missing = program.inputs[len(args) :]
    outside = program.inputs[len(program.inputs) - program.captured :]
    for buffer in missing:
        if buffer in outside:
            raise Failure(
                f"input {buffer} ({buffer.type}) is an array that the function closed over. Its "
                "values are not in the text: pass them as argument "
                f"{program.inputs.index(buffer)}"
            )
    seed, low, high = drawn
    rng = np.random.default_rng(seed)
    arrays = [_fit(a, b, i) for i, (a, b) in enumerate(zip(args, program.inputs, strict=False))]
    return arrays + [random_array(b.type, rng, low, high) for b in missing]


def _fit(arg: Any, buffer: Buffer, position: int) -> np.ndarray:
    """The scalars of an argument; a complex number is a pair of scalars."""
    try:
        array = np.ascontiguousarray(arg).reshape(-1)
    except ValueError:
        array = np.asarray([None])
    kind = dtype_from_name(buffer.dtype)
    if array.dtype.kind == "c" and kind.kind == "f":
        array = array.astype(np.result_type(kind, np.complex64)).view(kind)
    if array.dtype.kind not in "biufc" or array.size != buffer.size:
        raise Failure(f"argument {position} must have {buffer.size} numbers ({buffer.type}); "
                      f"got {arg!r:.60}")  # fmt: skip
    if not np.can_cast(array.dtype, kind, "same_kind"):
        raise Failure(f"argument {position} must be {buffer.type}; got {array.dtype.name}")
    return array.astype(kind)
