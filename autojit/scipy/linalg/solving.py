"""Factorizations and linear systems, as in ``scipy.linalg``.

Traced arrays may be stacks of matrices in the last two axes. For them, ``overwrite_…`` and
``check_finite`` are ignored: nothing is overwritten, and NaN and infinities are passed on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.linalg import factorizations as linalg
from autojit.functions.linalg.spectral import hermitian_matrix
from autojit.ir.core.program import Value
from autojit.ir.linalg import factorizations as ops
from autojit.ir.ops.arithmetic import conj, convert
from autojit.protocols.lifting import as_tracer, as_value, tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers

#: Values of ``assume_a`` that mean any matrix.
_GENERAL = (None, "gen", "general")
_POSITIVE = ("pos", "positive definite")
_HERMITIAN = ("her", "hermitian")
_SYMMETRIC = ("sym", "symmetric", *_HERMITIAN)
_TRIANGULAR = {"upper triangular": False, "lower triangular": True}

#: Whether the matrix is transposed, by the value of ``trans``.
_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


@answers("scipy.linalg.cholesky")
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The triangular factor of a positive definite matrix, of which only that triangle is read.

    Raises ``numpy.linalg.LinAlgError`` if the matrix is not positive definite.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.cholesky(a)[0, 0])(np.diag([4.0, 1.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    return linalg.cholesky_factor(linalg.square("scipy.linalg.cholesky", a), lower=lower)


@answers("scipy.linalg.cho_factor")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Like :func:`cholesky`, for :func:`cho_solve`. A traced result is 0 in the other triangle.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import cho_factor
    >>> grad(lambda a: cho_factor(a)[0][0, 0])(4.0 * np.eye(2))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    x = linalg.square("scipy.linalg.cho_factor", a)
    return linalg.cholesky_factor(x, lower=lower), lower


@answers("scipy.linalg.cho_solve", tuples=("c_and_lower",))
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x with ``a x = b``, from the Cholesky factor of a.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> jit(lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b))(np.diag([4.0, 1.0]), np.ones(2))
    array([0.25, 1.  ])
    """
    c, lower = c_and_lower
    return _cho_solve("scipy.linalg.cho_solve", c, bool(lower), b)


def _cho_solve(name: str, c: Any, lower: bool, b: Any) -> Any:
    x, y = linalg.matrices(name, c, b)

    def both(t: Value, b: Value) -> Value:
        turned = _conjugate(t)
        first, second = (t, turned) if lower else (turned, t)
        half = ops.triangular_solve(first, b, lower=lower, transpose=not lower, unit=False)
        made: Value = ops.triangular_solve(second, half, lower=lower, transpose=lower, unit=False)
        return made

    return linalg.solved_for(name, linalg.checked_square(name, x), y, both)


@answers("scipy.linalg.solve_triangular")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with ``a x = b`` for a triangle of a; the other triangle is not read.

    If a has a zero on its diagonal, SciPy raises an error; for traced arrays, x has infinities or
    NaN.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> a = np.array([[2.0, 1.0], [0.0, 2.0]])
    >>> grad(lambda a: linalg.solve_triangular(a, np.ones(2))[0])(a)
    array([[-0.125, -0.25 ],
           [ 0.   ,  0.125]])
    """
    x, y = linalg.matrices("scipy.linalg.solve_triangular", a, b)
    x = _conjugate(x) if _is_adjoint(trans) else x
    return _triangular(x, y, _transposed(trans), lower, unit_diagonal)


def _triangular(x: Value, y: Value, transpose: bool, lower: bool, unit: bool) -> Any:
    name = "scipy.linalg.solve_triangular"

    def solve(t: Value, b: Value) -> Value:
        made: Value = ops.triangular_solve(
            t, b, lower=bool(lower), transpose=transpose, unit=bool(unit)
        )
        return made

    return linalg.solved_for(name, linalg.checked_square(name, x), y, solve)


def _conjugate(x: Value) -> Value:
    return conj(x) if x.dtype.kind == "c" else x


def _is_adjoint(trans: Any) -> bool:
    return trans in (2, "C")


def _transposed(trans: Any) -> bool:
    try:
        return _TRANSPOSED[trans]
    except KeyError:
        raise ValueError(f"trans is one of 0, 1, 2, 'N', 'T' and 'C'; got {trans!r}") from None


@answers("scipy.linalg.solve")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """The x with ``a x = b``, by a factorisation that fits ``assume_a``.

    For traced arrays, this may be ``"general"`` (the default), ``"positive definite"``,
    ``"symmetric"``, ``"hermitian"``, ``"upper triangular"``, ``"lower triangular"``, or one of
    SciPy's short names. Raises ``numpy.linalg.LinAlgError`` if a is singular, or not positive
    definite.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda b: linalg.solve(2 * np.eye(2), b, assume_a="pos").sum())(np.ones(2))
    array([0.5, 0.5])
    """
    name = "scipy.linalg.solve"
    x, y = linalg.matrices(name, a, b)
    linalg.checked_square(name, x)
    if assume_a in _GENERAL:
        return linalg.solved(name, x, y, transpose=transposed)
    if assume_a in _POSITIVE:
        x = _conjugate(x) if transposed else x
        factor = linalg.cholesky_factor(x, lower=lower)
        return _cho_solve(name, factor, lower, tracer(y))
    if assume_a in _SYMMETRIC:
        mirrored = _mirrored(x, lower, conjugate=assume_a in _HERMITIAN)
        return linalg.solved(name, mirrored, y, transpose=transposed)
    if assume_a in _TRIANGULAR:
        return _triangular(x, y, transposed, _TRIANGULAR[assume_a], False)
    raise uncovered(name, f" with assume_a={assume_a!r}")


def _mirrored(x: Value, lower: bool, *, conjugate: bool) -> Value:
    """The symmetric, or Hermitian, matrix with a triangle of x."""
    if conjugate:
        return hermitian_matrix("scipy.linalg.solve", tracer(x), lower=lower)
    own = ops.triangle(x, lower=lower, diagonal=True)
    return own + ops.swapped(ops.triangle(x, lower=lower, diagonal=False))


@answers("scipy.linalg.inv")
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse; raises ``numpy.linalg.LinAlgError`` if the matrix is singular.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.inv(a)[0, 0])(np.diag([2.0, 1.0]))
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    x = linalg.square("scipy.linalg.inv", a)
    return linalg.solved("scipy.linalg.inv", x, linalg.identity(x))


@answers("scipy.linalg.det")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant. Its derivative at a singular matrix is NaN.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(linalg.det)(np.diag([2.0, 4.0])).round(12)
    array([[4., 0.],
           [0., 2.]])
    """
    # Like SciPy, multiply the pivots in double precision for any dtype of the matrix.
    x = linalg.square("scipy.linalg.det", a)
    dtype = np.dtype(np.complex128 if x.dtype.kind == "c" else np.float64)
    sign, logarithm = linalg.pivots_product(x, dtype)
    return sign * np.exp(logarithm)


@answers("scipy.linalg.lu_factor")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """The LU factorisation with pivots, for :func:`lu_solve`.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> packed, pivots = jit(linalg.lu_factor)(np.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> packed
    array([[ 2. ,  8. ],
           [ 0.5, -2. ]])
    """
    packed, pivots = ops.lu(linalg.square("scipy.linalg.lu_factor", a))
    return tracer(packed), tracer(convert(pivots, dtype=np.dtype(np.int32)))


@answers("scipy.linalg.lu_solve", tuples=("lu_and_piv",))
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with ``a x = b`` (``aᵀ x = b`` for ``trans=1``), from the LU factorisation of a.

    A singular matrix gives infinities and NaN, as in SciPy.
    """
    packed, pivots = lu_and_piv
    name = "scipy.linalg.lu_solve"
    x, y = linalg.matrices(name, packed, b)
    x = _conjugate(x) if _is_adjoint(trans) else x
    rows = ops.permutation(as_value(as_tracer(pivots), np.dtype(np.int64)))
    transpose = _transposed(trans)

    def forward(t: Value, rows: Value, b: Value) -> Value:
        half = ops.triangular_solve(
            t, ops.taken_rows(b, rows), lower=True, transpose=False, unit=True
        )
        made: Value = ops.triangular_solve(t, half, lower=False, transpose=False, unit=False)
        return made

    def backward(t: Value, rows: Value, b: Value) -> Value:
        half = ops.triangular_solve(t, b, lower=False, transpose=True, unit=False)
        x = ops.triangular_solve(t, half, lower=True, transpose=True, unit=True)
        return ops.put_rows(x, rows)

    solve = backward if transpose else forward
    return linalg.solved_for(name, linalg.checked_square(name, x), y, solve, rows)


__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu_factor", "lu_solve", "solve",
    "solve_triangular",
]  # fmt: skip
