"""Indexing: integers, slices, ``...``, ``None``, integer arrays and known masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.halves import kind_of
from autojit.ir.ops.arithmetic import make_complex
from autojit.protocols.lifting import as_tracer, as_value, boxed, dtype_of, shape_of, tracer, view
from autojit.protocols.registry import any_bounded, implements
from autojit.tracing.created_arrays import bare, fresh
from autojit.tracing.hooks import hooks
from autojit.tracing.known import value_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .indices import (
    has_ellipsis,
    has_mask_or_places,
    has_traced_slice,
    in_two_steps,
    masked_part,
    selection,
)
from .manipulation import along_one_axis


def getitem(x: Tracer, index: Any) -> Tracer:
    """``x[index]``."""
    if has_traced_slice(index):
        return hooks.get_bounded(x, index)
    if has_mask_or_places(index):
        index = hooks.mask_in(bare(index), x)
        if any_bounded(index if isinstance(index, tuple) else (index,)):
            return hooks.get_at(x, index)
        steps = in_two_steps(index)
        if steps is not None:
            return getitem(getitem(x, steps[0]), steps[1])
        found = masked_part(index, x)
        if found is not None and value_of(found.mask) is None:
            return hooks.get_masked(x, found)
    truth = truth_of(index)
    if truth is not None:
        return rows_where(x, truth).copy()
    picked = selection(index, x)
    if (not picked.shape and not has_ellipsis(index)) or picked.copies:  # a scalar is not a view
        return tracer(picked.read(as_value(x)))
    part = view(x, picked)
    return boxed(part) if has_ellipsis(index) else part


def truth_of(index: Any) -> bool | None:
    """The value of an index that is a single boolean; None if it is not known or not one."""
    if type(index) in (int, slice, tuple, list):
        return None
    index = bare(index)
    if isinstance(index, Tracer) and not index.shape and index.dtype.kind == "b":
        index = value_of(index)
    is_truth = isinstance(index, (bool, np.bool_, np.ndarray)) and np.ndim(index) == 0
    return bool(index) if is_truth and np.asarray(index).dtype.kind == "b" else None


def rows_where(x: Tracer, truth: bool) -> Tracer:
    """The view that NumPy selects by a single boolean: a new first axis of length 1 or 0."""
    return x[None][: int(truth)]


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"np.take: mode must be 'raise', 'clip' or 'wrap'; got {mode!r}")
    a, axis = along_one_axis(as_tracer(a), axis)
    if isinstance(indices, Tracer) and indices.dtype.kind == "f" and indices.is_scalar:
        indices = indices.astype(np.int64)  # as NumPy does for a number, but not for an array
    if dtype_of(indices).kind in "fc":
        raise TypeError(
            with_place(
                f"np.take: the indices are of dtype {dtype_of(indices)}, not integers. Convert "
                "them:\n"
                "    np.take(x, i.astype(int))",
                user_source(),
            )
        )
    if mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = np.mod(indices, a.shape[axis])
    return tracer(as_value(a[(slice(None),) * axis + (indices,)]))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    arr = as_tracer(arr)
    return arr[along_axis(arr, indices, axis)]


def along_axis(arr: Tracer, indices: Any, axis: int) -> tuple[Any, ...]:
    """Indices along one axis as an index of the whole array.

    They broadcast along axes of length 1.
    """
    axis = shapes.normalize_axis(axis, arr.ndim)
    if len(shape_of(indices)) != arr.ndim:
        raise ShapeError(
            with_place(
                f"Indices along an axis must have as many axes as the array, {arr.ndim}; their "
                f"shape is {shape_of(indices)}",
                user_source(),
            )
        )
    grid: list[Any] = [
        np.arange(n).reshape([-1 if j == i else 1 for j in range(arr.ndim)])
        for i, n in enumerate(arr.shape)
    ]
    grid[axis] = indices
    return tuple(grid)


def check_axes(x: Any) -> None:
    """Raise ValueError for an array without axes, which has no places."""
    if not np.ndim(x):
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead."
        )


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``np.where`` with three arguments."""
    from autojit.ir.ops.arithmetic import select, truth
    from autojit.ir.ops.move import broadcast_to
    from autojit.protocols.lifting import common_shape, promoted, tracer

    if x is None or y is None:
        check_axes(condition)
        if x is None and y is None and (values := value_of(as_tracer(condition))) is not None:
            return fresh(np.nonzero(values))
        if x is None and y is None:
            return hooks.places_of(condition)
        raise ValueError("either both or neither of x and y should be given")
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
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    if low is None and high is None:
        return np.copy(a)
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    x = as_tracer(x)
    if kind_of(x.dtype) not in "fc":
        return np.copy(x) if copy else x
    settings = nan, posinf, neginf
    if kind_of(x.dtype) == "c":
        parts = [_finite(part, *settings) for part in (np.real(x), np.imag(x))]
        result: Any = tracer(make_complex(*map(as_value, parts)))
    else:
        result = _finite(x, *settings)
    if copy:
        return result
    hooks.setitem(x, ..., result)
    return x


def _finite(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Real numbers with others in the places of NaN and of the infinities."""
    limits = np.finfo(x.dtype)
    for place, given, default in (
        (np.isnan(x), nan, 0.0),
        (x == np.inf, posinf, limits.max),
        (x == -np.inf, neginf, limits.min),
    ):
        number = default if given is None else given
        x = np.where(place, as_tracer(number).astype(x.dtype), x)
    return x
