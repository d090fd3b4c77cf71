"""Calls of functions of the process: a function for each, which hands over addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from autojit.codegen.cpu.abi import abi, arrays
from autojit.codegen.cpu.abi.callbacks import RAISE, native_of
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import CALLED
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine

I64, POINTER = ir.IntType(64), ir.PointerType()
#: ``int64 f(void **arrays, void *status)``
_SIGNATURE = ir.FunctionType(I64, [POINTER, POINTER])
_ZERO = ir.Constant(I64, 0)


def needed(program: LoopProgram) -> set[str]:
    """The names of what a program calls, and of what raises its errors."""
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
    position = abi.OWN_SLOTS + functions.index(native_of(step.call).name)
    function = _function(module, symbol, len(places), position)
    builder.call(function, [*(address(o.buffer, o.offset) for o in places), status, table])


def raise_errors(
    b: ir.IRBuilder,
    table: ir.Value,
    status: ir.Value,
    found: ir.Value,
    functions: Sequence[str],
    failed: ir.Block,
) -> None:
    """Raise in Python what a callback has raised: it is kept under the address of the status."""
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


def _function(module: ir.Module, symbol: str, count: int, position: int) -> ir.Function:
    """``void f(ptr array, …, ptr status, ptr table)``: nothing is called once a call has failed."""
    signature = ir.FunctionType(ir.VoidType(), [POINTER] * (count + 2))
    made = ir.Function(module, signature, symbol)
    made.linkage = "internal"
    made.attributes.add("nounwind")
    made.attributes.add("noinline")
    *pointers, status, table = made.args
    b = ir.IRBuilder(made.append_basic_block("entry"))
    addresses = b.alloca(POINTER, size=max(1, count))
    failed = b.load_atomic(status, "monotonic", 8, typ=I64)
    with b.if_then(b.icmp_unsigned("==", failed, _ZERO), likely=True):
        for number, pointer in enumerate(pointers):
            place = b.gep(addresses, [ir.Constant(I64, number)], source_etype=POINTER)
            b.store(pointer, place, align=8)
        function = abi.load(b, table, position, _SIGNATURE.as_pointer())
        raised = b.call(function, [addresses, status])
        with b.if_then(b.icmp_unsigned("!=", raised, _ZERO), likely=False):
            b.atomic_rmw("or", status, ir.Constant(I64, CALLED), "monotonic")
    b.ret_void()
    return made
