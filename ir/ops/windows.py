"""All windows of an array that move by the same amount in each step, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.core.program import Value
from autojit.ir.core.registry import declared

from .linear import iota

Numbers = Sequence[int]


def slice_windows(
    x: Value, shape: Numbers, start: Numbers, stride: Numbers, slide: Numbers, steps: int
) -> Value | None:
    """Windows of a shape along a new axis 0: element i of an axis of window t is that at
    ``start + t * slide + i * stride`` of x.

    A part of x, reshaped, if windows are adjacent or interleave along one axis; else None.
    """
    moving = [a for a, by in enumerate(slide) if by]
    if len(moving) != 1:
        return None
    (axis,) = moving
    m, by = shape[axis], slide[axis]
    first, step = start[axis], stride[axis]
    if by < 0:
        first, by = first + by * (steps - 1), -by
    width, across = step * (m - 1) + 1, by * (steps - 1) + 1
    ranges = _ranges(shape, start, stride)
    ranges[axis] = (0, x.shape[axis], 1)
    part = _sliced(x, ranges)
    if m == 1:
        part = _slice_axis(part, axis, first, first + across, by)
        windows = declared.reshape(
            part, shape=(*part.shape[:axis], steps, 1, *part.shape[axis + 1 :])
        )
    elif width <= by:
        windows = _slice_axis(*_blocks(part, axis, first, steps, by, width), stride=step)
    elif across <= step:
        windows = _slice_axis(*_blocks(part, axis, first, m, step, across), stride=by)
        order = list(range(windows.type.ndim))
        order[axis], order[axis + 1] = axis + 1, axis
        windows = declared.transpose(windows, axes=tuple(order))
    else:
        return None
    windows = declared.transpose(
        windows, axes=(axis, *[a for a in range(windows.type.ndim) if a != axis])
    )
    made: Value = declared.flip(windows, axes=(0,)) if slide[axis] < 0 else windows
    return made


def _blocks(
    x: Value, axis: int, first: int, count: int, size: int, used: int
) -> tuple[Value, int, int, int]:
    """An axis in blocks, which are a new axis and the one after it, and the range that is used of
    each: the first elements of the blocks that begin at ``first``."""
    n = x.shape[axis]
    low = min(first, n - count * size)
    if low < 0:  # there are fewer elements than in all blocks
        low = 0
        high = [0] * x.type.ndim
        high[axis] = count * size - n
        nothing = (0,) * x.type.ndim
        x = declared.pad(x, low=nothing, high=tuple(high), interior=nothing)
    part = _slice_axis(x, axis, low, low + count * size)
    blocks = declared.reshape(part, shape=(*x.shape[:axis], count, size, *x.shape[axis + 1 :]))
    return blocks, axis + 1, first - low, first - low + used


def _ranges(shape: Numbers, start: Numbers, stride: Numbers) -> list[tuple[int, int, int]]:
    """Start, stop and stride of a window along each axis."""
    return [
        (a, a + (n - 1) * step + 1 if n else a, step)
        for n, a, step in zip(shape, start, stride, strict=True)
    ]


def update_windows(
    x: Value, windows: Value, start: Numbers, stride: Numbers, slide: Numbers, steps: int
) -> Value | None:
    """``x`` with the windows, stacked along axis 0, written where they have moved to; None unless
    they are side by side along one axis."""
    moving = [a for a, by in enumerate(slide) if by]
    if len(moving) != 1:
        return None
    (axis,) = moving
    m, by = windows.shape[axis + 1], abs(slide[axis])
    first, step = start[axis], by
    if m != 1:
        if (stride[axis], by) != (1, m):
            return None
        step = 1
    if slide[axis] < 0:
        first -= by * (steps - 1)
        windows = declared.flip(windows, axes=(0,))
    order = [*range(1, axis + 1), 0, *range(axis + 1, windows.type.ndim)]
    rows = declared.transpose(windows, axes=tuple(order))
    shape = [*rows.shape[:axis], steps * m, *rows.shape[axis + 2 :]]
    starts, strides = list(start), list(stride)
    starts[axis], strides[axis] = first, step
    whole = declared.reshape(rows, shape=tuple(shape))
    made: Value = declared.update(x, whole, start=tuple(starts), stride=tuple(strides))
    return made


def _sliced(x: Value, ranges: Sequence[tuple[int, int, int]]) -> Value:
    start, stop, stride = zip(*ranges, strict=True)
    made: Value = declared.slice(x, start=start, stop=stop, stride=stride)
    return made


def _slice_axis(x: Value, axis: int, start: int, stop: int, stride: int = 1) -> Value:
    ranges = [(0, n, 1) for n in x.shape]
    ranges[axis] = (start, stop, stride)
    return _sliced(x, ranges)


def window_places(
    extents: Sequence[int], start: Sequence[int], stride: Sequence[int], slide: Sequence[int],
    step: Value, along: Sequence[Any] | None = None,
) -> tuple[list[Value], tuple[int, ...], tuple[int, ...]]:  # fmt: skip
    """Index arrays of a window that slides along some axes, these axes, and its extents there.

    With ``along``, the axes are the ones marked there.
    """
    axes = tuple(a for a, by in enumerate(slide if along is None else along) if by)
    shape = tuple(extents[a] for a in axes)
    places = []
    for position, a in enumerate(axes):
        own = iota(dtype=step.dtype, shape=shape, axis=position)
        at = step * slide[a] + start[a]
        wide = declared.broadcast(at, shape=shape, dims=())
        places.append(own * stride[a] + wide)
    return places, axes, shape
