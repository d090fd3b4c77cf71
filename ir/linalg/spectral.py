"""Linear algebra ops, continued: eigenvalues, singular values, and orthogonal factors.

If eigenvalues or singular values coincide, the vectors have no derivative: theirs is NaN or
infinite. Distinct values have derivatives; symmetric functions of values always have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue, full, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.linalg.factorizations import (
    Matrices,
    adjoint,
    as_dtype,
    check_matrix,
    check_square,
    complex_of,
    everywhere,
    lu,
    matmul,
    places,
    real_dtype,
    real_part,
    solve,
    swapped,
    symmetrised,
    triangle,
    triangular_solve,
)
from autojit.ir.ops.arithmetic import (
    conj,
    eq,
    imag,
    isfinite,
    magnitude,
    make_complex,
    real,
    select,
)
from autojit.ir.ops.move import broadcast, concatenate, reshape, slice_axis
from autojit.ir.ops.reduce import max_, sum_


def _if_finite(op: Op, words: str) -> tuple[Value, Exception]:
    """The iteration of a decomposition converges if all elements are finite."""
    return everywhere(isfinite(op.operands[0])), np.linalg.LinAlgError(words)


class Eigh(Matrices):
    """``eigh(a, lower=l)``: the eigenvalues of a Hermitian matrix, ascending, and its eigenvectors
    as columns. One triangle of a is read. Raises LinAlgError if the iteration does not converge.

    The derivative treats a as Hermitian, as that of ``cholesky`` does. With P = Vᴴ dA V it is
    dw = diag(P), dV = V (P_ij / (w_j - w_i)), with zeros on the diagonal (Giles, "An extended
    collection of matrix derivative results", 2008, section 3.1). So the phases of complex vectors,
    which are free, do not change.
    """

    arity = 1
    fallible = True
    parameters = ("lower",)

    def succeeds(self, op: Op) -> tuple[Value, Exception]:
        return _if_finite(op, "Eigenvalues did not converge")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_square("eigh", a)
        return Type(real_dtype(a.dtype), a.shape[:-1]), a

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.eigh(arrays[0], "L" if params["lower"] else "U"))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (values, vectors) = tangents, op.results
        if da is None:
            return (None, None)
        inner = matmul(adjoint(vectors), matmul(symmetrised(da), vectors))
        turning = inner * as_dtype(inverse_differences(values), inner.dtype)
        return real_part(diagonal(inner)), matmul(vectors, turning)


class QR(Matrices):
    """``qr(a)``: Q with orthonormal columns and the upper R with ``a = Q R``, for a matrix with at
    least as many rows as columns. With ``complete`` Q is square: it has additional columns Q₂ with
    the derivative dQ₂ = -Q dQᴴ Q₂, and R has zeros below.

    With S = Qᴴ dA R⁻¹ and Ω = tril(S, -1) - tril(S, -1)ᴴ the derivative is
    dQ = dA R⁻¹ - Q (S - Ω), dR = (S - Ω) R (Walter, Lehmann, Lamour: "On evaluating higher-order
    derivatives of the QR decomposition of tall matrices with full column rank", 2012). The
    diagonal of R is real, as in LAPACK: the imaginary part of S's diagonal belongs to Ω.
    """

    arity = 1
    flags = ("complete",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_matrix("qr", a)
        *outer, m, n = a.shape
        require(m >= n, f"qr takes matrices with no more columns than rows; got {a}")
        if "complete" in params:
            return a.with_shape((*outer, m, m)), a
        return a, a.with_shape((*outer, n, n))

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.qr(arrays[0], "complete" if params else "reduced"))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (q, r) = tangents, op.results
        if da is None:
            return (None, None)
        if not op.params:
            return self._tangents(da, q, r)
        n = da.shape[-1]
        first, r = columns_of(q, 0, n), rows_of(r, 0, n)
        dq, dr = self._tangents(da, first, r)
        below = full(0, da.type.with_shape((*da.shape[:-2], da.shape[-2] - n, n)))
        return _with_complement(q, n, dq), concatenate(dr, below, axis=da.type.ndim - 2)

    def _tangents(self, da: Value, q: Value, r: Value) -> tuple[Value, Value]:
        scaled = swapped(triangular_solve(r, swapped(da), lower=False, transpose=True, unit=False))
        inner = matmul(adjoint(q), scaled)
        below = triangle(inner, lower=True, diagonal=False)
        turning = below - adjoint(below)
        if inner.dtype.kind == "c":
            turning = turning + on_diagonal(_imaginary(diagonal(inner)))
        upper = inner - turning
        return scaled - matmul(q, upper), matmul(upper, r)


class SVD(Matrices):
    """``svd(a)``: U, the singular values s, descending, and Vᴴ with ``a = U diag(s) Vᴴ``; the
    number of each is the smaller extent. Raises LinAlgError if the iteration does not converge.

    With P = Uᴴ dA V and F_ij = 1 / (s_j² - s_i²), zeros on the diagonal, the derivative is
    ds = Re diag(P), dU = U (F ∘ (P S + S Pᴴ)) + (1 - U Uᴴ) dA V S⁻¹, and dV likewise from aᴴ
    (Townsend, "Differentiating the singular value decomposition", 2016). The phase of a pair of
    complex vectors is free: V's do not change, and U's change by Im diag(P) S⁻¹.

    With ``full`` U and Vᴴ are square. The additional vectors change as little as possible.
    """

    arity = 1
    fallible = True
    flags = ("full",)

    def succeeds(self, op: Op) -> tuple[Value, Exception]:
        return _if_finite(op, "SVD did not converge")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_matrix("svd", a)
        *outer, m, n = a.shape
        if "full" in params:
            squares = (a.with_shape((*outer, k, k)) for k in (m, n))
            s = Type(real_dtype(a.dtype), (*outer, min(m, n)))
            u, vh = squares
            return u, s, vh
        k = min(m, n)
        u, vh = (a.with_shape((*outer, *s)) for s in ((m, k), (k, n)))
        return u, Type(real_dtype(a.dtype), (*outer, k)), vh

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.svd(arrays[0], full_matrices="full" in params))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (u, s, vh) = tangents, op.results
        if da is None:
            return (None, None, None)
        if not op.params:
            return self._tangents(da, u, s, vh)
        k, v = s.shape[-1], adjoint(vh)
        du, ds, dvh = self._tangents(da, columns_of(u, 0, k), s, rows_of(vh, 0, k))
        dv = _with_complement(v, k, adjoint(dvh))
        return _with_complement(u, k, du), ds, adjoint(dv)

    def _tangents(self, da: Value, u: Value, s: Value, vh: Value) -> tuple[Value, Value, Value]:
        v, image = adjoint(vh), matmul(da, adjoint(vh))
        inner = matmul(adjoint(u), image)
        gaps = as_dtype(inverse_differences(s * s), da.dtype)
        wide = as_dtype(s, da.dtype)
        du = _moved_vectors(u, wide, inner, gaps, image)
        dv = _moved_vectors(v, wide, adjoint(inner), gaps, matmul(adjoint(da), u))
        if da.dtype.kind == "c":
            phases = _imaginary(diagonal(inner)) / wide
            du = du + u * along_columns(phases, rows=u.shape[-2])
        return du, real_part(diagonal(inner)), adjoint(dv)


def _moved_vectors(u: Value, s: Value, inner: Value, gaps: Value, image: Value) -> Value:
    """Return the tangent of U, from P = Uᴴ dA V and the image dA V."""
    columns = along_columns(s)
    both = inner * columns
    turned = matmul(u, gaps * (both + adjoint(both)))
    if u.shape[-2] == u.shape[-1]:
        return turned
    outside = image - matmul(u, inner)
    return turned + outside / along_columns(s, rows=u.shape[-2])


class PseudoInverse(Matrices):
    """``pinv(a, rtol=r)``: the Moore-Penrose inverse; singular values up to r times the largest one
    count as zero. Raises LinAlgError if the iteration does not converge.

    The derivative assumes constant rank (Golub, Pereyra: "The differentiation of pseudo-inverses
    and nonlinear least squares problems whose variables separate", 1973, theorem 4.3).
    """

    arity = 1
    fallible = True
    parameters = ("rtol",)

    def succeeds(self, op: Op) -> tuple[Value, Exception]:
        return _if_finite(op, "SVD did not converge")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_matrix("pinv", a)
        *outer, m, n = a.shape
        return (a.with_shape((*outer, n, m)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        a = np.asarray(arrays[0])
        if not a.size:
            return np.zeros((*a.shape[:-2], *a.shape[:-3:-1]), a.dtype)
        return np.linalg.pinv(a, params["rtol"])

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (a,), x = tangents, op.operands, op.result
        if da is None:
            return (None,)
        turned, back = adjoint(da), adjoint(x)
        result = -matmul(x, matmul(da, x))
        right = matmul(matmul(x, back), turned)
        result = result + (right - matmul(matmul(right, a), x))
        left = matmul(turned, matmul(back, x))
        return (result + (left - matmul(x, matmul(a, left))),)


class Eig(Matrices):
    """``eig(a)``: the eigenvalues of any square matrix, and its eigenvectors as columns, all
    complex. Raises LinAlgError if the iteration does not converge.

    With P = V⁻¹ dA V, dw = diag(P), dV = V (P_ij / (w_j - w_i)) + V C (Giles, "An extended
    collection of matrix derivative results", 2008, section 3.1). The diagonal C preserves the
    normalization of LAPACK's ``geev``: each vector has length 1 and a real largest element.
    """

    arity = 1
    fallible = True

    def succeeds(self, op: Op) -> tuple[Value, Exception]:
        return _if_finite(op, "Eigenvalues did not converge")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_square("eig", a)
        double = real_dtype(a.dtype) == np.dtype(np.float64)
        require(double, f"eig takes matrices in double precision; got {a}")
        made = a.with_dtype(complex_of(a.dtype))
        return made.with_shape(a.shape[:-1]), made

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        made = complex_of(np.asarray(arrays[0]).dtype)
        return tuple(np.asarray(x, made) for x in np.linalg.eig(arrays[0]))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (values, vectors) = tangents, op.results
        if da is None:
            return (None, None)
        packed, pivots = lu(vectors)
        moved = matmul(as_dtype(da, vectors.dtype), vectors)
        inner = solve(vectors, packed, pivots, moved, transpose=False)
        turned = matmul(vectors, inner * inverse_differences(values))
        return diagonal(inner), _as_geev(vectors, turned)


def _as_geev(vectors: Value, turned: Value) -> Value:
    """Return tangents of eigenvectors that keep the length 1 and the largest element real."""
    rows = vectors.type.ndim - 2
    size = magnitude(vectors)
    largest = along_columns(max_(size, axes=(rows,)))
    is_largest = eq(size, largest)
    zero, one = full(0, size.type), full(1, size.type)
    weight = select(is_largest, one, zero)
    phase = select(is_largest, imag(turned) / select(is_largest, real(vectors), one), zero)
    turn = sum_(phase, axes=(rows,)) / sum_(weight, axes=(rows,))
    growth = sum_(real(conj(vectors) * turned), axes=(rows,))
    return turned - vectors * along_columns(make_complex(growth, turn))


# -- small formulas -----------------------------------------------------------


def columns_of(a: Value, start: int, stop: int) -> Value:
    return slice_axis(a, a.type.ndim - 1, start, stop)


def rows_of(a: Value, start: int, stop: int) -> Value:
    return slice_axis(a, a.type.ndim - 2, start, stop)


def _with_complement(q: Value, n: int, dq: Value) -> Value:
    """Return the tangent of a unitary matrix, from that of its first n columns."""
    if n == q.shape[-1]:
        return dq
    first, rest = columns_of(q, 0, n), columns_of(q, n, q.shape[-1])
    turned = -matmul(first, matmul(adjoint(dq), rest))
    return concatenate(dq, turned, axis=q.type.ndim - 1)


def _imaginary(x: Value) -> Value:
    """Return the imaginary part alone, as a complex number."""
    part = imag(x)
    return make_complex(full(0, part.type), part)


def on_diagonal(x: Value) -> Value:
    """Return matrices with a vector on the diagonal."""
    columns = along_columns(x)
    row, column = places(columns.type)
    return select(eq(row, column), columns, full(0, columns.type))


def diagonal(a: Value) -> Value:
    """Return the diagonals of square matrices."""
    *outer, n, _ = a.shape
    flat = reshape(a, shape=(*outer, n * n))
    return slice_axis(flat, len(outer), 0, n * n, n + 1)


def along_columns(x: Value, rows: int | None = None) -> Value:
    """Repeat a vector as every row of a matrix: element j is in column j."""
    *outer, n = x.shape
    shape = (*outer, n if rows is None else rows, n)
    return broadcast(x, shape=shape, dims=(*range(len(outer)), len(outer) + 1))


def inverse_differences(x: Value) -> Value:
    """Return ``1 / (x_j - x_i)``, with zeros on the diagonal."""
    columns = along_columns(x)
    row, column = places(columns.type)
    same, one = eq(row, column), full(1, columns.type)
    apart = select(same, one, columns - swapped(columns))
    return select(same, full(0, columns.type), one / apart)


eig = Eig("eig")
eigh = Eigh("eigh")
qr = QR("qr")
svd = SVD("svd")
pinv = PseudoInverse("pinv")
