"""Contractions: products of two arrays summed over shared axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched, later
from autojit.ir.core.declaration import MaybeValue, SingleResult, require
from autojit.ir.core.halves import kind_of
from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type

from .move import transpose

Axes = tuple[int, ...]


class Dot(SingleResult):
    """``dot(a, b, contract=(ca, cb), batch=(ba, bb))``.

    Sums over the axes ``ca`` of a and ``cb`` of b, pairwise; the axes ``ba`` and
    ``bb`` run together.  The result's axes are the batch axes, then the free
    axes of a, then those of b.
    """

    arity = 2
    parameters = ("batch", "contract")

    def work(self, op: Op) -> float:
        ((axes, _), _) = op.params["contract"], op.params["batch"]
        multiplications: int = op.result.type.size * prod(op.operands[0].shape[a] for a in axes)
        return multiplications / current().costs.product

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        a, b = types
        (ca, cb), (ba, bb) = params["contract"], params["batch"]
        require(
            a.dtype == b.dtype and kind_of(a.dtype) in "iufc",
            f"dot takes two operands of one numeric dtype; got {a} and {b}",
        )
        extents_a = [a.shape[i] for i in (*ba, *ca)]
        extents_b = [b.shape[i] for i in (*bb, *cb)]
        require(
            extents_a == extents_b,
            f"dot of {a} over axes {ca} and {b} over axes {cb} (batch {ba}, {bb}): "
            f"the extents differ",
        )
        free_a, free_b = free_axes(a.ndim, ca, ba), free_axes(b.ndim, cb, bb)
        shape = [a.shape[i] for i in (*ba, *free_a)] + [b.shape[i] for i in free_b]
        return (a.with_shape(tuple(shape)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        a, b = map(np.asarray, arrays)
        (ca, cb), (ba, bb) = params["contract"], params["batch"]
        free_a, free_b = free_axes(a.ndim, ca, ba), free_axes(b.ndim, cb, bb)
        batch = [a.shape[i] for i in ba]
        inner = prod(a.shape[i] for i in ca)
        rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
        left = a.transpose(*ba, *free_a, *ca).reshape(*batch, prod(rows), inner)
        right = b.transpose(*bb, *cb, *free_b).reshape(*batch, inner, prod(columns))
        return np.matmul(left, right).reshape((*batch, *rows, *columns))

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        (a, batched_a), (b, batched_b) = operands
        (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
        if batched_a:
            ca, ba = later(ca), later(ba)
        if batched_b:
            cb, bb = later(cb), later(bb)
        if batched_a and batched_b:
            return self(a, b, contract=(ca, cb), batch=((0, *ba), (0, *bb)))
        product = self(a, b, contract=(ca, cb), batch=(ba, bb))
        # The new axis is the first free one of the operand that has it.
        place = len(ba) + (0 if batched_a else a.type.ndim - len(ca) - len(ba))
        rest = [i for i in range(product.type.ndim) if i != place]
        return transpose(product, axes=(place, *rest)) if place else product

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (a, b), (da, db) = op.operands, tangents
        if not op.result.type.is_inexact:
            return (None,)
        terms = []
        if da is not None:
            terms.append(self(da, b, **op.params))
        if db is not None:
            terms.append(self(a, db, **op.params))
        return (terms[0] if len(terms) == 1 else terms[0] + terms[1],)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,), (a, b) = cotangents, op.operands
        if cotangent is None:
            return (None, None)
        (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
        nb = len(ba)
        na = nb + a.type.ndim - len(ca) - len(ba)
        axes_of_a = tuple(range(nb, na))
        axes_of_b = tuple(range(na, cotangent.type.ndim))
        if linear[0]:
            return (self._pull(cotangent, b, axes_of_b, (cb, bb), (ca, ba), a.type.ndim), None)
        return (None, self._pull(cotangent, a, axes_of_a, (ca, ba), (cb, bb), b.type.ndim))

    def _pull(
        self,
        cotangent: Value,
        other: Value,
        cotangent_axes: Axes,
        other_axes: tuple[Axes, Axes],
        own_axes: tuple[Axes, Axes],
        ndim: int,
    ) -> Value:
        """Contract the cotangent with the other operand, and put the axes in this one's order."""
        (other_contract, other_batch), (contract, batch) = other_axes, own_axes
        free_other = free_axes(other.type.ndim, other_contract, other_batch)
        together = tuple(range(len(batch)))
        # The contracted axes stand in the order that they have in the other operand.
        by_other = sorted(range(len(other_contract)), key=lambda i: other_contract[i])
        mine = free_axes(ndim, contract, batch)
        theirs = tuple(contract[i] for i in by_other)
        if (*batch, *theirs, *mine) == tuple(range(ndim)):  # no transpose this way round
            return self(
                other,
                cotangent,
                contract=(free_other, cotangent_axes),
                batch=(other_batch, together),
            )
        product = self(
            cotangent,
            other,
            contract=(cotangent_axes, free_other),
            batch=(together, other_batch),
        )
        own = (*batch, *mine, *theirs)
        order = tuple(own.index(i) for i in range(ndim))
        return product if order == tuple(range(ndim)) else transpose(product, axes=order)


def free_axes(ndim: int, contract: Axes, batch: Axes) -> Axes:
    """The axes that are neither contracted nor batch axes."""
    return tuple(i for i in range(ndim) if i not in contract and i not in batch)


dot = Dot("dot")
