"""Arrays that a traced function closes over: which are equal, and which are parts of one array.

A Python loop reads `y[t]` or `F.T` anew in each step, which creates a new object each time. If each
were an input of its own, the steps would not be equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

#: The size in bytes up to which arrays that the function has created are compared by content.
CONTENT = 4096
#: The number of elements up to which an array is captured whole if parts of it are read.
WHOLE = 1 << 16


def keys(thing: Any) -> list[Hashable]:
    """The keys of a captured object; objects with a key in common may be equal."""
    found: list[Hashable] = [id(thing)]
    if isinstance(thing, np.ndarray):
        found.append((thing.__array_interface__["data"], thing.shape, thing.strides, thing.dtype))
        if getattr(type(thing), "made_in_trace", False) and thing.nbytes <= CONTENT:
            found.append((thing.tobytes(), thing.shape, thing.dtype))
    return found


class Part(NamedTuple):
    """A regular part of an array, without the axes of length 1."""

    whole: np.ndarray
    start: tuple[int, ...]
    stop: tuple[int, ...]
    stride: tuple[int, ...]


def part_of_another(array: Any) -> Part | None:
    """The larger array that this is a part of, and which part; None if there is none, or if it is
    too large."""
    whole = getattr(array, "base", None)
    if type(array) is not np.ndarray or type(whole) is not np.ndarray:
        return None
    if not whole.flags.c_contiguous or whole.dtype != array.dtype:
        return None
    if not 0 < array.size <= whole.size <= WHOLE:
        return None
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    if not 0 <= offset < whole.nbytes:
        return None
    start = tuple(map(int, np.unravel_index(offset // whole.itemsize, whole.shape)))
    stop, stride = [k + 1 for k in start], [1] * whole.ndim
    axes = [(n, by) for n, by in zip(array.shape, array.strides, strict=True) if n > 1]
    for axis, (first, own) in enumerate(zip(start, whole.strides, strict=True)):
        if not axes:
            break
        n, by = axes[0]
        if whole.shape[axis] > 1 and by > 0 and by % own == 0:
            last = first + (n - 1) * (by // own)
            if last < whole.shape[axis]:
                stop[axis], stride[axis] = last + 1, by // own
                del axes[0]
    part = Part(whole, start, tuple(stop), tuple(stride))
    return part if not axes and _is_there(part, array) else None


def _is_there(part: Part, array: np.ndarray) -> bool:
    ranges = zip(part.start, part.stop, part.stride, strict=True)
    found = part.whole[tuple(slice(*r) for r in ranges)]
    return bool(
        found.__array_interface__["data"] == array.__array_interface__["data"]
        and _steps(found) == _steps(array)
    )


def _steps(array: np.ndarray) -> list[tuple[int, int]]:
    return [(n, by) for n, by in zip(array.shape, array.strides, strict=True) if n > 1]
