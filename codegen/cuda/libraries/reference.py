"""NumPy and LAPACK compute the same as the routines, on column-major matrices as well."""

from __future__ import annotations

from typing import Any

import numpy as np


def matrix(flat: np.ndarray, rows: int, columns: int, leading: int) -> np.ndarray:
    """A column-major matrix that begins at the first element.

    >>> matrix(np.arange(6.0), 2, 2, 3).tolist()
    [[0.0, 3.0], [1.0, 4.0]]
    """
    if rows and columns:
        assert leading >= rows, f"leading dimension {leading} of {rows} rows"
        assert len(flat) >= (columns - 1) * leading + rows, "memory ends within the matrix"
    size = flat.itemsize
    view: np.ndarray = np.lib.stride_tricks.as_strided(
        flat, (rows, columns), (size, leading * size)
    )
    return view


def _lapack(name: str, a: np.ndarray) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), (a,))[0]


def potrf(a: np.ndarray, info: np.ndarray, *, upper: bool) -> None:
    """Replace one triangle by the Cholesky factor; the other stays unchanged."""
    factor, info[0] = _lapack("potrf", a)(a.copy(), lower=not upper, clean=0)
    keep = np.triu if upper else np.tril
    other = np.tril(a, -1) if upper else np.triu(a, 1)
    a[...] = keep(factor) + other


def getrf(a: np.ndarray, pivots: np.ndarray, info: np.ndarray) -> None:
    """Replace a matrix by L and U; pivots count from 1."""
    a[...], found, info[0] = _lapack("getrf", a)(a.copy())
    pivots[: len(found)] = found + 1


def getrs(
    a: np.ndarray, pivots: np.ndarray, b: np.ndarray, info: np.ndarray, *, transposed: bool
) -> None:
    """Solve with L and U."""
    n = len(a)
    b[...], info[0] = _lapack("getrs", a)(a, pivots[:n] - 1, b.copy(), trans=int(transposed))


def geqrf(a: np.ndarray, factors: np.ndarray, info: np.ndarray) -> None:
    """Replace a matrix by R, and below it the Householder vectors."""
    a[...], found, _, info[0] = _lapack("geqrf", a)(a.copy())
    factors[: len(found)] = found


def orgqr(a: np.ndarray, factors: np.ndarray, info: np.ndarray) -> None:
    """Replace the results of ``geqrf`` by Q."""
    name = "ungqr" if a.dtype.kind == "c" else "orgqr"
    a[...], _, info[0] = _lapack(name, a)(a.copy(), factors)


def syevd(a: np.ndarray, values: np.ndarray, info: np.ndarray, *, lower: bool) -> None:
    """Compute eigenvalues, ascending, and eigenvectors, which replace the matrix."""
    if not np.isfinite(np.tril(a) if lower else np.triu(a)).all():
        a[...], values[: len(a)], info[0] = np.nan, np.nan, 0
        return
    name = "heevd" if a.dtype.kind == "c" else "syevd"
    values[: len(a)], a[...], info[0] = _lapack(name, a)(a.copy(), lower=lower)


def geev(a: np.ndarray, values: np.ndarray, vectors: np.ndarray, info: np.ndarray) -> None:
    """Compute eigenvalues and right eigenvectors; the matrix is overwritten."""
    if not np.isfinite(a).all():
        a[...], values[: len(a)], vectors[...], info[0] = np.nan, np.nan, np.nan, 0
        return
    values[: len(a)], _, vectors[...], info[0] = _lapack("geev", a)(a.copy(), compute_vl=0)
    a[...] = np.nan


def gesvd(
    a: np.ndarray, values: np.ndarray, u: np.ndarray, vt: np.ndarray, info: np.ndarray
) -> None:
    """Compute singular values and vectors; the matrix is overwritten."""
    few = min(a.shape)
    if not np.isfinite(a).all():
        a[...], values[:few], u[...], vt[...], info[0] = np.nan, np.nan, np.nan, np.nan, 0
        return
    whole = u.shape[1] > few
    u[...], values[:few], vt[...], info[0] = _lapack("gesvd", a)(a.copy(), full_matrices=whole)
    a[...] = np.nan


def trsm(
    a: np.ndarray, b: np.ndarray, *, right: bool, upper: bool, transposed: bool, unit: bool
) -> None:
    """Solve ``op(a) x = b``, or ``x op(a) = b``; only one triangle of a is read."""
    from scipy.linalg import get_blas_funcs

    solve = get_blas_funcs(("trsm",), (a, b))[0]
    one = b.dtype.type(1)
    b[...] = solve(
        one, a, b.copy(), side=int(right), lower=not upper, trans_a=int(transposed), diag=int(unit)
    )


def gemm(a: np.ndarray, b: np.ndarray, d: np.ndarray, bias: np.ndarray | None = None) -> None:
    """Compute a product; a bias has one number for each row."""
    d[...] = a @ b if bias is None else a @ b + bias[: len(d), None]


def transform(x: np.ndarray, y: np.ndarray, length: int, *, inverse: bool) -> None:
    """Transform the rows of ``x``, without a factor."""
    if x.dtype.kind == "f":
        y[...] = np.fft.rfft(x, length)
    elif y.dtype.kind == "f":
        y[...] = np.fft.irfft(x, length, norm="forward")
    else:
        y[...] = np.fft.ifft(x, length, norm="forward") if inverse else np.fft.fft(x, length)
