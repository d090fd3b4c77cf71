"""Item assignment: ``x[index] = value``, and the NumPy functions that write into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.ops import move
from autojit.ir.program import Value
from autojit.ir.types import Type

from ..errors import DtypeError, ShapeError, with_place
from ..tracer import Tracer
from ..tracing import user_source
from .indices import Window, selection
from .lifting import as_value, dtype_of, shape_of, to_dtype
from .registry import uncovered


def setitem(x: Tracer, index: Any, value: Any) -> None:
    """``x[index] = value``: every name bound to x sees it."""
    picked = selection(index, x)
    x.assign(picked.write(as_value(x), fitted(value, x.type.with_shape(picked.shape))))


def fitted(value: Any, place: Type) -> Value:
    """A value as it goes into a place: cast as NumPy casts, and broadcast."""
    shape = shape_of(value)
    if dtype_of(value).kind == "c" and place.dtype.kind != "c":
        raise DtypeError(
            with_place(
                f"Assigning complex numbers into a traced array of type {place} would discard "
                "their imaginary parts. Say so, or make the array complex:\n"
                "    x[i] = z.real\n    x = x.astype(complex)",
                user_source(),
            )
        )
    result = to_dtype(as_value(value), place.dtype)
    while len(shape) > place.ndim and shape[0] == 1:  # NumPy lets leading ones go
        shape = shape[1:]
    if len(shape) > place.ndim or any(
        n not in (1, m) for n, m in zip(shape[::-1], place.shape[::-1], strict=False)
    ):
        raise ShapeError(
            with_place(
                f"could not broadcast a value of shape {shape_of(value)} into a part of shape "
                f"{place.shape}",
                user_source(),
            )
        )
    if result.shape != shape:
        result = move.reshape(result, shape=shape)
    return move.broadcast_to(result, place.shape)


def add_at(x: Tracer, index: Any, value: Any) -> None:
    """``np.add.at(x, index, value)``: places that repeat add up."""
    picked = selection(index, x)
    if x.dtype.kind == "b":
        raise uncovered("np.add.at", " of a traced array of truth values")
    place = x.type.with_shape(picked.shape)
    if not np.can_cast(dtype_of(value), x.dtype, "same_kind"):
        raise DtypeError(
            with_place(
                f"np.add.at: cannot add {dtype_of(value)} into a traced array of type {x.type}",
                user_source(),
            )
        )
    part = fitted(value, place)
    if isinstance(picked, Window):
        x.assign(picked.write(as_value(x), picked.read(as_value(x)) + part))
    else:
        x.assign(picked.add(as_value(x), part))
