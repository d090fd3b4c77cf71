"""A clock in LLVM IR: it counts how often parts of a program ran, and for how long.

The sums are in memory that the table points to, two words per part: the number of runs and the
ticks. One thread at a time writes there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.abi.clock import ticks

from .kernels import KernelEmitter

I64 = ir.IntType(64)

#: Words of memory for each part.
WORDS = 2


class Clock:
    """The clock of code at the builder's current position or after it."""

    def __init__(self, builder: ir.IRBuilder, table: ir.Value) -> None:
        self.table = table
        self.times = abi.load(builder, table, abi.TIMES_SLOT)

    def now(self, b: ir.IRBuilder) -> ir.Value:
        """Return the current time in ticks."""
        return ticks(b, self.table)

    def add(self, b: ir.IRBuilder, part: int, ticks: ir.Value) -> None:
        """Add one run of a part, and its duration."""
        for word, more in enumerate((ir.Constant(I64, 1), ticks)):
            place = ir.Constant(I64, WORDS * part + word)
            address = b.gep(self.times, [place], inbounds=True, source_etype=I64)
            b.store(b.add(b.load(address, typ=I64), more), address)


_NONE: Mapping[int, int] = MappingProxyType({})


class TimedKernelEmitter(KernelEmitter):
    """Writes a kernel, with a clock around some of its statements.

    ``timed`` contains the numbers of these parts, by the identity of the statement.
    """

    takes_table = True

    def __init__(self, *args: Any, timed: Mapping[int, int] = _NONE, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.timed = timed
        if timed:
            self.clock = Clock(self.allocas, self.table)

    def body(self, statements: list[Any]) -> None:
        for statement in statements:
            part = self.timed.get(id(statement))
            if part is None:
                super().body([statement])
                continue
            begun = self.clock.now(self.builder)
            super().body([statement])
            ticks = self.builder.sub(self.clock.now(self.builder), begun)
            self.clock.add(self.builder, part, ticks)
