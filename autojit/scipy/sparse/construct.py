"""Sparse matrices made of traced values, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lists import as_arrays
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, original
from autojit.tracing.created_arrays import bare

from .matrices import Sparse, as_sparse, is_sparse, moved


def _made(name: str, arg1: Any, shape: Any, dtype: Any) -> Sparse:
    """``csr_array(arg1)`` and the like, for each form of the argument that SciPy has."""
    format, _, kind = name.partition("_")
    matrix = kind == "matrix"
    if not isinstance(arg1, tuple):
        made = as_sparse(arg1, matrix)
        return _as(made, made.data, made.row, made.col, made.shape, matrix, format, dtype)
    data, parts = floating(_array(arg1[0])), arg1[1:]
    if format == "dia":
        if shape is None:
            raise refused(f"scipy.sparse.{name}", "pass shape=.")
        places = _of_diagonals(data.shape, _places(parts[0], name), shape)
        return _as(None, data[places[2:]], places[0], places[1], shape, matrix, format, dtype)
    if len(parts) == 1:
        row, col = (_places(p, name) for p in parts[0])
    elif format in ("csr", "csc"):
        col, starts = (_places(p, name) for p in parts)
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        shape = shape or _shape_of_compressed(format, len(starts) - 1, int(col.max(initial=-1)) + 1)
        row, col = (row, col) if format == "csr" else (col, row)
    else:
        raise refused(f"scipy.sparse.{name}", "this form of the arguments is not covered. Write\n"
                      "    scipy.sparse.coo_array((data, (row, col)), shape=(m, n))")  # fmt: skip
    shape = shape or (int(row.max(initial=-1)) + 1, int(col.max(initial=-1)) + 1)
    return _as(None, data, row, col, shape, matrix, format, dtype)


def _as(
    made: Any, data: Any, row: Any, col: Any, shape: Any, matrix: bool, format: str, dtype: Any
) -> Sparse:
    data = data if dtype is None else data.astype(dtype)
    m, n = (int(s) for s in known(shape, "shape", "a sparse matrix"))
    if len(row) and (min(row.min(), col.min()) < 0 or row.max() >= m or col.max() >= n):
        raise ValueError(f"an index of a sparse matrix is outside its shape {(m, n)}")
    return Sparse(data, row, col, (m, n), matrix, format)


def _shape_of_compressed(format: str, major: int, minor: int) -> tuple[int, int]:
    return (major, minor) if format == "csr" else (minor, major)


def _array(x: Any) -> Any:
    return as_arrays((x,))[0]


def _places(x: Any, of: str) -> np.ndarray:
    return np.asarray(known(x, "where entries are", f"scipy.sparse.{of}"), np.int64).ravel()


def _register(name: str) -> None:
    def make(
        arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None
    ) -> Sparse:
        return _made(name, arg1, shape, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A sparse matrix of traced values, as SciPy's ``{name}``."
    answers(f"scipy.sparse.{name}", tuples=("arg1",))(make)


for _format in ("csr", "csc", "coo", "dia", "dok", "lil"):
    for _kind in ("array", "matrix"):
        _register(f"{_format}_{_kind}")


# -- diagonals -------------------------------------------------------------------------


def _of_diagonals(stored: Any, offsets: np.ndarray, shape: Any) -> tuple[np.ndarray, ...]:
    """``(rows, columns, i, j)`` of the elements ``data[i, j]``, each in column j of diagonal i.

    Elements outside the matrix are left out.
    """
    m, n = shape
    i, j = (x.ravel() for x in np.indices(stored))
    row = j - offsets[i]
    there = (row >= 0) & (row < m) & (j < n)
    return row[there], j[there], i[there], j[there]


def _diagonals(diagonals: Any, offsets: Any, shape: Any, dtype: Any, matrix: bool) -> Sparse:
    places = np.atleast_1d(np.asarray(known(offsets, "offsets", "scipy.sparse.diags"), np.int64))
    if np.ndim(offsets) == 0 and (not isinstance(diagonals, (list, tuple))
                                  or np.ndim(diagonals[0]) == 0):  # fmt: skip
        diagonals = [_array(diagonals)]
    parts = [np.atleast_1d(floating(_array(d))) for d in diagonals]
    if len(parts) != len(places):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        size = parts[0].shape[0] + abs(int(places[0]))
        shape = (size, size)
    data: list[Any] = []
    row, col = [], []
    for part, k in zip(parts, map(int, places), strict=True):
        first, second = max(0, -k), max(0, k)
        length = min(shape[0] - first, shape[1] - second)
        if part.shape[0] not in (1, length):
            raise ValueError(
                f"Diagonal length (index {len(data)}: {part.shape[0]} at offset {k}) does not "
                f"agree with array size {tuple(shape)}."
            )
        data.append(np.broadcast_to(part, (length,)))
        row.append(np.arange(length) + first)
        col.append(np.arange(length) + second)
    entries = bare(np.concatenate(data))
    return _as(None, entries, np.concatenate(row), np.concatenate(col), shape, matrix, "dia", dtype)


@answers("scipy.sparse.diags", tuples=("diagonals",))
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Sparse:
    """A matrix with given diagonals, for which ``*`` is the matrix product."""
    return _diagonals(diagonals, offsets, shape, dtype, True)


@answers("scipy.sparse.diags_array", tuples=("diagonals",))
def diags_array(
    diagonals: Any, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Sparse:
    """A sparse array with given diagonals.

    >>> from autojit import grad
    >>> import scipy.sparse as sparse
    >>> def total(d):
    ...     return (sparse.diags_array([d, d[:1]], offsets=[0, 1]) @ np.ones(2)).sum()
    >>> grad(total)(np.ones(2))
    array([2., 1.])
    """
    return _diagonals(diagonals, offsets, shape, dtype, False)


@answers("scipy.sparse.spdiags")
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Sparse:
    """A matrix with given diagonals; ``data[i, j]`` is in column j."""
    rows = np.atleast_2d(floating(data))
    offsets = np.atleast_1d(np.asarray(known(diags, "diags", "scipy.sparse.spdiags"), np.int64))
    shape = (len(rows[0]),) * 2 if m is None else (int(m), int(n)) if n is not None else m
    row, col, i, j = _of_diagonals(rows.shape, offsets, shape)
    return Sparse(rows[i, j], row, col, tuple(shape), True, "dia")


# -- functions of matrices -------------------------------------------------------------


def _structural(name: str) -> None:
    """Register a function of a list of matrices that only moves their entries."""

    def answer(blocks: Any, format: Any = None, dtype: Any = None) -> Sparse:
        made = moved(lambda *b: original(f"scipy.sparse.{name}")(b), *map(_block, blocks))
        return made if dtype is None else made.astype(dtype)

    _add(name, answer)


def _add(name: str, answer: Any) -> None:
    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"SciPy's ``{name}`` of matrices, some of which are traced."
    answers(f"scipy.sparse.{name}", tuples=("blocks",))(answer)


def _block(block: Any) -> Any:
    return block if is_sparse(block) else as_sparse(_array(block))


for _name in ("vstack", "hstack"):
    _structural(_name)


@answers("scipy.sparse.block_diag", tuples=("mats",))
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Sparse:
    """A matrix with given matrices along its diagonal."""
    made = moved(lambda *b: original("scipy.sparse.block_diag")(b), *map(_block, mats))
    return made if dtype is None else made.astype(dtype)


def _table(name: str) -> None:
    """Register a function of a table of matrices, some of which are None."""

    def answer(blocks: Any, format: Any = None, dtype: Any = None) -> Sparse:
        there = [_block(b) for row in blocks for b in row if b is not None]

        def arranged(*found: Any) -> Any:
            left = iter(found)
            table = [[None if b is None else next(left) for b in row] for row in blocks]
            return original(f"scipy.sparse.{name}")(table)

        made = moved(arranged, *there)
        return made if dtype is None else made.astype(dtype)

    _add(name, answer)


for _name in ("bmat", "block_array"):
    _table(_name)


@answers("scipy.sparse.tril")
def tril(A: Any, k: Any = 0, format: Any = None) -> Sparse:
    """The lower triangle of a matrix."""
    return moved(lambda a: original("scipy.sparse.tril")(a, k), A)


@answers("scipy.sparse.triu")
def triu(A: Any, k: Any = 0, format: Any = None) -> Sparse:
    """The upper triangle of a matrix."""
    return moved(lambda a: original("scipy.sparse.triu")(a, k), A)


@answers("scipy.sparse.kron")
def kron(A: Any, B: Any, format: Any = None) -> Sparse:
    """The Kronecker product: a block of B for each entry of A."""
    a, b = as_sparse(A), as_sparse(B)
    data = np.reshape(a.data[:, None] * b.data, (-1,))
    row = np.ravel(a.row[:, None] * b.shape[0] + b.row)
    col = np.ravel(a.col[:, None] * b.shape[1] + b.col)
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    return Sparse(data, row, col, shape, a.matrix and b.matrix, "csr")


@answers("scipy.sparse.issparse")
def issparse(x: Any) -> bool:
    """Whether x is a sparse matrix."""
    return is_sparse(x)
