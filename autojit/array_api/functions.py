"""Functions that have other arguments or other results in the standard than in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import dtype_of, shape_of
from autojit.tracing.created_arrays import bare

from .creation import in_trace


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Clip ``x``; the result has its dtype."""
    dtype = dtype_of(bare(x))
    bounds = [_bound(b, dtype) for b in (min, max)]
    if bounds == [None, None]:
        return np.copy(x)
    return np.clip(x, *bounds)


def _bound(bound: Any, dtype: np.dtype) -> Any:
    if bound is None or not hasattr(bound, "dtype"):
        return bound
    return bound.astype(dtype)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """Divide as the standard says at infinities, where NumPy's ``//`` gives NaN or -1."""
    with np.errstate(invalid="ignore"):
        found = np.floor_divide(x1, x2)
    if dtype_of(bare(found)).kind != "f":
        return found
    infinite = np.isinf(x1) | np.isinf(x2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(infinite, np.floor(np.true_divide(x1, x2)), found)


def expm1(x: Any, /) -> Any:
    """``exp(x) - 1`` as the standard defines it at complex infinities, and at -0."""
    if dtype_of(bare(x)).kind != "c":
        return np.expm1(x)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.where(np.isfinite(x), np.expm1(x), np.exp(x) - 1)
    # The real part of a zero is +0; the sign of the imaginary part stays.
    below = np.logical_and(x == 0, np.signbit(np.imag(x)))
    return np.where(below, np.conj(np.conj(found) + 0), np.where(x == 0, found + 0, found))


def tanh(x: Any, /) -> Any:
    """The standard's ``tanh``: at complex infinities a zero has the sign of the imaginary part."""
    found = np.tanh(x)
    dtype = dtype_of(bare(x))
    if dtype.kind != "c":
        return found
    one = np.where(np.real(x) > 0, dtype.type(1), dtype.type(-1))
    limit = np.where(np.signbit(np.imag(x)), np.conj(one), one)
    at_infinity = np.logical_and(np.isinf(np.real(x)), np.isfinite(np.imag(x)))
    return np.where(at_infinity, limit, found)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    found = np.sort(x, axis=axis, kind="stable" if stable else None)
    return np.flip(found, axis) if descending else found


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    kind: Any = "stable" if stable else None
    if not descending:
        return np.argsort(x, axis=axis, kind=kind)
    # Because the array is flipped twice, equal elements stay in their order.
    places = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind=kind), axis)
    return shape_of(bare(x))[axis] - 1 - places


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    rows = np.moveaxis(x, axis, 0)
    return tuple([rows[i, ...] for i in range(shape_of(bare(rows))[0])])


def _cumulative(accumulate: Callable[..., Any], first: int) -> Callable[..., Any]:
    def cumulative(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        shape = shape_of(bare(x))
        if axis is None and len(shape) != 1:
            raise ValueError(f"an array with {len(shape)} axes needs the argument axis: axis=0")
        axis = 0 if axis is None else normalize_axis(axis, len(shape))
        found = accumulate(x, axis=axis, dtype=dtype)
        if not include_initial:
            return found
        start = np.full((*shape[:axis], 1, *shape[axis + 1 :]), first, dtype_of(bare(found)))
        return np.concatenate([start, found], axis)

    return cumulative


cumulative_sum = _cumulative(np.cumsum, 0)
cumulative_prod = _cumulative(np.cumprod, 1)
cumulative_sum.__name__, cumulative_prod.__name__ = "cumulative_sum", "cumulative_prod"


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    return np.take_along_axis(x, indices, axis)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    found = np.count_nonzero(x, axis=axis, keepdims=keepdims)
    return in_trace(np.asarray(found)) if isinstance(found, int) else found


def broadcast_arrays(*arrays: Any) -> list[Any]:
    return list(np.broadcast_arrays(*arrays))


def expand_dims(x: Any, /, axis: int) -> Any:
    ndim = len(shape_of(bare(x))) + 1
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)  # an IndexError, as the standard requires
    return np.expand_dims(x, axis)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    if not shape_of(bare(x)):
        raise ValueError("nonzero of an array without axes. Give it one: xp.reshape(x, (1,))")
    return tuple(map(in_trace, np.nonzero(x)))


def unique_all(x: Any, /) -> UniqueAll:
    return UniqueAll(*map(in_trace, np.unique_all(x)))


def unique_counts(x: Any, /) -> UniqueCounts:
    return UniqueCounts(*map(in_trace, np.unique_counts(x)))


def unique_inverse(x: Any, /) -> UniqueInverse:
    return UniqueInverse(*map(in_trace, np.unique_inverse(x)))


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any
