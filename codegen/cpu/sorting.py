"""Sorting by NumPy's own functions, which know the processor's vectors and need no GIL."""

from __future__ import annotations

from llvmlite import ir

from ..errors import OUT_OF_MEMORY
from ..loops import Factorization
from . import abi
from .matrices import I32, I64, POINTER, Matrix, MatrixEmitter

#: ``int argsort(void *keys, npy_intp *places, npy_intp n, void *array)``
SIGNATURE = ir.FunctionType(I32, [POINTER, POINTER, I64, POINTER])


def function_name(step: Factorization) -> str:
    """The name of NumPy's function in the table."""
    return f"{abi.ARGSORT}{step.dtype}{abi.STABLE if step.params['stable'] else ''}"


def argsort(e: MatrixEmitter, keys: Matrix, places: Matrix) -> None:
    """The places in order, handed to NumPy's function, which moves them."""
    b, n = e.builder, e.step.n
    if keys.row != 1:
        together = keys._replace(pointer=e.scratch(keys.dtype, n), row=1)
        e.copy(keys, together, n, 1)
        keys = together
    with e.loop(0, n) as i:
        e.store(i, places, i)
    function = e.function_of(function_name(e.step), SIGNATURE)
    arguments = [keys.pointer, places.pointer, ir.Constant(I64, n), ir.Constant(POINTER, None)]
    error = b.call(function, arguments)
    e.fail_if(b.icmp_signed("<", error, ir.Constant(I32, 0)), OUT_OF_MEMORY)
