"""Calls of functions of the process; each is in an LLVM function that passes addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from autojit.codegen.cpu.abi import abi, arrays
from autojit.codegen.cpu.abi.callbacks import RAISE, native_of
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import CALLED, INTERRUPTED
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine
from autojit.ir.ops.callback import Answer

I64, POINTER = ir.IntType(64), ir.PointerType()
#: ``int64 f(void **arrays, void *status)``
_SIGNATURE = ir.FunctionType(I64, [POINTER, POINTER])
_ZERO = ir.Constant(I64, 0)


def needed(program: LoopProgram) -> set[str]:
    """Return the names of the callbacks of a program, and of the function that raises errors."""
    found = {native_of(s.call).name for s in statements(program) if isinstance(s, Callback)}
    return found | {RAISE} if found else found


def call(
    module: ir.Module,
    builder: ir.IRBuilder,
    step: Callback,
    symbol: str,
    functions: Sequence[str],
    address: Callable[[Buffer, Affine], ir.Value],
    status: ir.Value,
    table: ir.Value,
) -> None:
    """Write the function of a step, and call it."""
    places = [*step.inputs, *step.outputs]
    native = native_of(step.call)
    position = abi.OWN_SLOTS + functions.index(native.name)
    function = _function(module, symbol, len(places), position, is_python=native.is_python)
    builder.call(function, [*(address(o.buffer, o.offset) for o in places), status, table])


def raise_errors(
    b: ir.IRBuilder,
    table: ir.Value,
    status: ir.Value,
    found: ir.Value,
    functions: Sequence[str],
    failed: ir.Block,
) -> None:
    """Raise in Python the error of a callback, which is stored under the address of the status."""
    if RAISE not in functions:
        return
    fine, bad = b.append_basic_block("fine"), b.append_basic_block("bad")
    mark = b.and_(found, ir.Constant(I64, CALLED))
    b.cbranch(b.icmp_unsigned("==", mark, _ZERO), fine, bad)
    b.position_at_end(bad)
    function = abi.load(b, table, abi.OWN_SLOTS + functions.index(RAISE))
    number = arrays.call(b, table, "PyLong_FromVoidPtr", POINTER, status)
    arrays.call(b, table, "PyObject_CallOneArg", POINTER, function, number)
    arrays.call(b, table, "Py_DecRef", ir.VoidType(), number)
    b.branch(failed)
    b.position_at_end(fine)


def _function(
    module: ir.Module, symbol: str, count: int, position: int, *, is_python: bool
) -> ir.Function:
    """Write ``void f(ptr array, …, ptr status, ptr table)``; it does nothing after a failure."""
    signature = ir.FunctionType(ir.VoidType(), [POINTER] * (count + 2))
    made = ir.Function(module, signature, symbol)
    made.linkage = "internal"
    made.attributes.add("nounwind")
    made.attributes.add("noinline")
    *pointers, status, table = made.args
    b = ir.IRBuilder(made.append_basic_block("entry"))
    record = b.alloca(POINTER, size=count + 1)
    failed = b.load_atomic(status, "monotonic", 8, typ=I64)
    with b.if_then(b.icmp_unsigned("==", failed, _ZERO), likely=True):
        for number, pointer in enumerate((status, *pointers)):
            place = b.gep(record, [ir.Constant(I64, number)], source_etype=POINTER)
            b.store(pointer, place, align=8)
        if is_python:
            _call_python(b, table, status, abi.load(b, table, position), record)
        else:
            function = abi.load(b, table, position, _SIGNATURE.as_pointer())
            addresses = b.gep(record, [ir.Constant(I64, 1)], source_etype=POINTER)
            raised = b.call(function, [addresses, status])
            _mark_if(
                b, b.icmp_unsigned("!=", raised, ir.Constant(I64, Answer.FINE)), status, CALLED
            )
    b.ret_void()
    return made


def _call_python(
    b: ir.IRBuilder, table: ir.Value, status: ir.Value, function: ir.Value, record: ir.Value
) -> None:
    """Call a Python function with the address of the record, under the interpreter's lock.

    The function stores errors of the callback, and returns None if there is none. An exception that
    it raises itself was requested by a signal, and stays set in the thread.
    """
    null, none = ir.Constant(POINTER, None), abi.load(b, table, abi.SLOTS["None"])
    state = arrays.call(b, table, "PyGILState_Ensure", ir.IntType(32))
    number = arrays.call(b, table, "PyLong_FromVoidPtr", POINTER, record)
    answer = arrays.call(b, table, "PyObject_CallOneArg", POINTER, function, number)
    arrays.call(b, table, "Py_DecRef", ir.VoidType(), number)
    _mark_if(b, b.icmp_unsigned("==", answer, null), status, INTERRUPTED)
    called = b.and_(b.icmp_unsigned("!=", answer, null), b.icmp_unsigned("!=", answer, none))
    _mark_if(b, called, status, CALLED)
    arrays.call(b, table, "Py_DecRef", ir.VoidType(), answer)  # ignores null
    arrays.call(b, table, "PyGILState_Release", ir.VoidType(), state)


def _mark_if(b: ir.IRBuilder, condition: ir.Value, status: ir.Value, failure: int) -> None:
    with b.if_then(condition, likely=False):
        b.atomic_rmw("or", status, ir.Constant(I64, failure), "monotonic")
