"""The core of a program that measures the time of each of its parts.

The kernels are those of the plain core. A clock is read between them, and around the parts of loops
whose steps run in order (see ``measured``). This code is compiled in addition to the plain code
when times are requested, and never replaces it.
"""

from __future__ import annotations

from enum import IntEnum

from llvmlite import ir

from autojit.codegen.analysis.measured import parts_of
from autojit.codegen.cpu.emit.context import I64, POINTER
from autojit.codegen.cpu.emit.kernels import KernelEmitter
from autojit.codegen.cpu.emit.timed import Clock, TimedKernelEmitter
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.values import Buffer

from .core import Core


class TimedCore(Core):
    """Writes a core that adds to the times of its parts."""

    def steps(self, builder: ir.IRBuilder, places: dict[Buffer, ir.Value]) -> None:
        parts = parts_of(self.program)
        #: The parts inside of each step, by the identity of the statement.
        self.inside: dict[int, dict[int, int]] = {}
        for k, part in enumerate(parts):
            if len(part.number) > 1:
                self.inside.setdefault(part.number[0], {})[id(part.node)] = k
        numbers = {part.number: k for k, part in enumerate(parts)}
        clock = Clock(builder, self.table)
        before = clock.now(builder)
        for number, step in enumerate(self.program.steps):
            self.step(builder, step, number, places)
            now = clock.now(builder)
            clock.add(builder, numbers[number,], builder.sub(now, before))
            before = now

    def emitter(self, kernel: Kernel, number: int) -> KernelEmitter:
        timed = self.inside.get(number)
        if timed is None:
            return super().emitter(kernel, number)
        symbol, common = f"kernel{number}", self.common()
        return TimedKernelEmitter(self.module, kernel, symbol, timed=timed, **common)


class CostPart(IntEnum):
    """The parts of the code that measures the cost of reading the clock."""

    #: One read after another; within a pair of reads; a whole pair.
    CHAIN = 0
    PAIR = 1
    PAIRS = 2


def cost_module(symbol: str) -> ir.Module:
    """Return ``void cost(ptr table, int64 n)``, which times nothing, n times in each way."""
    module = ir.Module("autojit")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, I64]), symbol)
    table, count = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    clock = Clock(b, table)
    begun = b.alloca(I64)
    b.store(clock.now(b), begun)
    zero = ir.Constant(I64, 0)
    with CountedLoop(b, zero, count, keep_rolled=True):
        now = clock.now(b)
        clock.add(b, CostPart.CHAIN, b.sub(now, b.load(begun, typ=I64)))
        b.store(now, begun)
    first = clock.now(b)
    with CountedLoop(b, zero, count, keep_rolled=True):
        before = clock.now(b)
        clock.add(b, CostPart.PAIR, b.sub(clock.now(b), before))
    clock.add(b, CostPart.PAIRS, b.sub(clock.now(b), first))
    b.ret_void()
    return module


def clock_module(symbol: str) -> ir.Module:
    """Return ``int64 clock(ptr table)``, which returns the current time in ticks."""
    module = ir.Module("autojit")
    function = ir.Function(module, ir.FunctionType(I64, [POINTER]), symbol)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(Clock(b, function.args[0]).now(b))
    return module
