"""Item assignment (``x[index] = value``) and the other functions that write into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import (
    DtypeError,
    InPlaceError,
    MissingDtypeError,
    RefusedInPlaceError,
    ShapeError,
    with_place,
)
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import select
from autojit.protocols.lifting import (
    as_tracer,
    as_value,
    contains_tracer,
    dtype_of,
    shape_of,
    tracer,
    weak_type,
)
from autojit.protocols.registry import any_bounded, uncovered
from autojit.tracing.aliasing import assign
from autojit.tracing.blocks import here
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import value_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .indexing import rows_where, truth_of
from .indices import (
    Masked,
    Window,
    has_ellipsis,
    has_mask_or_places,
    has_traced_slice,
    in_two_steps,
    masked_part,
    selection,
)


def setitem(x: Tracer, index: Any, value: Any) -> None:
    """``x[index] = value``; the change is visible through every name bound to x."""
    if x.is_bounded:
        return hooks.set_bounded(x, index, value)
    _check_array(x)
    x, value = here(x), bare(value)
    if isinstance(value, Tracer) and not value.is_bounded:
        value = here(value)
    if has_traced_slice(index):
        return hooks.set_bounded(x, index, value)
    is_bounded = getattr(value, "is_bounded", False)
    if has_mask_or_places(index):
        index = hooks.mask_in(bare(index), x)
        if _set_by_mask(x, index, value):
            return None
    if is_bounded:
        return hooks.set_bounded(x, index, value)
    truth = truth_of(index)
    if truth is not None:
        x, index = rows_where(x, truth), ...
    return _set_picked(x, index, value)


def _set_by_mask(x: Tracer, index: Any, value: Any) -> bool:
    """Set the places of an index with a mask or a bounded array; return False if the places are
    known, and the value has an element for each."""
    if any_bounded(index if isinstance(index, tuple) else (index,)):
        hooks.set_at(x, index, value)
        return True
    steps = in_two_steps(index)
    if steps is not None:
        part = x[steps[0]]
        setitem(part, steps[1], value)
        setitem(x, steps[0], part)
        return True
    masked = masked_part(index, x)
    if masked is None:
        return False
    has_many = getattr(value, "is_bounded", False) or _has_rows(masked, value)
    if not has_many:
        _set_where(x, masked, value)
    elif value_of(masked.mask) is None:
        hooks.set_masked(x, masked, value)
    else:
        return False
    return True


def _has_rows(masked: Masked, value: Any) -> bool:
    """Whether the value has one element (or row) for each place of the mask."""
    _, mask, at = masked
    after = len(masked.part.shape) - at - mask.ndim
    shape = shape_of(as_tracer(value) if contains_tracer(value) else value)
    return len(shape) > after and shape[-1 - after] != 1


def _set_picked(x: Tracer, index: Any, value: Any) -> None:
    picked = selection(index, x)
    if isinstance(value, Tracer) and value.base is x and value.how == picked:
        return None  # x[1:] += y: the operator has changed the view, and x with it
    place = x.type.with_shape(picked.shape)
    new = fitted(value, place, scalar=not place.shape and not has_ellipsis(index))
    assign(x, picked.write(as_value(x), new))
    return None


def _check_array(x: Tracer) -> None:
    if x.is_scalar:
        raise InPlaceError(
            with_place(
                f"A traced {x.type} without axes is a scalar, which is immutable in NumPy too. "
                "Rebind the name:\n"
                "    x = value                          # not: x[...] = value",
                user_source(),
            )
        )


def cast(value: Any, dtype: np.dtype) -> Value:
    """Cast a value to the array's dtype, as assignment does."""
    if contains_tracer(value):
        value = as_tracer(value)
    if dtype_of(value).kind == "c" and dtype.kind != "c":
        kind = DtypeError if weak_type(value) is complex else MissingDtypeError
        raise kind(
            with_place(
                f"Assigning complex numbers into a traced array of dtype {dtype} would discard "
                "their imaginary parts. Say so, or make the array complex:\n"
                "    x[i] = z.real\n    x = x.astype(complex)",
                user_source(),
            )
        )
    return as_value(value, dtype)


def fitted(value: Any, place: Type, *, scalar: bool = False) -> Value:
    """Cast and broadcast a value to fit a place."""
    result = cast(value, place.dtype)
    shape = result.shape
    while len(shape) > place.ndim and shape[0] == 1 and not scalar:  # as in NumPy
        shape = shape[1:]
    aligned = zip(shape[::-1], place.shape[::-1], strict=False)
    if len(shape) > place.ndim or any(n not in (1, m) for n, m in aligned):
        raise ShapeError(
            with_place(
                f"A value of shape {result.shape} does not broadcast into a part of shape "
                f"{place.shape}. Assign as many elements as there are places:\n"
                "    x[:len(v)] = v                     # v has shape (n,)\n"
                "    x[...] = v[:, None]                # a column for each row of x",
                user_source(),
            )
        )
    if result.shape != shape:
        result = move.reshape(result, shape=shape)
    return move.broadcast_to(result, place.shape)


def _set_where(x: Tracer, masked: Masked, value: Any) -> None:
    """``x[mask] = value`` with a mask that is not yet known."""
    part, mask, at = masked
    old = part.read(as_value(x))
    after = len(old.shape) - at - mask.ndim
    new = cast(value, x.dtype)
    cut = max(0, len(new.shape) - after)
    first, rest = new.shape[:cut], new.shape[cut:]
    if first:  # its last axis has length 1: one value for all places of the mask
        new = move.reshape(new, shape=(*first[:-1], *(1,) * mask.ndim, *rest))
    dims = tuple(range(at, at + mask.ndim))
    chosen = move.broadcast(as_value(mask), shape=old.shape, dims=dims)
    new = fitted(tracer(new), old.type)
    assign(x, part.write(as_value(x), select(chosen, new, old)))


def target(name: str, x: Any) -> Tracer:
    """Return the array to write into as a traced array; raise if it is not one."""
    if isinstance(x, (Tracer, FreshArray)):
        found = hooks.traced(x)
        _check_array(found)
        return found
    raise RefusedInPlaceError(
        with_place(
            f"{name} would write a traced value into an array that was created outside the "
            "traced function or is referenced elsewhere (a cache, a list). Write into a copy "
            "that is created inside:\n"
            "    y = x.copy()                       # in the traced function",
            user_source(),
        )
    )


def add_at(x: Any, index: Any, value: Any) -> None:
    """``np.add.at(x, index, value)``: values at repeated places add up."""
    x, value = target("np.add.at", x), bare(value)
    picked = selection(index, x)
    if x.dtype.kind == "b":
        raise uncovered("np.add.at", " of a traced array of truth values")
    check_same_kind("np.add.at", value, x)
    part = fitted(value, x.type.with_shape(picked.shape))
    if isinstance(picked, Window):
        assign(x, picked.write(as_value(x), picked.read(as_value(x)) + part))
    else:
        assign(x, picked.add(as_value(x), part))


def check_same_kind(name: str, value: Any, x: Tracer) -> None:
    """Raise unless a value may be cast to the array's dtype under NumPy's rule 'same_kind'."""
    weak = type(value) if type(value) in (int, float, complex) else None
    dtype = np.result_type(weak(0), x.dtype) if weak else dtype_of(value)
    if not np.can_cast(dtype, x.dtype, "same_kind"):
        raise DtypeError(
            with_place(
                f"{name}: cannot cast from {dtype} into a traced array of type {x.type} "
                f"with casting rule 'same_kind'. Convert the value:\n"
                f"    value.astype({x.dtype.name!r})",
                user_source(),
            )
        )


def write_out(name: str, out: Any, result: Tracer) -> Any:
    """Write the result of a ufunc into the array given as ``out=``."""
    into = target(f"{name} with out=", out)
    check_same_kind(name, result, into)
    setitem(into, ..., result)
    return out


def write_result(name: str, out: Any, result: Any) -> Any:
    """Write the result of a function that is no ufunc into the array given as ``out=``.

    Shape and dtype must be those of the result: some functions of NumPy compute in the dtype of
    ``out``, others convert the result.
    """
    into = target(f"{name} with out=", out)
    of = as_value(result).type
    if of.dtype == into.dtype and of.shape == into.shape:
        setitem(into, ..., result)
        return out
    error = DtypeError if of.dtype != into.dtype else ShapeError
    raise error(
        with_place(
            f"{name}: the result has type {of}, and out= has type {into.type}. Give an array of "
            f"the result's type:\n"
            f"    out = np.empty({of.shape}, {of.dtype.name!r})",
            user_source(),
        )
    )


hooks.add_at, hooks.write_out, hooks.write_result = add_at, write_out, write_result
