"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import move
from autojit.protocols.lifting import as_value, shape_of, tracer, view
from autojit.protocols.registry import implements
from autojit.tracing.aliasing import Mapped
from autojit.tracing.tracer import Tracer


def _mask(shape: tuple[int, ...], k: int, lower: bool) -> Value:
    from autojit.ir.ops.arithmetic import gt, le
    from autojit.ir.ops.linear import iota

    ndim, index = len(shape), np.dtype(np.int64)
    rows = iota(dtype=index, shape=shape, axis=ndim - 2)
    columns = iota(dtype=index, shape=shape, axis=ndim - 1)
    below: Value = le(columns - rows, k) if lower else gt(columns - rows, k - 1)
    return below


def _triangle(m: Any, k: int, lower: bool) -> Tracer:
    from autojit.ir.ops.arithmetic import select

    value = as_value(m)
    if value.type.ndim == 1:  # NumPy uses the matrix with this vector as every row
        value = move.broadcast_to(value, (*value.shape, *value.shape))
    return tracer(select(_mask(value.shape, k, lower), value, full(0, value.type)))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Tracer:
    return _triangle(m, k, True)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Tracer:
    return _triangle(m, k, False)


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    a = np.moveaxis(a, (axis1, axis2), (-2, -1))
    *outer, rows, columns = a.shape
    start = (max(0, -offset), max(0, offset))
    n = max(0, min(rows - start[0], columns - start[1]))
    # In row-major order the diagonal is every (columns + 1)-th element.
    first = start[0] * columns + start[1] if n else 0
    last = first + (n - 1) * (columns + 1) + 1 if n else first

    def read(x: Value) -> Value:
        flat = move.reshape(x, shape=(*outer, rows * columns))
        return move.slice_axis(flat, len(outer), first, last, columns + 1)

    return view(a, Mapped(read))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Tracer:
    if np.ndim(v) == 2:
        return diagonal(v, k)
    if np.ndim(v) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = shape_of(v)[0] + abs(k)
    value = as_value(v)
    first = max(0, k) + max(0, -k) * n
    length = (value.shape[0] - 1) * (n + 1) + 1 if value.shape[0] else 0
    flat = move.pad(value, low=(first,), high=(n * n - first - length,), interior=(n,))
    return tracer(move.reshape(flat, shape=(n, n)))


@implements(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@implements(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x: Any, /) -> Any:
    return np.swapaxes(x, -1, -2)
