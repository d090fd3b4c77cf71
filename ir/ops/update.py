"""The updating family: an array with some of its elements replaced, or added to.

Each is linear in the array and the updates together. ``update`` moves elements to a known strided
window; ``scatter`` and ``add_at`` take indices from arrays, by the conventions of ``gather``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.batching import Batched, along, later
from autojit.ir.core.declaration import MaybeValue, Scalar, SingleResult, full, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type

from . import move
from .arithmetic import eq, select
from .index import check_bounds, check_updates, gather, places_if, places_of, scatter_add
from .linear import iota
from .sources import Condition, Source
from .windows import window_places


class Updating(SingleResult):
    """Operands: the array, the updates, and the indices."""

    def work(self, op: Op) -> float:
        return op.operands[1].type.size

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        pairs = list(zip(tangents, op.operands, strict=True))[:2]
        if all(t is None for t, _ in pairs) or not op.result.type.is_inexact:
            return (None,)
        x, v = (full(0, operand.type) if t is None else t for t, operand in pairs)
        return (self(x, v, *op.operands[2:], **op.params),)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,) = cotangents
        result: list[MaybeValue] = [None] * len(op.operands)
        if cotangent is not None and linear[0]:
            result[0] = self.pull_back_array(cotangent, op)
        if cotangent is not None and linear[1]:
            result[1] = self.pull_back_updates(cotangent, op)
        return result

    def leaves_out(self, op: Op, operand: int) -> bool:
        return operand == 0

    def pull_back_array(self, cotangent: Value, op: Op) -> Value:
        """The cotangent of the array: zero where elements were replaced."""
        return self(cotangent, full(0, op.operands[1].type), *op.operands[2:], **op.params)

    def pull_back_updates(self, cotangent: Value, op: Op) -> Value:
        """The cotangent of the updates."""
        raise NotImplementedError


class Update(Updating):
    """``update(x, v, start=a, stride=s)``: x with v in the window from a on, every s-th element."""

    moves = True
    arity = 2
    parameters = ("start", "stride")
    sliding = ("start",)

    def slide(self, params: Sequence[dict[str, Any]]) -> Any:
        return shapes.even_steps([p["start"] for p in params])

    def at_step(self, operands: Sequence[Value], op: Op, slide: Any, step: Value) -> Value:
        x, v = operands
        start, stride = op.params["start"], op.params["stride"]
        everywhere = tuple(range(x.type.ndim))
        # All axes by index arrays where others than those that slide are windows too.
        whole = all(
            by or (v.shape[a], start[a], stride[a]) == (x.shape[a], 0, 1)
            for a, by in zip(everywhere, slide, strict=True)
        )
        along = slide if whole else [by or 0.5 for by in slide]
        places, axes, _ = window_places(v.shape, start, stride, slide, step, along)
        rest = [a for a in everywhere if a not in axes]
        return scatter(x, move.transpose(v, axes=(*axes, *rest)), *places, axes=axes)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        x, v = types
        start, stride = params["start"], params["stride"]
        require(
            x.dtype == v.dtype
            and len(start) == len(stride) == x.ndim == v.ndim
            and all(
                s > 0 and 0 <= a <= n and (not m or a + (m - 1) * s < n)
                for n, m, a, s in zip(x.shape, v.shape, start, stride, strict=True)
            ),
            f"update of {x} by {v} from {start} on with strides {stride}",
        )
        return (x,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x, v = np.array(arrays[0]), np.asarray(arrays[1])
        bounds = zip(*window(v.shape, params), strict=True)
        x[tuple(slice(*each) for each in bounds)] = v
        return x

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        element: Scalar = scalars[0]
        return element if repr(element) == repr(scalars[1]) else None

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        x, v = operands
        if not v.size:
            return [Source(0, index)]
        inner, conditions = [], []
        ranges = zip(index, x.shape, *window(v.shape, params), strict=True)
        for i, n, start, stop, stride in ranges:
            inner.append(arithmetic.quotient(i - start, stride))
            if (start, stop, stride) != (0, n, 1):
                conditions.append(Condition(i, start, stop, stride))
        return [Source(1, tuple(inner), tuple(conditions)), Source(0, index)]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        start, stride = op.params["start"], op.params["stride"]
        x, v = (along(o, size) for o in operands)
        return self(x, v, start=(0, *start), stride=(1, *stride))

    def pull_back_updates(self, cotangent: Value, op: Op) -> Value:
        start, stop, stride = window(op.operands[1].shape, op.params)
        return move.slice_(cotangent, start=start, stop=stop, stride=stride)


def window(extents: Sequence[int], params: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """start, stop and stride of the window."""
    start, stride = params["start"], params["stride"]
    stops = [
        a + (m - 1) * s + 1 if m else a for m, a, s in zip(extents, start, stride, strict=True)
    ]
    return start, tuple(stops), stride


#: A window with at most one element in so many is sparse.
SPARSE = 8


def is_sparse(v: Type, x: Type) -> bool:
    """Whether few elements of an array of one type are in a window of another."""
    return v.size * SPARSE <= x.size


class _AtIndices(Updating):
    """Operands: the array, the updates, and an int64 index array for each of some axes."""

    parameters = ("axes",)
    #: How an update combines with the old element, in the loops' vocabulary.
    combine = ""
    kinds = "biufc"

    def may_fail(self, op: Op) -> bool:
        return True  # an index out of bounds

    def may_raise(self, op: Op, error: Exception) -> bool:
        return type(error) is IndexError

    def in_range(self, op: Op) -> Sequence[tuple[Value, int]]:
        return places_of(op, op.result.shape)

    def fails_by(self, op: Op) -> Hashable | None:
        return IndexError, tuple(self.in_range(op))

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value] | None:
        extents = [op.result.shape[a] for a in op.params["axes"]]
        safe = places_if(wanted, operands[2:], extents)
        return None if safe is None else [*operands[:2], *safe]

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        x, updates, *indices = types
        check_updates(self.name, updates, indices, params["axes"], x.shape, self.kinds)
        require(
            x.dtype == updates.dtype,
            f"{self.name} into {x} takes updates of its dtype; got {updates}",
        )
        return (x,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        (x, updates, *indices), axes = arrays, params["axes"]
        result = np.array(x)
        check_bounds(indices, [result.shape[a] for a in axes], axes)
        places = np.moveaxis(result, axes, range(len(axes)))
        self.put(places, tuple(indices), np.asarray(updates))
        return result

    @staticmethod
    def put(places: Any, indices: tuple[Any, ...], updates: Any) -> None:
        """Change an array by NumPy."""
        raise NotImplementedError

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        x, updates, *indices = operands
        axes = op.params["axes"]
        if any(i.batched for i in indices):
            places = [along(i, size) for i in indices]
            own = iota(dtype=np.dtype(np.int64), shape=places[0].shape, axis=0)
            return self(along(x, size), along(updates, size), own, *places, axes=(0, *later(axes)))
        picked = op.operands[2].type.ndim
        rest = range(picked + 1, op.operands[1].type.ndim + 1)
        moved = move.transpose(along(updates, size), axes=(*range(1, picked + 1), 0, *rest))
        return self(along(x, size), moved, *[i.value for i in indices], axes=later(axes))


class Scatter(_AtIndices):
    """``scatter(x, v, i, j, …, axes=(a, b, …))``: x with v set at i of axis a, j of axis b, ….

    If an index repeats, the last update in row-major order stays.
    """

    moves = True
    combine = "set"

    @staticmethod
    def put(places: Any, indices: tuple[Any, ...], updates: Any) -> None:
        places[indices] = updates

    def pull_back_updates(self, cotangent: Value, op: Op) -> Value:
        indices = op.operands[2:]
        picked = gather(cotangent, *indices, axes=op.params["axes"])
        if indices[0].type.size == 1:  # a single place
            return picked
        stays = _stays(indices, [op.operands[0].shape[a] for a in op.params["axes"]])
        everywhere = move.broadcast(
            stays, shape=picked.shape, dims=tuple(range(indices[0].type.ndim))
        )
        return select(everywhere, picked, full(0, picked.type))


def _stays(indices: Sequence[Value], extents: Sequence[int]) -> Value:
    """Whether an update is the last at its index: whether its number is found there in the end."""
    places = indices[0].type
    flat = iota(axis=0, dtype=places.dtype, shape=(places.size,))
    numbers = move.reshape(flat, shape=places.shape)
    board = full(0, Type(places.dtype, tuple(extents)))
    axes = tuple(range(len(extents)))
    return eq(gather(scatter(board, numbers, *indices, axes=axes), *indices, axes=axes), numbers)


class AddAt(_AtIndices):
    """``add_at(x, u, i, j, …, axes=(a, b, …))``: x with u added at the indices.

    Indices that repeat add up, as in ``np.add.at``.
    """

    combine = "add"
    kinds = "iufc"

    def leaves_out(self, op: Op, operand: int) -> bool:
        return False

    @staticmethod
    def put(places: Any, indices: tuple[Any, ...], updates: Any) -> None:
        np.add.at(places, indices, updates)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        x, updates, *_ = tangents
        if x is None and updates is not None and op.result.type.is_inexact:
            shape = op.result.shape
            return (scatter_add(updates, *op.operands[2:], shape=shape, **op.params),)
        return super().jvp(op, tangents) if updates is not None else (x,)

    def pull_back_array(self, cotangent: Value, op: Op) -> Value:
        return cotangent

    def pull_back_updates(self, cotangent: Value, op: Op) -> Value:
        return gather(cotangent, *op.operands[2:], axes=op.params["axes"])


update = Update("update")
scatter = Scatter("scatter")
add_at = AddAt("add_at")
