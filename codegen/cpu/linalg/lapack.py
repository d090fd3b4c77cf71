"""Linear algebra by the LAPACK and the BLAS that SciPy ships.

They store matrices in column order, so a row-major matrix is its transpose there: a lower triangle
is an upper one, and right-hand sides in columns are rows.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm.scalars import constant, llvm_type
from autojit.codegen.cpu.matmul.blas import character, integer, scalar
from autojit.codegen.loop_ir.errors import SINGULAR
from autojit.codegen.loop_ir.matrices import Factorization, parts_of

from .matrices import I32, I64, Matrix, MatrixEmitter, part_of

_PREFIX = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
_ROUTINES = {
    "cholesky": ("potrf",),
    "cholesky_tangent": ("trsm", "trmm"),
    "cholesky_cotangent": ("trsm", "trmm", "gemm"),
    "lu": ("getrf",),
    "eigh": ("syevd",),
    "qr": ("geqrf", "orgqr"),
    "svd": ("gesdd",),
    "pinv": ("gesdd", "gemm"),
}


def function_names(step: Factorization) -> list[str]:
    """Return the names of the library functions that a step calls."""
    routines = _ROUTINES.get(step.name) or ("trsv" if step.k == 1 else "trsm",)
    return [_full_name(step, routine) for routine in routines]


def _full_name(step: Factorization, routine: str) -> str:
    if step.dtype[0] == "c":  # complex orthogonal factors are unitary
        routine = routine.replace("orgqr", "ungqr")
    return _PREFIX[step.dtype] + routine


def triangular_solve(e: MatrixEmitter, t: Matrix, b: Matrix, x: Matrix) -> None:
    """Copy the right-hand sides, and solve in place."""
    if not e.step.k:
        return
    e.copy(b, x, e.step.n, e.step.k)
    lower, transpose, unit = (e.step.params[name] for name in ("lower", "transpose", "unit"))
    _solve_in_place(e, t, x, lower=lower, transpose=transpose, unit=unit)


def _solve_in_place(
    e: MatrixEmitter, t: Matrix, x: Matrix, *, lower: bool, transpose: bool, unit: bool
) -> None:
    """Solve T X = B (or Tᵀ X = B): in column order Xᵀ Tᵀ = Bᵀ (or Xᵀ T = Bᵀ), where t has Tᵀ."""
    n, k, lead = e.step.n, e.step.k, max(e.step.n, t.row)
    uplo, diagonal = "U" if lower else "L", "U" if unit else "N"
    if k == 1:
        turned = "N" if transpose else "T"
        call(e, "trsv", uplo, turned, diagonal, n, t.pointer, lead, x.pointer, 1)
        return
    turned = "T" if transpose else "N"
    one = number_of(e)
    call(e, "trsm", "R", uplo, turned, diagonal, k, n, one, t.pointer, lead, x.pointer, k)


def number_of(e: MatrixEmitter, number: float = 1.0) -> ir.Value:
    """Return a number as the scale factor of a routine."""
    return scalar(e.module, part_of(e.step.dtype), parts_of(e.step.dtype), number)


def lu(e: MatrixEmitter, a: Matrix, packed: Matrix, pivots: Matrix) -> None:
    """Factorize in column order, since rows are exchanged, and transpose back."""
    n = e.step.n
    by_columns = packed._replace(row=1, column=n)
    e.copy(a, by_columns, n, n)
    call(e, "getrf", n, n, packed.pointer, n, pivots.pointer, e.allocas.alloca(I32))
    transpose_in_place(e, packed)
    _widen(e, pivots)


def transpose_in_place(e: MatrixEmitter, a: Matrix) -> None:
    """Transpose a square matrix."""
    if e.step.n > 1:
        with e.loop(1, e.step.n) as i, e.loop(0, i) as j:
            above, below = e.load(a, j, i), e.load(a, i, j)
            e.store(below, a, j, i)
            e.store(above, a, i, j)


def _widen(e: MatrixEmitter, pivots: Matrix) -> None:
    """Convert LAPACK's 32-bit numbers, counted from 1, in place, from the last to the first."""
    b, n = e.builder, e.step.n
    narrow = pivots._replace(dtype="i32")
    with e.loop(0, n) as k:
        i = b.sub(ir.Constant(I64, n - 1), k)
        place = b.load(e.at(narrow, i), typ=llvm_type("i32"), align=4)
        e.store(b.sub(b.sext(place, I64), ir.Constant(I64, 1)), pivots, i)


def solve(e: MatrixEmitter, packed: Matrix, pivots: Matrix, b: Matrix, x: Matrix) -> None:
    """Solve with the factors of :func:`lu`: exchange rows, and solve two triangular systems."""
    n, transpose = e.step.n, e.step.params["transpose"]
    with e.loop(0, n) as i:
        e.fail_if(_is_zero(e, e.load(packed, i, i)), SINGULAR)
    if not e.step.k:
        return
    e.copy(b, x, n, e.step.k)
    if not transpose:
        _exchange(e, pivots, x, backwards=False)
    for lower in (True, False) if not transpose else (False, True):
        _solve_in_place(e, packed, x, lower=lower, transpose=transpose, unit=lower)
    if transpose:
        _exchange(e, pivots, x, backwards=True)


def _is_zero(e: MatrixEmitter, element: ir.Value) -> ir.Value:
    b = e.builder
    zero = b.fcmp_ordered("==", element, e.number(0))
    if e.step.dtype[0] != "c":
        return zero
    return b.and_(*(b.extract_element(zero, ir.Constant(I32, k)) for k in range(2)))


def _exchange(e: MatrixEmitter, pivots: Matrix, x: Matrix, *, backwards: bool) -> None:
    n, k = e.step.n, e.step.k
    with e.loop(0, n) as step:
        i = e.builder.sub(ir.Constant(I64, n - 1), step) if backwards else step
        p = e.load(pivots, i)
        with e.loop(0, k) as j:
            here, there = e.load(x, i, j), e.load(x, p, j)
            e.store(there, x, i, j)
            e.store(here, x, p, j)


def call(e: MatrixEmitter, routine: str, *arguments: ir.Value | int | str) -> None:
    """Call a routine. All arguments, also numbers and letters, are passed by reference."""
    e.call(_full_name(e.step, routine), *(_reference(e, a) for a in arguments))


def _reference(e: MatrixEmitter, argument: ir.Value | int | str) -> ir.Value:
    if isinstance(argument, str):
        return character(e.module, argument)
    return integer(e.module, I32, argument) if isinstance(argument, int) else argument


def failed(e: MatrixEmitter, info: ir.Value) -> ir.Value:
    """Whether a routine reports a failure."""
    return e.builder.icmp_unsigned("!=", e.builder.load(info, typ=I32), constant(0, "i32"))


def product_name(step: Factorization) -> str:
    """Return the name of the routine that :func:`product` calls."""
    return _full_name(step, "gemm")


def product(
    e: MatrixEmitter, a: Matrix, b: Matrix, result: ir.Value, sizes: tuple[int, int, int]
) -> None:
    """Multiply two matrices in column order, of the sizes m, n and k."""
    m, n, k = sizes
    one, zero = number_of(e), number_of(e, 0.0)
    call(e, "gemm", "N", "N", m, n, k, one, a.pointer, m, b.pointer, k, zero, result, m)
