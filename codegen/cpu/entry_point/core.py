"""The core of a program: kernels and library calls in order, from buffers to buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.emit import callbacks
from autojit.codegen.cpu.emit.context import I64, POINTER
from autojit.codegen.cpu.emit.kernels import KernelEmitter
from autojit.codegen.cpu.emit.places import poison
from autojit.codegen.cpu.linalg import steps as linalg
from autojit.codegen.cpu.llvm import sheets
from autojit.codegen.cpu.llvm.scalars import memory_type
from autojit.codegen.cpu.matmul import blas, tiles
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Recall, Repeat
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine

from . import alike

#: Metadata that distinguishes loops of equal text, and locations, which only displayed code has.
_MARKS = re.compile(r",? !(?:llvm\.loop|dbg) !\d+")


class Core:
    """Writes ``void core(ptr table, ptr arena, ptr status, ptr buffer, …)`` into a module."""

    def __init__(
        self,
        module: ir.Module,
        program: LoopProgram,
        functions: Sequence[str],
        marks: Mapping[str, int],
        *,
        fails: bool,
    ) -> None:
        self.module = module
        self.program = program
        #: The library functions of the program, in the order of the table.
        self.functions = functions
        #: The marks of the checks of the program in the status; whether any kernel can fail.
        self.marks = marks
        self.fails = fails
        #: Kernels, by their text.
        self.kernels: dict[str, ir.Function] = {}
        #: The kernels' text, by name.
        self.printed: dict[str, str] = {}
        self.calls: list[alike.Call] = []

    def write(self) -> ir.Function:
        """Write the core and return its function."""
        buffers = [*self.program.inputs, *self.program.outputs]
        signature = ir.FunctionType(ir.VoidType(), [POINTER] * (3 + len(buffers)))
        core = ir.Function(self.module, signature, "core")
        core.linkage = "internal"
        core.attributes.add("nounwind")
        builder = ir.IRBuilder(core.append_basic_block("entry"))
        self.table, arena, self.status, *pointers = core.args
        places: dict[Buffer, ir.Value] = dict(zip(buffers, pointers, strict=True))
        for buffer, offset in self.program.temps.items():
            places[buffer] = _offset(builder, arena, offset)
            poison(builder, places[buffer], buffer)
        for buffer in self.program.outputs:
            poison(builder, places[buffer], buffer)
        self.steps(builder, places)
        builder.ret_void()
        alike.merged(self.module, self.calls, self.printed)
        return core

    def close(self) -> None:
        """Do the work that remains when the module has its entry."""

    def steps(self, builder: ir.IRBuilder, places: dict[Buffer, ir.Value]) -> None:
        """Write the steps of the program in order."""
        for number, step in enumerate(self.program.steps):
            self.step(builder, step, number, places)

    def step(
        self, builder: ir.IRBuilder, step: Any, number: int, places: dict[Buffer, ir.Value]
    ) -> None:
        """Write one step."""
        if isinstance(step, MatrixProduct) and step.tiled:
            tiles.emit(self.module, builder, step, _addresses(builder, places))
        elif isinstance(step, MatrixProduct):
            function = blas.load(builder, self.table, self.functions, step)
            blas.emit(self.module, builder, function, step, _addresses(builder, places))
        elif isinstance(step, (Factorization, Callback)):
            call: Any = linalg.call if isinstance(step, Factorization) else callbacks.call
            more = self.functions, _addresses(builder, places), self.status, self.table
            call(self.module, builder, step, f"call{number}", *more)
        elif isinstance(step, Sheet):
            at = {"cells": [step.cells], "inputs": step.inputs, "outputs": step.outputs}
            addresses = {k: [places[b] for b in buffers] for k, buffers in at.items()}
            sheets.emit(self.module, builder, step, addresses)
        else:
            self._call_kernel(builder, step, number, places)

    def emitter(self, kernel: Kernel, number: int) -> KernelEmitter:
        """Return the writer of a kernel."""
        return KernelEmitter(self.module, kernel, f"kernel{number}", **self.common())

    def common(self) -> dict[str, Any]:
        """Return the arguments with which all kernels of the program are written."""
        return {
            "functions": self.functions,
            "temps": self.program.temps,
            "marks": self.marks,
            "fails": self.fails,
        }

    def _call_kernel(
        self, builder: ir.IRBuilder, kernel: Kernel, number: int, places: dict[Buffer, ir.Value]
    ) -> None:
        if not kernel.body:
            return
        emitter = self.emitter(kernel, number)
        function = emitter.emit()
        is_apart = any(_is_loop(s) for s in walk(kernel.body))
        if any(b.kind == "local" for b in kernel.buffers):
            function = self._inlined_once(self._first_like(function), is_apart=is_apart)
        else:
            if is_apart:
                _keep(function)
            function = self._first_like(function)
        arguments = [places[b] for b in emitter.arguments]
        if emitter.checks:
            arguments.append(self.status)
        if emitter.needs_table:
            arguments.append(self.table)
        made = builder.call(function, arguments)
        if function.name in self.printed:
            self.calls.append(alike.Call(made, function))

    def _inlined_once(self, function: ir.Function, *, is_apart: bool) -> ir.Function:
        """Return a function that only calls another one, and that may be inlined itself unless it
        ``is_apart``.

        LLVM simplifies a function again when it inlines it, and the loops that it has unrolled are
        gone by then: memory that their index addressed moves to registers.
        """
        symbol = f"{function.name}_again"
        if symbol in self.module.globals:
            return self.module.globals[symbol]
        outer = ir.Function(self.module, function.ftype, symbol)
        outer.linkage = "internal"
        outer.attributes.add("nounwind")
        if is_apart:
            _keep(outer)
        for own, inner in zip(outer.args, function.args, strict=True):
            own.attributes = inner.attributes
        builder = ir.IRBuilder(outer.append_basic_block("entry"))
        builder.call(function, outer.args)
        builder.ret_void()
        return outer

    def _first_like(self, function: ir.Function) -> ir.Function:
        """Return the first function that is equal up to its name; a duplicate is dropped."""
        text = str(function)
        words = _MARKS.sub("", text.replace(function.name, "f", 1))
        first = self.kernels.setdefault(words, function)
        if first is function:
            self.printed[function.name] = text
        else:
            del self.module.globals[function.name]
        return first


def _is_loop(statement: Any) -> bool:
    """Whether a statement is a loop that LLVM does not unroll."""
    if isinstance(statement, Loop):
        return not statement.unroll
    return isinstance(statement, (Repeat, Recall))


def _keep(function: ir.Function) -> None:
    """Keep a kernel as a function.

    LLVM would inline a kernel with a single call into the core, and the core into the entry, and
    simplify the kernel's loops again each time (``decisions/0121-kernels-stay-functions.md``).
    """
    function.attributes.add("noinline")


def _addresses(
    builder: ir.IRBuilder, places: dict[Buffer, ir.Value]
) -> Callable[[Buffer, Affine], ir.Value]:
    def address(buffer: Buffer, index: Affine) -> ir.Value:
        number = ir.Constant(I64, index.constant)
        kind = memory_type(buffer.dtype)
        return builder.gep(places[memory(buffer)], [number], inbounds=True, source_etype=kind)

    return address


def _offset(builder: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
    place = ir.Constant(I64, offset)
    return builder.gep(base, [place], inbounds=True, source_etype=ir.IntType(8))
