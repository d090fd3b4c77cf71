"""Copies of memory, one for each task, and the loops that combine them afterwards.

Copies are combined in the order of tasks, so sums do not depend on which thread ran which task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Fill,
    Finish,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.types import dtype_from_name
from autojit.ir.ops.reduce import identity

from .task_cost import scalars_of_line


def combined_into(total: Buffer, combine: str, part: Buffer, start: Affine, number: int) -> Loop:
    """The loop that combines a buffer with as many elements of another one.

    ``number`` is that of the scalar which each iteration loads.
    """
    place = Var(total.size)
    value = Scalar(number, total.dtype, 2, None)
    body = [
        Load(value, part, start + affine.of(place), None),
        AccumulateInto(total, affine.of(place), combine, value),
    ]
    return Loop(place, 0, total.size, body, "map")


@dataclass
class Copies:
    """A buffer's copies, one per task."""

    shared: Buffer
    copies: Buffer
    tasks: int
    stride: int
    #: How copies are combined; those of scratch are not.
    combine: str | None

    @staticmethod
    def of(buffer: Buffer, tasks: int, combine: str | None) -> Copies:
        apart = 2 * scalars_of_line()  # processors load lines in pairs
        stride = -(-buffer.size // apart) * apart
        copies = Buffer(f"{buffer.name}_of_task", buffer.dtype, stride * tasks, "temp")
        return Copies(buffer, copies, tasks, stride, combine)

    def begun(self, task: Affine) -> Fill:
        """A task's copy before anything is combined into it."""
        assert self.combine is not None
        neutral = identity(self.combine, dtype_from_name(self.copies.dtype))
        return Fill(self.copies, task * self.stride, self.shared.size, neutral)

    def combined(self, numbers: Iterator[int]) -> Loop:
        """The loop over tasks that combines the buffer with each copy."""
        assert self.combine is not None
        task = Var(self.tasks)
        start = affine.of(task) * self.stride
        loop = combined_into(self.shared, self.combine, self.copies, start, next(numbers))
        return Loop(task, 0, self.tasks, [loop], "reduce")


class Partials:
    """The accumulated values of each task, in one buffer per accumulator."""

    def __init__(self, accumulators: list[Accumulator], tasks: int) -> None:
        self.accumulators = accumulators
        self.tasks = tasks
        self.buffers = [
            Buffer(f"partial{a.number}", a.dtype, scalars_of_line() * tasks, "temp")
            for a in accumulators
        ]

    def stored(self, task: Affine, numbers: Iterator[int]) -> list[Any]:
        """The end of a task, which stores its values."""
        body: list[Any] = []
        for a, buffer in zip(self.accumulators, self.buffers, strict=True):
            value = Scalar(next(numbers), a.dtype, 0, None)
            body += [Finish(value, a), Store(buffer, task * scalars_of_line(), value)]
        return body

    def combined(self, numbers: Iterator[int]) -> Loop:
        """The loop over tasks that accumulates their values."""
        task = Var(self.tasks)
        body: list[Any] = []
        for a, buffer in zip(self.accumulators, self.buffers, strict=True):
            value = Scalar(next(numbers), a.dtype, 1, None)
            index = affine.of(task) * scalars_of_line()
            body += [Load(value, buffer, index, None), Accumulate(a, value)]
        return Loop(task, 0, self.tasks, body, "reduce")
