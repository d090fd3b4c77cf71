"""The entry of a program: one native call from Python arrays to Python arrays.

``PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t n)`` checks types, shapes and
contiguity of its arguments, allocates the results, releases the GIL, runs kernels and library
calls, and wraps the results. If an argument does not have exactly the type that the program was
compiled for, it returns None, and Python converts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.abi import abi, arrays, raising
from autojit.codegen.cpu.abi.abi import Convention
from autojit.codegen.cpu.abi.results import POOLED
from autojit.codegen.cpu.emit import callbacks, special_functions
from autojit.codegen.cpu.emit.context import I64, POINTER
from autojit.codegen.cpu.linalg import steps as linalg
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.cpu.llvm.demands import can_fail
from autojit.codegen.cpu.matmul import blas
from autojit.codegen.loop_ir.errors import FAILURES, INTERRUPTED, marks, raised
from autojit.codegen.loop_ir.nodes import Compute, RunTasks
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.ir.core.types import Type, dtype_name

from .core import Core

I32, _NULL = ir.IntType(32), ir.Constant(POINTER, None)

#: Arenas up to this size live on the stack.
STACK_ARENA = 4096


class Module:
    """The LLVM module of one program: kernels, the core that runs them, and entries."""

    def __init__(
        self,
        program: LoopProgram,
        in_types: Sequence[Type],
        out_types: Sequence[Type],
        writer: Callable[..., Core] = Core,
    ) -> None:
        self.program = program
        self.in_types = in_types
        self.out_types = out_types
        self.module = ir.Module("autojit")
        needs = (blas.needed, linalg.needed, callbacks.needed, special_functions.needed)
        self.functions = sorted({name for needed in needs for name in needed(program)})
        #: Results that come from the pool.
        self.pooled = [i for i, t in enumerate(out_types) if t.shape and t.nbytes >= POOLED]
        #: The marks of the checks in the status.
        words = (s.name for s in statements(program) if isinstance(s, Compute))
        self.marks = marks(words)
        self.fails = any(map(can_fail, statements(program)))
        self._writer = writer(self.module, program, self.functions, self.marks, fails=self.fails)
        self.core = self._writer.write()
        #: The text of kernels, by name.
        self.printed = self._writer.printed

    # -- entries ------------------------------------------------------------

    @property
    def needs(self) -> abi.Needs:
        """The entries that the table must have."""
        bodies = [getattr(step, "body", ()) for step in self.program.steps]
        parallel = any(isinstance(s, RunTasks) for body in bodies for s in body)
        return abi.Needs(tuple(self.functions), tuple(self.pooled), parallel)

    def add_entry(self, symbol: str, convention: Convention) -> None:
        """Add an entry for a calling convention."""
        _Entry(self, symbol, convention).write()
        self._writer.close()


class _Entry:
    def __init__(self, owner: Module, symbol: str, convention: Convention) -> None:
        self.owner = owner
        self.convention = convention
        signature = ir.FunctionType(POINTER, [POINTER, POINTER, I64])
        self.function = ir.Function(owner.module, signature, symbol)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.miss = self.function.append_basic_block("miss")
        self.failed = self.function.append_basic_block("failed")
        handle = self.function.args[0]
        self.table = self._load(handle, abi.BYTES_DATA, POINTER)

    # -- small words --------------------------------------------------------

    def _load(self, base: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        return arrays.at(self.builder, base, offset, kind)

    def _entry(self, name: str) -> ir.Value:
        return abi.load(self.builder, self.table, abi.SLOTS[name])

    def _call(self, name: str, result: ir.Type, *args: ir.Value) -> ir.Value:
        return arrays.call(self.builder, self.table, name, result, *args)

    def _require(self, condition: ir.Value) -> None:
        """Continue if the condition holds, else miss."""
        good = self.builder.append_basic_block("ok")
        self.builder.cbranch(condition, good, self.miss)
        self.builder.position_at_end(good)

    def _require_equal(self, a: ir.Value, b: ir.Value) -> None:
        self._require(self.builder.icmp_unsigned("==", a, b))

    # -- the entry ------------------------------------------------------------

    def write(self) -> None:
        owner, builder = self.owner, self.builder
        _, arguments, count = self.function.args
        taken = len(owner.in_types) - self.convention.bound
        self._require_equal(count, ir.Constant(I64, taken))
        inputs = []
        for i, (type, weak) in enumerate(
            zip(owner.in_types[:taken], self.convention.weak, strict=True)
        ):
            given = self._load(arguments, 8 * i, POINTER)
            inputs.append(self._argument(given, type, weak, self.convention.order_of(i)))
        base = abi.OWN_SLOTS + len(owner.functions) + len(owner.pooled)
        for i in range(self.convention.bound):
            inputs.append(abi.load(builder, self.table, base + i))
        self.slots: dict[int, ir.Value] = {}
        self._prepare_results()
        outputs = [self._allocate(i, type) for i, type in enumerate(owner.out_types)]
        arena, release = self._arena()
        status = self._alloca(I64)
        builder.store(ir.Constant(I64, 0), status)
        state = self._call("PyEval_SaveThread", POINTER)
        builder.call(owner.core, [self.table, arena, status, *inputs, *outputs])
        self._call("PyEval_RestoreThread", ir.VoidType(), state)
        release()
        if owner.fails:
            self._check(status)
        self._return()
        self._write_miss()
        self._write_failed()

    def _argument(
        self, object: ir.Value, type: Type, weak: type | None, order: abi.Order
    ) -> ir.Value:
        if weak is not None:
            return self._python_number(object, type, weak)
        data = arrays.data_of(self.builder, self.table, object, type, order)
        self._require(self.builder.icmp_unsigned("!=", data, _NULL))
        return data

    def _python_number(self, object: ir.Value, type: Type, weak: type) -> ir.Value:
        b = self.builder
        kind = self._load(object, abi.TYPE_OFFSET, POINTER)
        self._require_equal(kind, self._entry(weak.__name__))
        if weak is float:
            return _offset(b, object, ir.Constant(I64, abi.HEADER))
        number = self._call("PyLong_AsLongLong", I64, object)
        # -1 may be an error (too large), which the slow path then reports.
        fine = b.append_basic_block("fine")
        doubtful = b.append_basic_block("doubtful")
        b.cbranch(b.icmp_signed("!=", number, ir.Constant(I64, -1)), fine, doubtful)
        b.position_at_end(doubtful)
        error = self._call("PyErr_Occurred", POINTER)
        overflow = b.append_basic_block("overflow")
        b.cbranch(b.icmp_unsigned("==", error, _NULL), fine, overflow)
        b.position_at_end(overflow)
        self._call("PyErr_Clear", ir.VoidType())
        b.branch(self.miss)
        b.position_at_end(fine)
        slot = self._alloca(I64)
        b.store(number, slot)
        return slot

    def _alloca(self, kind: ir.Type, align: int = 16) -> ir.Value:
        with self.builder.goto_entry_block():
            slot = self.builder.alloca(kind)
        slot.align = align
        return slot

    # -- results --------------------------------------------------------------

    def _prepare_results(self) -> None:
        """Allocate slots for the results as objects, null at first."""
        b, count = self.builder, len(self.owner.out_types)
        with b.goto_entry_block():
            self.objects = b.alloca(POINTER, size=max(count, 1))
        if count:
            with CountedLoop(b, ir.Constant(I64, 0), ir.Constant(I64, count)) as i:
                b.store(_NULL, b.gep(self.objects, [i], source_etype=I64), align=8)

    def _allocate(self, number: int, type: Type) -> ir.Value:
        """Return memory for a result: that of a new array, or a slot for a scalar."""
        if not type.shape:
            self.slots[number] = self._alloca(ir.ArrayType(ir.IntType(8), 16))
            return self.slots[number]
        b = self.builder
        pooled = type.nbytes >= POOLED
        order = self.convention.made_order(number)
        array = self._from_pool(number) if pooled else arrays.new_array(b, self.table, type, order)
        b.store(array, self._place(number), align=8)
        allocated = b.append_basic_block("allocated")
        b.cbranch(b.icmp_unsigned("==", array, _NULL), self.failed, allocated)
        b.position_at_end(allocated)
        return self._load(array, abi.ARRAY_DATA, POINTER)

    def _place(self, number: int) -> ir.Value:
        return _offset(self.builder, self.objects, ir.Constant(I64, 8 * number))

    def _from_pool(self, number: int) -> ir.Value:
        position = abi.OWN_SLOTS + len(self.owner.functions) + self.owner.pooled.index(number)
        function = abi.load(self.builder, self.table, position)
        return self._call("PyObject_CallNoArgs", POINTER, function)

    def _arena(self) -> tuple[ir.Value, Any]:
        """Return memory for temporaries, and a function that returns it.

        A call takes the arena that an earlier one left, and leaves its own. Two concurrent calls
        have two arenas.
        """
        b, size = self.builder, self.owner.program.arena
        if size <= STACK_ARENA:
            return self._alloca(ir.ArrayType(ir.IntType(8), max(size, 1)), 64), lambda: None
        slot = _offset(b, self.table, ir.Constant(I64, 8 * abi.ARENA_SLOT))
        left = b.atomic_rmw("xchg", slot, ir.Constant(I64, 0), "acq_rel")
        kept = b.inttoptr(left, POINTER)
        before = b.block
        make, ready = b.append_basic_block("make"), b.append_basic_block("ready")
        b.cbranch(b.icmp_unsigned("==", left, ir.Constant(I64, 0)), make, ready)
        b.position_at_end(make)
        fresh = self._call("malloc", POINTER, ir.Constant(I64, size + 64))
        b.branch(ready)
        b.position_at_end(ready)
        block = b.phi(POINTER)
        block.add_incoming(kept, before)
        block.add_incoming(fresh, make)
        number = b.ptrtoint(block, I64)
        aligned = b.and_(b.add(number, ir.Constant(I64, 63)), ir.Constant(I64, -64))

        def release() -> None:
            displaced = b.atomic_rmw("xchg", slot, b.ptrtoint(block, I64), "acq_rel")
            self._call("free", ir.VoidType(), b.inttoptr(displaced, POINTER))

        return b.inttoptr(aligned, POINTER), release

    def _check(self, status: ir.Value) -> None:
        """Raise the error that the kernels' status indicates."""
        b, owner = self.builder, self.owner
        found = b.load(status, typ=I64)
        all_fine, some = b.append_basic_block("all_fine"), b.append_basic_block("some")
        b.cbranch(b.icmp_unsigned("==", found, ir.Constant(I64, 0)), all_fine, some)
        b.position_at_end(some)
        interrupted, not_so = b.append_basic_block("interrupted"), b.append_basic_block("fine")
        mark = b.and_(found, ir.Constant(I64, INTERRUPTED))
        b.cbranch(b.icmp_unsigned("==", mark, ir.Constant(I64, 0)), not_so, interrupted)
        b.position_at_end(interrupted)  # Python's error is set
        b.branch(self.failed)
        b.position_at_end(not_so)
        checks = {mark: raised(word) for word, mark in owner.marks.items()}
        callbacks.raise_errors(b, self.table, status, found, owner.functions, self.failed)
        has_raised = raising.raise_first(b, self.table, found, {**FAILURES, **checks})
        b.cbranch(has_raised, self.failed, all_fine)
        b.position_at_end(all_fine)

    def _return(self) -> None:
        b, types = self.builder, self.owner.out_types
        for number, type in enumerate(types):
            if not type.shape:
                descr = self._entry(f"descr_{dtype_name(type.dtype)}")
                object = self._call("PyArray_Scalar", POINTER, self.slots[number], descr, _NULL)
                b.store(object, self._place(number), align=8)
        if self.convention.as_tuple:
            b.ret(arrays.new_tuple(b, self.table, self.objects, len(types)))
        else:
            b.ret(self._load(self.objects, 0, POINTER))

    def _write_miss(self) -> None:
        self.builder.position_at_end(self.miss)
        none = self._entry("None")
        self._call("Py_IncRef", ir.VoidType(), none)
        self.builder.ret(none)

    def _write_failed(self) -> None:
        self.builder.position_at_end(self.failed)
        arrays.release(self.builder, self.table, self.objects, len(self.owner.out_types))
        self.builder.ret(_NULL)


def _offset(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value) -> ir.Value:
    return builder.gep(base, [offset], inbounds=True, source_etype=ir.IntType(8))
