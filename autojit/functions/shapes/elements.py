"""Functions that choose, repeat or split elements, and queries about types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.functions.checks import ensured
from autojit.functions.indexing import take_along_axis
from autojit.functions.methods import astype as cast
from autojit.ir.core.halves import kind_of
from autojit.protocols.lifting import (
    as_tracer,
    common_shape,
    dtype_of,
    python_bool,
    result_dtype,
    shape_of,
    weak_type,
)
from autojit.protocols.registry import implements, uncovered
from autojit.tracing.known import value_of


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    parts = list(choices)
    shape, kind = common_shape(a, *parts), result_dtype(*parts)
    numbers: Any = as_tracer(np.broadcast_to(as_tracer(a), shape))
    if numbers.dtype == bool:  # used as numbers here, not as a mask
        numbers = numbers.astype(np.int64)
    if mode == "wrap":
        numbers = np.mod(numbers, len(parts))
    elif mode == "clip":
        numbers = np.clip(numbers, 0, len(parts) - 1)
    else:
        valid = (numbers >= 0) & (numbers < len(parts))
        numbers = ensured(numbers, valid, ValueError("invalid entry in choice array"))
    rows = np.stack([np.broadcast_to(as_tracer(p).astype(kind), shape) for p in parts])
    return take_along_axis(rows, numbers[None], 0)[0]


@implements(np.resize, known=("new_shape",))
def resize(a: Any, new_shape: Any) -> Any:
    shape = tuple(new_shape) if isinstance(new_shape, Sequence) else (int(new_shape),)
    flat, size = np.ravel(as_tracer(a)), math.prod(shape)
    if not flat.size:
        return np.zeros(shape, flat.dtype)
    return np.reshape(np.tile(flat, -(-size // flat.size))[:size], shape)


if hasattr(np, "astype"):  # since NumPy 2.1

    @implements(np.astype)
    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        return cast(as_tracer(x), dtype, copy=copy)


if hasattr(np, "unstack"):  # since NumPy 2.1

    @implements(np.unstack)
    def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
        rows = np.moveaxis(x, axis, 0)
        return tuple(rows[i] for i in range(shape_of(rows)[0]))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(as_tracer(v)), k)


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """For complex numbers, the dtype of the result depends on the values."""
    a = as_tracer(a)
    if a.dtype.kind != "c":
        return a
    values = value_of(a)
    if values is None:
        raise uncovered(
            "np.real_if_close",
            " of a traced complex array, whose values determine the dtype of the result,",
        )
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a.real if np.all(np.abs(np.imag(values)) < limit) else a


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, dtype_of(a)) for a in arrays))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    if weak_type(from_) is not None:
        raise TypeError("can_cast() does not support Python ints, floats, and complex")
    return np.can_cast(dtype_of(from_), to, casting)  # type: ignore[arg-type]


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype:
    """NumPy looks at the value of a number; the value of a traced one is not known."""
    if not shape_of(a):
        raise uncovered(
            "np.min_scalar_type", " of a traced number, whose value determines the result,"
        )
    return dtype_of(a)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    try:
        np.broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return False
    return python_bool(np.all(np.equal(a1, a2)))


def checked_finite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """``np.asarray_chkfinite``: the compiled call raises if an element is not finite."""
    x = as_tracer(a)
    x = x if dtype is None else x.astype(dtype)
    error = ValueError("array must not contain infs or NaNs")
    return ensured(x, np.isfinite(x), error) if kind_of(x.dtype) in "fc" else x
