"""Sorting: values by NumPy's function, which compares a vector at a time; for their places, few
numbers are counted, many sorted by their digits, and those of one or two bytes by NumPy.

Rows that differ make each comparison a branch that goes wrong half of the time: NumPy's stable
function takes 60 to 150 ns a number for rows of 80 to 600, what is here 5 to 14.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.loop_ir.errors import OUT_OF_MEMORY
from autojit.codegen.loop_ir.matrices import Factorization

from . import radix, ranks
from .matrices import I32, I64, POINTER, Matrix, MatrixEmitter

#: ``int argsort(void *keys, npy_intp *places, npy_intp n, void *array)``
SIGNATURE = ir.FunctionType(I32, [POINTER, POINTER, I64, POINTER])


def is_counted(step: Factorization) -> bool:
    """Whether the places of numbers are counted."""
    return step.n <= ranks.MOST and radix.is_sortable(step.dtype, step.n)


def has_radix(step: Factorization) -> bool:
    """Whether numbers are sorted by their digits."""
    return step.n > ranks.MOST and radix.is_sortable(step.dtype, step.n)


#: ``int sort(void *row, npy_intp n, void *array)``
SORT = ir.FunctionType(I32, [POINTER, I64, POINTER])


def function_names(step: Factorization) -> set[str]:
    """The names of NumPy's functions in the table."""
    if step.name == "sort":
        return {f"{abi.SORT}{step.dtype}"}
    return set() if is_counted(step) or has_radix(step) else {_function_name(step)}


def _function_name(step: Factorization) -> str:
    return f"{abi.ARGSORT}{step.dtype}"


def sort(e: MatrixEmitter, row: Matrix, result: Matrix) -> None:
    """A row's values in order: copied, then sorted where they lie."""
    n = e.step.n
    e.copy(row, result, n, 1)
    function = e.function_of(f"{abi.SORT}{e.step.dtype}", SORT)
    arguments = [result.pointer, ir.Constant(I64, n), ir.Constant(POINTER, None)]
    error = e.builder.call(function, arguments)
    e.fail_if(e.builder.icmp_signed("<", error, ir.Constant(I32, 0)), OUT_OF_MEMORY)


def argsort(e: MatrixEmitter, keys: Matrix, places: Matrix) -> None:
    """The places in order: counted, by digits, or by NumPy's function, which moves what it is
    handed."""
    b, n = e.builder, e.step.n
    if keys.row != 1:
        together = keys._replace(pointer=e.scratch(keys.dtype, n), row=1)
        e.copy(keys, together, n, 1)
        keys = together
    if is_counted(e.step):
        sort = ranks.argsort(e.module, keys.dtype)
        b.call(sort, [keys.pointer, places.pointer, ir.Constant(I64, n)])
        return
    if has_radix(e.step):
        memory = e.scratch("i64", n)
        missing = b.icmp_unsigned("==", memory, ir.Constant(POINTER, None))
        e.fail_if(missing, OUT_OF_MEMORY)
        with b.if_then(b.not_(missing), likely=True):
            sort = radix.argsort(e.module, keys.dtype, n)
            b.call(sort, [keys.pointer, places.pointer, memory, ir.Constant(I64, n)])
        return
    with e.loop(0, n) as i:
        e.store(i, places, i)
    function = e.function_of(_function_name(e.step), SIGNATURE)
    arguments = [keys.pointer, places.pointer, ir.Constant(I64, n), ir.Constant(POINTER, None)]
    error = b.call(function, arguments)
    e.fail_if(b.icmp_signed("<", error, ir.Constant(I32, 0)), OUT_OF_MEMORY)
