"""Indexing: integers, slices, ``...``, ``None``, integer arrays and known masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir import shapes
from autojit.ir.ops import arithmetic, move
from autojit.ir.ops.index import gather
from autojit.ir.program import Value

from ..errors import UncoveredFunctionError, with_place
from ..tracer import Tracer
from ..tracing import user_source
from .lifting import as_tracer, as_value, common_shape, shape_of, tracer, view
from .manipulation import moveaxis
from .registry import implements, reject


def getitem(x: Tracer, index: Any) -> Tracer:
    """``x[index]``."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [part for item in items for part in _understood(item, x)]
    together = _are_together(items)
    items = _expand_ellipsis(items, x)
    if any(isinstance(item, (np.ndarray, Tracer)) for item in items):
        return _advanced(x, items, together)
    return _basic(x, items)


def _understood(item: Any, x: Tracer) -> list[Any]:
    """An index as basic ones and integer arrays; a known mask becomes the places where it holds."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return [item]
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return [int(item)]
    if isinstance(item, Tracer) and item.dtype.kind in "iu":
        return [item]
    if isinstance(item, (list, np.ndarray)) and not isinstance(item, Tracer):
        array = np.asarray(item)
        if array.dtype.kind == "b":
            return list(np.nonzero(array))
        if array.dtype.kind in "iu" or array.size == 0:
            return [array.astype(np.int64)]
    raise UncoveredFunctionError(
        with_place(
            f"Indexing a traced array of type {x.type} with {_describe(item)} is not covered by "
            "autojit; integers, slices, ..., None, integer arrays, and masks that are known when "
            "the function is traced are.\n"
            "A traced mask gives a result whose shape depends on values. Keep the shape:\n"
            "    np.where(mask, x, 0)               # not: x[mask]",
            user_source(),
        )
    )


def _describe(item: Any) -> str:
    if isinstance(item, Tracer):
        return f"a traced array of type {item.type}"
    if isinstance(item, np.ndarray):
        return f"an array of dtype {item.dtype}"
    return f"a {type(item).__name__}"


def _picks(items: list[Any]) -> list[bool]:
    """Which indices are arrays; integers count as arrays beside them, and broadcast with them."""
    return [isinstance(item, (int, np.ndarray, Tracer)) for item in items]


def _are_together(items: list[Any]) -> bool:
    """Whether nothing stands between the arrays (an ellipsis for no axes does)."""
    picks = _picks(items)
    if True not in picks:
        return False
    first, last = picks.index(True), len(picks) - 1 - picks[::-1].index(True)
    return all(picks[first : last + 1])


def _advanced(x: Tracer, items: list[Any], together: bool) -> Tracer:
    """Integer arrays among the indices: NumPy's rules for where their axes go."""
    picks = _picks(items)
    first = picks.index(True)
    base = _basic(x, [slice(None) if p else item for p, item in zip(picks, items, strict=True)])
    axes = tuple(i for i, p in enumerate(picks) if p)
    indices = [item for p, item in zip(picks, items, strict=True) if p]
    shape = common_shape(*indices)
    values = [
        move.broadcast_to(_resolved(item, base.shape[axis], axis, x), shape)
        for item, axis in zip(indices, axes, strict=True)
    ]
    result = tracer(gather(as_value(base), *values, axes=axes))
    if together and first:
        moved = range(first, first + len(shape))
        result = moveaxis(result, range(len(shape)), moved)
    return result


def _resolved(item: Any, extent: int, axis: int, x: Tracer) -> Value:
    """Indices from 0 on; known ones are checked now, traced ones when the code runs."""
    if isinstance(item, Tracer):
        index = as_value(item, np.dtype(np.int64))
        return arithmetic.select(arithmetic.lt(index, 0), index + extent, index)
    known = np.asarray(item, np.int64)
    wrong = known[(known < -extent) | (known >= extent)]
    if wrong.size:
        raise IndexError(
            with_place(
                f"index {wrong.flat[0]} is out of bounds for axis {axis} of an array of type "
                f"{x.type}",
                user_source(),
            )
        )
    return as_value(np.where(known < 0, known + extent, known))


def _basic(x: Tracer, items: list[Any]) -> Tracer:
    """Integers, slices and ``None``, one for every axis."""
    starts, stops, strides, flips, shape = [], [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        start, stop, stride, flipped, keep = _range(item, x, axis)
        starts.append(start)
        stops.append(stop)
        strides.append(stride)
        if flipped:
            flips.append(axis)
        if keep:
            shape.append(len(range(start, stop, stride)))
        axis += 1
    value = as_value(x)
    if tuple(stops) != value.shape or any(starts) or set(strides) > {1}:
        value = move.slice_(value, start=tuple(starts), stop=tuple(stops), stride=tuple(strides))
    if flips:
        value = move.flip(value, axes=tuple(flips))
    if value.shape != tuple(shape):
        value = move.reshape(value, shape=tuple(shape))
    if value is x.value:
        return x
    return view(value, x)


def _expand_ellipsis(items: list[Any], x: Tracer) -> list[Any]:
    used = len([item for item in items if item is not None and item is not Ellipsis])
    if used > x.ndim:
        raise IndexError(
            with_place(f"too many indices: {used} for an array of type {x.type}", user_source())
        )
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not dots:
        items, dots = [*items, Ellipsis], [len(items)]
    (at,) = dots
    return [*items[:at], *([slice(None)] * (x.ndim - used)), *items[at + 1 :]]


def _range(item: Any, x: Tracer, axis: int) -> tuple[int, int, int, bool, bool]:
    """start, stop, positive stride, whether to flip, whether the axis stays."""
    extent = x.shape[axis]
    if not isinstance(item, slice):
        i = int(item)
        if not -extent <= i < extent:
            raise IndexError(
                with_place(
                    f"index {i} is out of bounds for axis {axis} of an array of type {x.type}",
                    user_source(),
                )
            )
        return i % extent, i % extent + 1, 1, False, False
    picked = range(*item.indices(extent))
    if not len(picked):
        return 0, 0, 1, False, True
    first, last, step = picked[0], picked[-1], picked.step
    if step > 0:
        return first, last + 1, step, False, True
    return last, first + 1, -step, True, True


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    reject("np.take", out=out)
    if axis is None:
        a, axis = np.ravel(a), 0
    a = as_tracer(a)
    axis = shapes.normalize_axis(axis, a.ndim)
    if mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = np.mod(indices, a.shape[axis])
    return a[(slice(None),) * axis + (indices,)]


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    arr = as_tracer(arr)
    axis = shapes.normalize_axis(axis, arr.ndim)
    grid = [
        np.arange(n).reshape([-1 if j == i else 1 for j in range(arr.ndim)])
        for i, n in enumerate(shape_of(indices))
    ]
    grid[axis] = indices
    return arr[tuple(grid)]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``np.where`` with three arguments."""
    from autojit.ir.ops.arithmetic import select, truth
    from autojit.ir.ops.move import broadcast_to

    from .lifting import common_shape, promoted, tracer

    if x is None or y is None:
        raise UncoveredFunctionError(
            with_place(
                "np.where(condition) has a shape that depends on values. "
                "Use np.where(condition, x, y).",
                user_source(),
            )
        )
    shape = common_shape(condition, x, y)
    a, b = promoted(x, y)
    chosen = truth(as_value(condition))
    return tracer(
        select(broadcast_to(chosen, shape), broadcast_to(a, shape), broadcast_to(b, shape))
    )


implements(np.where)(where)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    reject("np.clip", out=out)
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if x.dtype.kind not in "fc":
        return np.copy(x)
    limits = np.finfo(x.dtype)
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(x == np.inf, x.dtype.type(limits.max if posinf is None else posinf), x)
    return np.where(x == -np.inf, x.dtype.type(limits.min if neginf is None else neginf), x)
