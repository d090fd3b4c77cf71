"""``scipy.linalg`` for traced arrays: with plain ones only, each function is SciPy's own.

Traced, arrays may be stacks of matrices in the last two axes; ``overwrite_…`` and
``check_finite`` are ignored: nothing is overwritten, and NaN and infinities go through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.linalg import factorizations
from autojit.ir.core.program import Value
from autojit.ir.linalg import factorizations as ops
from autojit.ir.ops.arithmetic import convert
from autojit.protocols.lifting import as_tracer, as_value, tracer
from autojit.protocols.lists import takes_arrays
from autojit.protocols.registry import uncovered
from autojit.tracing.values import is_tracer

#: SciPy's names of the structures for which `solve` does what it does for any matrix.
_GENERAL = (None, "gen", "general")
_POSITIVE = ("pos", "positive definite")
_SYMMETRIC = ("sym", "symmetric", "her", "hermitian")
_TRIANGULAR = {"upper triangular": False, "lower triangular": True}

#: How SciPy says that a matrix is transposed.
_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


def _plain(*arrays: Any) -> bool:
    """Whether SciPy can take them."""
    return not any(
        _plain(*a) is False if isinstance(a, (list, tuple)) else is_tracer(a) for a in arrays
    )


def _scipy() -> Any:
    import scipy.linalg

    return scipy.linalg


@takes_arrays()
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The triangular factor of a positive definite matrix; only that triangle of it is read.

    Raises ``numpy.linalg.LinAlgError`` where the matrix is not positive definite.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.cholesky(a)[0, 0])(np.diag([4.0, 1.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    if _plain(a):
        return _scipy().cholesky(a, lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return factorizations.cholesky_factor(
        factorizations.square("scipy.linalg.cholesky", a), lower=lower
    )


@takes_arrays()
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """As :func:`cholesky`, for :func:`cho_solve`. Traced, the other triangle holds zeros."""
    if _plain(a):
        return _scipy().cho_factor(
            a, lower=lower, overwrite_a=overwrite_a, check_finite=check_finite
        )
    x = factorizations.square("scipy.linalg.cho_factor", a)
    return factorizations.cholesky_factor(x, lower=lower), lower


@takes_arrays("c_and_lower")
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x with ``a x = b``, from the factor of a.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> jit(lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b))(np.diag([4.0, 1.0]), np.ones(2))
    array([0.25, 1.  ])
    """
    c, lower = c_and_lower
    if _plain(c, b):
        return _scipy().cho_solve(
            c_and_lower, b, overwrite_b=overwrite_b, check_finite=check_finite
        )
    return _cho_solve("scipy.linalg.cho_solve", c, bool(lower), b)


def _cho_solve(name: str, c: Any, lower: bool, b: Any) -> Any:
    x, y = factorizations.matrices(name, c, b)

    def both(t: Value, b: Value) -> Value:
        half = ops.triangular_solve(t, b, lower=lower, transpose=not lower, unit=False)
        made: Value = ops.triangular_solve(t, half, lower=lower, transpose=lower, unit=False)
        return made

    return factorizations.solved_for(name, factorizations.checked_square(name, x), y, both)


@takes_arrays()
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

    Where a has a zero on its diagonal SciPy raises an error; traced, x holds infinities or NaN.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> a = np.array([[2.0, 1.0], [0.0, 2.0]])
    >>> grad(lambda a: linalg.solve_triangular(a, np.ones(2))[0])(a)
    array([[-0.125, -0.25 ],
           [ 0.   ,  0.125]])
    """
    if _plain(a, b):
        return _scipy().solve_triangular(
            a,
            b,
            trans=trans,
            lower=lower,
            unit_diagonal=unit_diagonal,
            overwrite_b=overwrite_b,
            check_finite=check_finite,
        )
    x, y = factorizations.matrices("scipy.linalg.solve_triangular", a, b)
    return _triangular(x, y, _transposed(trans), lower, unit_diagonal)


def _triangular(x: Value, y: Value, transpose: bool, lower: bool, unit: bool) -> Any:
    name = "scipy.linalg.solve_triangular"

    def solve(t: Value, b: Value) -> Value:
        made: Value = ops.triangular_solve(
            t, b, lower=bool(lower), transpose=transpose, unit=bool(unit)
        )
        return made

    return factorizations.solved_for(name, factorizations.checked_square(name, x), y, solve)


def _transposed(trans: Any) -> bool:
    try:
        return _TRANSPOSED[trans]
    except KeyError:
        raise ValueError(f"trans is one of 0, 1, 2, 'N', 'T' and 'C'; got {trans!r}") from None


@takes_arrays()
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

    Traced, that may be ``"general"`` (which it is if not given), ``"positive definite"``,
    ``"symmetric"``, ``"hermitian"``, ``"upper triangular"``, ``"lower triangular"``, or SciPy's
    short names. Raises ``numpy.linalg.LinAlgError`` where a is singular, or not positive definite.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda b: linalg.solve(2 * np.eye(2), b, assume_a="pos").sum())(np.ones(2))
    array([0.5, 0.5])
    """
    if _plain(a, b):
        options = {} if assume_a is None else {"assume_a": assume_a}  # SciPy's default has changed
        return _scipy().solve(
            a,
            b,
            lower=lower,
            overwrite_a=overwrite_a,
            overwrite_b=overwrite_b,
            check_finite=check_finite,
            transposed=transposed,
            **options,
        )
    name = "scipy.linalg.solve"
    x, y = factorizations.matrices(name, a, b)
    factorizations.checked_square(name, x)
    if assume_a in _GENERAL:
        return factorizations.solved(name, x, y, transpose=transposed)
    if assume_a in _POSITIVE:
        factor = factorizations.cholesky_factor(x, lower=lower)
        return _cho_solve(name, factor, lower, tracer(y))
    if assume_a in _SYMMETRIC:
        return factorizations.solved(name, _mirrored(x, lower), y)
    if assume_a in _TRIANGULAR:
        return _triangular(x, y, transposed, _TRIANGULAR[assume_a], False)
    raise uncovered(name, f" with assume_a={assume_a!r}")


def _mirrored(x: Value, lower: bool) -> Value:
    """The symmetric matrix with that triangle."""
    own = ops.triangle(x, lower=lower, diagonal=True)
    return own + ops.swapped(ops.triangle(x, lower=lower, diagonal=False))


@takes_arrays()
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse; ``numpy.linalg.LinAlgError`` where the matrix is singular.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.inv(a)[0, 0])(np.diag([2.0, 1.0]))
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    if _plain(a):
        return _scipy().inv(a, overwrite_a=overwrite_a, check_finite=check_finite)
    x = factorizations.square("scipy.linalg.inv", a)
    return factorizations.solved("scipy.linalg.inv", x, factorizations.identity(x))


@takes_arrays()
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant. Its derivative at a singular matrix is NaN.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(linalg.det)(np.diag([2.0, 4.0])).round(12)
    array([[4., 0.],
           [0., 2.]])
    """
    if _plain(a):
        return _scipy().det(a, overwrite_a=overwrite_a, check_finite=check_finite)
    # As SciPy: the pivots are multiplied in double precision, whatever the matrix has.
    sign, logarithm = factorizations.pivots_product(
        factorizations.square("scipy.linalg.det", a), np.float64
    )
    return sign * np.exp(logarithm)


@takes_arrays()
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """The LU factorisation with pivots, for :func:`lu_solve`.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> packed, pivots = jit(linalg.lu_factor)(np.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> packed
    array([[ 2. ,  8. ],
           [ 0.5, -2. ]])
    """
    if _plain(a):
        return _scipy().lu_factor(a, overwrite_a=overwrite_a, check_finite=check_finite)
    packed, pivots = ops.lu(factorizations.square("scipy.linalg.lu_factor", a))
    return tracer(packed), tracer(convert(pivots, dtype=np.dtype(np.int32)))


@takes_arrays("lu_and_piv")
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with ``a x = b`` (``aᵀ x = b`` for ``trans=1``), from the LU factorisation of a.

    A singular matrix gives infinities and NaN, as it does in SciPy.
    """
    packed, pivots = lu_and_piv
    if _plain(packed, pivots, b):
        return _scipy().lu_solve(
            lu_and_piv, b, trans=trans, overwrite_b=overwrite_b, check_finite=check_finite
        )
    name = "scipy.linalg.lu_solve"
    x, y = factorizations.matrices(name, packed, b)
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
    return factorizations.solved_for(name, factorizations.checked_square(name, x), y, solve, rows)


__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu_factor", "lu_solve", "solve",
    "solve_triangular",
]  # fmt: skip
