"""Linear algebra ops: factorizations of square matrices, and solving with the factors.

Matrices are in the last two axes; leading axes are a batch. A matrix is factorized once:
derivatives of every order, in both modes, solve with the same factors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import Declaration, MaybeValue, full, full_like, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type, is_half
from autojit.ir.ops.arithmetic import (
    bitwise_and,
    bitwise_not,
    conj,
    convert,
    eq,
    gt,
    real,
    select,
)
from autojit.ir.ops.contract import dot
from autojit.ir.ops.index import gather, scatter_add
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import reshape, transpose
from autojit.ir.ops.reduce import all_

SINGULAR = "Singular matrix"


class Matrices(Declaration):
    """Ops on the last two axes: a batch is one more leading axis. Failures raise LinAlgError.

    ``unread``   how many of the first operands are needed only by derivatives
    ``core``     how many axes of the first operand do not belong to the batch
    """

    unread = 0
    core = 2

    def may_fail(self, op: Op) -> bool:
        return self.fallible

    def raises(self, op: Op) -> frozenset[type[Exception]]:
        return frozenset({np.linalg.LinAlgError})

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value | Sequence[Value]:
        made: Value | Sequence[Value] = self(*[along(o, size) for o in operands], **op.params)
        return made


class _LinearInRight(Matrices):
    """Ops that solve for the columns of the last operand, in which they are linear."""

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        *factors, right = operands
        if any(o.batched for o in factors):
            every: Value = self(*[along(o, size) for o in operands], **op.params)
            return every
        # One matrix for the whole batch: the right-hand sides are additional columns.
        made: Value = self(*[o.value for o in factors], columns_of_batch(right.value), **op.params)
        return batch_of_columns(made, size)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        *factors, _ = op.operands
        if any(linear[:-1]):
            raise TypeError(f"{self.name} is not linear in the matrix")
        rest: list[MaybeValue] = [None] * len(factors)
        if cotangents[0] is None:
            return [*rest, None]
        turned = {**op.params, "transpose": not op.params["transpose"]}
        return [*rest, self(*factors, cotangents[0], **turned)]


class TriangularSolve(_LinearInRight):
    """``triangular_solve(t, b, lower=l, transpose=m, unit=u)``: the x with ``T x = b``.

    T is the lower or upper triangle of t, transposed if requested, and with ones on the diagonal
    if ``unit``; the rest of t is not read. b has shape [..., n, k]. A zero on the diagonal
    gives infinities and NaN.
    """

    arity = 2
    parameters = ("lower", "transpose", "unit")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        t, b = types
        check_square(self.name, t)
        check_right_side(self.name, t, b)
        return (b,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        t, b = map(np.asarray, arrays)
        if params["transpose"]:
            t = np.swapaxes(t, -1, -2)
        return substituted(t, b, lower=params["lower"] != params["transpose"], unit=params["unit"])

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (t, _), (dt, db), x = op.operands, tangents, op.result
        side = db
        if dt is not None:
            read = triangle(dt, lower=op.params["lower"], diagonal=not op.params["unit"])
            side = minus(db, matmul(read, x, transposed=op.params["transpose"]))
        return (None if side is None else self(t, side, **op.params),)


class LU(Matrices):
    """``lu(a)``: L and U in one matrix, and the pivots, by rows as in LAPACK's ``getrf``.

    ``P a = L U``; L has ones on its diagonal, which are not stored. Row i was exchanged with
    row ``pivots[i]``, in order (from 0, int64). A singular matrix gives a zero on U's diagonal.

    With M = L⁻¹ P dA U⁻¹ the derivative is dL = L tril(M, -1), dU = triu(M) U (de Hoog, Anderssen,
    Lukas: "Differentiation of matrix functionals using triangular factorization", 2011).
    """

    arity = 1

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (a,) = types
        check_square("lu", a)
        return a, Type(np.dtype(np.int64), a.shape[:-1])

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        packed = np.array(arrays[0])
        pivots = np.zeros(packed.shape[:-1], np.int64)
        for index in np.ndindex(packed.shape[:-2]):
            _factorise(packed[index], pivots[index])
        return packed, pivots

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), (packed, pivots) = tangents, op.results
        if da is None:
            return (None, None)
        moved = taken_rows(da, permutation(pivots))
        left = triangular_solve(packed, moved, lower=True, transpose=False, unit=True)
        # M = left U⁻¹, that is, Uᵀ Mᵀ = leftᵀ.
        inner = swapped(
            triangular_solve(packed, swapped(left), lower=False, transpose=True, unit=False)
        )
        below = triangle(inner, lower=True, diagonal=False)
        above = triangle(inner, lower=False, diagonal=True)
        lower = triangle(packed, lower=True, diagonal=False)
        upper = triangle(packed, lower=False, diagonal=True)
        return (below + matmul(lower, below) + matmul(above, upper), None)


def _factorise(a: Any, pivots: Any) -> None:
    """Apply Gaussian elimination with partial pivoting, in place."""
    n = len(a)
    for k in range(n):
        p = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)))  # as LAPACK does
        pivots[k] = p
        a[[k, p]] = a[[p, k]]
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


class Permutation(Matrices):
    """``permutation(pivots)``: the order of the rows after a series of exchanges."""

    arity = 1
    core = 1

    def may_fail(self, op: Op) -> bool:
        return True  # if pivots are not those of an LU factorization

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (pivots,) = types
        require(
            pivots.dtype == np.dtype(np.int64) and pivots.ndim > 0,
            f"permutation takes an int64 array of at least one axis; got {pivots}",
        )
        return types

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        pivots = np.asarray(arrays[0])
        check_pivots(pivots)
        rows = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
        for *index, k in np.ndindex(pivots.shape):
            row, p = rows[tuple(index)], pivots[(*index, k)]
            row[[k, p]] = row[[p, k]]
        return rows


class Solve(_LinearInRight):
    """``solve(a, lu, pivots, b, transpose=t)``: the x with ``a x = b`` (or ``aᵀ x = b``).

    ``lu, pivots = lu(a)`` always holds; only they and b are read. The derivative is taken by a and
    b (dx = a⁻¹ (db - da x)), and solves with the same factors in either mode. Raises LinAlgError
    if a is singular.
    """

    arity = 4
    parameters = ("transpose",)
    unread = 1
    fallible = True

    def fails_by(self, op: Op) -> Hashable | None:
        return np.linalg.LinAlgError, op.operands[1]  # depends only on the factors

    def succeeds(self, op: Op) -> tuple[Value, Exception]:
        packed = op.operands[1]
        row, column = places(packed.type)
        is_zero = bitwise_and(eq(packed, full(0, packed.type)), eq(row, column))
        return everywhere(bitwise_not(is_zero)), np.linalg.LinAlgError(SINGULAR)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        a, packed, pivots, b = types
        check_square("solve", a)
        check_right_side("solve", a, b)
        require(
            packed == a and pivots == Type(np.dtype(np.int64), a.shape[:-1]),
            f"solve takes a matrix and its lu; got {a}, {packed} and {pivots}",
        )
        return (b,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        _, packed, pivots, b = map(np.asarray, arrays)
        if np.any(np.diagonal(packed, axis1=-2, axis2=-1) == 0):
            raise np.linalg.LinAlgError(SINGULAR)
        rows = permutation.evaluate(pivots)[..., None]
        if not params["transpose"]:
            x = substituted(packed, np.take_along_axis(b, rows, -2), lower=True, unit=True)
            return substituted(packed, x, lower=False, unit=False)
        turned = np.swapaxes(packed, -1, -2)
        x = substituted(turned, b, lower=True, unit=False)
        x = substituted(turned, x, lower=False, unit=True)
        return np.take_along_axis(x, np.argsort(rows, -2), -2)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (a, packed, pivots, _), x = op.operands, op.result
        da, _, _, side = tangents
        if da is not None:
            side = minus(side, matmul(da, x, transposed=op.params["transpose"]))
        return (None if side is None else self(a, packed, pivots, side, **op.params),)


# -- checks of operands -------------------------------------------------------


def check_matrix(name: str, a: Type) -> None:
    require(
        a.dtype.kind in "fc" and not is_half(a.dtype) and a.ndim >= 2,
        f"{name} takes matrices of float32, float64 or complex numbers in the last two axes; "
        f"got {a}",
    )


def check_square(name: str, a: Type) -> None:
    check_matrix(name, a)
    require(a.shape[-1] == a.shape[-2], f"{name} takes square matrices; got {a}")


def check_right_side(name: str, a: Type, b: Type) -> None:
    require(
        a.dtype == b.dtype and b.ndim == a.ndim and b.shape[:-1] == a.shape[:-1],
        f"{name} with {a} takes right-hand sides in columns, of the same dtype and outer axes; "
        f"got {b}",
    )


def check_pivots(pivots: Any) -> None:
    n = pivots.shape[-1]
    if np.any((pivots < 0) | (pivots >= n)):
        raise IndexError(f"a pivot is out of bounds for a matrix of {n} rows")


# -- small formulas -----------------------------------------------------------


def swapped(a: Value) -> Value:
    """Return the transposed matrices."""
    n = a.type.ndim
    return transpose(a, axes=(*range(n - 2), n - 1, n - 2))


def adjoint(a: Value) -> Value:
    """Return the conjugate transposes of the matrices."""
    turned = swapped(a)
    return conj(turned) if turned.dtype.kind == "c" else turned


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of complex numbers."""
    return np.empty(0, dtype).real.dtype


def complex_of(dtype: np.dtype) -> np.dtype:
    """Return the dtype of complex numbers with parts of a dtype."""
    return np.result_type(dtype, np.complex64)


def real_part(a: Value) -> Value:
    return real(a) if a.dtype.kind == "c" else a


def as_dtype(a: Value, dtype: np.dtype) -> Value:
    """Convert real numbers to complex ones if the dtype is complex."""
    made: Value = a if a.dtype == dtype else convert(a, dtype=dtype)
    return made


def matmul(a: Value, b: Value, *, transposed: bool = False) -> Value:
    """Return ``a @ b`` of two stacks with the same outer axes (``aᵀ @ b`` if transposed)."""
    n = a.type.ndim - 2
    outer = tuple(range(n))
    return dot(a, b, contract=((n if transposed else n + 1,), (n,)), batch=(outer, outer))


def minus(a: MaybeValue, b: Value) -> Value:
    return -b if a is None else a - b


def symmetrised(a: Value) -> Value:
    """Return the Hermitian part; for real matrices, the symmetric part."""
    return (a + adjoint(a)) * 0.5


def places(type: Type) -> tuple[Value, Value]:
    """Return the row and the column of each element."""
    index = np.dtype(np.int64)
    return (
        iota(dtype=index, shape=type.shape, axis=type.ndim - 2),
        iota(dtype=index, shape=type.shape, axis=type.ndim - 1),
    )


def everywhere(held: Value) -> Value:
    """Return whether a condition holds for all elements."""
    return all_(held, axes=tuple(range(held.type.ndim)))


def triangle(a: Value, *, lower: bool, diagonal: bool) -> Value:
    """Return a triangle of the matrices, with zeros elsewhere."""
    first, second = places(a.type) if lower else places(a.type)[::-1]
    if diagonal:
        first = first + full_like(1, first)
    return select(gt(first, second), a, full(0, a.type))


def taken_rows(a: Value, rows: Value) -> Value:
    """Return matrices whose row i is row ``rows[..., i]`` of the given ones."""
    return gather(a, *_row_places(rows), axes=tuple(range(a.type.ndim - 1)))


def put_rows(a: Value, rows: Value) -> Value:
    """Move row i of each matrix to row ``rows[..., i]``: the inverse of :func:`taken_rows`."""
    return scatter_add(a, *_row_places(rows), axes=tuple(range(a.type.ndim - 1)), shape=a.shape)


def _row_places(rows: Value) -> list[Value]:
    outer = range(rows.type.ndim - 1)
    return [*(iota(dtype=rows.dtype, shape=rows.shape, axis=k) for k in outer), rows]


def columns_of_batch(b: Value) -> Value:
    """Reshape [size, ..., n, k] to [..., n, size * k]."""
    size, *outer, n, k = b.shape
    last = b.type.ndim - 1
    moved = transpose(b, axes=(*range(1, last), 0, last))
    return reshape(moved, shape=(*outer, n, size * k))


def batch_of_columns(x: Value, size: int) -> Value:
    """Apply the inverse of :func:`columns_of_batch`."""
    *outer, n, columns = x.shape
    apart = reshape(x, shape=(*outer, n, size, columns // size if size else 0))
    last = apart.type.ndim - 1
    return transpose(apart, axes=(last - 1, *range(last - 1), last))


def substituted(t: Any, b: Any, *, lower: bool, unit: bool) -> Any:
    """Solve triangular systems by substitution, column by column."""
    x, n = np.array(b), t.shape[-1]
    for i in range(n) if lower else reversed(range(n)):
        if not unit:
            x[..., i, :] /= t[..., i, i, None]
        rest = slice(i + 1, n) if lower else slice(0, i)
        x[..., rest, :] -= t[..., rest, i, None] * x[..., i, None, :]
    return x


triangular_solve = TriangularSolve("triangular_solve")
lu = LU("lu")
permutation = Permutation("permutation")
solve = Solve("solve")
