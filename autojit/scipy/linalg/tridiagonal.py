"""Eigenvalues of banded and tridiagonal matrices, as in ``scipy.linalg``.

For traced arrays, the eigenvalues are those of the full matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.arguments import floating, known
from autojit.scipy.registry import answers

from .eigenvalues import eigh


def _some(name: str, matrix: Any, only: bool, select: Any, select_range: Any) -> Any:
    """The eigenvalues (and vectors), all or in a range of indices."""
    if select in (0, "a", "all"):
        return eigh(matrix, eigvals_only=only)
    if select not in (2, "i", "index"):
        raise uncovered(f"scipy.linalg.{name}", f" with select={select!r}")
    low, high = (int(k) for k in known(select_range, "select_range", name))
    return eigh(matrix, eigvals_only=only, subset_by_index=(low, high))


def _diagonals(rows: list[Any]) -> Any:
    """A symmetric (or Hermitian) matrix from its diagonals, the main one first."""
    n = rows[0].shape[0]
    made = rows[0] * np.eye(n)
    for k, row in enumerate(rows[1:], 1):
        lower = np.concatenate([np.zeros((k, n)), row[:, None] * np.eye(n - k, n)])
        made = made + lower + np.conj(lower.T)
    return made


def _of_bands(a_band: Any, lower: bool) -> Any:
    bands = floating(a_band)
    count, n = bands.shape
    if lower:
        return _diagonals([bands[k, : n - k] for k in range(count)])
    return _diagonals([np.conj(bands[count - 1 - k, k:]) for k in range(count)])


@answers("scipy.linalg.eig_banded")
def eig_banded(
    a_band: Any, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False,
    select: Any = "a", select_range: Any = None, max_ev: int = 0, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors of a Hermitian matrix in diagonal ordered form.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import eig_banded
    >>> bands = np.array([[2.0, 1.0], [0.0, 0.0]])
    >>> grad(lambda a: eig_banded(a, lower=True, eigvals_only=True)[0])(bands)
    array([[0., 1.],
           [0., 0.]])
    """
    return _some("eig_banded", _of_bands(a_band, lower), eigvals_only, select, select_range)


@answers("scipy.linalg.eigvals_banded")
def eigvals_banded(
    a_band: Any, lower: bool = False, overwrite_a_band: bool = False, select: Any = "a",
    select_range: Any = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """The eigenvalues of :func:`eig_banded`."""
    return _some("eigvals_banded", _of_bands(a_band, lower), True, select, select_range)


def _tridiagonal(d: Any, e: Any) -> Any:
    d, e = floating(d), floating(e)
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise ValueError(f"d ({d.size}) must have one more element than e ({e.size})")
    return _diagonals([d, e])


@answers("scipy.linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: Any = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors of a matrix with diagonal d and off-diagonals e.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import eigh_tridiagonal
    >>> grad(lambda e: eigh_tridiagonal(np.zeros(2), e, True)[1])(np.ones(1)).round(9)
    array([1.])
    """
    return _some("eigh_tridiagonal", _tridiagonal(d, e), eigvals_only, select, select_range)


@answers("scipy.linalg.eigvalsh_tridiagonal")
def eigvalsh_tridiagonal(
    d: Any, e: Any, select: Any = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """The eigenvalues of :func:`eigh_tridiagonal`."""
    return _some("eigvalsh_tridiagonal", _tridiagonal(d, e), True, select, select_range)


# -- other forms -----------------------------------------------------------------------------


@answers("scipy.linalg.diagsvd")
def diagsvd(s: Any, M: int, N: int) -> Any:
    """The matrix with singular values on its diagonal.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import diagsvd
    >>> jit(lambda s: diagsvd(s, 1, 2))(np.array([3.0]))
    array([[3., 0.]])
    """
    s = as_tracer(s)
    if s.shape[0] not in (M, N):
        raise ValueError("Length of s must be M or N.")
    square = s[:, None] * np.eye(s.shape[0], dtype=s.dtype)
    return np.pad(square, ((0, M - s.shape[0]), (0, N - s.shape[0])))


@answers("scipy.linalg.fiedler_companion")
def fiedler_companion(a: Any) -> Any:
    """A pentadiagonal matrix whose eigenvalues are the roots of a polynomial.

    Fiedler, "A note on companion matrices", Linear Algebra Appl. 372 (2003), 325-331.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import fiedler_companion
    >>> jit(fiedler_companion)(np.array([1.0, -3.0, 2.0]))
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = np.atleast_1d(floating(a))
    if a.ndim != 1:
        raise ValueError(
            "fiedler_companion of traced values takes a single polynomial (a 1-D array)"
        )
    a = a / a[0]
    n = a.shape[0] - 1
    if n < 2:
        return -a[1:][:, None] if n else a[:0]
    fixed = np.zeros((n, n))
    fixed[range(3, n, 2), range(1, n - 2, 2)] = 1.0
    fixed[range(0, n - 2, 2), range(2, n, 2)] = 1.0
    fixed[1, 0] = 1.0
    places = [(1, 0, 0), *((k + 1, k, k - 1) for k in range(2, n, 2))]
    places += [(k, k - 2, k - 1) for k in range(2, n + 1, 2)]
    made: Any = fixed
    for k, row, column in places:
        place = np.zeros((n, n))
        place[row, column] = -1.0
        made = made + a[k] * place
    return made
