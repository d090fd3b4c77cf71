"""Loops of NumPy's generalized ufuncs, called by address: the Fourier transforms of pocketfft.

They are plain C functions, which take neither Python objects nor the interpreter's lock:
``void loop(char **arrays, npy_intp *extents, npy_intp *strides, void *data)``.  Strides are in
bytes: those of the outer loop for each array, then those of the axes of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.llvm.scalars import constant
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization, parts_of

from .matrices import I64, POINTER, Matrix, MatrixEmitter, part_of

_SIGNATURE = ir.FunctionType(ir.VoidType(), [POINTER] * 4)
_FOURIER = "numpy.fft._pocketfft_umath"
#: NumPy's letters for dtypes.
_LETTERS = {"f32": "f", "f64": "d", "c64": "F", "c128": "D"}


def has(step: Factorization) -> bool:
    """Whether a step is one of NumPy's loops."""
    return step.name in LOOPS


def function_names(step: Factorization) -> list[str]:
    """The names of a step's loop and of its data in the table."""
    loop = _loop_of_fourier(step)
    return [abi.GUFUNC + loop, abi.GUFUNC_DATA + loop]


def _loop_of_fourier(step: Factorization) -> str:
    taken, made = (_LETTERS[dtype] for dtype in step.elements)
    real = "rfft_n_odd" if step.params["length"] % 2 else "rfft_n_even"
    name = {"forward": "fft", "backward": "ifft", "real": real, "half": "irfft"}
    return f"{_FOURIER} {name[step.params['kind']]} {taken}{taken.lower()}->{made}"


def fourier(e: MatrixEmitter, x: Matrix, y: Matrix) -> None:
    """The rows of x transformed; the factor is one number for all of them."""
    step = e.step
    made = step.params["length"]
    if step.params["kind"] == "real":
        made = made // 2 + 1
    kind = part_of(x.dtype)
    scale = e.allocas.alloca(constant(0.0, kind).type)
    e.builder.store(constant(step.params["scale"], kind), scale)
    strides = [_bytes(x, x.row), 0, _bytes(y, y.row), _bytes(x, x.column), _bytes(y, y.column)]
    _call(e, [x.pointer, scale, y.pointer], [step.m, step.n, made], strides)


def _bytes(m: Matrix, stride: int) -> int:
    return stride * itemsize(part_of(m.dtype)) * parts_of(m.dtype)


def _call(
    e: MatrixEmitter, arrays: Sequence[ir.Value], extents: Sequence[int], strides: Sequence[int]
) -> None:
    numbers = [[ir.Constant(I64, n) for n in each] for each in (extents, strides)]
    places = [_stored(e, each) for each in (arrays, *numbers)]
    loop, data = function_names(e.step)
    function = e.function_of(loop, _SIGNATURE)
    e.builder.call(function, [*places, e.address_of(data)])


def _stored(e: MatrixEmitter, values: Sequence[ir.Value]) -> ir.Value:
    """Values one after the other on the stack."""
    kind = values[0].type
    memory = e.allocas.alloca(kind, size=len(values))
    for k, value in enumerate(values):
        place = e.builder.gep(memory, [ir.Constant(I64, k)], inbounds=True, source_etype=kind)
        e.builder.store(value, place, align=8)
    return memory


#: By op: ``emit(emitter, input, result)`` for one element of the batch.
LOOPS: dict[str, Callable[..., Any]] = {"fourier": fourier}
