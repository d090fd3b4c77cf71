"""The reference interpreter: one NumPy call per op. It is slow and obvious, and is the oracle."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from autojit.ir.core.errors import name_line
from autojit.ir.core.halves import (
    in_dtype,
    is_bfloat16,
    shown,
    to_bfloat16,
    to_float32,
    widened_params,
)
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import TypeMismatch, type_of


class Watch:
    """Receives the events of the programs that a thread interprets, including those in bodies."""

    def entered(self, program: Program, arguments: Sequence[Any]) -> None:
        """Note that a program begins."""

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        """Observe the results of an operation; the program continues with the returned values."""
        return results

    def left(self, program: Program, outputs: Sequence[Any]) -> None:
        """Note that a program ends with these outputs."""


class _Watching(threading.local):
    watch: Watch | None = None


_watching = _Watching()


@contextmanager
def watching(watch: Watch | None) -> Iterator[None]:
    """Watch the programs that this thread interprets in a context; None stops watching."""
    before, _watching.watch = _watching.watch, watch
    try:
        yield
    finally:
        _watching.watch = before


class _Timer(Watch):
    """Measures the time of each op of the outermost program, including its bodies."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.depth = 0
        self.begun = 0.0

    def entered(self, program: Program, arguments: Sequence[Any]) -> None:
        self.depth += 1
        self.begun = self.begun if self.depth > 1 else perf_counter()

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        if self.depth == 1:
            now = perf_counter()
            self.seconds.append(now - self.begun)
            self.begun = now
        return results

    def left(self, program: Program, outputs: Sequence[Any]) -> None:
        self.depth -= 1


@contextmanager
def timing_ops() -> Iterator[list[float]]:
    """Measure the times of interpreted ops in a context, in order.

    The list stays empty if another watch already observes this thread's programs.
    """
    timer = _Timer()
    with watching(_watching.watch or timer):
        yield timer.seconds


def interpret(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Return the outputs of a program for arrays (or scalars) of its input types.

    Floating-point warnings are off, as in compiled code: infinities and NaN are results. Errors of
    an operation get a note with the user's line.
    """
    env = values_of(program, arguments)
    outputs = [_own(env[v]) for v in program.outputs]
    if _watching.watch is not None:
        _watching.watch.left(program, outputs)
    return outputs


def values_of(program: Program, arguments: Sequence[Any]) -> dict[Value, Any]:
    """Return all values of a program; the arguments are as in :func:`interpret`."""
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
        env[value] = in_dtype(argument, value.dtype)
    watch = _watching.watch
    if watch is not None:
        watch.entered(program, arguments)
    with np.errstate(all="ignore"):
        for op in program.ops:
            operands = [env[v] for v in op.operands]
            try:
                results = evaluated(op, operands)
            except Exception as error:
                name_line(error, op.source)
                raise
            if len(op.results) == 1:
                results = (results,)
            if watch is not None:
                results = watch.computed(op, operands, results)
            for value, result in zip(op.results, results, strict=True):
                env[value] = np.asarray(result, value.dtype)
    return env


def evaluated(op: Op, operands: Sequence[Any]) -> Any:
    """Return NumPy's results; bfloat16 is computed in float32 where NumPy lacks it."""
    halves = [is_bfloat16(v.dtype) for v in op.results]
    if op.kind.moves or not (any(halves) or any(is_bfloat16(v.dtype) for v in op.operands)):
        return op.kind.evaluate(*operands, **op.params)
    wide = [to_float32(x) if is_bfloat16(x.dtype) else x for x in operands]
    made = op.kind.evaluate(*wide, **widened_params(op.params))
    results = made if len(op.results) > 1 else (made,)
    rounded = [to_bfloat16(r) if h else r for r, h in zip(results, halves, strict=True)]
    return rounded if len(op.results) > 1 else rounded[0]


def _own(array: np.ndarray) -> Any:
    """Return a result that shares no memory with an input; 0-d ones become NumPy scalars."""
    if is_bfloat16(array.dtype):
        return shown(np.array(array))
    return array[()] if array.ndim == 0 else np.array(array)
