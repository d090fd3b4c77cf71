"""The base of ops that are linear in one operand, and constants."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue, SingleResult, require
from autojit.ir.core.halves import BFLOAT16, is_bfloat16, kind_of, to_bfloat16
from autojit.ir.core.program import Op, Value
from autojit.ir.core.registry import declared
from autojit.ir.core.types import Type, TypeMismatch, dtype_name

_PYTHON_TYPES = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


class Linear(SingleResult):
    """Linear in its only operand: the derivative is the op itself."""

    arity = 1

    def work(self, op: Op) -> float:
        return 0

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


class Constant(SingleResult):
    """``constant(value=v, dtype=d, shape=s)``: every element is v, a Python number."""

    moves = True
    arity = 0
    parameters = ("dtype", "shape", "value")
    sliding = ("value",)

    def work(self, op: Op) -> float:
        return 0

    def slide(self, params: Sequence[dict[str, Any]]) -> Any:
        values = [p["value"] for p in params]
        if params[0]["dtype"].kind not in "iuf" or len(values) < 2:
            return None
        if any(repr(v) == "-0.0" for v in values):
            return None  # a step to it would come to 0.0
        by = values[1] - values[0]
        even = all(values[0] + k * by == v for k, v in enumerate(values))
        if even and params[0]["dtype"] == np.dtype(np.float32):  # the products are rounded too
            steps = np.arange(len(values), dtype=np.float32)
            with np.errstate(all="ignore"):
                even = bool(np.all(steps * np.float32(by) + np.float32(values[0]) == values))
        if params[0]["dtype"].kind == "u" and by < 0:
            return None  # the dtype of the values does not have the step
        return by if even and by == by and abs(by) < 2**31 else None

    def at_step(self, operands: Sequence[Value], op: Op, slide: Any, step: Value) -> Value:
        value, dtype = op.params["value"], op.params["dtype"]
        number = declared.convert(step, dtype=dtype) * slide + value
        repeated: Value = declared.broadcast(number, shape=op.params["shape"], dims=())
        return repeated

    def key(self, params: dict[str, Any]) -> Hashable:
        # Its dtype says what Python's type the number has; repr tells zeros apart.
        return params["dtype"], params["shape"], repr(params["value"])

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        dtype_name(params["dtype"])
        wanted, got = _PYTHON_TYPES[kind_of(params["dtype"])], type(params["value"])
        if wanted is not got:
            raise TypeMismatch(
                f"a {params['dtype']} constant takes a Python {wanted.__name__}, "
                f"got a {got.__name__}"
            )
        return (Type(params["dtype"], params["shape"]),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        if is_bfloat16(params["dtype"]):
            return np.full(params["shape"], to_bfloat16(params["value"]), BFLOAT16)
        return np.full(params["shape"], params["value"], params["dtype"])


class Iota(SingleResult):
    """``iota(dtype=d, shape=s, axis=k)``: every element is its index along axis k."""

    arity = 0
    parameters = ("axis", "dtype", "shape")

    def work(self, op: Op) -> float:
        return 0

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        shape, axis = params["shape"], params["axis"]
        require(0 <= axis < len(shape), f"iota along axis {axis} of shape {shape}")
        require(params["dtype"].kind in "iufc", f"iota has no dtype {params['dtype']}")
        return (Type(params["dtype"], shape),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        shape, axis = params["shape"], params["axis"]
        along = np.arange(shape[axis], dtype=params["dtype"])
        column = along.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.broadcast_to(column, shape).copy()


constant = Constant("constant")
iota = Iota("iota")
