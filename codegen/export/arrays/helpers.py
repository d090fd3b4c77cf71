"""Functions that generated modules contain if they need them: their text is copied from here.

They use NumPy and SciPy only.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg


def _array(x: object, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """An argument as an array; the function is made for one shape and dtype."""
    found = np.asarray(x)
    if found.shape != shape:
        raise ValueError(f"expected an array of shape {shape}, got one of shape {found.shape}")
    return found.astype(dtype, casting="same_kind", copy=False)


def _ensure(x: np.ndarray, holds: np.ndarray, error: Exception) -> np.ndarray:
    """x; raises where a condition does not hold."""
    if not np.all(holds):
        raise error
    return x


def _within(index: np.ndarray, extent: int) -> np.ndarray:
    """Places in an axis; none of them counts from the end."""
    if np.any((index < 0) | (index >= extent)):
        raise IndexError(f"an index is out of bounds for an axis of {extent} elements")
    return index


def _complex(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """re + i im, part by part: an infinite part does not make the other one NaN."""
    made = np.empty(np.shape(re), np.result_type(re, np.complex64))
    made.real, made.imag = re, im
    return made


def _shear(x: np.ndarray, axis: int, along: int, by: int, start: int, extent: int) -> np.ndarray:
    """x with each row j of axis `along` moved along `axis` by `by * j + start`."""
    made = np.zeros((*x.shape[:axis], extent, *x.shape[axis + 1 :]), x.dtype)
    old, new = (np.moveaxis(a, (along, axis), (0, 1)) for a in (x, made))
    for j in range(len(old)):
        moved = by * j + start
        low, high = max(0, -moved), min(extent, old.shape[1] - moved)
        if low < high:
            new[j, low:high] = old[j, low + moved : high + moved]
    return made


def _solve_triangular(
    t: np.ndarray, b: np.ndarray, lower: bool, transpose: bool = False, unit: bool = False
) -> np.ndarray:
    """The x with t x = b, or tᵀ x = b, of each matrix."""
    x = np.empty_like(b)
    for k in np.ndindex(t.shape[:-2]):
        x[k] = linalg.solve_triangular(
            t[k], b[k], lower=lower, trans=int(transpose), unit_diagonal=unit, check_finite=False
        )
    return x


def _lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factors of each matrix in one, and the rows that were exchanged."""
    packed, pivots = np.empty_like(a), np.empty(a.shape[:-1], np.int64)
    for k in np.ndindex(a.shape[:-2]):
        (factor,) = linalg.get_lapack_funcs(("getrf",), (a[k],))
        if a.shape[-1]:
            packed[k], pivots[k], _ = factor(a[k])
    return packed, pivots


def _lu_solve(
    packed: np.ndarray, pivots: np.ndarray, b: np.ndarray, transpose: bool = False
) -> np.ndarray:
    """The x with a x = b, or aᵀ x = b, from the factors of a."""
    if np.any(np.diagonal(packed, axis1=-2, axis2=-1) == 0):
        raise np.linalg.LinAlgError("Singular matrix")
    x = np.empty_like(b)
    for k in np.ndindex(packed.shape[:-2]):
        x[k] = linalg.lu_solve((packed[k], pivots[k]), b[k], int(transpose), check_finite=False)
    return x


def _permutation(pivots: np.ndarray) -> np.ndarray:
    """The order of the rows after exchanges."""
    rows = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for *outer, k in np.ndindex(pivots.shape):
        row, p = rows[tuple(outer)], pivots[(*outer, k)]
        row[[k, p]] = row[[p, k]]
    return rows


def _cholesky_tangent(factor: np.ndarray, da: np.ndarray) -> np.ndarray:
    """The tangent of L from one of a = L Lᵀ."""
    half = _solve_triangular(factor, (da + np.swapaxes(da, -1, -2)) * 0.5, lower=True)
    inner = _solve_triangular(factor, np.swapaxes(half, -1, -2), lower=True)
    return np.tril(factor) @ ((np.tril(inner) + np.tril(inner, -1)) * 0.5)


def _cholesky_cotangent(factor: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The cotangent of a = L Lᵀ from one of L."""
    inner = np.swapaxes(np.tril(factor), -1, -2) @ np.tril(g)
    inner = (np.tril(inner) + np.tril(inner, -1)) * 0.5
    half = _solve_triangular(factor, inner, lower=True, transpose=True)
    whole = _solve_triangular(factor, np.swapaxes(half, -1, -2), lower=True, transpose=True)
    return (whole + np.swapaxes(whole, -1, -2)) * 0.5
