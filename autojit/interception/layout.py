"""Arrays that share a block of memory, as views of a traced array of the whole block.

NumPy says where each array begins in the block, and with which strides it goes through it. The
slices, transposes and reshapes that make it from the whole follow from that. If there are none (as
after ``as_strided``), its elements are picked one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.core.types import Type, canonical_dtype
from autojit.ir.ops import move
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import scatter
from autojit.protocols.lifting import as_value, tracer, view
from autojit.tracing.aliasing import Mapped
from autojit.tracing.context import current_trace
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import uniform


def address(array: np.ndarray) -> int:
    """The address of the first element."""
    found: int = array.__array_interface__["data"][0]
    return found


def in_memory_order(block: np.ndarray) -> np.ndarray:
    """A block with its axes in the order in which they lie in memory, as a view."""
    return block.transpose(sorted(range(block.ndim), key=lambda i: -block.strides[i]))


def whole(block: np.ndarray, *, ordered: bool) -> Tracer:
    """The present contents of a block, with its axes in memory order, as a traced array."""
    trace = current_trace()
    assert trace is not None
    contents = in_memory_order(block)
    value = uniform(contents)
    if value is None:  # the memory will have other contents
        contents = np.array(contents, order="C")
        value = trace.capture(contents, Type(canonical_dtype(contents.dtype), contents.shape))
    result = tracer(value)
    result.boxed, result.ordered = True, ordered
    return result


def shown(root: Tracer, block: np.ndarray, array: np.ndarray) -> Tracer | None:
    """An array in a block as a view of the block's traced contents.

    None if it reads the memory as another dtype.
    """
    if not array.size:
        return tracer(full(0, Type(array.dtype, array.shape)))
    offset = address(array) - address(block)
    if array.dtype != block.dtype:
        part = _part(root, array.dtype, offset)
        if part is None:
            return None
        root, offset = part, offset - offset % block.itemsize
    steps = [s if n > 1 else 0 for n, s in zip(array.shape, array.strides, strict=True)]
    if any(number % block.itemsize for number in (offset, *steps)):
        return None
    in_elements = [step // block.itemsize for step in steps]
    return _strided(root, array.shape, in_elements, offset // block.itemsize)


def _part(root: Tracer, dtype: np.dtype, offset: int) -> Any:
    """The real or the imaginary parts, if they have this dtype; else None."""
    if root.dtype.kind != "c" or np.empty(0, root.dtype).real.dtype != dtype:
        return None
    place = offset % root.dtype.itemsize
    if place not in (0, dtype.itemsize):
        return None
    part: Any = np.imag(root) if place else np.real(root)
    return part


def _strided(root: Tracer, shape: tuple[int, ...], steps: list[int], offset: int) -> Any:
    found = _as_slices(root.shape, shape, steps, offset)
    if found is not None:
        index, order = found
        picked: Any = root[(*index, ...)]
        if order != sorted(order):
            picked = np.transpose(picked, np.argsort(np.argsort(order)).tolist())
        return np.reshape(picked, shape) if picked.shape != shape else picked
    strides = row_major_strides(shape)
    if all(s == t or n == 1 for n, s, t in zip(shape, steps, strides, strict=True)):
        flat: Any = np.reshape(root, -1)[offset : offset + math.prod(shape)]
        return np.reshape(flat, shape)
    return _picked(root, shape, steps, offset)


def _as_slices(
    whole: tuple[int, ...], shape: tuple[int, ...], steps: list[int], offset: int
) -> tuple[list[Any], list[int]] | None:
    """An index of the whole, and the axis of it that each long axis of the array runs over."""
    strides = row_major_strides(whole)
    starts = [offset // s % n for n, s in zip(whole, strides, strict=True)]

    def fits(axis: int, extent: int, step: int) -> bool:
        by, rest = divmod(step, strides[axis])
        return not rest and by != 0 and 0 <= starts[axis] + by * (extent - 1) < whole[axis]

    index: list[Any] = list(starts)
    order: list[int] = []
    for extent, step in zip(shape, steps, strict=True):
        if extent == 1:
            continue
        free = (j for j in range(len(whole)) if j not in order and fits(j, extent, step))
        axis = next(free, None)
        if axis is None:
            return None
        by = step // strides[axis]
        end = starts[axis] + by * (extent - 1) + (1 if by > 0 else -1)
        index[axis] = slice(starts[axis], end if end >= 0 else None, by)
        order.append(axis)
    return index, order


def _picked(root: Tracer, shape: tuple[int, ...], steps: list[int], offset: int) -> Tracer:
    """Pick the elements one by one."""
    grid = np.indices(shape, sparse=True)
    places = sum((g * s for g, s in zip(grid, steps, strict=True)), np.full(shape, offset))
    indices, flat, old = as_value(np.ascontiguousarray(places)), (root.size,), root.shape

    def read(x: Value) -> Value:
        return gather(move.reshape(x, shape=flat), indices, axes=(0,))

    def write(x: Value, part: Value) -> Value:
        changed = scatter(move.reshape(x, shape=flat), part, indices, axes=(0,))
        return move.reshape(changed, shape=old)

    return view(root, Mapped(read, write))
