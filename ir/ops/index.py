"""The indexing family: reads elements, and adds to elements, at indices given by arrays.

``gather`` and ``scatter_add`` are each other's transpose.  Indices count from 0;
the tracer has already resolved negative ones.  An index out of bounds raises
IndexError, in compiled code too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.batching import Batched, along, later
from autojit.ir.core.declaration import MaybeValue, SingleResult, full, require
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type

from . import move
from .arithmetic import select
from .linear import iota


class _Indexing(SingleResult):
    """Linear in the first operand; the others are integer arrays of one shape, one per axis."""

    def may_fail(self, op: Op) -> bool:
        return True  # an index out of bounds

    def may_raise(self, op: Op, error: Exception) -> bool:
        return type(error) is IndexError

    def in_range(self, op: Op) -> Sequence[tuple[Value, int]]:
        return places_of(op, op.params.get("shape", op.operands[0].shape))

    def fails_by(self, op: Op) -> Hashable | None:
        return IndexError, tuple(self.in_range(op))

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value] | None:
        shape = op.params.get("shape", op.operands[0].shape)
        safe = places_if(wanted, operands[1:], [shape[a] for a in op.params["axes"]])
        return None if safe is None else [operands[0], *safe]

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        if tangents[0] is None or not op.result.type.is_inexact:
            return (None,)
        return (self(tangents[0], *op.operands[1:], **op.params),)


class Gather(_Indexing):
    """``gather(x, i, j, …, axes=(a, b, …))``: ``x`` at i of axis a, j of axis b, ….

    The result's axes are those of the indices, then the other axes of x.
    """

    moves = True
    parameters = ("axes",)

    def leaves_out(self, op: Op, operand: int) -> bool:
        return True

    def work(self, op: Op) -> float:
        return op.result.type.size

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x, *indices), axes = types, params["axes"]
        _check_indices("gather", indices, axes, x.ndim)
        return (x.with_shape((*indices[0].shape, *shapes.without_axes(x.shape, axes))),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        (x, *indices), axes = arrays, params["axes"]
        x = np.asarray(x)
        check_bounds(indices, [x.shape[a] for a in axes], axes)
        return np.moveaxis(x, axes, range(len(axes)))[tuple(indices)]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        x, *indices = operands
        axes = op.params["axes"]
        if not x.batched:
            return self(x.value, *[along(i, size) for i in indices], axes=axes)
        picked = op.operands[1].type.ndim
        if any(i.batched for i in indices):
            places = [along(i, size) for i in indices]
            own = iota(dtype=np.dtype(np.int64), shape=places[0].shape, axis=0)
            return self(x.value, own, *places, axes=(0, *later(axes)))
        result = self(x.value, *[i.value for i in indices], axes=later(axes))
        rest = [i for i in range(result.type.ndim) if i != picked]
        return move.transpose(result, axes=(picked, *rest))

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        x, *indices = op.operands
        rest: list[MaybeValue] = [None] * len(indices)
        if cotangents[0] is None:
            return [None, *rest]
        axes = op.params["axes"]
        return [scatter_add(cotangents[0], *indices, axes=axes, shape=x.shape), *rest]


class ScatterAdd(_Indexing):
    """``scatter_add(u, i, j, …, axes=(a, b, …), shape=s)``: zeros with u added at the indices.

    Indices that repeat add up.
    """

    parameters = ("axes", "shape")
    combine = "add"

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        updates, *indices = types
        check_updates(self.name, updates, indices, params["axes"], params["shape"])
        return (updates.with_shape(params["shape"]),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        (updates, *indices), axes, shape = arrays, params["axes"], params["shape"]
        updates = np.asarray(updates)
        check_bounds(indices, [shape[a] for a in axes], axes)
        result = np.zeros(shape, updates.dtype)
        np.add.at(np.moveaxis(result, axes, range(len(axes))), tuple(indices), updates)
        return result

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        places = [along(i, size) for i in operands[1:]]
        own = iota(dtype=np.dtype(np.int64), shape=places[0].shape, axis=0)
        axes, shape = op.params["axes"], op.params["shape"]
        updates = along(operands[0], size)
        return self(updates, own, *places, axes=(0, *later(axes)), shape=(size, *shape))

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        indices = op.operands[1:]
        rest: list[MaybeValue] = [None] * len(indices)
        if cotangents[0] is None:
            return [None, *rest]
        return [gather(cotangents[0], *indices, axes=op.params["axes"]), *rest]


def places_of(op: Op, shape: Sequence[int]) -> Sequence[tuple[Value, int]]:
    """The index arrays of an op, its last operands, with the extents of their axes."""
    axes = op.params["axes"]
    return [(v, shape[a]) for v, a in zip(op.operands[-len(axes) :], axes, strict=True)]


def _check_indices(name: str, indices: Sequence[Type], axes: tuple[int, ...], ndim: int) -> None:
    require(
        len(indices) == len(axes) > 0
        and all(i == indices[0] and i.dtype == np.dtype(np.int64) for i in indices),
        f"{name} takes one int64 index array an axis, all of one shape; "
        f"got {', '.join(map(str, indices))} for axes {axes}",
    )
    require(
        list(axes) == sorted(set(axes)) and all(0 <= a < ndim for a in axes),
        f"{name} along axes {axes} of {ndim} dimensions",
    )


def check_updates(
    name: str,
    updates: Type,
    indices: Sequence[Type],
    axes: tuple[int, ...],
    shape: shapes.Shape,
    kinds: str = "iufc",
) -> None:
    """Raise TypeMismatch unless updates fit the indices in an array of that shape."""
    _check_indices(name, indices, axes, len(shape))
    wanted = (*indices[0].shape, *shapes.without_axes(shape, axes))
    require(
        updates.shape == wanted and kind_of(updates.dtype) in kinds,
        f"{name} into shape {shape} takes updates of shape {wanted}; got {updates}",
    )


def check_bounds(indices: Sequence[Any], extents: Sequence[int], axes: Sequence[int]) -> None:
    """Raise IndexError unless all indices are within the extents of their axes."""
    words = out_of_bounds(indices, extents, axes)
    if words:
        raise IndexError(words)


def out_of_bounds(indices: Sequence[Any], extents: Sequence[int], axes: Sequence[int]) -> str:
    """NumPy's words about the first index that is out of bounds, or an empty text.

    >>> from autojit.ir.ops.index import out_of_bounds
    >>> out_of_bounds([np.array([1, 3])], [3], [1])
    'index 3 is out of bounds for axis 1 with size 3'
    """
    for index, extent, axis in zip(indices, extents, axes, strict=True):
        index = np.asarray(index)
        if index.size and not (index.min() >= 0 and index.max() < extent):
            wrong = int(index[(index < 0) | (index >= extent)].flat[0])
            given = wrong if wrong > 0 else wrong - extent  # as the user has counted from the end
            return f"index {given} is out of bounds for axis {axis} with size {extent}"
    return ""


def places_if(
    wanted: Value, indices: Sequence[Value], extents: Sequence[int]
) -> list[Value] | None:
    """The indices where a condition holds, else 0; None if an axis has no elements."""
    if 0 in extents:
        return None
    shape = indices[0].shape
    everywhere = move.broadcast(wanted, shape=shape, dims=()) if shape else wanted
    return [select(everywhere, i, full(0, i.type)) for i in indices]


gather = Gather("gather")
scatter_add = ScatterAdd("scatter_add")
