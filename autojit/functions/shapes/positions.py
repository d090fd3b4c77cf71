"""Conversion between flat and per-axis positions of elements, and index arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.functions.checks import ensured
from autojit.protocols.lifting import as_tracer, dtype_of, shape_of
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import fresh


@implements(np.ravel_multi_index, known=("dims",))
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    extents = tuple(dims) if isinstance(dims, Sequence) else (int(dims),)
    modes = (mode,) * len(extents) if isinstance(mode, str) else tuple(mode)
    parts = list(multi_index)
    if not len(parts) == len(extents) == len(modes):
        words = f"np.ravel_multi_index: {len(parts)} index arrays for {len(extents)} axes"
        raise ValueError(words)
    steps = _steps(extents, order)
    total: Any = 0
    for part, extent, how, step in zip(parts, extents, modes, steps, strict=True):
        total = total + _within(_integers(part), extent, how) * step
    return total


def _integers(x: Any) -> Any:
    if dtype_of(x).kind not in "iub":
        raise TypeError("only int indices permitted")
    return as_tracer(x)


def _steps(extents: tuple[int, ...], order: str) -> list[int]:
    if order == "F":
        return [math.prod(extents[:i]) for i in range(len(extents))]
    return [math.prod(extents[i + 1 :]) for i in range(len(extents))]


def _within(places: Any, extent: int, mode: str) -> Any:
    if mode == "wrap":
        return np.mod(places, extent)
    if mode == "clip":
        return np.clip(places, 0, extent - 1)
    error = ValueError("invalid entry in coordinates array")
    return ensured(places, (places >= 0) & (places < extent), error)


@implements(np.unravel_index, known=("shape",))
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    extents = tuple(shape) if isinstance(shape, Sequence) else (int(shape),)
    places, size = _integers(indices), math.prod(extents)
    error = ValueError(f"index is out of bounds for array with size {size}")
    places = ensured(places, (places >= 0) & (places < size), error)
    steps = _steps(extents, order)
    return tuple(places // step % n for n, step in zip(extents, steps, strict=True))


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Arguments are integers or known masks; a mask determines the number of its places."""
    rows = []
    for k, row in enumerate(args):
        row = np.flatnonzero(row) if dtype_of(row).kind == "b" else as_tracer(row)
        if np.ndim(row) != 1:
            raise ValueError("np.ix_: each argument must be one-dimensional")
        extents = [-1 if i == k else 1 for i in range(len(args))]
        rows.append(np.reshape(row, extents))
    return tuple(rows)


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    shape = shape_of(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError("np.diag_indices_from: the array must have equal extents, at least two")
    return fresh(np.diag_indices(shape[0], len(shape)))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return fresh(np.tril_indices(shape_of(arr)[-2], k, shape_of(arr)[-1]))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return fresh(np.triu_indices(shape_of(arr)[-2], k, shape_of(arr)[-1]))
