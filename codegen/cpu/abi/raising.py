"""Raising Python's exceptions for failures of a call.

A function of the library raises them, and each program passes its messages as a table. Inlined,
this code was a third of an entry.
"""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.constants import constant_array, constant_text
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.loop_ir.errors import mask_of

from . import abi
from .arrays import call

I8, I64, POINTER, VOID = ir.IntType(8), ir.IntType(64), ir.PointerType(), ir.VoidType()
_ZERO, _ONE = ir.Constant(I64, 0), ir.Constant(I64, 1)

#: table, failures, rows, number of rows, texts
_RAISE = ir.FunctionType(I64, [POINTER, I64, POINTER, I64, POINTER])
#: The words of a row: the mark of the failure, the bits that it takes, the offset of the exception
#: in the table, and the offset of its text, or -1 if it has none. The last constant is the number
#: of words.
_MARK, _MASK, _EXCEPTION, _TEXT, _ROW = range(5)


def raise_first(
    b: ir.IRBuilder, table: ir.Value, found: ir.Value, failures: Mapping[int, tuple[str, str]]
) -> ir.Value:
    """Raise the first failure found. ``failures`` maps a failure's mark to its exception's name and
    message. Return whether there was one."""
    numbers: list[int] = []
    texts = ""
    for mark, (exception, words) in failures.items():
        place = len(texts.encode()) if words else -1
        numbers += [mark, mask_of(mark), 8 * abi.SLOTS[f"PyExc_{exception}"], place]
        texts += f"{words}\0" if words else ""
    function = library.plain_function(b.module, "raise_first", _RAISE, _write_raise)
    rows, all_texts = constant_array(b.module, numbers), constant_text(b.module, texts)
    raised = b.call(function, [table, found, rows, ir.Constant(I64, len(failures)), all_texts])
    return b.icmp_unsigned("!=", raised, _ZERO)


def _write_raise(function: ir.Function) -> None:
    """Write ``int64 raise_first(table, found, rows, count, texts)``: 1 if it raised one."""
    table, found, rows, count, texts = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with CountedLoop(b, _ZERO, count, keep_rolled=True) as i:
        row = b.gep(rows, [b.mul(i, ir.Constant(I64, _ROW))], source_etype=I64)
        mark, mask, exception, text = (
            b.load(b.gep(row, [ir.Constant(I64, k)], source_etype=I64), typ=I64)
            for k in (_MARK, _MASK, _EXCEPTION, _TEXT)
        )
        with b.if_then(b.icmp_unsigned("==", b.and_(found, mask), mark)):
            error = b.load(b.gep(table, [exception], source_etype=I8), typ=POINTER)
            with b.if_then(b.icmp_signed("<", text, _ZERO)):
                call(b, table, "PyErr_SetNone", VOID, error)
                b.ret(_ONE)
            words = b.gep(texts, [text], source_etype=I8)
            call(b, table, "PyErr_SetString", VOID, error, words)
            b.ret(_ONE)
    b.ret(_ZERO)
