"""Direct solutions of equations with sparse matrices.

The compiled code solves equations with small matrices as full ones. For others, it calls SciPy's
SuperLU, which factorizes and solves; the derivative comes from the equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.errors import ShapeError, with_place
from autojit.scipy.arguments import floating, refused
from autojit.scipy.linalg.solving import solve_triangular
from autojit.scipy.registry import answers, original
from autojit.solvers.implicit import custom_linear_solve
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.source import user_source

from .matrices import Sparse, as_sparse, is_sparse, times

#: A matrix of at most this many rows is treated as a full one.
FULL = 64


def full(a: Any) -> Any:
    """A matrix as a full, traced array of floats."""
    return floating(a.toarray() if is_sparse(a) else a)


@answers("scipy.sparse.linalg.spsolve")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """The x with ``A x = b``, for a vector or a full matrix b.

    >>> from autojit import jit
    >>> from scipy.sparse import csr_array
    >>> from autojit.scipy.sparse.linalg import spsolve
    >>> jit(lambda b: spsolve(csr_array([[2.0, 0.0], [0.0, 4.0]]), b))(np.ones(2))
    array([0.5 , 0.25])
    """
    if is_sparse(b):
        raise refused("scipy.sparse.linalg.spsolve", "a sparse b is not covered.\n"
                      "    spsolve(A, b.toarray())")  # fmt: skip
    right = floating(b)
    made = _solved(A, right)
    return np.ravel(made) if right.ndim == 2 and right.shape[1] == 1 else made


def _solved(a: Any, b: Any, trans: str = "N") -> Any:
    """The solution of the equation with a matrix or, for ``trans="T"``, with its transpose."""
    rows, columns = a.shape
    if rows != columns or b.ndim not in (1, 2) or b.shape[0] != rows:
        message = f"a matrix of shape {a.shape} and a right side of shape {b.shape} do not fit."
        raise ShapeError(with_place(message, user_source()))
    if rows <= FULL or not is_sparse(a):
        matrix = full(a)
        return np.linalg.solve(matrix if trans == "N" else matrix.T, b)
    if not is_traced(a):
        return solved_by_factors(original("scipy.sparse.linalg.splu")(a.tocsc()), b, trans)
    return _by_entries(as_sparse(a if trans == "N" else a.T), b)


def _by_entries(a: Sparse, b: Any) -> Any:
    """The solution for a matrix with traced entries, which is factorized at each call."""
    dtype = np.result_type(a.dtype, b.dtype)
    data = a.data.astype(dtype)

    def solve(trans: str) -> Callable[[Any, Any], Any]:
        call = _factorizing(a.row, a.col, a.shape, trans)
        return lambda _, y: pure_callback(call, y, data, y)

    matrix = a.like(data, a.row, a.col, a.shape)
    return custom_linear_solve(lambda x: times(matrix, x), b.astype(dtype), solve("N"), solve("T"))


def _factorizing(row: Any, col: Any, shape: Any, trans: str) -> Callable[[Any, Any], Any]:
    """A function ``(data, b) -> x`` that solves with SuperLU, and that holds no traced value.

    ``row`` and ``col`` are the places of the entries ``data``.
    """
    coo_array = original("scipy.sparse.coo_array")
    splu_of = original("scipy.sparse.linalg.splu")

    def solution(data: Any, b: Any) -> Any:
        return splu_of(coo_array((data, (row, col)), shape).tocsc()).solve(b, trans)

    return solution


def solved_by_factors(factors: Any, b: Any, trans: str) -> Any:
    """The solution by SuperLU's factors of a known matrix A.

    The equation is with A (``N``), its transpose (``T``) or its conjugate transpose (``H``).
    """
    if trans == "H":
        return np.conj(solved_by_factors(factors, np.conj(b), "T"))
    matrix = _product_of(factors)
    b = b.astype(np.result_type(matrix.dtype, b.dtype))
    core = b.ndim

    def solve(trans: str) -> Callable[[Any, Any], Any]:
        def all_columns(y: np.ndarray) -> np.ndarray:
            moved = np.moveaxis(y, y.ndim - core, 0)
            made = _own_solve(factors, moved.reshape(len(moved), -1), trans)
            return np.moveaxis(made.reshape(moved.shape), 0, y.ndim - core)

        return lambda _, y: pure_callback(all_columns, y, y, vmap_method="broadcast_all")

    other = "T" if trans == "N" else "N"
    matrix = matrix if trans == "N" else matrix.T
    return custom_linear_solve(lambda x: times(matrix, x), b, solve(trans), solve(other))


def _product_of(factors: Any) -> Any:
    """The matrix A that was factorized: ``Pr A Pc = L U``."""
    made = (factors.L @ factors.U).tocsr()
    return made[factors.perm_r][:, factors.perm_c]


def _own_solve(factors: Any, b: np.ndarray, trans: str) -> np.ndarray:
    """SuperLU's own solution; a complex b is split if the matrix is real."""
    if b.dtype.kind == "c" and factors.L.dtype.kind != "c":
        parts = [factors.solve(np.ascontiguousarray(part), trans) for part in (b.real, b.imag)]
        return np.asarray(parts[0] + 1j * parts[1], b.dtype)
    return np.asarray(factors.solve(b, trans))


class Factors:
    """The result of ``splu`` for a matrix with traced entries."""

    def __init__(self, a: Any) -> None:
        self.a, self.shape = a, a.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        right = floating(rhs)
        if trans == "H":
            return np.conj(_solved(self.a, np.conj(right), "T"))
        return _solved(self.a, right, trans)


@answers("scipy.sparse.linalg.splu")
def splu(
    A: Any, permc_spec: Any = None, diag_pivot_thresh: Any = None, relax: Any = None,
    panel_size: Any = None, options: Any = None,
) -> Factors:  # fmt: skip
    """An object whose ``solve(b, trans)`` solves with the matrix."""
    return Factors(A)


@answers("scipy.sparse.linalg.factorized")
def factorized(A: Any) -> Callable[[Any], Any]:
    """A function that solves with the matrix.

    >>> from autojit import grad
    >>> from scipy.sparse import diags_array
    >>> from autojit.scipy.sparse.linalg import factorized
    >>> grad(lambda k: factorized(k * diags_array([1.0, 2.0]))(np.ones(2)).sum())(2.0)
    np.float64(-0.375)
    """
    return Factors(A).solve


@answers("scipy.sparse.linalg.SuperLU.solve")
def _solve_by_known_factors(self: Any, rhs: Any, trans: str = "N") -> Any:
    return solved_by_factors(self, floating(rhs), trans)


@answers("scipy.sparse.linalg.inv")
def inv(A: Any) -> Sparse:
    """The inverse; all its entries are stored."""
    return as_sparse(np.linalg.inv(full(A)))


def _is_not_triangular(a: Sparse, lower: bool) -> bool:
    other = a.row < a.col if lower else a.row > a.col
    return bool(np.any(other if is_traced(a.data) else other & (a.data != 0)))


@answers("scipy.sparse.linalg.spsolve_triangular")
def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """The x with ``A x = b`` for a sparse triangular matrix, solved as a full one.

    >>> from autojit import jit
    >>> from scipy.sparse import csr_array
    >>> from autojit.scipy.sparse.linalg import spsolve_triangular
    >>> jit(lambda b: spsolve_triangular(csr_array([[2.0, 0.0], [1.0, 4.0]]), b))(np.ones(2))
    array([0.5  , 0.125])
    """
    if is_sparse(A) and _is_not_triangular(as_sparse(A), lower):
        side, triangle = ("above", "tril") if lower else ("below", "triu")
        message = (
            f"A is not triangular: it stores entries {side} the diagonal. Take its triangle:\n"
            f"    spsolve_triangular(scipy.sparse.{triangle}(A), b, lower={lower})"
        )
        raise np.linalg.LinAlgError(with_place(message, user_source()))
    return solve_triangular(full(A), floating(b), lower=lower, unit_diagonal=unit_diagonal)
