"""Gathers at places that are known for all steps of a loop, as slices of the array.

Along some axes, the place may be a value that no step changes; the slices are then taken from the
row at that place.

Legal where the known places are in range, which the caller checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.index import gather
from autojit.ir.ops.move import flip, reshape, slice_, transpose
from autojit.ir.ops.update import is_sparse, scatter, update
from autojit.ir.ops.windows import slice_windows, update_windows

from .indices import GivesUp


class _Split(NamedTuple):
    """Places by axes: those that no step changes, and the others, in what these leave."""

    fixed_axes: tuple[int, ...]
    fixed: list[Value]
    axes: tuple[int, ...]
    known: list[np.ndarray]


def _split(places: Sequence[np.ndarray | Value], axes: Sequence[int]) -> _Split | None:
    pairs = list(zip(axes, places, strict=True))
    fixed = [(a, p) for a, p in pairs if not isinstance(p, np.ndarray)]
    known = [(a, p) for a, p in pairs if isinstance(p, np.ndarray)]
    if not known or any(p.shape for _, p in fixed):
        return None
    left = tuple(a - sum(f < a for f, _ in fixed) for a, _ in known)
    return _Split(tuple(a for a, _ in fixed), [p for _, p in fixed], left, [p for _, p in known])


def rows_of(x: Value, places: Sequence[np.ndarray | Value], axes: Sequence[int]) -> Batched | None:
    """What each step's ``gather`` of an array reads, as slices; None where that cannot be.

    A place is an array with the steps along axis 0, or a value that no step changes.
    """
    split = _split(places, axes)
    if split is None:
        return None
    row = gather(x, *split.fixed, axes=split.fixed_axes) if split.fixed else x
    return slices_of(row, split.known, split.axes)


def with_rows(
    x: Value, rows: Value, places: Sequence[np.ndarray | Value], axes: Sequence[int],
    table: Callable[[np.ndarray], Value],
) -> Value:  # fmt: skip
    """The array with the elements set that each step sets: ``rows`` has the steps along axis 0.

    Legal where no two steps set the same element.  ``table`` makes a value of an array.
    """
    split = _split(places, axes)
    if split is not None and split.fixed:
        row = _row(x, split, rows.type.size)
        made = with_rows(row, rows, split.known, split.axes, table)
        return scatter(x, made, *split.fixed, axes=split.fixed_axes)
    if split is not None:
        found = _updated(x, rows, split.known, split.axes)
        if found is not None:
            return found
    steps = rows.shape[0]
    if is_sparse(rows.type, x.type):  # its derivative would look at each element of x
        raise GivesUp
    indices = [
        table(p) if isinstance(p, np.ndarray) else along(Batched(p, False), steps) for p in places
    ]
    return scatter(x, rows, *indices, axes=tuple(axes))


def _row(x: Value, split: _Split, set_: int) -> Value:
    """The row of an array at the places that no step changes, of which the steps set ``set_``
    elements; if these are all, zeros serve."""
    rest = tuple(n for a, n in enumerate(x.shape) if a not in split.fixed_axes)
    if prod(rest) == set_:
        return full(0, x.type.with_shape(rest))
    return gather(x, *split.fixed, axes=split.fixed_axes)


def _updated(
    x: Value, rows: Value, places: Sequence[np.ndarray], axes: tuple[int, ...]
) -> Value | None:
    """The same for places that move evenly along one axis, or along a diagonal of adjacent ones."""
    found = _windows(x, places, axes)
    if found is None:
        return None
    start, stride, shape, slide = found
    steps, first = len(places[0]), min(axes)
    if len(axes) > 1 and sorted(axes) == list(range(first, first + len(axes))):
        order = np.argsort(axes)
        extents = [x.shape[axes[k]] for k in order]
        flat = np.ravel_multi_index([places[k] for k in order], extents)
        joined = reshape(x, shape=(*x.shape[:first], prod(extents), *x.shape[first + len(axes) :]))
        made = _updated(joined, rows, [flat], (first,))
        return None if made is None else reshape(made, shape=x.shape)
    moving = [a for a, by in enumerate(slide) if by]
    if places[0].ndim == 1 and len(moving) == 1:
        return _box_set(x, rows, found, moving[0], axes)
    windows = rows
    if places[0].ndim == 2:
        (axis,) = axes
        others = [k + 2 for k in range(x.type.ndim - 1)]
        windows = transpose(rows, axes=(0, *others[:axis], 1, *others[axis:]))
    windows = reshape(windows, shape=(steps, *shape))
    return update_windows(x, windows, start, stride, slide, steps)


class _Windows(NamedTuple):
    """Start, stride and shape of the first step's window, and how it moves."""

    start: list[int]
    stride: list[int]
    shape: list[int]
    slide: list[int]


def _box_set(x: Value, rows: Value, windows: _Windows, axis: int, axes: Sequence[int]) -> Value:
    """An array with a part set that each step sets an element of, along one axis."""
    steps, by = rows.shape[0], windows.slide[axis]
    start, stride = list(windows.start), list(windows.stride)
    stride[axis] = abs(by)
    if by < 0:
        start[axis] += by * (steps - 1)
        rows = flip(rows, axes=(0,))
    before = sum(a < axis and a not in axes for a in range(x.type.ndim))
    part = _transposed(rows, [*range(1, before + 1), 0, *range(before + 1, rows.type.ndim)])
    shape = list(windows.shape)
    shape[axis] = steps
    part = _reshaped(part, shape)
    if part.shape == x.shape:
        return part
    return update(x, part, start=tuple(start), stride=tuple(stride))


def _box_read(x: Value, windows: _Windows, axis: int, axes: Sequence[int], steps: int) -> Value:
    """The part of an array that each step reads an element of, along one axis."""
    by = windows.slide[axis]
    ranges = [
        (first, first + (n - 1) * step + 1, step)
        for first, step, n in zip(windows.start, windows.stride, windows.shape, strict=True)
    ]
    first, last = windows.start[axis], windows.start[axis] + by * (steps - 1)
    ranges[axis] = min(first, last), max(first, last) + 1, abs(by)
    if ranges != [(0, n, 1) for n in x.shape]:
        start, stop, stride = zip(*ranges, strict=True)
        x = slice_(x, start=start, stop=stop, stride=stride)
    shape = [n for a, n in enumerate(x.shape) if a == axis or a not in axes]
    at = sum(a < axis and a not in axes for a in range(x.type.ndim))
    x = _reshaped(x, shape)
    order = [at, *(a for a in range(len(shape)) if a != at)]
    part = _transposed(x, order)
    return flip(part, axes=(0,)) if by < 0 else part


def _transposed(x: Value, order: Sequence[int]) -> Value:
    return x if list(order) == sorted(order) else transpose(x, axes=tuple(order))


def _reshaped(x: Value, shape: Sequence[int]) -> Value:
    return x if x.shape == tuple(shape) else reshape(x, shape=tuple(shape))


def slices_of(x: Value, places: Sequence[np.ndarray], axes: Sequence[int]) -> Batched | None:
    """The elements that each step's ``gather`` reads; ``places`` has the steps along axis 0.

    None if the places are unevenly spaced, or windows overlap.
    """
    found = _windows(x, places, axes)
    if found is None:
        return None
    start, stride, shape, slide = found
    steps = len(places[0])
    moving = [a for a, by in enumerate(slide) if by]
    if places[0].ndim == 1 and len(moving) == 1:
        return Batched(_box_read(x, found, moving[0], axes, steps), True)
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


def _windows(x: Value, places: Sequence[np.ndarray], axes: Sequence[int]) -> _Windows | None:
    """The windows at some places; None if they are not evenly spaced."""
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
    return _Windows(start, stride, shape, slide)
