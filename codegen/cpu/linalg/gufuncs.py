"""Loops of NumPy's generalized ufuncs, called by address.

They compute the Fourier transforms of pocketfft, and the linear algebra of complex and general
matrices. They are plain C functions that need neither Python objects nor the interpreter's lock:
``void loop(char **arrays, npy_intp *extents, npy_intp *strides, void *data)``. Strides are in
bytes: those of the outer loop for each array, then those of each array's axes. If a matrix has no
decomposition, the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.abi import abi
from autojit.codegen.cpu.llvm.scalars import constant
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.errors import NO_EIGENVALUES, NO_SVD, NOT_POSITIVE
from autojit.codegen.loop_ir.matrices import Factorization, parts_of

from . import lapack
from .matrices import I32, I64, POINTER, Matrix, MatrixEmitter, part_of

_SIGNATURE = ir.FunctionType(ir.VoidType(), [POINTER] * 4)
_FOURIER, _LINALG = "numpy.fft._pocketfft_umath", "numpy.linalg._umath_linalg"
#: NumPy's letters for dtypes.
_LETTERS = {"f32": "f", "f64": "d", "c64": "F", "c128": "D"}


def has(step: Factorization) -> bool:
    """Whether a step calls one of NumPy's loops."""
    is_complex = step.dtype[0] == "c"
    return step.name in LOOPS and (is_complex or step.name in ("fourier", "eig"))


def function_names(step: Factorization) -> list[str]:
    """Return the names of a step's loop and its data in the table, and of other functions."""
    loop = _loop_of_fourier(step) if step.name == "fourier" else _loop_of_matrices(step)
    more = [lapack.product_name(step)] if step.name == "pinv" else []
    return [abi.GUFUNC + loop, abi.GUFUNC_DATA + loop, *more]


def _loop_of_fourier(step: Factorization) -> str:
    taken, made = (_LETTERS[dtype] for dtype in step.elements)
    real = "rfft_n_odd" if step.params["length"] % 2 else "rfft_n_even"
    name = {"forward": "fft", "backward": "ifft", "real": real, "half": "irfft"}
    return f"{_FOURIER} {name[step.params['kind']]} {taken}{taken.lower()}->{made}"


def _loop_of_matrices(step: Factorization) -> str:
    taken = _LETTERS[step.dtype]
    name, made = {
        "cholesky": ("cholesky_lo", taken),
        "eigh": ("eigh_lo" if step.params.get("lower") else "eigh_up", taken.lower() + taken),
        "svd": ("svd_f" if step.params.get("full") else "svd_s", taken + taken.lower() + taken),
        "pinv": ("svd_s", taken + taken.lower() + taken),
        "eig": ("eig", taken.upper() * 2),
    }[step.name]
    return f"{_LINALG} {name} {taken}->{made}"


def fourier(e: MatrixEmitter, x: Matrix, y: Matrix) -> None:
    """Transform the rows of x; one factor scales them all."""
    step = e.step
    made = step.params["length"]
    if step.params["kind"] == "real":
        made = made // 2 + 1
    kind = part_of(x.dtype)
    scale = e.allocas.alloca(constant(0.0, kind).type)
    e.builder.store(constant(step.params["scale"], kind), scale)
    strides = [_bytes(x, x.row), 0, _bytes(y, y.row), _bytes(x, x.column), _bytes(y, y.column)]
    _call(e, [x.pointer, scale, y.pointer], [step.m, step.n, made], strides)


def cholesky(e: MatrixEmitter, a: Matrix, factor: Matrix) -> None:
    _decompose(e, a, (factor, 2))
    _fail_where_nan(e, factor, NOT_POSITIVE)


def eigh(e: MatrixEmitter, a: Matrix, values: Matrix, vectors: Matrix) -> None:
    _decompose(e, a, (values, 1), (vectors, 2))
    _fail_where_nan(e, values, NO_EIGENVALUES)


def svd(e: MatrixEmitter, a: Matrix, u: Matrix, values: Matrix, vh: Matrix) -> None:
    _decompose(e, a, (u, 2), (values, 1), (vh, 2))
    _fail_where_nan(e, values, NO_SVD)


def pinv(e: MatrixEmitter, a: Matrix, x: Matrix) -> None:
    """x = V S⁺ Uᴴ is the conjugate of (U S⁺ Vᴴ)ᵀ, whose columns are the rows of U S⁺ Vᴴ."""
    b, m, n, dtype = e.builder, e.step.m, e.step.n, e.step.dtype
    k, part = min(m, n), part_of(dtype)
    values = Matrix(e.scratch(part, k), 1, 1, part)
    # Vectors in column order, as the product takes them.
    u, vh = (
        Matrix(e.scratch(dtype, m * k), 1, m, dtype),
        Matrix(e.scratch(dtype, k * n), 1, k, dtype),
    )
    svd(e, a, u, values, vh)
    cutoff = b.fmul(e.load(values, 0), constant(e.step.params["rtol"], part))
    with e.loop(0, k) as i:
        value = e.load(values, i)
        large = b.fcmp_ordered(">", value, cutoff)
        one, zero = constant(1.0, part), constant(0.0, part)
        factor = b.select(large, b.fdiv(one, b.select(large, value, one)), zero)
        with e.loop(0, n) as j:
            element = e.load(vh, i, j)
            both = b.insert_element(b.insert_element(element, factor, _lane(0)), factor, _lane(1))
            e.store(b.fmul(element, both), vh, i, j)
    lapack.product(e, u, vh, x.pointer, (m, n, k))
    with e.loop(0, n) as i, e.loop(0, m) as j:
        element = e.load(x, i, j)
        imaginary = b.fneg(b.extract_element(element, _lane(1)))
        e.store(b.insert_element(element, imaginary, _lane(1)), x, i, j)


def eig(e: MatrixEmitter, a: Matrix, values: Matrix, vectors: Matrix) -> None:
    _decompose(e, a, (values, 1), (vectors, 2))
    _fail_where_nan(e, values, NO_EIGENVALUES)


def _lane(k: int) -> ir.Constant:
    return ir.Constant(I32, k)


def _fail_where_nan(e: MatrixEmitter, result: Matrix, failure: int) -> None:
    """Fail if the result is NaN, as it is without a decomposition."""
    first = e.load(result, 0)
    if result.dtype[0] == "c":
        first = e.builder.extract_element(first, _lane(0))
    e.fail_if(e.builder.fcmp_unordered("uno", first, first), failure)


def _decompose(e: MatrixEmitter, a: Matrix, *results: tuple[Matrix, int]) -> None:
    """Decompose one matrix; each result comes with its number of axes."""
    step, every = e.step, [(a, 2), *results]
    strides = [_bytes(m, s) for m, axes in every for s in (m.row, m.column)[:axes]]
    is_square = step.name not in ("svd", "pinv")
    extents = [step.m] if is_square else [step.m, step.n, min(step.m, step.n)]
    _call(e, [m.pointer for m, _ in every], [1, *extents], [*(0 for _ in every), *strides])


def _bytes(m: Matrix, stride: int) -> int:
    return stride * itemsize(part_of(m.dtype)) * parts_of(m.dtype)


def _call(
    e: MatrixEmitter, arrays: Sequence[ir.Value], extents: Sequence[int], strides: Sequence[int]
) -> None:
    numbers = [[ir.Constant(I64, n) for n in each] for each in (extents, strides)]
    places = [_stored(e, each) for each in (arrays, *numbers)]
    loop, data = function_names(e.step)[:2]
    function = e.function_of(loop, _SIGNATURE)
    e.builder.call(function, [*places, e.address_of(data)])


def _stored(e: MatrixEmitter, values: Sequence[ir.Value]) -> ir.Value:
    """Store values consecutively on the stack."""
    kind = values[0].type
    memory = e.allocas.alloca(kind, size=len(values))
    for k, value in enumerate(values):
        place = e.builder.gep(memory, [ir.Constant(I64, k)], inbounds=True, source_etype=kind)
        e.builder.store(value, place, align=8)
    return memory


#: By op: ``emit(emitter, input, *results)`` for one element of the batch.
LOOPS: dict[str, Callable[..., Any]] = {
    "fourier": fourier, "cholesky": cholesky, "eigh": eigh, "svd": svd, "pinv": pinv, "eig": eig,
}  # fmt: skip
