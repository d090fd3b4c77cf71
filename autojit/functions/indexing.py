"""Basic indexing: integers, slices, ``...`` and ``None``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.ops import move

from ..errors import UncoveredFunctionError, with_place
from ..tracer import Tracer
from ..tracing import user_source
from .lifting import as_value, view
from .registry import implements, reject


def getitem(x: Tracer, index: Any) -> Tracer:
    """``x[index]`` with integers, slices, ``...`` and ``None``."""
    items = list(index) if isinstance(index, tuple) else [index]
    for item in items:
        _check_basic(item)
    items = _expand_ellipsis(items, x)
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


def _check_basic(item: Any) -> None:
    if item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice)):
        if not isinstance(item, bool):
            return
    raise UncoveredFunctionError(
        with_place(
            f"Indexing a traced array with {_describe(item)} is not covered by autojit; integers, "
            "slices, ... and None are.\n"
            "To pick by a mask, use np.where(mask, x, 0) in place of x[mask]; to pick one entry a "
            "row, multiply with a one-hot matrix: (x * np.eye(k)[labels]).sum(axis=1).",
            user_source(),
        )
    )


def _describe(item: Any) -> str:
    if isinstance(item, Tracer):
        return f"a traced array of type {item.type}"
    if isinstance(item, np.ndarray):
        return f"an array of dtype {item.dtype}"
    return f"a {type(item).__name__}"


def _expand_ellipsis(items: list[Any], x: Tracer) -> list[Any]:
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > x.ndim:
        raise IndexError(
            with_place(f"too many indices: {used} for an array of type {x.type}", user_source())
        )
    if Ellipsis not in items:
        items = [*items, Ellipsis]
    at = items.index(Ellipsis)
    if Ellipsis in items[at + 1 :]:
        raise IndexError("an index can only have a single ellipsis ('...')")
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
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    reject("np.take", out=out)
    if not isinstance(indices, (int, np.integer)):
        _check_basic(indices)
    if axis is None:
        return np.ravel(a)[indices]
    return np.moveaxis(a, axis, 0)[indices]


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
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
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
    limits = np.finfo(x.dtype)
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(x == np.inf, x.dtype.type(limits.max if posinf is None else posinf), x)
    return np.where(x == -np.inf, x.dtype.type(limits.min if neginf is None else neginf), x)
