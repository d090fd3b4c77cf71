"""The base of ops that are linear in one operand, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program import Op, Value
from ..types import Type, dtype_name
from .declaration import Declaration, MaybeValue


class Linear(Declaration):
    """Linear in its only operand: the derivative is the op itself."""

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (tangent,) = tangents
        if tangent is None or not op.result.type.is_inexact:
            return (None,)
        return (self(tangent, **op.params),)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,) = cotangents
        if cotangent is None:
            return (None,)
        return (self.pull_back(cotangent, op.operands[0].type, **op.params),)

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        """The cotangent of the operand from that of the result."""
        raise NotImplementedError


class Constant(Declaration):
    """``constant(value=v, dtype=d, shape=s)``: every element is v."""

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        dtype_name(params["dtype"])
        return (Type(params["dtype"], params["shape"]),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.full(params["shape"], params["value"], params["dtype"])


class Iota(Declaration):
    """``iota(dtype=d, shape=s, axis=k)``: every element is its index along axis k."""

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        return (Type(params["dtype"], params["shape"]),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        shape, axis = params["shape"], params["axis"]
        along = np.arange(shape[axis], dtype=params["dtype"])
        column = along.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.broadcast_to(column, shape).copy()


constant = Constant("constant")
iota = Iota("iota")
