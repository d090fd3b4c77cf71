"""Joining and splitting arrays, and deleting and inserting elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.ops import move
from autojit.protocols.lifting import as_tracer, as_value, promoted, shape_of, to_dtype, tracer
from autojit.protocols.registry import any_bounded, implements, with_known
from autojit.tracing.created_arrays import Uncounted, with_values
from autojit.tracing.hooks import hooks
from autojit.tracing.rows import Row, runs
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import is_tracer


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Tracer:
    parts = list(arrays)
    if axis is None:
        parts, axis = [np.ravel(a) for a in parts], 0
    values = promoted(*parts)
    if dtype is not None:
        values = [to_dtype(v, dtype) for v in values]
    if is_tracer(axis) and np.ndim(axis):
        words = "np.concatenate takes the arrays as one list; the second argument is the axis:"
        code = "    np.concatenate([a, b])             # not: np.concatenate(a, b)"
        raise ShapeError(with_place(f"{words}\n{code}", user_source()))
    axis = shapes.normalize_axis(axis, values[0].type.ndim)
    return tracer(values[0] if len(values) == 1 else move.concatenate(*values, axis=axis))


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Tracer:
    parts = list(arrays)
    extents = [shape_of(a) for a in parts]
    if len(set(extents)) > 1:
        raise ShapeError(
            with_place(
                f"np.stack needs arrays of one shape; got {', '.join(map(str, extents))}. To join "
                "them end to end:\n    np.concatenate([a, b])",
                user_source(),
            )
        )
    return concatenate([np.expand_dims(a, axis) for a in parts], axis, out, dtype=dtype)


def stack_nested(x: Any, dtype: Any = None) -> Any:
    """Nested lists with traced values as the array that np.array would make."""
    if not isinstance(x, (list, tuple)):
        return x
    if any(isinstance(item, Uncounted) for item in x):
        return hooks.elements_as_array(x)
    if any_bounded(x):
        return hooks.bounded_function(np.stack, (x,), {})
    if dtype is None:  # Python's numbers count as arrays of their own dtype here
        dtype = np.result_type(*(x.dtype if is_tracer(x) else np.asarray(x) for x in _leaves(x)))
    if any(isinstance(item, Row) for item in x):
        return _stack_runs(x, dtype)
    parts = [as_tracer(stack_nested(item, dtype)).astype(dtype) for item in x]
    if len({part.shape for part in parts}) > 1:
        raise ShapeError(
            with_place(
                "The items of a list cannot become one array because their shapes differ: "
                f"{', '.join(str(part.shape) for part in parts)}. Concatenate them, or process "
                "each separately:\n"
                "    np.concatenate([np.ravel(part) for part in x])\n"
                "    [np.sum(part) for part in x]",
                user_source(),
            )
        )
    return stack(parts)


def _stack_runs(items: Any, dtype: Any) -> Tracer:
    """A list that contains rows of arrays; consecutive rows are joined as one slice."""
    parts = [
        np.expand_dims(as_tracer(stack_nested(x, dtype)).astype(dtype), 0)
        if start < 0
        else as_tracer(x)[start:stop].astype(dtype)
        for x, start, stop in runs(items)
    ]
    return concatenate(parts) if len(parts) > 1 else as_tracer(np.copy(parts[0]))


def _leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from _leaves(item)
    else:
        yield x


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Tracer:
    return concatenate([np.atleast_2d(a) for a in tup], 0, dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Tracer:
    parts = [np.atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if np.ndim(parts[0]) == 1 else 1, dtype=dtype)


@implements(np.column_stack)
def column_stack(tup: Any) -> Tracer:
    return concatenate([np.reshape(a, (-1, 1)) if np.ndim(a) < 2 else a for a in tup], 1)


@implements(np.dstack)
def dstack(tup: Any) -> Tracer:
    return concatenate([np.atleast_3d(a) for a in tup], 2)


@implements(np.block)
def block(arrays: Any) -> Tracer:
    depth = _depth(arrays)
    ndim = max(depth, max(np.ndim(a) for a in _innermost(arrays)))

    def join(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            return np.reshape(part, (1,) * (ndim - np.ndim(part)) + shape_of(part))
        return concatenate([join(p, level + 1) for p in part], ndim - depth + level)

    return tracer(as_value(join(arrays, 0)))


def _depth(arrays: Any) -> int:
    return 1 + max(map(_depth, arrays)) if isinstance(arrays, list) else 0


def _innermost(arrays: Any) -> Iterator[Any]:
    if isinstance(arrays, list):
        for part in arrays:
            yield from _innermost(part)
    else:
        yield arrays


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Tracer:
    return concatenate((arr, values), axis)


@implements(np.array_split, known=("indices_or_sections",))
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    n = _sections("np.array_split", indices_or_sections)
    if n is not None:
        extent = shape_of(ary)[shapes.normalize_axis(axis, np.ndim(ary))]
        each, extra = divmod(extent, n)
        # The first sections are longer by one.
        indices_or_sections = [each * i + min(i, extra) for i in range(1, n)]
    return split(ary, indices_or_sections, axis)


def _sections(name: str, given: Any) -> int | None:
    """The number of equal sections; None if their bounds are given."""
    if np.ndim(given):
        return None
    n = int(given)
    if n < 1:
        words = f"{name}: the number of sections must be larger than 0; it is {given!r}"
        raise ShapeError(with_place(words, user_source()))
    return n


@implements(np.split, known=("indices_or_sections",))
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    ary = as_tracer(ary)
    axis = shapes.normalize_axis(axis, ary.ndim)
    extent = ary.shape[axis]
    n = _sections("np.split", indices_or_sections)
    if n is not None:
        each, extra = divmod(extent, n)
        if extra:
            raise ShapeError(
                with_place(f"np.split: {extent} elements do not divide by {n}", user_source())
            )
        bounds = [each * i for i in range(n + 1)]
    else:
        bounds = [0, *(slice(int(i)).indices(extent)[1] for i in indices_or_sections), extent]
    before = (slice(None),) * axis
    return [ary[(*before, slice(a, max(a, b)))] for a, b in pairwise(bounds)]


@implements(np.hsplit, known=("indices_or_sections",))
def hsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return _split_along("np.hsplit", ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0, 1)


@implements(np.vsplit, known=("indices_or_sections",))
def vsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return _split_along("np.vsplit", ary, indices_or_sections, 0, 2)


@implements(np.dsplit, known=("indices_or_sections",))
def dsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return _split_along("np.dsplit", ary, indices_or_sections, 2, 3)


def _split_along(name: str, ary: Any, sections: Any, axis: int, least: int) -> list[Tracer]:
    if np.ndim(ary) < least:
        words = f"{name} takes arrays of at least {least} axes; this one has {np.ndim(ary)}"
        raise ShapeError(with_place(words, user_source()))
    return split(ary, sections, axis)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Tracer:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    extent, obj = shape_of(arr)[axis], _places("np.delete", obj)
    if is_tracer(obj):
        kept = np.arange(extent - 1)
        kept = kept + (kept >= _picked(extent, obj))
    else:
        kept = np.delete(np.arange(extent), obj)
    result: Any = np.take(arr, kept, axis=axis)
    return result


def _places(name: str, obj: Any) -> Any:
    """The places where a function deletes or inserts elements. A single integer may be traced,
    since the number of elements does not depend on it."""
    obj = with_values(obj)
    if is_tracer(obj) and obj.ndim == 0 and obj.dtype.kind in "iu":
        return obj
    return with_known(name, ((0, "obj"),), (obj,), {})[0][0]


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tracer:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    arr = as_tracer(arr)
    axis = shapes.normalize_axis(axis, arr.ndim)
    values = as_tracer(values).astype(arr.dtype)
    values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    extent = arr.shape[axis]
    obj = _places("np.insert", obj)
    places = np.arange(extent)[obj] if isinstance(obj, slice) else obj
    if not is_tracer(places):
        places = np.asarray(places)
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if places.ndim == 0:
        values = np.moveaxis(values, 0, axis)
    # All values go to a single place; with several places, each gets one.
    count = values.shape[axis] if places.size == 1 else places.size
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    joined = concatenate([arr, np.broadcast_to(values, shape)], axis)
    if is_tracer(places):
        order = _inserted_at(places, extent, count)
    else:
        order = np.insert(np.arange(extent), obj, np.arange(extent, extent + count))
    result: Any = np.take(joined, order, axis=axis)
    return result


def _picked(extent: int, place: Any) -> Any:
    """A traced place counted from the start; IndexError for one out of range."""
    return as_tracer(np.arange(extent))[place]


def _inserted_at(place: Any, extent: int, count: int) -> Any:
    """The order of ``extent`` old and then ``count`` new elements, with the new ones at a traced
    place."""
    above = _picked(extent + 1, np.maximum(place, 0))
    below = _picked(extent, np.minimum(place, -1)) if extent else above
    first = np.where(place < 0, below, above)
    k = np.arange(extent + count)
    moved = np.where(k < first + count, k - first + extent, k - count)
    return np.where(k < first, k, moved)


hooks.stack_nested = stack_nested
