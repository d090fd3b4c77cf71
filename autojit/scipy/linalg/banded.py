"""Equations with banded matrices in SciPy's diagonal ordered form: ``ab[u + i - j, j] = a[i, j]``.

The full matrix is never formed: n rows with l and u diagonals take n (l + 1) (l + u + 1)
operations. The derivative comes from the equation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import scan
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known
from autojit.scipy.registry import answers
from autojit.solvers.implicit import custom_linear_solve


@answers("scipy.linalg.solve_banded", tuples=("l_and_u",))
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with ``a x = b`` for a matrix with l diagonals below the main one and u above it.

    Rows are exchanged as in LAPACK's ``gbsv``. A traced singular matrix gives infinities or NaN.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_banded
    >>> ab = np.array([[0.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    >>> grad(lambda b: solve_banded((1, 1), ab, b)[0])(np.ones(2))
    array([ 0.5 , -0.25])
    """
    below, above = (int(k) for k in known(l_and_u, "l_and_u", "solve_banded"))
    bands, right = floating(ab), floating(b)
    if bands.shape[-1] != right.shape[0] or bands.shape[0] != below + above + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 "
            f"({below + above + 1}) does not equal ab.shape[0] ({bands.shape[0]}), or shapes of "
            "ab and b are not compatible."
        )
    dtype = np.result_type(bands.dtype, right.dtype)
    return _banded(bands.astype(dtype), right.astype(dtype), below, above)


def _banded(bands: Any, right: Any, below: int, above: int) -> Any:
    columns = right[:, None] if right.ndim == 1 else right
    turned = _turned(bands, below, above)
    found = custom_linear_solve(
        lambda x: _product(bands, x, above),
        columns,
        lambda _, y: _eliminated(bands, y, below, above),
        lambda _, y: _eliminated(turned, y, above, below),
    )
    return found[:, 0] if right.ndim == 1 else found


def _rows(bands: Any, below: int, above: int) -> Any:
    """``rows[i, k] = a[i, i - below + k]``, and zeros outside the matrix."""
    n = bands.shape[-1]
    i, k = np.arange(n)[:, None], np.arange(below + above + 1)
    column = i - below + k
    inside = (column >= 0) & (column < n)
    return np.where(inside, bands[above + below - k, np.clip(column, 0, n - 1)], 0.0)


def _turned(bands: Any, below: int, above: int) -> Any:
    """The bands of the transposed matrix."""
    return _rows(bands, below, above).T


def _product(bands: Any, x: Any, above: int) -> Any:
    below = bands.shape[0] - 1 - above
    n = bands.shape[-1]
    rows = _rows(bands, below, above)
    total = 0.0 * x
    for k in range(below + above + 1):
        places = np.arange(n) - below + k
        total = total + rows[:, k][:, None] * x[np.clip(places, 0, n - 1)]
    return total


def _eliminated(bands: Any, right: Any, below: int, above: int) -> Any:
    """Gaussian elimination with row exchanges in a window of below + 1 rows."""
    n, width = bands.shape[-1], below + above + 1
    if below == 0:
        return _substituted(_rows(bands, 0, above), right)
    rows = _rows(bands, below, above)
    # The first rows begin to the left of the matrix: shift them to column 0.
    start = np.stack([np.roll(rows[i], i - below) for i in range(min(below, n))])
    extra = max(below - n, 0)
    start = np.concatenate([start, np.zeros((extra, width), rows.dtype)])
    first_right = np.concatenate([right[:below], np.zeros((extra, right.shape[1]), right.dtype)])
    last = np.zeros((min(below, n), width), rows.dtype)
    last_right = np.zeros((min(below, n), right.shape[1]), right.dtype)
    more = np.concatenate([rows[below:], last])
    more_right = np.concatenate([right[below:], last_right])

    def step(window: Any, new: Any) -> Any:
        block = np.concatenate([window[0], new[0][None]])
        values = np.concatenate([window[1], new[1][None]])
        p = np.argmax(np.abs(block[:, 0]))
        pivot, value = block[p], values[p]
        here = (np.arange(1, below + 1) == p)[:, None]
        rest = np.where(here, block[0], block[1:])
        rest_values = np.where(here, values[0], values[1:])
        factor = (rest[:, 0] / pivot[0])[:, None]
        rest, rest_values = rest - factor * pivot, rest_values - factor * value
        shifted = np.concatenate([rest[:, 1:], np.zeros((below, 1), rows.dtype)], axis=1)
        return (shifted, rest_values), (pivot, value)

    _, (upper, values) = scan(step, (start, first_right), (more, more_right))
    return _substituted(upper, values)


def _substituted(upper: Any, right: Any) -> Any:
    """The solution of equations whose rows begin on the diagonal, by back substitution."""
    width = upper.shape[1]
    if width == 1:
        return right / upper

    def step(later: Any, row: Any) -> Any:
        weights, value = row
        x = (value - weights[1:] @ later) / weights[0]
        return np.concatenate([x[None], later[:-1]]), x

    later = np.zeros((width - 1, right.shape[1]), right.dtype)
    return scan(step, later, (upper, right), reverse=True)[1]


def _mirrored(bands: Any, lower: bool) -> Any:
    """All bands of a symmetric or Hermitian matrix, from the bands on one side."""
    u = bands.shape[0] - 1
    n = bands.shape[1]
    side = bands[::-1] if not lower else bands  # side[k, j] = a[j + k, j], conjugated for upper
    if not lower:
        places = np.arange(n) + np.arange(u + 1)[:, None]
        columns = np.clip(places, 0, n - 1)
        side = np.where(places < n, np.conjugate(side[np.arange(u + 1)[:, None], columns]), 0.0)
    places = np.arange(n) - np.arange(u, 0, -1)[:, None]
    above = side[np.arange(u, 0, -1)[:, None], np.clip(places, 0, n - 1)]
    return np.concatenate([np.where(places >= 0, np.conjugate(above), 0.0), side])


@answers("scipy.linalg.solveh_banded")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with ``a x = b`` for a symmetric positive definite matrix, from its bands on one side.

    A traced matrix that is not positive definite raises no error.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solveh_banded
    >>> ab = np.array([[0.0, 1.0], [2.0, 2.0]])
    >>> grad(lambda b: solveh_banded(ab, b)[0].sum())(np.array([1.0, 2.0])).round(6)
    array([ 0.666667, -0.333333])
    """
    bands, right = floating(ab), floating(b)
    u = bands.shape[0] - 1
    dtype = np.result_type(bands.dtype, right.dtype)
    full = _mirrored(bands.astype(dtype), bool(lower))
    return _banded(full, right.astype(dtype), u, u)


@answers("scipy.linalg.cholesky_banded")
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """The bands of the triangular factor of a positive definite matrix.

    The full matrix is factorised.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import cholesky_banded
    >>> jit(cholesky_banded)(np.array([[0.0, 2.0], [4.0, 5.0]]))
    array([[0., 1.],
           [2., 2.]])
    """
    bands = floating(ab)
    u, n = bands.shape[0] - 1, bands.shape[1]
    rows = _rows(_mirrored(bands, bool(lower)), u, u)
    i, j = np.arange(n)[:, None], np.arange(n)
    place = j - i + u
    inside = (place >= 0) & (place <= 2 * u)
    full = np.where(inside, rows[i, np.clip(place, 0, 2 * u)], 0.0)
    factor = np.linalg.cholesky(full)
    k = np.arange(u + 1)[:, None] + 0 * j
    inside = j + k < n
    side = np.where(inside, factor[np.clip(j + k, 0, n - 1), j], 0.0)
    if lower:
        return side
    k = u - np.arange(u + 1)[:, None] + 0 * j
    upper = np.conjugate(factor)[j + 0 * k, np.clip(j - k, 0, n - 1)]
    return np.where(j - k >= 0, upper, 0.0)


@answers("scipy.linalg.cho_solve_banded", tuples=("cb_and_lower",))
def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x with ``a x = b``, from the bands of the triangular factor of a."""
    cb, lower = cb_and_lower
    bands, right = as_tracer(floating(cb)), floating(b)
    u = bands.shape[0] - 1
    dtype = np.result_type(bands.dtype, right.dtype)
    bands, right = bands.astype(dtype), right.astype(dtype)
    below, above = (u, 0) if lower else (0, u)
    adjoint = np.conjugate(_turned(bands, below, above))
    if lower:
        return _banded(adjoint, _banded(bands, right, u, 0), 0, u)
    return _banded(bands, _banded(adjoint, right, u, 0), 0, u)
