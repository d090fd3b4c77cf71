"""Statements that call functions outside of the program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .effects import Access, declare
from .origins import Origins
from .values import Buffer, Operand


def _touched(operands: tuple[Operand, ...], counts: tuple[int, ...]) -> list[Access]:
    """The accesses of arrays; empty arrays have none."""
    pairs = zip(operands, counts, strict=True)
    return [Access(o.buffer, o.offset, 0, count - 1) for o, count in pairs if count]


@declare(
    reads=lambda s: _touched(s.inputs, s.read),
    writes=lambda s: _touched(s.outputs, s.written),
    buffers=lambda s: s.buffers,
)
@dataclass(slots=True)
class Callback:
    """A call of a function of the process (``call``, an ``ir.ops.callback.HostCall``) on contiguous
    arrays, of so many scalars each; offsets count scalars.

    A step of the program, or a statement in the body of a loop.
    """

    call: Any
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    read: tuple[int, ...]
    written: tuple[int, ...]
    #: The ops that it computes.
    origins: Origins = field(default=(), compare=False, repr=False)

    @property
    def buffers(self) -> list[Buffer]:
        """Inputs, then results."""
        return [o.buffer for o in (*self.inputs, *self.outputs)]
