"""Eigenvalues, singular values and orthogonal factors by LAPACK.

Matrices are passed in column order, as in NumPy, so that the signs of vectors are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir

from autojit.codegen.loop_ir.errors import NO_EIGENVALUES, NO_SVD

from . import cholesky, lapack, sorting
from .lapack import call, failed, product, transpose_in_place
from .matrices import I32, Matrix, MatrixEmitter

#: The most columns that the routines for orthogonal factors work on at a time.
_BLOCK = 64


def _library() -> Any:
    from scipy.linalg import lapack

    return lapack


def _sizes(name: str, *arguments: int) -> list[int]:
    """Return the workspace sizes of a routine, given as floats, which may be rounded down."""
    *sizes, _ = getattr(_library(), name)(*arguments)
    return [int(size * (1 + 2**-22)) + 1 for size in sizes]


def eigh(e: MatrixEmitter, a: Matrix, values: Matrix, vectors: Matrix) -> None:
    n, prefix = e.step.n, "s" if e.step.dtype == "f32" else "d"
    e.copy(a, vectors._replace(row=1, column=n), n, n)
    lower = bool(e.step.params["lower"])
    size, integers = _sizes(f"{prefix}syevd_lwork", n, 1, lower)
    work, numbers = e.scratch(e.step.dtype, size), e.scratch("i32", integers)
    info = e.allocas.alloca(I32)
    call(e, "syevd", "V", "L" if lower else "U", n, vectors.pointer, n, values.pointer,
         work, size, numbers, integers, info)  # fmt: skip
    e.fail_if(failed(e, info), NO_EIGENVALUES)
    transpose_in_place(e, vectors)


def qr(e: MatrixEmitter, a: Matrix, q: Matrix, r: Matrix) -> None:
    m, n = e.step.m, e.step.n
    made = m if e.step.params.get("complete") else n
    size = made * _BLOCK
    columns = Matrix(e.scratch(e.step.dtype, m * made), 1, m, e.step.dtype)
    factors, work = e.scratch(e.step.dtype, n), e.scratch(e.step.dtype, size)
    info = e.allocas.alloca(I32)
    e.copy(a, columns, m, n)
    call(e, "geqrf", m, n, columns.pointer, m, factors, work, size, info)
    with e.loop(0, made * n) as place:
        e.store(e.number(0), r._replace(row=1), place)
    with e.loop(0, n) as i, e.loop(i, n) as j:
        e.store(e.load(columns, i, j), r, i, j)
    call(e, "orgqr", m, made, n, columns.pointer, m, factors, work, size, info)
    e.copy(columns, q, m, made)


class _Singular(NamedTuple):
    """Singular vectors in column order, in scratch memory."""

    u: Matrix
    vt: Matrix


def _decompose(e: MatrixEmitter, a: Matrix, values: ir.Value) -> _Singular:
    m, n, dtype = e.step.m, e.step.n, e.step.dtype
    k, prefix = min(m, n), "s" if dtype == "f32" else "d"
    full = bool(e.step.params.get("full"))
    left, right = (m, n) if full else (k, k)
    columns = Matrix(e.scratch(dtype, m * n), 1, m, dtype)
    u = Matrix(e.scratch(dtype, m * left), 1, m, dtype)
    vt = Matrix(e.scratch(dtype, right * n), 1, right, dtype)
    (size,) = _sizes(f"{prefix}gesdd_lwork", m, n, 1, int(full))
    work, numbers = e.scratch(dtype, size), e.scratch("i32", 8 * k)
    info = e.allocas.alloca(I32)
    e.copy(a, columns, m, n)
    call(e, "gesdd", "A" if full else "S", m, n, columns.pointer, m, values, u.pointer, m,
         vt.pointer, right, work, size, numbers, info)  # fmt: skip
    e.fail_if(failed(e, info), NO_SVD)
    return _Singular(u, vt)


def svd(e: MatrixEmitter, a: Matrix, u: Matrix, values: Matrix, vt: Matrix) -> None:
    m, n = e.step.m, e.step.n
    left, right = (m, n) if e.step.params.get("full") else (min(m, n),) * 2
    found = _decompose(e, a, values.pointer)
    e.copy(found.u, u, m, left)
    e.copy(found.vt, vt, right, n)


def pinv(e: MatrixEmitter, a: Matrix, x: Matrix) -> None:
    """x = V S⁺ Uᵀ; in column order that is xᵀ = U (S⁺ Vᵀ)."""
    b, m, n, dtype = e.builder, e.step.m, e.step.n, e.step.dtype
    k = min(m, n)
    values = Matrix(e.scratch(dtype, k), 1, 1, dtype)
    u, vt = _decompose(e, a, values.pointer)
    cutoff = b.fmul(e.load(values, 0), e.number(e.step.params["rtol"]))
    with e.loop(0, k) as i:
        value = e.load(values, i)
        large = b.fcmp_ordered(">", value, cutoff)
        inverse = b.fdiv(e.number(1), b.select(large, value, e.number(1)))
        factor = b.select(large, inverse, e.number(0))
        with e.loop(0, n) as j:
            e.store(b.fmul(e.load(vt, i, j), factor), vt, i, j)
    product(e, u, vt, x.pointer, (m, n, k))


#: By op: ``emit(emitter, *inputs, *results)`` for one element of the batch.
LARGE: dict[str, Callable[..., None]] = {
    "cholesky": cholesky.factor,
    "cholesky_tangent": cholesky.tangent,
    "cholesky_cotangent": cholesky.cotangent,
    "triangular_solve": lapack.triangular_solve,
    "lu": lapack.lu,
    "solve": lapack.solve,
    "eigh": eigh,
    "qr": qr,
    "svd": svd,
    "pinv": pinv,
    "argsort": sorting.argsort,
    "sort": sorting.sort,
    "order_statistics": sorting.order_statistics,
}
