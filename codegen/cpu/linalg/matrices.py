"""Linear algebra steps as LLVM functions: the loop over the batch, and elements of matrices.

``small_matrices`` (unrolled, without a library) and ``lapack`` compute one element of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.llvm.counted import MOST_UNROLLED, CountedLoop
from autojit.codegen.cpu.llvm.failures import Failures
from autojit.codegen.cpu.llvm.scalars import CONTRACT, constant, llvm_type
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization, parts_of
from autojit.codegen.loop_ir.values import Operand

I1, I32, I64, POINTER = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.PointerType()

#: Scratch memory of at most this many scalars is on the stack.
ON_STACK = 512

#: An index: an int, or an LLVM value.
Place = Any


def part_of(dtype: str) -> str:
    """Return the dtype of the scalars of an element."""
    return {"c64": "f32", "c128": "f64"}.get(dtype, dtype)


def element_type(dtype: str) -> ir.Type:
    """Return the type of an element in a register: a complex number is a vector of its parts."""
    kind = llvm_type(part_of(dtype))
    return kind if dtype[0] != "c" else ir.VectorType(kind, 2)


class Matrix(NamedTuple):
    """A matrix (or a vector, as one column) in memory; strides are in elements."""

    pointer: ir.Value
    row: int
    column: int
    dtype: str


class MatrixEmitter:
    """Writes one step as ``void step(ptr noalias buffer, …, ptr status, ptr table)``."""

    def __init__(
        self, module: ir.Module, step: Factorization, symbol: str, functions: Sequence[str]
    ) -> None:
        self.module = module
        self.step = step
        self.functions = functions
        self.places = [*step.inputs, *step.outputs]
        signature = ir.FunctionType(ir.VoidType(), [POINTER] * (len(self.places) + 2))
        self.function = ir.Function(module, signature, symbol)
        self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        *pointers, self.status, self.table = self.function.args
        for pointer in pointers:
            pointer.add_attribute("noalias")
        self.pointers = pointers
        self.allocas = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(self.function.append_basic_block("start"))
        self.failures = Failures(self.allocas, self.builder)
        self._allocated: list[ir.Value] = []

    def emit(self, body: Callable[..., None]) -> ir.Function:
        """Write and return the function; ``body(self, *inputs, *results)`` writes the computation
        of one element of the batch."""
        step, b = self.step, self.builder
        first = b.block
        if 0 not in (*step.batch, step.m, step.n):
            with ExitStack() as loops:
                index = [loops.enter_context(self.loop(0, extent)) for extent in step.batch]
                body(self, *self._operands(index))
            self._report()
            self._free()
        b.ret_void()
        self.allocas.branch(first)
        return self.function

    def _operands(self, index: list[ir.Value]) -> list[Matrix]:
        """Return the matrices of one element of the batch: inputs, then results."""
        found = []
        elements = self.step.elements
        for argument, operand, dtype in zip(self.pointers, self.places, elements, strict=True):
            pointer = self.moved(argument, operand, index, dtype)
            row, column = (*operand.strides[len(index) :], 1)[:2]
            found.append(Matrix(pointer, row, column, dtype))
        return found

    def moved(
        self, pointer: ir.Value, operand: Operand, index: list[ir.Value], dtype: str
    ) -> ir.Value:
        """Return the pointer to an element of the batch, given the pointer to the first."""
        total: Place = 0
        for i, stride in zip(index, operand.strides, strict=False):
            total = self.add(total, self.times(i, stride))
        return self._gep(pointer, total, dtype)

    def _report(self) -> None:
        b = self.builder
        found = self.failures.found
        with b.if_then(b.icmp_unsigned("!=", found, ir.Constant(I64, 0)), likely=False):
            self.failures.report(self.status, found)

    def scratch(self, dtype: str, size: int) -> ir.Value:
        """Allocate scratch memory, which all elements of the batch use in turn."""
        if size <= ON_STACK:
            return self.allocas.alloca(element_type(dtype), size=size)
        count = ir.Constant(I64, size * itemsize(part_of(dtype)) * parts_of(dtype))
        signature = ir.FunctionType(POINTER, [I64])
        made = self._fixed(self.allocas, "malloc", signature, count)
        self._allocated.append(made)
        return made

    def _free(self) -> None:
        for pointer in self._allocated:
            self._fixed(self.builder, "free", ir.FunctionType(ir.VoidType(), [POINTER]), pointer)

    def _fixed(
        self, builder: ir.IRBuilder, name: str, signature: ir.FunctionType, argument: ir.Value
    ) -> ir.Value:
        position = abi.SLOTS[name]
        function = abi.load(builder, self.table, position, signature.as_pointer())
        return builder.call(function, [argument])

    # -- indices --------------------------------------------------------------

    def loop(self, start: Place, stop: Place) -> CountedLoop:
        """``for i in range(start, stop)`` with at least one iteration."""
        known = isinstance(start, int) and isinstance(stop, int)
        long = not known or stop - start > MOST_UNROLLED
        return CountedLoop(self.builder, _index(start), _index(stop), keep_rolled=long)

    def add(self, a: Place, b: Place) -> Place:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(b, int):
            return a if b == 0 else self.builder.add(a, _index(b), flags=("nsw",))
        return self.add(b, a) if isinstance(a, int) else self.builder.add(a, b, flags=("nsw",))

    def times(self, a: Place, factor: int) -> Place:
        if isinstance(a, int):
            return a * factor
        return a if factor == 1 else self.builder.mul(a, _index(factor), flags=("nsw",))

    # -- memory ---------------------------------------------------------------

    def _gep(self, pointer: ir.Value, offset: Place, dtype: str) -> ir.Value:
        if isinstance(offset, int) and offset == 0:
            return pointer
        return self.builder.gep(
            pointer, [_index(offset)], inbounds=True, source_etype=element_type(dtype)
        )

    def at(self, m: Matrix, i: Place, j: Place = 0) -> ir.Value:
        """Return the address of an element."""
        return self._gep(
            m.pointer, self.add(self.times(i, m.row), self.times(j, m.column)), m.dtype
        )

    def load(self, m: Matrix, i: Place, j: Place = 0) -> ir.Value:
        kind = element_type(m.dtype)
        return self.builder.load(self.at(m, i, j), align=itemsize(part_of(m.dtype)), typ=kind)

    def store(self, value: ir.Value, m: Matrix, i: Place, j: Place = 0) -> None:
        self.builder.store(value, self.at(m, i, j), align=itemsize(part_of(m.dtype)))

    def copy(self, source: Matrix, target: Matrix, rows: int, columns: int) -> None:
        """Copy the elements of a matrix to another one of the same shape, which is not empty."""
        with self.loop(0, rows) as i, self.loop(0, columns) as j:
            self.store(self.load(source, i, j), target, i, j)

    # -- arithmetic -----------------------------------------------------------

    def number(self, value: float) -> ir.Constant:
        one = constant(value, part_of(self.step.dtype))
        if self.step.dtype[0] != "c":
            return one
        return ir.Constant(
            element_type(self.step.dtype), [one, constant(0.0, part_of(self.step.dtype))]
        )

    def minus_product(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """``a - b * c``."""
        return self.builder.fsub(a, self.builder.fmul(b, c, flags=CONTRACT), flags=CONTRACT)

    def fail_if(self, condition: ir.Value, failure: int) -> None:
        self.failures.mark_if(condition, failure)

    # -- libraries ------------------------------------------------------------

    def call(self, name: str, *arguments: ir.Value) -> None:
        """Call a library function that takes all arguments by reference."""
        signature = ir.FunctionType(ir.VoidType(), [POINTER] * len(arguments))
        self.builder.call(self.function_of(name, signature), arguments)

    def function_of(self, name: str, signature: ir.FunctionType) -> ir.Value:
        """Return a library function from the table."""
        return self.address_of(name, signature.as_pointer())

    def address_of(self, name: str, kind: ir.Type | None = None) -> ir.Value:
        """Return the table's entry of a name."""
        position = abi.OWN_SLOTS + self.functions.index(name)
        return abi.load(self.builder, self.table, position, kind)


def _index(i: Place) -> ir.Value:
    return ir.Constant(I64, i) if isinstance(i, int) else i
