"""The order of elements: the sorting permutation, and all or some of the sorted values.

The permutation has no derivative. Sorted values are the elements that it selects, so their
derivative is that of the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue, require
from autojit.ir.core.halves import kind_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import concatenate, slice_

from .factorizations import Matrices


class Argsort(Matrices):
    """``argsort(x)``: the indices (int64) that sort the elements along the last axis in ascending
    order, with NaN last; equal elements keep their order.
    """

    arity = 1
    core = 1

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        _check_rows(self.name, x)
        return (Type(np.dtype(np.int64), x.shape),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x = np.asarray(arrays[0])
        return np.argsort(x, kind="stable").astype(np.int64, copy=False)


class Sort(Matrices):
    """``sort(x)``: the elements along the last axis in ascending order, with NaN last.

    The order of equal elements is unspecified: -0.0 and 0.0 are equal.
    """

    arity = 1
    core = 1

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        _check_rows(self.name, types[0])
        return types

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.sort(np.asarray(arrays[0]), kind="stable")

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (dx,) = tangents
        return (None if dx is None else at_places(dx, argsort(op.operands[0])),)


class OrderStatistics(Matrices):
    """``order_statistics(x, places=p)``: the elements at some places of ``sort(x)``, in that order.

    The places are ascending and distinct.
    """

    arity = 1
    core = 1
    parameters = ("places",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), places = types, params["places"]
        _check_rows(self.name, x)
        require(
            list(places) == sorted(set(places)) and all(0 <= p < x.shape[-1] for p in places),
            f"{self.name} takes indices into rows of {x}, in ascending order; got {places}",
        )
        return (Type(x.dtype, (*x.shape[:-1], len(places))),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.sort(np.asarray(arrays[0]), kind="stable")[..., list(params["places"])]

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (dx,) = tangents
        if dx is None:
            return (None,)
        order = argsort(op.operands[0])
        last = order.type.ndim - 1
        leading = order.shape[:-1]
        places = [
            slice_(
                order,
                start=(*[0] * last, p),
                stop=(*leading, p + 1),
                stride=(1,) * (last + 1),
            )
            for p in op.params["places"]
        ]
        return (at_places(dx, concatenate(*places, axis=last)),)


def at_places(x: Value, places: Value) -> Value:
    """Return the elements of each row at the places that are given for that row."""
    leading = [iota(axis=k, dtype=places.dtype, shape=places.shape) for k in range(x.type.ndim - 1)]
    made: Value = gather(x, *leading, places, axes=tuple(range(x.type.ndim)))
    return made


def _check_rows(name: str, x: Type) -> None:
    require(
        x.ndim > 0 and kind_of(x.dtype) in "iuf",
        f"{name} takes an array of real numbers of at least one axis; got {x}",
    )


argsort = Argsort("argsort")
sort = Sort("sort")
order_statistics = OrderStatistics("order_statistics")
