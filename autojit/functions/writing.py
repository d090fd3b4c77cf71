"""NumPy functions that write into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core.program import Value
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import select, truth
from autojit.protocols.lifting import as_value, shape_of, tracer
from autojit.protocols.registry import implements, uncovered
from autojit.tracing.aliasing import assign
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .assignment import cast, check_same_kind, fitted, setitem, target
from .indexing import along_axis


def _cycled(values: Any, x: Tracer, size: int) -> Value:
    """The values, repeated to the number of places and cast to the array's dtype."""
    new = cast(values, x.dtype)
    given = new.type.size
    if size and not given:
        raise ShapeError(with_place("There are no values to write.", user_source()))
    flat = move.reshape(new, shape=(given,))
    if size > given:
        flat = move.concatenate(*[flat] * -(-size // given), axis=0)
    return move.slice_axis(flat, 0, 0, size)


def _set_flat(x: Tracer, places: Any, values: Value) -> None:
    """Assign values to places that are counted in row-major order."""
    flat = tracer(move.reshape(as_value(x), shape=(x.size,)))
    setitem(flat, places, tracer(values))
    assign(x, move.reshape(flat.value, shape=x.shape))


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    a = target("np.put", a)
    places: Any = np.ravel(ind)
    if mode == "wrap":
        places = np.mod(places, a.size)
    elif mode == "clip":
        places = np.clip(places, 0, a.size - 1)
    _set_flat(a, places, _cycled(v, a, places.size))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    arr = target("np.put_along_axis", arr)
    if axis is None:
        new = fitted(values, arr.type.with_shape(shape_of(indices)))
        _set_flat(arr, indices, new)
    else:
        setitem(arr, along_axis(arr, indices, axis), values)


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    a = target("np.putmask", a)
    if shape_of(mask) != a.shape:
        raise ShapeError(
            with_place(
                f"np.putmask: a mask of shape {shape_of(mask)} for an array of shape {a.shape}",
                user_source(),
            )
        )
    new = move.reshape(_cycled(values, a, a.size), shape=a.shape)
    assign(a, select(truth(as_value(mask)), new, as_value(a)))


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    arr = target("np.place", arr)
    if not isinstance(mask, Tracer):
        (places,) = np.nonzero(np.ravel(mask))
        _set_flat(arr, places, _cycled(vals, arr, places.size))
    elif np.size(vals) == 1:
        putmask(arr, mask, vals)
    else:
        raise uncovered("np.place", " with a traced mask and several values")


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    dst = target("np.copyto", dst)
    if casting not in ("same_kind", "unsafe"):
        raise uncovered("np.copyto", " with casting=")
    if casting == "same_kind":
        check_same_kind("np.copyto", src, dst)
    new = fitted(src, dst.type)
    if where is not True:
        chosen = move.broadcast_to(truth(as_value(where)), dst.shape)
        new = select(chosen, new, as_value(dst))
    assign(dst, new)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    a = target("np.fill_diagonal", a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(
            with_place(
                f"np.fill_diagonal takes a matrix, or an array of equal extents; got {a.type}",
                user_source(),
            )
        )
    columns = a.shape[-1]
    end = columns * columns if a.ndim == 2 and not wrap else None
    step = int(np.sum(np.cumprod((1, *a.shape[:0:-1])))) if a.ndim > 2 else columns + 1
    picked = slice(None, end, step)
    _set_flat(a, picked, _cycled(val, a, len(range(a.size)[picked])))


def fill(x: Tracer, value: Any) -> None:
    """``x.fill(value)``."""
    if shape_of(value):
        raise ShapeError(with_place("x.fill(value) takes a single value", user_source()))
    setitem(x, ..., value)
