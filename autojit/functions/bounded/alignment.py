"""Alignment of bounded operands: the places at which their elements are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic, move
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_value, common_shape_of, shape_of, tracer, weak_type
from autojit.tracing.created_arrays import is_traced

from .array import Bounded, Range, Ranges, mask_of
from .integers import as_int, checked, equal

_INT = np.dtype(np.int64)

#: A range of an axis, and the extent of that axis.
Placed = tuple[Range, int]


def layout(x: Any) -> tuple[Ranges, tuple[int, ...]]:
    """The ranges of an operand, and the shape of the storage that they refer to."""
    if isinstance(x, Bounded):
        return x.ranges, x.storage.shape
    shape = shape_of(x)
    return (None,) * len(shape), shape


def same_length(a: Any, b: Any) -> Any:
    """The first length; if the second one differs, the code raises as it runs."""
    if equal(a, b):
        return a
    return checked(a, arithmetic.eq(as_int(a), as_int(b)), "unequal_lengths")


def met(given: Sequence[tuple[Range | None, int]]) -> tuple[Range | None, int]:
    """Where elements of several axes are combined: at the places of the first axis with a range."""
    ranges = [(found, n) for found, n in given if found is not None]
    known = [n for found, n in given if found is None and n != 1]
    if not ranges:
        (extent,) = common_shape_of([(n,) for _, n in given])
        return None, extent
    (first, extent), *others = ranges
    length = first.length
    for other in (*(found.length for found, _ in others), *known):
        length = same_length(length, other)
    return first.of_length(length), extent


def frame(operands: Sequence[Any]) -> tuple[Ranges, tuple[int, ...]]:
    """The layout of the result of an elementwise function."""
    layouts = [layout(x) for x in operands]
    ndim = max(len(shape) for _, shape in layouts)
    axes = []
    for back in range(ndim, 0, -1):
        axes.append(met([(r[-back], s[-back]) for r, s in layouts if len(s) >= back]))
    return tuple(r for r, _ in axes), tuple(n for _, n in axes)


def moved(x: Value, axis: int, given: Placed, wanted: Placed) -> Value:
    """A value with the elements of one range at the places of another."""
    (source, extent), (target, size) = given, wanted
    if not isinstance(source, Range):
        x, source = source.to_the_front(x, axis), Range(0, source.length, 1)
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    if extent == 0:
        return full(0, Type(x.dtype, shape))
    along = source.start if source.step == 1 else None
    if isinstance(target, Range) and target.step == 1 and along is not None:
        places = iota(dtype=_INT, shape=(size,), axis=0)
        index = places + _along(source.start - target.start, size)
    else:
        index = target.numbers(size) * source.step + _along(source.start, size)
    inside = arithmetic.bitwise_and(arithmetic.ge(index, 0), arithmetic.lt(index, extent))
    index = arithmetic.select(inside, index, full(0, index.type))
    picked = gather(x, index, axes=(axis,))
    order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape)))
    return move.transpose(picked, axes=order) if axis else picked


def _along(x: Any, extent: int) -> Value:
    return move.broadcast(as_int(x), shape=(extent,), dims=())


def placed(x: Any, ranges: Ranges, shape: tuple[int, ...]) -> tuple[Value, bool]:
    """Move an operand's elements to the places of a layout.

    Return the value, and whether the operand already had safe values at the places that do not
    count.
    """
    own, extents = layout(x)
    value = as_value(x.storage if isinstance(x, Bounded) else x)
    entered = isinstance(x, Bounded) and x.closed
    before = len(shape) - len(extents)
    entered &= all(found is None for found in ranges[:before])
    for axis, (found, extent) in enumerate(zip(own, extents, strict=True)):
        wanted = ranges[axis + before]
        if wanted is None:
            continue
        entered &= found is not None
        if found is None and extent == 1:
            continue
        given = found if found is not None else Range(0, extent, 1)
        size = shape[axis + before]
        if extent != size or not given.is_at(wanted):
            value = moved(value, axis, (given, extent), (wanted, size))
            entered = False
    return value, entered


def entered(x: Any, ranges: Ranges, shape: tuple[int, ...], *, anew: bool = False) -> Any:
    """An operand at the places of a layout.

    The places that do not count are set to 1, unless the operand is closed already. Known numbers
    are returned unchanged.
    """
    if not layout(x)[1] and not is_traced(x):
        return x
    value, is_closed = placed(x, ranges, shape)
    if anew or not is_closed:
        mask = mask_of(ranges, shape)
        if mask is not None:
            value = move.broadcast_to(value, shape)
            value = arithmetic.select(mask, value, full(1, value.type))
    return tracer(value, None if isinstance(x, Bounded) else weak_type(x))


def elementwise(function: Callable[..., Any], *operands: Any, anew: bool = False) -> Any:
    """Apply an elementwise function.

    ``anew``: whether the function may fail on the values that earlier results have at the places
    that do not count.
    """
    ranges, shape = frame(operands)
    results = function(*[entered(x, ranges, shape, anew=anew) for x in operands])

    def wrapped(result: Any) -> Any:
        value = move.broadcast_to(as_value(result), shape)
        return Bounded(tracer(value), ranges, closed=True)

    return tuple(map(wrapped, results)) if isinstance(results, tuple) else wrapped(results)


def lengths(x: Bounded, axes: Sequence[int]) -> Any:
    """The number of elements along some axes together."""
    count: Any = 1
    for axis in axes:
        count = x.shape[axis] * count
    return count
