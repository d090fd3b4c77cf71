"""NumPy's array manipulation routines: shapes, repetition, shifts, real and imaginary parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import imag as imag_op
from autojit.ir.ops.arithmetic import make_complex
from autojit.ir.ops.arithmetic import real as real_op
from autojit.ir.ops.shear import windows
from autojit.protocols.lifting import (
    as_tracer,
    as_value,
    boxed,
    perhaps_view,
    shape_of,
    tracer,
    view,
)
from autojit.protocols.registry import implements, reject, uncovered
from autojit.tracing.aliasing import Mapped
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

# -- shape --------------------------------------------------------------------


@implements(np.reshape, known=("shape",))
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Tracer:
    a = as_tracer(a)
    if order not in ("C", "F"):
        reject("np.reshape", order=order)
    if order == "F":  # reverse the axes before and after
        sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
        return transpose(reshape(transpose(a), sizes[::-1]))
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    new = shapes.resolve_reshape(a.shape, sizes)
    if new == a.shape:
        return a if a.weak is None else boxed(a)
    return _reshaped(a, new, a.ordered or _splits(a.shape, new))


def _reshaped(a: Tracer, new: shapes.Shape, is_view: bool) -> Tracer:
    if not is_view:
        return perhaps_view(a, move.reshape(as_value(a), shape=new))
    old = a.shape
    how = Mapped(lambda x: move.reshape(x, shape=new), lambda x, y: move.reshape(y, shape=old))
    result = view(a, how)
    result.ordered = a.ordered
    return result


def _splits(old: shapes.Shape, new: shapes.Shape) -> bool:
    """Whether no new axis merges old axes, so that the result is a view in any memory layout."""
    rest = [n for n in new if n != 1]
    for extent in old:
        whole = 1
        while rest and whole < extent:
            whole *= rest.pop(0)
        if whole != extent:
            return not math.prod(new)
    return True


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Tracer:
    a = as_tracer(a)
    if order != "C":
        return reshape(a, -1, order)
    return _reshaped(a, (a.size,), a.ordered)


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> Tracer:
    a = as_tracer(a)
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(np.atleast_1d(axes))
    order = tuple(shapes.normalize_axis(i, a.ndim) for i in order)
    back = tuple(order.index(i) for i in range(a.ndim))
    how = Mapped(lambda x: move.transpose(x, axes=order), lambda x, y: move.transpose(y, axes=back))
    return view(a, how)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Tracer:
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Tracer:
    order = list(range(np.ndim(a)))
    i, j = shapes.normalize_axis(axis1, len(order)), shapes.normalize_axis(axis2, len(order))
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Tracer:
    ndim = np.ndim(a)
    sources = [shapes.normalize_axis(i, ndim) for i in np.atleast_1d(source)]
    targets = [shapes.normalize_axis(i, ndim) for i in np.atleast_1d(destination)]
    order = [i for i in range(ndim) if i not in sources]
    for target, start in sorted(zip(targets, sources, strict=True)):
        order.insert(target, start)
    return transpose(a, order)


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Tracer:
    shape = shape_of(a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
    else:
        axes = shapes.reduced_axes(axis, len(shape))
    if any(shape[i] != 1 for i in axes):
        raise ShapeError(
            with_place(
                f"np.squeeze of shape {shape}: axis {axis} does not have length 1", user_source()
            )
        )
    return reshape(a, shapes.without_axes(shape, axes))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Tracer:
    axes = axis if isinstance(axis, Sequence) else (axis,)
    ndim = np.ndim(a) + len(axes)
    new = shapes.normalize_axes(axes, ndim)
    rest = iter(shape_of(a))
    return reshape(a, tuple(1 if i in new else next(rest) for i in range(ndim)))


@implements(np.broadcast_to, known=("shape",))
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Tracer:
    array = as_tracer(array)
    target = tuple(shape) if isinstance(shape, Sequence) else (int(shape),)
    return view(array, Mapped(lambda x: move.broadcast_to(x, target)))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = shapes.broadcast_shapes(*map(shape_of, args))
    if all(shape_of(a) == shape for a in args):
        return args
    return tuple(np.broadcast_to(a, shape) for a in args)


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Tracer:
    m = as_tracer(m)
    axes = shapes.normalize_axes(axis, m.ndim)
    if not m.ndim:
        return m[()]  # a scalar, as in NumPy
    return view(m, Mapped(lambda x: move.flip(x, axes=axes), lambda x, y: move.flip(y, axes=axes)))


@implements(np.flipud)
def flipud(m: Any) -> Tracer:
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Tracer:
    return flip(m, 1)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    results = tuple(np.reshape(a, (1,)) if np.ndim(a) == 0 else a for a in arys)
    return results[0] if len(results) == 1 else results


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    results = tuple(
        a if np.ndim(a) >= 2 else np.reshape(a, (1, -1) if np.ndim(a) else (1, 1)) for a in arys
    )
    return results[0] if len(results) == 1 else results


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    results = tuple(
        a if np.ndim(a) >= 3 else np.expand_dims(np.atleast_2d(a), -1 if np.ndim(a) != 1 else 2)
        for a in arys
    )
    return results[0] if len(results) == 1 else results


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tracer:
    first, second = (shapes.normalize_axis(i, np.ndim(m)) for i in axes)
    turns = k % 4
    if turns % 2:
        m = flip(m, second) if turns == 1 else flip(m, first)
        return swapaxes(m, first, second)
    return flip(m, (first, second)) if turns else as_tracer(m)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Tracer:
    axis = shapes.normalize_axis(axis, np.ndim(a))
    start = start + np.ndim(a) if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return shape_of(a)


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(shape_of(a))


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    extents = shape_of(a)
    axes = shapes.normalize_axes(axis, len(extents))
    return int(np.prod([extents[i] for i in axes], dtype=int))


# -- repeating and shifting ---------------------------------------------------


def _copied(a: Tracer) -> Tracer:
    """The array as a new array that owns its memory."""
    return tracer(as_value(a))


def along_one_axis(a: Any, axis: Any) -> tuple[Any, int]:
    """The array and the axis; the array is flattened if there is no axis.

    As in NumPy, a number counts as an array of one element.
    """
    if axis is None:
        return np.ravel(a), 0
    if not shape_of(a):
        shapes.reduced_axes(axis, 0)
        return np.ravel(a), 0
    return a, shapes.normalize_axis(axis, len(shape_of(a)))


@implements(np.repeat, known=("repeats",))
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tracer:
    a, axis = along_one_axis(a, axis)
    old = shape_of(a)
    if not isinstance(repeats, (int, np.integer)):
        counts = np.asarray(repeats) if np.size(repeats) else np.zeros(0, np.int64)
        each = np.broadcast_to(counts, old[axis])
        picked: Any = np.take(a, np.repeat(np.arange(old[axis]), each), axis=axis)
        return picked
    wide = broadcast_to(
        expand_dims(a, axis + 1), (*old[: axis + 1], int(repeats), *old[axis + 1 :])
    )
    return _copied(reshape(wide, (*old[:axis], old[axis] * int(repeats), *old[axis + 1 :])))


@implements(np.tile, known=("reps",))
def tile(A: Any, reps: Any) -> Tracer:
    counts = tuple(reps) if isinstance(reps, Sequence) else (int(reps),)
    old = (1,) * (len(counts) - np.ndim(A)) + shape_of(A)
    counts = (1,) * (len(old) - len(counts)) + counts
    spaced = [n for extent in old for n in (1, extent)]
    wide = [n for pair in zip(counts, old, strict=True) for n in pair]
    result = broadcast_to(reshape(A, tuple(spaced)), tuple(wide))
    return _copied(reshape(result, tuple(c * n for c, n in zip(counts, old, strict=True))))


@implements(np.roll, known=("shift",))
def roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    if axis is None:
        return _copied(reshape(roll(np.ravel(a), shift, 0), shape_of(a)))
    value = as_value(a)
    for k, s in np.broadcast(np.atleast_1d(axis), np.atleast_1d(shift)):
        k = shapes.normalize_axis(int(k), value.type.ndim)
        extent = value.shape[k]
        cut = (extent - int(s) % extent) % extent if extent else 0
        if cut:
            ends = move.slice_axis(value, k, cut, extent), move.slice_axis(value, k, 0, cut)
            value = move.concatenate(*ends, axis=k)
    return tracer(value)


def _broadcast_along(end: Any, like: Any, axis: int) -> Any:
    """The argument ``prepend`` or ``append`` of np.diff; a number becomes one row of the array."""
    if end is None or end is np._NoValue or np.ndim(end):
        return None if end is np._NoValue else end
    return np.broadcast_to(end, shapes.keep_axes(shape_of(like), (axis,)))


@implements(np.diff, known=("n",))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n == 0:
        return a
    if n < 0:
        words = (
            f"np.diff: n, the number of times to take differences, must not be negative; it is {n}"
        )
        raise ShapeError(with_place(words, user_source()))
    axis = shapes.normalize_axis(axis, np.ndim(a))
    ends = [_broadcast_along(e, a, axis) for e in (prepend, append)]
    parts = [e for e in (ends[0], a, ends[1]) if e is not None]
    a = a if len(parts) == 1 else np.concatenate(parts, axis)
    for _ in range(n):
        value = as_value(a)
        extent = value.shape[axis]
        upper = tracer(move.slice_axis(value, axis, min(1, extent), extent))
        lower = tracer(move.slice_axis(value, axis, 0, max(0, extent - 1)))
        a = upper != lower if value.dtype.kind == "b" else upper - lower
    return a


# -- real and complex ---------------------------------------------------------


@implements(np.real)
def real(val: Any) -> Tracer:
    val = as_tracer(val)
    if val.dtype.kind != "c":
        return val
    if val.weak is not None:
        return tracer(real_op(as_value(val)), float)
    return view(val, Mapped(real_op, lambda x, part: make_complex(part, imag_op(x))))


@implements(np.imag)
def imag(val: Any) -> Tracer:
    val = as_tracer(val)
    if val.weak is not None:
        made = as_value(val)
        is_complex = val.weak is complex
        return tracer(imag_op(made), float) if is_complex else tracer(full(0, made.type), val.weak)
    if val.dtype.kind == "c":
        return view(val, Mapped(imag_op, lambda x, part: make_complex(real_op(x), part)))
    return view(val, Mapped(lambda x: full(0, x.type)))


@implements(np.lib.stride_tricks.sliding_window_view, known=("window_shape",))
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tracer:
    if writeable:
        raise uncovered("np.lib.stride_tricks.sliding_window_view", " with writeable=")
    x = as_tracer(x)
    sizes = tuple(window_shape) if isinstance(window_shape, Iterable) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    if len(axes) != len(sizes):
        raise ShapeError(
            with_place(
                f"sliding_window_view needs a size for each axis; got {sizes} for axes {axes}",
                user_source(),
            )
        )
    value, ndim = as_value(x), x.ndim
    for size, k in zip(sizes, axes, strict=True):
        value = windows(value, axis=shapes.normalize_axis(k, ndim), size=int(size))
    return perhaps_view(x, value)
