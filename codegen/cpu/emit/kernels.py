"""Kernels as LLVM functions: one a loop nest, with pointers that do not alias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.linalg import matrices
from autojit.codegen.cpu.llvm.demands import can_fail, needs_table
from autojit.codegen.cpu.llvm.failures import Failures
from autojit.codegen.cpu.llvm.scalars import (
    REASSOCIATE,
    Scalars,
    constant,
    is_float,
    is_signed,
    llvm_type,
    memory_type,
)
from autojit.codegen.cpu.llvm.vectors import loop_labels
from autojit.codegen.cpu.matmul import blas, tiles
from autojit.codegen.loop_ir.errors import ENSURED, NEGATIVE_POWER, OUT_OF_BOUNDS
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Branch,
    Buffer,
    Compute,
    Constant,
    Factorization,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Keep,
    Kernel,
    Load,
    Loop,
    MatrixProduct,
    Place,
    Recall,
    Release,
    Repeat,
    RunTasks,
    Scalar,
    ScatterInto,
    Steps,
    Store,
    Swap,
    Trips,
)
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_passes.split_blocks import STATEMENTS
from autojit.ir.core.affine import Affine, Var

from . import accumulators, nests, outlined, sequences
from .independent import that_move
from .places import Places, arguments
from .tapes import Room
from .tasks import emit_run

I64 = ir.IntType(64)
POINTER = ir.PointerType()
NO_TEMPS: Mapping[Buffer, int] = MappingProxyType({})


class KernelEmitter:
    """Writes one kernel as ``void kernel(ptr noalias buffer, …)``."""

    def __init__(
        self,
        module: ir.Module,
        kernel: Kernel,
        symbol: str,
        indices: Sequence[Var] = (),
        given: Sequence[Scalar] = (),
        functions: Sequence[str] = (),
        temps: Mapping[Buffer, int] = NO_TEMPS,
    ) -> None:
        self.module = module
        #: The BLAS functions of the program, in the order of the table.
        self.functions = functions
        self.kernel = kernel
        everything = list(walk(kernel.body))
        self.arguments = arguments(kernel, temps)
        #: Whether the kernel can fail as it runs (see FAILURES).
        self.checks = any(map(can_fail, everything))
        #: Whether it calls what only the table knows.
        self.needs_table = any(map(needs_table, everything))
        kinds: list[ir.Type] = [I64] * len(indices) + [llvm_type(s.dtype) for s in given]
        first = len(kinds)
        kinds += [POINTER] * (len(self.arguments) + self.checks + self.needs_table)
        signature = ir.FunctionType(ir.VoidType(), kinds)
        self.function = ir.Function(module, signature, symbol)
        self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        for argument in self.function.args[first:]:
            argument.add_attribute("noalias")
        self.allocas = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(self.function.append_basic_block("start"))
        self.scalars = Scalars(self.builder, module)
        self.is_long = len(everything) >= STATEMENTS
        self.labels = loop_labels(symbol, kernel.body)
        #: The last iterations of a loop that is split read memory themselves.  LLVM would hand them
        #: what the loop has read last, and a loop that others take such values from stays scalar.
        self.looped: set[Var] = set()
        self.apart = 0
        #: Memory that is not always at one place, and the marks of accesses to memory in a loop
        #: whose iterations do not depend on each other.
        self.moving = that_move(kernel.body)
        self.group: ir.MDValue | None = None
        #: Whether LLVM is not to know where ranges end.
        self.veiled = False
        self.registers: dict[int, ir.Value] = {}
        self.vars: dict[Var, ir.Value] = {}
        #: Accumulators in memory, which LLVM moves to registers; of extremes, whether one was NaN.
        self.slots: dict[int, ir.Value] = {}
        self.not_numbers: dict[int, ir.Value] = {}
        pointers = dict(zip(self.arguments, self.function.args[first:], strict=False))
        self.places = Places(kernel, pointers, temps, self.allocas)
        self.vars.update(zip(indices, self.function.args, strict=False))
        for scalar, argument in zip(given, self.function.args[len(indices) : first], strict=True):
            self.registers[scalar.number] = argument
        #: Loops that are functions of their own.
        self.outlined = outlined.chosen(kernel)
        rest = self.function.args[first + len(self.arguments) :]
        self.status = rest[0] if self.checks else None
        self.table = rest[-1] if self.needs_table else None
        if self.checks:
            self.failures = Failures(self.allocas, self.builder)
        #: The memory of tapes, by the first of a loop.
        self.rooms: dict[Buffer, Room] = {
            s.tapes[0]: Room(self, s.tapes)
            for s in everything
            if isinstance(s, (Repeat, Recall)) and s.tapes
        }
        self.trips: dict[Trips, ir.Value] = {}

    def emit(self) -> ir.Function:
        """The finished function."""
        first = self.builder.block
        for statement in self.kernel.body:
            # What is called once only, and with hundreds of others, is not worth its copies.
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

    # -- addresses ------------------------------------------------------------

    def pointer(self, buffer: Buffer) -> ir.Value:
        """Where a buffer begins."""
        return self.places.pointer(buffer, self.builder)

    def index(self, index: Affine) -> ir.Value:
        """An index expression as an i64."""
        b = self.builder
        total: ir.Value | None = None
        for atom, coefficient in index.terms:
            if isinstance(atom, Var):
                term = self.vars[atom]
            else:
                operand = self.index(atom.operand)
                divide = b.urem if atom.remainder else b.udiv
                term = divide(operand, ir.Constant(I64, atom.divisor))
            if coefficient != 1:
                term = b.mul(term, ir.Constant(I64, coefficient), flags=("nsw",))
            total = term if total is None else b.add(total, term, flags=("nsw",))
        if total is None:
            return ir.Constant(I64, index.constant)
        if index.constant:
            total = b.add(total, ir.Constant(I64, index.constant), flags=("nsw",))
        return total

    def address(self, buffer: Buffer, index: Affine) -> ir.Value:
        return self.builder.gep(
            self.pointer(buffer),
            [self.index(index)],
            inbounds=True,
            source_etype=memory_type(buffer.dtype),
        )

    def load_from(self, address: ir.Value, dtype: str) -> ir.Value:
        kind = memory_type(dtype)
        if self.apart:
            value = self.builder.load_atomic(address, "monotonic", _bytes(kind), typ=kind)
        else:
            value = self.builder.load(address, align=_bytes(kind), typ=kind)
            self.in_group(value)
        if dtype == "bool":
            return self.builder.icmp_unsigned("!=", value, ir.Constant(kind, 0))
        return value

    def store_to(self, address: ir.Value, value: ir.Value, dtype: str) -> None:
        kind = memory_type(dtype)
        if dtype == "bool":
            value = self.builder.zext(value, kind)
        self.in_group(self.builder.store(value, address, align=_bytes(kind)))

    def in_group(self, access: ir.Instruction | ir.CallInstr) -> None:
        """Mark an access to memory that depends on none of other iterations of its loop."""
        if self.group is not None:
            access.set_metadata("llvm.access.group", self.group)

    # -- statements -----------------------------------------------------------

    def compute(self, s: Compute) -> None:
        args = [self.registers[a.number] for a in s.args]
        if s.name in ENSURED:
            self.fail_if(self.builder.not_(args[0]), ENSURED[s.name])
            self.registers[s.result.number] = args[1]
            return
        operand = s.args[0].dtype if s.name != "select" else s.args[1].dtype
        if can_fail(s) and is_signed(operand):
            negative = self.builder.icmp_signed("<", args[1], constant(0, operand))
            self.fail_if(negative, NEGATIVE_POWER)
        made = self.scalars.emit(s.name, args, operand, s.result.dtype)
        if isinstance(made, ir.CallInstr):
            self.in_group(made)  # functions may read tables, once they are inlined
        self.registers[s.result.number] = made

    def constant(self, s: Constant) -> None:
        self.registers[s.result.number] = constant(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        index = self.index(s.index)
        self.registers[s.result.number] = self.scalars.convert(index, "i64", s.result.dtype)

    def in_range(self, s: InRange) -> None:
        b = self.builder
        shifted = self.index(s.index + -s.low)
        # One unsigned comparison for both ends: below the range wraps around.
        width = ir.Constant(I64, s.high - s.low)
        if self.veiled:  # an instruction that is none: its result could be anything
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
            address = self.address(s.buffer, s.index)
            self.registers[s.result.number] = self.load_from(address, dtype)
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
        """Offsets of computed places; out of bounds they are 0, and the call is marked."""
        b, offsets = self.builder, []
        for place in places:
            index = self.registers[place.scalar.number]
            inside = b.icmp_unsigned("<", index, ir.Constant(I64, place.extent))
            outside = b.not_(inside) if guard is None else b.and_(b.not_(inside), guard)
            self.fail_if(outside, OUT_OF_BOUNDS)
            safe = b.select(inside, index, ir.Constant(I64, 0))
            offsets.append(b.mul(safe, ir.Constant(I64, place.stride), flags=("nsw",)))
        return offsets

    def fail_if(self, condition: ir.Value, failure: int) -> None:
        self.failures.mark_if(condition, failure)

    def still_fine(self, statements: list[Any]) -> ir.Value | None:
        """Whether nothing has failed so far; None where none of the statements can fail."""
        b, inner = self.builder, list(walk(statements))
        if not any(map(can_fail, inner)):
            return None
        found = self.failures.found
        if any(isinstance(s, Factorization) for s in inner):  # it marks the call itself
            found = b.or_(found, b.load(self.status, typ=I64))
        return b.icmp_unsigned("==", found, ir.Constant(I64, 0))

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
        address = self.address(s.buffer, s.index)
        self.store_to(address, self.registers[s.value.number], s.buffer.dtype)

    def accumulate_into(self, s: AccumulateInto) -> None:
        address = self.address(s.buffer, s.index)
        old = self.load_from(address, s.buffer.dtype)
        new = self.combine(s.combine, old, self.registers[s.value.number], s.buffer.dtype)
        self.store_to(address, new, s.buffer.dtype)

    def combine(self, name: str, old: ir.Value, value: ir.Value, dtype: str) -> ir.Value:
        if name in ("maximum", "minimum") and is_float(dtype):
            return self.scalars.binary_intrinsic(name, old, value, flags=("nsz",))
        return self.scalars.emit(name, [old, value], dtype, dtype, REASSOCIATE)

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
        matrices.call(
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
    Repeat: sequences.repeat,
    Steps: sequences.steps,
    Release: sequences.release,
    Keep: sequences.keep,
    Recall: sequences.recall,
    Branch: sequences.branch,
    Swap: sequences.swap,
}


def _bytes(kind: ir.Type) -> int:
    if isinstance(kind, ir.IntType):
        return int(kind.width) // 8
    return 8 if isinstance(kind, ir.DoubleType) else 4
