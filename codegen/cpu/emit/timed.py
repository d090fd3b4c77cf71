"""A clock in LLVM IR: adds up how often parts of a program ran, and how long.

On x86 it is the processor's counter of cycles, elsewhere the monotonic clock of the C library.  The
sums lie in memory that the table points to: two words a part, how often and how many ticks.  One
thread at a time writes there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.host.stopwatch import cycles
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.machine import has_cycle_counter

from .kernels import KernelEmitter

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()

#: Words of memory for each part.
WORDS = 2
_READ = ir.FunctionType(I64, [POINTER])
_GET_TIME = ir.FunctionType(I32, [I32, POINTER])


def has_clock() -> bool:
    """Whether compiled code can take times on this machine."""
    return has_cycle_counter() or (
        hasattr(time, "CLOCK_MONOTONIC") and bool(abi.fixed_table()[abi.SLOTS["clock_gettime"]])
    )


class Clock:
    """The clock of code that stands where the builder is now, or below."""

    def __init__(self, builder: ir.IRBuilder, table: ir.Value) -> None:
        self.table = table
        self.times = abi.load(builder, table, abi.TIMES_SLOT)

    def now(self, b: ir.IRBuilder) -> ir.Value:
        """The ticks until now."""
        if has_cycle_counter():
            return cycles(b)
        read = library.plain_function(b.module, "read_clock", _READ, _write_read)
        return b.call(read, [self.table])

    def add(self, b: ir.IRBuilder, part: int, ticks: ir.Value) -> None:
        """A part ran once more, for so long."""
        for word, more in enumerate((ir.Constant(I64, 1), ticks)):
            place = ir.Constant(I64, WORDS * part + word)
            address = b.gep(self.times, [place], inbounds=True, source_etype=I64)
            b.store(b.add(b.load(address, typ=I64), more), address)


def _write_read(function: ir.Function) -> None:
    """``int64 read_clock(table)``: nanoseconds."""
    (table,) = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    made = b.alloca(I64, size=2)
    get = abi.load(b, table, abi.SLOTS["clock_gettime"], _GET_TIME.as_pointer())
    b.call(get, [ir.Constant(I32, time.CLOCK_MONOTONIC), made])
    seconds = b.load(made, typ=I64)
    rest = b.gep(made, [ir.Constant(I64, 1)], inbounds=True, source_etype=I64)
    b.ret(b.add(b.mul(seconds, ir.Constant(I64, 10**9)), b.load(rest, typ=I64)))


_NONE: Mapping[int, int] = MappingProxyType({})


class TimedKernelEmitter(KernelEmitter):
    """Writes a kernel, with a clock around some of its statements.

    ``timed`` has the numbers of these parts, by the identity of the statement.
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
