"""Matrices that ``scipy.linalg`` builds from vectors and blocks, and equations with them.

Traced arrays may be stacks in their outer axes. A structured matrix is indexed from its vector, so
derivatives are sums along diagonals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import scan
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, known_integer, refused
from autojit.scipy.registry import answers
from autojit.solvers.implicit import custom_linear_solve


def _vector(x: Any) -> Any:
    return np.atleast_1d(as_tracer(x))


@answers("scipy.linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals, first column c, and first row r (by default conj(c)).

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import toeplitz
    >>> grad(lambda c: toeplitz(c).sum())(np.ones(3))
    array([3., 4., 2.])
    """
    c = _vector(c)
    r = np.conjugate(c) if r is None else _vector(r)
    m, n = c.shape[-1], r.shape[-1]
    values = np.concatenate([_outer(c[..., ::-1], r), _outer(r[..., 1:], c)], axis=-1)
    return values[..., m - 1 - np.arange(m)[:, None] + np.arange(n)]


def _outer(x: Any, like: Any) -> Any:
    """x broadcast to the outer axes of another vector as well."""
    outer = np.broadcast_shapes(x.shape[:-1], like.shape[:-1])
    return np.broadcast_to(x, (*outer, x.shape[-1]))


@answers("scipy.linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant anti-diagonals, first column c, and last row r (by default zeros).

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import hankel
    >>> grad(lambda c: hankel(c).sum())(np.ones(3))
    array([1., 2., 3.])
    """
    c = np.ravel(as_tracer(c))
    r = np.zeros_like(c) if r is None else np.ravel(as_tracer(r))
    values = np.concatenate([c, r[1:]])
    return values[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]


@answers("scipy.linalg.circulant")
def circulant(c: Any) -> Any:
    """The matrix whose columns are c, each shifted cyclically one place further down.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import circulant
    >>> grad(lambda c: circulant(c)[0].sum())(np.ones(3))
    array([1., 1., 1.])
    """
    c = _vector(c)
    places = np.arange(c.shape[-1])
    return c[..., (places[:, None] - places) % len(places)]


@answers("scipy.linalg.block_diag")
def block_diag(*arrs: Any) -> Any:
    """A matrix with given matrices along its diagonal and zeros elsewhere.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import block_diag
    >>> grad(lambda a: block_diag(a, [[1.0]]).sum())(np.ones((1, 2)))
    array([[1., 1.]])
    """
    blocks = [np.atleast_2d(as_tracer(a)) for a in arrs]
    outer = np.broadcast_shapes(*(b.shape[:-2] for b in blocks))
    dtype = np.result_type(*(b.dtype for b in blocks))
    columns = sum(b.shape[-1] for b in blocks)
    rows, before = [], 0
    for block in blocks:
        height, width = block.shape[-2:]
        block = np.broadcast_to(block, (*outer, height, width)).astype(dtype)
        rest = columns - before - width
        parts = [np.zeros((*outer, height, before), dtype), block,
                 np.zeros((*outer, height, rest), dtype)]  # fmt: skip
        rows.append(np.concatenate(parts, axis=-1))
        before += width
    return np.concatenate(rows, axis=-2)


@answers("scipy.linalg.companion")
def companion(a: Any) -> Any:
    """The matrix whose eigenvalues are the roots of the polynomial with coefficients a.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import companion
    >>> jit(companion)(np.array([1.0, -3.0, 2.0]))
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = _vector(a)
    n = a.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -a[..., None, 1:] / (1.0 * a[..., None, :1])
    below = np.broadcast_to(np.eye(n - 2, n - 1), (*first.shape[:-2], n - 2, n - 1))
    return np.concatenate([first, below.astype(first.dtype)], axis=-2)


@answers("scipy.linalg.leslie")
def leslie(f: Any, s: Any) -> Any:
    """The Leslie matrix of a population with fecundities f and survival rates s.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import leslie
    >>> jit(leslie)(np.array([1.0, 2.0]), np.array([0.5]))
    array([[1. , 2. ],
           [0.5, 0. ]])
    """
    f, s = _vector(f), _vector(s)
    n = f.shape[-1]
    if n != s.shape[-1] + 1 or n < 2:
        raise ValueError("The length of s must be one less than the length of f, and at least 1.")
    below = s[..., :, None] * np.eye(n - 1, n)
    return np.concatenate([f[..., None, :], below], axis=-2)


@answers("scipy.linalg.fiedler")
def fiedler(a: Any) -> Any:
    """The matrix of distances ``abs(a[i] - a[j])``.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import fiedler
    >>> jit(fiedler)(np.array([1.0, 4.0]))
    array([[0., 3.],
           [3., 0.]])
    """
    a = _vector(a)
    return np.abs(a[..., :, None] - a[..., None, :])


@answers("scipy.linalg.convolution_matrix")
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with v is ``np.convolve(a, v, mode)``, for v of length n.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import convolution_matrix
    >>> jit(lambda a: convolution_matrix(a, 2))(np.array([1.0, 2.0]))
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    a, n = _vector(a), known_integer(n, "n", "convolution_matrix")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    if n <= 0 or a.shape[-1] == 0:
        raise ValueError("n must be a positive integer, and len(a) at least 1.")
    m = a.shape[-1]
    outer = a.shape[:-1]
    padded = np.concatenate([a, np.zeros((*outer, 1), a.dtype)], axis=-1)
    shorter = min(m, n) - 1
    before = {"full": 0, "same": shorter // 2, "valid": shorter}[mode]
    after = {"full": 0, "same": shorter - shorter // 2, "valid": shorter}[mode]
    rows = np.arange(before, m + n - 1 - after)
    places = rows[:, None] - np.arange(n)
    return padded[..., np.where((places >= 0) & (places < m), places, m)]


@answers("scipy.linalg.khatri_rao")
def khatri_rao(a: Any, b: Any) -> Any:
    """The Kronecker product of each column of a with the same column of b.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import khatri_rao
    >>> jit(khatri_rao)(np.eye(2), np.array([[1.0, 2.0]]))
    array([[1., 0.],
           [0., 2.]])
    """
    a, b = as_tracer(a), as_tracer(b)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return np.reshape(a[:, None, :] * b[None, :, :], (-1, a.shape[1]))


@answers("scipy.linalg.matmul_toeplitz", tuples=("c_or_cr",))
def matmul_toeplitz(
    c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None
) -> Any:
    """The product of a Toeplitz matrix, given by its first column (and row), and x.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import matmul_toeplitz
    >>> grad(lambda c: matmul_toeplitz(c, np.array([1.0, 0.0])).sum())(np.ones(2))
    array([1., 1.])
    """
    return _toeplitz_of(c_or_cr) @ floating(x)


@answers("scipy.linalg.solve_toeplitz", tuples=("c_or_cr",))
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """The x with ``T x = b`` for a Toeplitz matrix of n rows, in O(n**2) by Levinson's recursion.

    As in SciPy, the leading square blocks must be regular; if one is not, the result is NaN. The
    derivative comes from the equation, by the same recursion.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_toeplitz
    >>> grad(lambda c: solve_toeplitz(c, np.ones(2)).sum())(np.array([2.0, 0.0]))
    array([-0.5, -0.5])
    """
    column, row = _column_and_row(c_or_cr)
    right = floating(b)
    if right.shape[0] != column.shape[0] or column.shape != row.shape:
        raise ValueError("Incompatible dimensions.")
    dtype = np.result_type(column.dtype, row.dtype, right.dtype)
    column, row, right = (x.astype(dtype) for x in (column, row, right))
    matrix = toeplitz(column, row)
    found: Any = custom_linear_solve(
        lambda x: matrix @ x,
        np.reshape(right, (right.shape[0], -1)),
        lambda _, y: _levinson(column, row, y),
        lambda _, y: _levinson(row, column, y),
    )
    return np.reshape(found, right.shape)


def _column_and_row(c_or_cr: Any) -> tuple[Any, Any]:
    if isinstance(c_or_cr, tuple):
        column, row = (np.ravel(floating(x)) for x in c_or_cr)
        return column, np.concatenate([column[:1], row[1:]])
    column = np.ravel(floating(c_or_cr))
    return column, np.conj(column)


def _levinson(column: Any, row: Any, right: Any) -> Any:
    """Levinson's recursion: Golub & Van Loan, "Matrix computations", 4.7.

    A step goes from the solutions with the leading block of k rows to those with k + 1 rows. The
    right sides are the given one, and the first and the last unit vector (``forward`` and
    ``backward``).
    """
    n = column.shape[0]
    first = (np.arange(n) == 0).astype(column.dtype)
    start = first / column[0]

    def step(state: Any, given: Any) -> tuple[Any, None]:
        x, forward, backward, left = state
        entry, wanted = given
        left = np.concatenate([np.reshape(entry, (1,)), left[:-1]])
        moved = np.concatenate([np.zeros_like(backward[:1]), backward[:-1]])
        low, high = left @ forward, row @ moved
        scale = 1 / (1 - low * high)
        forward, backward = (
            scale * (forward - low * moved), scale * (moved - high * forward)
        )  # fmt: skip
        return (x + (wanted - left @ x) * backward[:, None], forward, backward, left), None

    given = (column[1:], right[1:])
    state = (start[:, None] * right[0], start, start, 0.0 * column)
    (x, *_), _ = scan(step, state, given)
    return x


def _toeplitz_of(c_or_cr: Any) -> Any:
    if isinstance(c_or_cr, tuple):
        return toeplitz(*(np.ravel(floating(x)) for x in c_or_cr))
    return toeplitz(np.ravel(floating(c_or_cr)))


@answers("scipy.linalg.solve_circulant")
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """The x with ``circulant(c) x = b``, by an LU factorisation if c or b is traced.

    Raises ``numpy.linalg.LinAlgError`` if the matrix is singular.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_circulant
    >>> grad(lambda b: solve_circulant([2.0, 0.0], b)[0])(np.ones(2))
    array([0.5, 0. ])
    """
    columns = np.moveaxis(np.atleast_1d(floating(c)), caxis, -1)
    right = np.moveaxis(np.atleast_1d(floating(b)), baxis, -1)
    if known(singular, "singular", "solve_circulant") != "raise":
        raise refused("scipy.linalg.solve_circulant", "only singular='raise' is covered.")
    solved = np.linalg.solve(circulant(columns), right[..., None])[..., 0]
    return np.moveaxis(solved, -1, outaxis)


@answers("scipy.linalg.orthogonal_procrustes")
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """``(R, scale)``: the orthogonal R that brings ``A @ R`` closest to B (Schönemann 1966).

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import orthogonal_procrustes
    >>> np.round(jit(orthogonal_procrustes)(np.eye(2), 2 * np.eye(2))[1], 12)
    np.float64(4.0)
    """
    u, w, vt = np.linalg.svd(np.conjugate(floating(B).T @ np.conjugate(floating(A))).T)
    return u @ vt, np.sum(w)
