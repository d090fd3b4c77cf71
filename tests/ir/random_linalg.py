"""Samplers of the linear algebra ops of random programs: on matrices that are far from singular.

The functions take a `Grower` (see `random_programs`), from which they get values and numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.linalg import cholesky, factorizations, fourier, order, spectral
from autojit.ir.ops import arithmetic, elementary, move
from autojit.ir.ops.linear import iota


def regular(grow: Any, *, graded: bool = False) -> Any:
    """Matrices far from singular: bounded elements without NaN, and a large diagonal.

    If graded, the elements of the diagonal are distinct, and so are eigenvalues and singular
    values.
    """
    x = grow.value("f", min_ndim=2)
    if x is None:
        return None
    n = min(*x.shape[-2:], 3)
    x = move.slice_(
        x, start=(0,) * x.type.ndim, stop=(*x.shape[:-2], n, n), stride=(1,) * x.type.ndim
    )
    bounded = arithmetic.select(arithmetic.eq(x, x), elementary.arctan(x), full(1, x.type))
    rows, columns = factorizations.places(x.type)
    unit = arithmetic.convert(arithmetic.eq(rows, columns), dtype=x.dtype)
    grades = arithmetic.convert(rows + 1, dtype=x.dtype) if graded else full(1, x.type)
    return bounded + unit * grades * (16.0 if graded else 8.0)


def tall(grow: Any, a: Any) -> Any:
    """The matrix, perhaps with more rows."""
    return move.concatenate(a, a * 0.5, axis=a.type.ndim - 2) if a and grow.flag() else a


def eigh(grow: Any, kind: spectral.Eigh) -> Any:
    a = regular(grow, graded=True)
    if a is None:
        return None
    values, vectors = kind(factorizations.symmetrised(a), lower=grow.flag())
    # The sign of a vector is unspecified.
    return values if grow.flag() else vectors * vectors


def svd(grow: Any, kind: spectral.SVD) -> Any:
    a = tall(grow, regular(grow, graded=True))
    if a is None:
        return None
    u, values, vt = kind(factorizations.swapped(a) if grow.flag() else a)
    return grow.pick([u * u, values, vt * vt])


def qr(grow: Any, kind: spectral.QR) -> Any:
    a = tall(grow, regular(grow))
    return a and grow.pick(kind(a))


def pinv(grow: Any, kind: spectral.PseudoInverse) -> Any:
    a = tall(grow, regular(grow))
    return a and kind(a, rtol=1e-9)


def right_side(grow: Any, a: Value) -> Any:
    return grow.like(a.type.with_shape((*a.shape[:-1], grow.draw(grow.extents))))


def one_matrix(grow: Any, kind: Declaration) -> Any:
    a = regular(grow)
    if a is None or not isinstance(kind, cholesky.Cholesky):
        return a and grow.pick(kind(a))
    return kind(factorizations.symmetrised(a))


def cholesky_derivative(grow: Any, kind: Declaration) -> Any:
    a = regular(grow)
    return a and kind(a, grow.like(a.type))


def triangular_solve(grow: Any, kind: factorizations.TriangularSolve) -> Any:
    a = regular(grow)
    settings = {name: grow.flag() for name in kind.parameters}
    return a and kind(a, right_side(grow, a), **settings)


def lu_solve(grow: Any, kind: factorizations.Solve) -> Any:
    a = regular(grow)
    if a is None:
        return None
    if grow.flag():  # rows are exchanged
        a = move.flip(a, axes=(a.type.ndim - 2,))
    return kind(a, *factorizations.lu(a), right_side(grow, a), transpose=grow.flag())


def permutation(grow: Any, kind: factorizations.Permutation) -> Any:
    shape = (*grow.shape()[:1], grow.integer(1, 3))
    type = Type(np.dtype(np.int64), shape)
    numbers = iota(axis=len(shape) - 1, dtype=type.dtype, shape=shape)
    return kind(numbers if grow.flag() else full(shape[-1] - 1, type))


def argsort(grow: Any, kind: Any) -> Any:
    """Sort numbers that are known exactly: rounding could change the order of nearly equal ones."""
    shape = (*grow.shape()[:1], grow.integer(1, 3))
    dtype = np.dtype(np.float64 if grow.flag() else np.int64)
    numbers = iota(axis=len(shape) - 1, dtype=dtype, shape=shape)
    if grow.flag():
        numbers = move.flip(numbers, axes=(len(shape) - 1,))
    return kind(numbers)


def order_statistics(grow: Any, kind: order.OrderStatistics) -> Any:
    return argsort(grow, lambda x: kind(x, places=(0, x.shape[-1] - 1)[-x.shape[-1] :]))


def eig(grow: Any, kind: spectral.Eig) -> Any:
    """Only the real parts of the values: the signs of vectors, and the order of pairs, are
    unspecified."""
    a = regular(grow, graded=True)
    if a is None:
        return None
    square = arithmetic.convert(factorizations.symmetrised(a), dtype=np.dtype(np.float64))
    return arithmetic.real(kind(square)[0])


def transform(grow: Any, kind: fourier.Fourier) -> Any:
    name = ("forward", "backward", "real", "half")[grow.integer(0, 3)]
    x = grow.value("f" if name == "real" else "c", min_ndim=1)
    if x is None:
        return None
    axis = grow.integer(0, x.type.ndim - 1)
    extent = x.shape[axis]
    length = 2 * extent - 1 - int(grow.flag()) if name == "half" else extent
    if length < 1:
        return None
    return kind(x, axis=axis, kind=name, length=length, scale=0.5 if grow.flag() else 1.0)


LINALG: dict[type[Declaration], Any] = {
    cholesky.Cholesky: one_matrix,
    cholesky.CholeskyTangent: cholesky_derivative,
    cholesky.CholeskyCotangent: cholesky_derivative,
    factorizations.LU: one_matrix,
    fourier.Fourier: transform,
    spectral.Eig: eig,
    factorizations.TriangularSolve: triangular_solve,
    factorizations.Permutation: permutation,
    order.Argsort: argsort,
    order.Sort: argsort,
    order.OrderStatistics: order_statistics,
    factorizations.Solve: lu_solve,
    spectral.Eigh: eigh,
    spectral.SVD: svd,
    spectral.QR: qr,
    spectral.PseudoInverse: pinv,
}
