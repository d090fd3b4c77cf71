"""Gathers at places that are known for all steps of a loop, as slices of the array.

Legal where the places are in range, which the caller checks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.ir.core.batching import Batched
from autojit.ir.core.program import Value
from autojit.ir.ops.move import reshape, slice_, transpose
from autojit.ir.ops.windows import slice_windows


def slices_of(x: Value, places: Sequence[np.ndarray], axes: Sequence[int]) -> Batched | None:
    """The elements that each step's ``gather`` reads; ``places`` has the steps along axis 0.

    None if the places are unevenly spaced, or windows overlap.
    """
    found = _windows(x, places, axes)
    if found is None:
        return None
    start, stride, shape, slide = found
    steps = len(places[0])
    picked = places[0].ndim - 1
    order = [*axes[:picked], *(a for a in range(x.type.ndim) if a not in axes)]
    result = tuple(shape[a] for a in order)
    if not any(slide):
        stop = tuple(a + (n - 1) * s + 1 for a, n, s in zip(start, shape, stride, strict=True))
        part = slice_(x, start=tuple(start), stop=stop, stride=tuple(stride))
        return Batched(_ordered(part, shape, order, result, 0), False)
    windows = slice_windows(x, shape, start, stride, slide, steps)
    if windows is None:
        return None
    return Batched(_ordered(windows, (steps, *shape), order, (steps, *result), 1), True)


def _ordered(
    part: Value, shape: Sequence[int], order: list[int], result: tuple[int, ...], skip: int
) -> Value:
    """A window with the axes of its places first, and without axes of a single place."""
    dropped = [a for a in range(len(shape) - skip) if a not in order]
    axes = (*range(skip), *(a + skip for a in (*order, *dropped)))
    return reshape(transpose(part, axes=axes), shape=result)


def _windows(
    x: Value, places: Sequence[np.ndarray], axes: Sequence[int]
) -> tuple[list[int], list[int], list[int], list[int]] | None:
    """Start, stride and shape of the first step's window, and how it moves; None if unevenly."""
    start, stride = [0] * x.type.ndim, [1] * x.type.ndim
    shape, slide = list(x.shape), [0] * x.type.ndim
    if 0 in shape or places[0].ndim > 2 or (places[0].ndim == 2 and len(axes) > 1):
        return None
    for a, place in zip(axes, places, strict=True):
        rows = place.reshape(len(place), -1).astype(np.int64)
        if not rows.size:
            return None
        moved, along = np.diff(rows[:, 0]), np.diff(rows[0])
        if len(set(moved.tolist())) > 1 or len(set(along.tolist())) > 1:
            return None
        if (rows - rows[:, :1] != rows[:1] - rows[0, 0]).any():
            return None
        start[a], shape[a] = int(rows[0, 0]), rows.shape[1]
        slide[a] = int(moved[0]) if len(moved) else 0
        stride[a] = int(along[0]) if len(along) else 1
        if stride[a] <= 0:
            return None
    return start, stride, shape, slide
