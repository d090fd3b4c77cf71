"""The time in LLVM IR: the processor's counter of cycles, or the C library's monotonic clock."""

from __future__ import annotations

import time

from llvmlite import ir

from autojit.codegen.cpu.host.stopwatch import cycles
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.machine import has_cycle_counter

from . import abi

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
_READ = ir.FunctionType(I64, [POINTER])
_GET_TIME = ir.FunctionType(I32, [I32, POINTER])


def has_clock() -> bool:
    """Whether compiled code can take times on this machine."""
    return has_cycle_counter() or (
        hasattr(time, "CLOCK_MONOTONIC") and bool(abi.fixed_table()[abi.SLOTS["clock_gettime"]])
    )


def ticks(b: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """Return the current time: in cycles if the processor counts them, else in nanoseconds."""
    if has_cycle_counter():
        return cycles(b)
    read = library.plain_function(b.module, "read_clock", _READ, _write_read)
    return b.call(read, [table])


def _write_read(function: ir.Function) -> None:
    """Write ``int64 read_clock(table)``, which returns nanoseconds."""
    (table,) = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(nanoseconds(b, table))


def nanoseconds(b: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """Return the time of the C library's monotonic clock."""
    made = b.alloca(I64, size=2)
    get = abi.load(b, table, abi.SLOTS["clock_gettime"], _GET_TIME.as_pointer())
    b.call(get, [ir.Constant(I32, time.CLOCK_MONOTONIC), made])
    seconds = b.load(made, typ=I64)
    rest = b.gep(made, [ir.Constant(I64, 1)], inbounds=True, source_etype=I64)
    return b.add(b.mul(seconds, ir.Constant(I64, 10**9)), b.load(rest, typ=I64))
