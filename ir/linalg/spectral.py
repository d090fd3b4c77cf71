"""The linear algebra family, continued: eigenvalues, singular values, and orthogonal factors.

Where eigenvalues or singular values coincide, the vectors have no derivative: theirs is NaN or
infinite.  The values have one each as long as they are distinct; their symmetric functions always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue, full, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import eq, select
from autojit.ir.ops.move import broadcast, reshape, slice_axis

from .factorizations import (
    Matrices,
    check_matrix,
    check_square,
    matmul,
    places,
    swapped,
    symmetrised,
    triangle,
    triangular_solve,
)


class Eigh(Matrices):
    """``eigh(a, lower=l)``: the eigenvalues of a symmetric matrix, ascending, and its eigenvectors
    as columns.  One triangle of a is read.  Raises LinAlgError where the iteration does not end.

    The derivative takes a as symmetric, as that of ``cholesky`` does: with P = Vᵀ dA V it is
    dw = diag(P), dV = V (P_ij / (w_j - w_i)), zeros on the diagonal (Giles, "An extended
    collection of matrix derivative results", 2008, section 3.1).
    """

    arity = 1
    fallible = True
    parameters = ("lower",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_square("eigh", a)
        return a.with_shape(a.shape[:-1]), a

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.eigh(arrays[0], "L" if params["lower"] else "U"))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (values, vectors) = tangents, op.results
        if da is None:
            return (None, None)
        inner = matmul(vectors, matmul(symmetrised(da), vectors), transposed=True)
        turning = inner * inverse_differences(values)
        return diagonal(inner), matmul(vectors, turning)


class QR(Matrices):
    """``qr(a)``: Q with orthonormal columns and the upper R with ``a = Q R``, for a matrix with at
    least as many rows as columns.

    With S = Qᵀ dA R⁻¹ and Ω = tril(S, -1) - tril(S, -1)ᵀ the derivative is
    dQ = dA R⁻¹ - Q (S - Ω), dR = (S - Ω) R (Walter, Lehmann, Lamour: "On evaluating higher-order
    derivatives of the QR decomposition of tall matrices with full column rank", 2012).
    """

    arity = 1

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_matrix("qr", a)
        *outer, m, n = a.shape
        require(m >= n, f"qr takes matrices with no more columns than rows; got {a}")
        return a, a.with_shape((*outer, n, n))

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.qr(arrays[0]))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (q, r) = tangents, op.results
        if da is None:
            return (None, None)
        scaled = swapped(triangular_solve(r, swapped(da), lower=False, transpose=True, unit=False))
        inner = matmul(q, scaled, transposed=True)
        below = triangle(inner, lower=True, diagonal=False)
        upper = inner - (below - swapped(below))
        return scaled - matmul(q, upper), matmul(upper, r)


class SVD(Matrices):
    """``svd(a)``: U, the singular values s, descending, and Vᵀ with ``a = U diag(s) Vᵀ``, as many
    of each as the smaller extent.  Raises LinAlgError where the iteration does not end.

    With P = Uᵀ dA V and F_ij = 1 / (s_j² - s_i²), zeros on the diagonal, the derivative is
    ds = diag(P), dU = U (F ∘ (P S + S Pᵀ)) + (1 - U Uᵀ) dA V S⁻¹, and dV likewise of aᵀ
    (Townsend, "Differentiating the singular value decomposition", 2016).
    """

    arity = 1
    fallible = True

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_matrix("svd", a)
        *outer, m, n = a.shape
        k = min(m, n)
        return tuple(a.with_shape((*outer, *s)) for s in ((m, k), (k,), (k, n)))

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return tuple(np.linalg.svd(arrays[0], full_matrices=False))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (u, s, vt) = tangents, op.results
        if da is None:
            return (None, None, None)
        v = swapped(vt)
        inner = matmul(u, matmul(da, v), transposed=True)
        gaps = inverse_differences(s * s)
        return (
            _moved_vectors(u, s, inner, gaps, matmul(da, v)),
            diagonal(inner),
            swapped(_moved_vectors(v, s, swapped(inner), gaps, matmul(da, u, transposed=True))),
        )


def _moved_vectors(u: Value, s: Value, inner: Value, gaps: Value, image: Value) -> Value:
    """The tangent of U, from P = Uᵀ dA V and the image dA V."""
    columns = along_columns(s)
    both = inner * columns
    turned = matmul(u, gaps * (both + swapped(both)))
    if u.shape[-2] == u.shape[-1]:
        return turned
    outside = image - matmul(u, inner)
    return turned + outside / along_columns(s, rows=u.shape[-2])


class PseudoInverse(Matrices):
    """``pinv(a, rtol=r)``: the Moore-Penrose inverse, singular values up to r times the largest one
    taken as zeros.  Raises LinAlgError where the iteration does not end.

    The derivative is that at constant rank (Golub, Pereyra: "The differentiation of pseudo-inverses
    and nonlinear least squares problems whose variables separate", 1973, theorem 4.3).
    """

    arity = 1
    fallible = True
    parameters = ("rtol",)

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
        turned, back = swapped(da), swapped(x)
        result = -matmul(x, matmul(da, x))
        right = matmul(matmul(x, back), turned)
        result = result + (right - matmul(matmul(right, a), x))
        left = matmul(turned, matmul(back, x))
        return (result + (left - matmul(x, matmul(a, left))),)


# -- small formulas -----------------------------------------------------------


def diagonal(a: Value) -> Value:
    """The diagonals of square matrices."""
    *outer, n, _ = a.shape
    flat = reshape(a, shape=(*outer, n * n))
    return slice_axis(flat, len(outer), 0, n * n, n + 1)


def along_columns(x: Value, rows: int | None = None) -> Value:
    """A vector as every row of a matrix: element j in column j."""
    *outer, n = x.shape
    shape = (*outer, n if rows is None else rows, n)
    return broadcast(x, shape=shape, dims=(*range(len(outer)), len(outer) + 1))


def inverse_differences(x: Value) -> Value:
    """``1 / (x_j - x_i)``, zeros on the diagonal."""
    columns = along_columns(x)
    row, column = places(columns.type)
    same, one = eq(row, column), full(1, columns.type)
    apart = select(same, one, columns - swapped(columns))
    return select(same, full(0, columns.type), one / apart)


eigh = Eigh("eigh")
qr = QR("qr")
svd = SVD("svd")
pinv = PseudoInverse("pinv")
