"""Kernels as LLVM functions: one per loop nest, with pointers that do not alias."""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from autojit.codegen.analysis.integer_facts import is_cell
from autojit.codegen.cpu.linalg import steps
from autojit.codegen.cpu.llvm.demands import can_fail
from autojit.codegen.cpu.llvm.scalars import (
    CONTRACT,
    constant,
    is_signed,
    llvm_type,
    memory_type,
)
from autojit.codegen.cpu.matmul import blas, tiles
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import NEGATIVE_POWER, OUT_OF_BOUNDS, is_check
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch, Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Place
from autojit.ir.special.external import external

from . import accumulators, callbacks, nests, outlined, sequences, special_functions
from .context import I64, KernelContext
from .tapes import Room
from .tasks import emit_run


class KernelEmitter(KernelContext):
    """Writes one kernel, statement by statement."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outlined = outlined.chosen(self.kernel)
        #: The memory of tapes, by the first of a loop.
        self.rooms = {
            s.tapes[0]: Room(self, s.tapes)
            for s in walk(self.kernel.body)
            if isinstance(s, (Repeat, Recall)) and s.tapes
        }

    def emit(self) -> ir.Function:
        """Write the kernel and return its function."""
        first = self.builder.block
        for statement in self.kernel.body:
            # Inlining a function that is called once, among hundreds of others, is not worth it.
            self.scalars.inlines = not (self.is_long and isinstance(statement, Compute))
            self.body([statement])
        if self.checks:
            self.failures.report(self.status)
        self.builder.ret_void()
        self.allocas.branch(first)
        return self.function

    def body(self, statements: list[Any]) -> None:
        for statement in statements:
            _EMITTERS[type(statement)](self, statement)

    # -- statements -----------------------------------------------------------

    def compute(self, s: Compute) -> None:
        args = [self.registers[a.number] for a in s.args]
        if self.comparisons is not None:
            self.comparisons.see(s, args)
            if s.name == "select":
                args[0] = self.comparisons.own(s, args[0])
        if is_check(s.name):
            self.fail_if(self.builder.not_(args[0]), self.marks[s.name])
            self.registers[s.result.number] = args[1]
            return
        if external(s.name) is not None:
            self.registers[s.result.number] = special_functions.call(self, s, args)
            return
        operand = s.operand_dtype
        if can_fail(s) and is_signed(operand):
            negative = self.builder.icmp_signed("<", args[1], constant(0, operand))
            self.fail_if(negative, NEGATIVE_POWER)
        made = self.scalars.emit(s.name, args, operand, s.result.dtype, self._flags(s))
        if isinstance(made, ir.CallInstr):
            self.in_group(made)  # inlined functions may read tables
        self.registers[s.result.number] = made

    def _flags(self, s: Compute) -> tuple[str, ...]:
        """How a sum may be contracted. One term of a recurrence waits for the iteration before; if
        the other does not, a fused instruction would make its product wait as well. An addition
        takes 3 cycles on AMD's Zen, and a fused one 4 or 5."""
        waits = sum(a.number in self.chain for a in s.args)
        return () if s.name in ("add", "sub") and waits == 1 else CONTRACT

    def constant(self, s: Constant) -> None:
        self.registers[s.result.number] = constant(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        index = self.index(s.index)
        self.registers[s.result.number] = self.scalars.convert(index, "i64", s.result.dtype)

    def in_range(self, s: InRange) -> None:
        b = self.builder
        shifted = self.index(s.index + -s.low)
        # One unsigned comparison for both ends: indices below the range wrap around.
        width = ir.Constant(I64, s.high - s.low)
        if self.veiled:  # an empty instruction, whose result LLVM cannot know
            kind = ir.FunctionType(I64, [I64])
            width = self.allocas.asm(kind, "", "=r,0", [width], False)
        holds = b.icmp_unsigned("<", shifted, width)
        if s.step > 1:
            rest = b.urem(shifted, ir.Constant(I64, s.step))
            holds = b.and_(holds, b.icmp_unsigned("==", rest, ir.Constant(I64, 0)))
        self.registers[s.result.number] = holds

    def load(self, s: Load) -> None:
        b, dtype = self.builder, s.buffer.dtype
        if s.guard is None:
            address, shared = self.address(s.buffer, s.index), not is_cell(s.buffer)
            self.registers[s.result.number] = self.load_from(address, dtype, shared=shared)
            return
        address = self.address(s.buffer, s.index)
        before = b.block
        with b.if_then(self.registers[s.guard.number]):
            value = self.load_from(address, dtype)
            inside = b.block
        merged = b.phi(llvm_type(dtype))
        merged.add_incoming(constant(0, dtype), before)
        merged.add_incoming(value, inside)
        self.registers[s.result.number] = merged

    def place(self, places: tuple[Place, ...], guard: ir.Value | None) -> list[ir.Value]:
        """Return the offsets of computed places; 0 if out of bounds, which also marks the call."""
        b, offsets = self.builder, []
        for place in places:
            if place.line is not None:
                offsets.append(self.index(place.line * place.stride))
                continue
            index = self.registers[place.scalar.number]
            inside = b.icmp_unsigned("<", index, ir.Constant(I64, place.extent))
            outside = b.not_(inside) if guard is None else b.and_(b.not_(inside), guard)
            self.fail_if(outside, OUT_OF_BOUNDS)
            safe = b.select(inside, index, ir.Constant(I64, 0))
            offsets.append(b.mul(safe, ir.Constant(I64, place.stride), flags=("nsw",)))
        return offsets

    def address_at(self, s: Gather | ScatterInto, guard: ir.Value | None) -> ir.Value:
        total = self.index(s.index)
        for offset in self.place(s.places, guard):
            total = self.builder.add(total, offset, flags=("nsw",))
        kind = memory_type(s.buffer.dtype)
        return self.builder.gep(self.pointer(s.buffer), [total], inbounds=True, source_etype=kind)

    def gather(self, s: Gather) -> None:
        guard = None if s.guard is None else self.registers[s.guard.number]
        value = self.load_from(self.address_at(s, guard), s.buffer.dtype)
        if guard is not None:
            value = self.builder.select(guard, value, constant(0, s.buffer.dtype))
        self.registers[s.result.number] = value

    def scatter_into(self, s: ScatterInto) -> None:
        address = self.address_at(s, None)
        dtype, value = s.buffer.dtype, self.registers[s.value.number]
        if s.combine != "set":
            value = self.combine(s.combine, self.load_from(address, dtype), value, dtype)
        self.store_to(address, value, dtype)

    def store(self, s: Store) -> None:
        address, shared = self.address(s.buffer, s.index), not is_cell(s.buffer)
        self.store_to(address, self.registers[s.value.number], s.buffer.dtype, shared=shared)

    def accumulate_into(self, s: AccumulateInto) -> None:
        address, shared = self.address(s.buffer, s.index), not is_cell(s.buffer)
        old = self.load_from(address, s.buffer.dtype, shared=shared)
        new = self.combine(s.combine, old, self.registers[s.value.number], s.buffer.dtype)
        self.store_to(address, new, s.buffer.dtype, shared=shared)

    def run_tasks(self, s: RunTasks) -> None:
        emit_run(self, s)

    def product(self, s: MatrixProduct) -> None:
        if s.tiled:
            share = None if s.share is None else partial(nests.part, self, s.share, 0)
            tiles.emit(self.module, self.builder, s, self.address, share)
            return
        function = blas.load(self.builder, self.table, self.functions, s)
        blas.emit(self.module, self.builder, function, s, self.address)

    def factorization(self, s: Factorization) -> None:
        symbol = f"{self.function.name}_matrices{len(self.module.functions)}"
        steps.call(
            self.module, self.builder, s, symbol, self.functions, self.address, self.status,
            self.table,
        )  # fmt: skip

    def callback(self, s: Callback) -> None:
        symbol = f"{self.function.name}_callback{len(self.module.functions)}"
        callbacks.call(
            self.module, self.builder, s, symbol, self.functions, self.address, self.status,
            self.table,
        )  # fmt: skip


_EMITTERS: dict[type, Any] = {
    Compute: KernelEmitter.compute,
    Constant: KernelEmitter.constant,
    IndexValue: KernelEmitter.index_value,
    InRange: KernelEmitter.in_range,
    Load: KernelEmitter.load,
    Gather: KernelEmitter.gather,
    ScatterInto: KernelEmitter.scatter_into,
    Store: KernelEmitter.store,
    AccumulateInto: KernelEmitter.accumulate_into,
    Fill: nests.fill,
    Begin: accumulators.begin,
    Accumulate: accumulators.accumulate,
    Finish: accumulators.finish,
    Loop: nests.loop,
    RunTasks: KernelEmitter.run_tasks,
    MatrixProduct: KernelEmitter.product,
    Factorization: KernelEmitter.factorization,
    Callback: KernelEmitter.callback,
    Repeat: sequences.repeat,
    Steps: sequences.steps,
    Release: sequences.release,
    Keep: sequences.keep,
    Recall: sequences.recall,
    Branch: sequences.branch,
    Swap: sequences.swap,
}
