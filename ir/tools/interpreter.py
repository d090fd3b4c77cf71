"""The reference interpreter: one NumPy call an op.  Slow, obvious, the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from autojit.ir.core.errors import name_line
from autojit.ir.core.program import Program, Value
from autojit.ir.core.types import TypeMismatch, type_of


def interpret(
    program: Program, arguments: Sequence[Any], seconds: list[float] | None = None
) -> list[Any]:
    """The outputs of a program for arrays (or scalars) of its input types.

    Floating-point warnings are off, as they are in compiled code: infinities
    and NaN are results.  What an operation raises gets a note of the user's line.
    ``seconds``, where given, takes up the time of each op.
    """
    if len(arguments) != len(program.inputs):
        raise TypeMismatch(
            f"program {program.name} takes {len(program.inputs)} arguments, got {len(arguments)}"
        )
    env: dict[Value, Any] = {}
    for position, (value, argument) in enumerate(zip(program.inputs, arguments, strict=True)):
        got = type_of(argument)
        if got != value.type:
            raise TypeMismatch(
                f"argument {position} of program {program.name} must be {value.type}, got {got}"
            )
        env[value] = np.asarray(argument, value.dtype)
    with np.errstate(all="ignore"):
        for number, op in enumerate(program.ops):
            begun = perf_counter() if seconds is not None else 0.0
            try:
                results = op.kind.evaluate(*[env[v] for v in op.operands], **op.params)
            except Exception as error:
                name_line(error, op.source)
                raise
            if len(op.results) == 1:
                results = (results,)
            for value, result in zip(op.results, results, strict=True):
                env[value] = np.asarray(result, value.dtype)
            if seconds is not None:
                seconds[number] += perf_counter() - begun
    return [_own(env[v]) for v in program.outputs]


def _own(array: np.ndarray) -> Any:
    """A result that shares no memory with an input; 0-d ones become NumPy scalars."""
    return array[()] if array.ndim == 0 else np.array(array)
