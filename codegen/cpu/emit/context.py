"""The context of a kernel's code: its function, registers, addresses, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from llvmlite import ir

from autojit.codegen.analysis.dependences import moving
from autojit.codegen.cpu.llvm.comparisons import Comparisons
from autojit.codegen.cpu.llvm.demands import can_fail, needs_table
from autojit.codegen.cpu.llvm.failures import Failures
from autojit.codegen.cpu.llvm.scalars import (
    REASSOCIATE,
    Scalars,
    is_float,
    llvm_type,
    memory_type,
)
from autojit.codegen.cpu.llvm.vectors import loop_labels
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import ENSURED
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.nodes import Constant
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer, Scalar, Trips
from autojit.codegen.loop_passes.split_blocks import STATEMENTS
from autojit.ir.core.affine import Affine, Var

from .places import Places, arguments

I64 = ir.IntType(64)
POINTER = ir.PointerType()
NO_TEMPS: Mapping[Buffer, int] = MappingProxyType({})

#: The loops that are emitted as functions, by identity, with their constants (see ``outlined``).
Outlined = dict[int, list[Constant]]


class KernelContext:
    """A kernel while it is written: ``void kernel(ptr noalias buffer, …)``.

    A subclass has a method for each kind of statement.
    """

    #: Whether it always takes the table.
    takes_table = False

    def __init__(
        self,
        module: ir.Module,
        kernel: Kernel,
        symbol: str,
        indices: Sequence[Var] = (),
        given: Sequence[Scalar] = (),
        functions: Sequence[str] = (),
        temps: Mapping[Buffer, int] = NO_TEMPS,
        marks: Mapping[str, int] = ENSURED,
        fails: bool = False,
    ) -> None:
        self.module = module
        #: The library functions of the program in the order of the table, and the loaded entries.
        self.functions = functions
        self.entries: dict[str, ir.Value] = {}
        #: The marks of the checks of the program in the status.
        self.marks = marks
        self.kernel = kernel
        everything = list(walk(kernel.body))
        self.arguments = arguments(kernel, temps)
        #: Whether the kernel can fail while it runs (see FAILURES).
        self.checks = any(map(can_fail, everything))
        #: Whether any kernel of the program can fail.
        self.fails = fails
        #: Whether it calls functions through the table.
        self.needs_table = self.takes_table or any(map(needs_table, everything))
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
        #: Loops written so far. If a loop is split, its last iterations load from memory
        #: themselves: LLVM would pass them the values that the loop loaded last, and the loop
        #: would stay scalar.
        self.looped: set[Var] = set()
        self.apart = 0
        #: Buffers whose address changes, and the access group of a loop whose iterations are
        #: independent.
        self.moving = moving(kernel.body)
        self.group: ir.MDValue | None = None
        #: Whether the ends of ranges are hidden from LLVM.
        self.veiled = False
        #: The comparisons of the innermost loop, if it is a recurrence with selections.
        self.comparisons: Comparisons | None = None
        #: The registers of the innermost loop that wait for the iteration before.
        self.chain = frozenset[int]()
        self.registers: dict[int, ir.Value] = {}
        self.vars: dict[Var, ir.Value] = {}
        #: Accumulators in memory, which LLVM moves to registers; for extremes, the NaN flags.
        self.slots: dict[int, ir.Value] = {}
        self.not_numbers: dict[int, ir.Value] = {}
        pointers = dict(zip(self.arguments, self.function.args[first:], strict=False))
        self.places = Places(kernel, pointers, temps, self.allocas)
        self.vars.update(zip(indices, self.function.args, strict=False))
        for scalar, argument in zip(given, self.function.args[len(indices) : first], strict=True):
            self.registers[scalar.number] = argument
        #: Constants of scalars of loops that are emitted as functions.
        self.outlined: Outlined = {}
        rest = self.function.args[first + len(self.arguments) :]
        self.status = rest[0] if self.checks else None
        self.table = rest[-1] if self.needs_table else None
        if self.checks:
            self.failures = Failures(self.allocas, self.builder, first=len(marks) > len(ENSURED))
        #: The memory of tapes, by the first of a loop (see ``tapes``).
        self.rooms: dict[Buffer, Any] = {}
        self.trips: dict[Trips, ir.Value] = {}

    def nested(
        self,
        kernel: Kernel,
        symbol: str,
        indices: Sequence[Var],
        given: Sequence[Scalar] = (),
    ) -> Self:
        """Return the context of another function in the same module, called from this one."""
        return type(self)(
            self.module, kernel, symbol, indices, given, self.functions, marks=self.marks,
            fails=self.fails,
        )  # fmt: skip

    def emit(self) -> ir.Function:
        """Write the kernel and return its function."""
        raise NotImplementedError

    def body(self, statements: list[Any]) -> None:
        """Write statements at the builder's position."""
        raise NotImplementedError

    # -- addresses ------------------------------------------------------------

    def pointer(self, buffer: Buffer) -> ir.Value:
        """Return the address of a buffer's first element."""
        return self.places.pointer(buffer, self.builder)

    def index(self, index: Affine) -> ir.Value:
        """Return an index expression as an i64."""
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

    def load_from(self, address: ir.Value, dtype: str, *, shared: bool = True) -> ir.Value:
        """Load a number; one that is not shared with other iterations is in no access group."""
        kind = memory_type(dtype)
        if self.apart:
            value = self.builder.load_atomic(address, "monotonic", _bytes(kind), typ=kind)
        else:
            value = self.builder.load(address, align=_bytes(kind), typ=kind)
            if shared:
                self.in_group(value)
        if dtype == "bool":
            return self.builder.icmp_unsigned("!=", value, ir.Constant(kind, 0))
        return value

    def store_to(
        self, address: ir.Value, value: ir.Value, dtype: str, *, shared: bool = True
    ) -> None:
        kind = memory_type(dtype)
        if dtype == "bool":
            value = self.builder.zext(value, kind)
        made = self.builder.store(value, address, align=_bytes(kind))
        if shared:
            self.in_group(made)

    def in_group(self, access: ir.Instruction | ir.CallInstr) -> None:
        """Mark a memory access as independent of those of other iterations of its loop."""
        if self.group is not None:
            access.set_metadata("llvm.access.group", self.group)

    # -- failures -------------------------------------------------------------

    def fail_if(self, condition: ir.Value, failure: int) -> None:
        self.failures.mark_if(condition, failure)

    def still_fine(self, statements: list[Any]) -> ir.Value | None:
        """Whether nothing has failed so far; None if none of the statements can fail."""
        b, inner = self.builder, list(walk(statements))
        if not any(map(can_fail, inner)):
            return None
        found = self.failures.found
        # These set the status of the call directly.
        if any(isinstance(s, (Factorization, Callback, Repeat)) for s in inner):
            found = b.or_(found, b.load(self.status, typ=I64))
        return b.icmp_unsigned("==", found, ir.Constant(I64, 0))

    def all_fine(self) -> ir.Value:
        """Whether nothing has failed so far in any kernel."""
        b = self.builder
        before = b.load_atomic(self.status, "monotonic", 8, typ=I64)
        return b.icmp_unsigned("==", b.or_(before, self.failures.found), ir.Constant(I64, 0))

    def combine(self, name: str, old: ir.Value, value: ir.Value, dtype: str) -> ir.Value:
        if name in ("maximum", "minimum") and is_float(dtype):
            return self.scalars.binary_intrinsic(name, old, value, flags=("nsz",))
        return self.scalars.emit(name, [old, value], dtype, dtype, REASSOCIATE)


def _bytes(kind: ir.Type) -> int:
    if isinstance(kind, ir.IntType):
        return int(kind.width) // 8
    return 8 if isinstance(kind, ir.DoubleType) else 4
