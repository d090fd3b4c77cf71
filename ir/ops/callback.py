"""Calls of functions that are not ops: Python functions, or other compiled code.

Such a function must be pure: the same arrays give the same results, without side effects. The
number and order of calls is not defined.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import Declaration, MaybeValue, require
from autojit.ir.core.errors import no_derivative
from autojit.ir.core.host import HostFunction
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.core.types import Type

from .move import broadcast_to

#: How a call is batched (see :class:`Callback`).
METHODS = ("sequential", "expand_dims", "broadcast_all")


class Answer(IntEnum):
    """The status that called native code returns."""

    #: The results are valid. The number is unusual, because ``ctypes`` leaves an arbitrary one when
    #: a call fails at once.
    FINE = 0x66696E65
    #: An error is kept for the caller.
    FAILED = 1


class HostCall:
    """A function with the types that one op calls it with."""

    def __init__(
        self,
        function: HostFunction,
        in_types: Sequence[Type],
        types: Sequence[Type],
        batch: tuple[tuple[int, tuple[bool, ...]], ...],
    ) -> None:
        self.function = function
        self.in_types = tuple(in_types)
        #: The types of the results of one call, and of all calls.
        self.types = tuple(types)
        self.batch = batch
        sizes = tuple([size for size, _ in batch])
        self.out_types = tuple([Type(t.dtype, (*sizes, *t.shape)) for t in types])

    def __repr__(self) -> str:
        return self.function.name

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """The results: the function is called for each element of the batch."""
        return self._called([np.asarray(a) for a in arrays], 0)

    def _called(self, arrays: list[np.ndarray], depth: int) -> list[np.ndarray]:
        if depth == len(self.batch):
            own = [a[()] if a.ndim == 0 else np.array(a, order="C") for a in arrays]
            return self.function.call(own, self.types)
        size, marks = self.batch[depth]
        made = [np.empty(t.shape[depth:], t.dtype) for t in self.out_types]
        for i in range(size):
            each = [a[i] if m else a for a, m in zip(arrays, marks, strict=True)]
            results = self._called([np.asarray(a) for a in each], depth + 1)
            for whole, result in zip(made, results, strict=True):
                whole[i] = result
        return made


class Callback(Declaration):
    """``callback(arrays…, function=f, types=t, batch=b, vmap=m)``: the results of a function.

    ``types`` are the types of the results of one call.  ``batch`` holds a size for each leading
    axis along which the function is called for one element after the other, and which operands have
    that axis.  ``vmap`` says how the op is batched: by one more of these axes (``sequential``), or
    by one call with arrays of one more axis, in which operands that do not depend on the batch have
    length 1 (``expand_dims``) or are repeated (``broadcast_all``).
    """

    moves = True
    parameters = ("function", "types", "batch", "vmap")
    fallible = True

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        require(
            isinstance(params["function"], HostFunction),
            f"callback takes a function of this process, got {params['function']!r}",
        )
        for _, marks in params["batch"]:
            require(len(marks) == len(types), "a batch of a callback marks each operand")
        return HostCall(params["function"], types, params["types"], params["batch"]).out_types

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        arrays = tuple(map(np.asarray, arrays))
        found = [Type(a.dtype, a.shape) for a in arrays]
        made = HostCall(params["function"], found, params["types"], params["batch"])(arrays)
        return made[0] if len(made) == 1 else tuple(made)

    def may_fail(self, op: Op) -> bool:
        return True

    def fails_by(self, op: Op) -> Hashable | None:
        return None  # it is called where its result is read

    def raises(self, op: Op) -> frozenset[type[Exception]]:
        return frozenset({Exception})

    def may_raise(self, op: Op, error: Exception) -> bool:
        return True

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        moves = any(t is not None for t in tangents)
        if moves and any(v.type.is_inexact for v in op.results):
            raise no_derivative(op.params["function"].no_derivative(), op.source)
        return (None,) * len(op.results)

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        params = dict(op.params)
        if params["vmap"] == "sequential":
            entry = (size, tuple([o.batched for o in operands]))
            params["batch"] = (entry, *params["batch"])
            values = [o.value for o in operands]
        else:
            params["types"] = tuple([Type(t.dtype, (size, *t.shape)) for t in params["types"]])
            repeated = size if params["vmap"] == "broadcast_all" else 1
            values = [_with_axis(o, repeated) for o in operands]
        made: Sequence[Value] = current_builder().emit(self, values, params)
        return made


def _with_axis(operand: Batched, size: int) -> Value:
    """An operand with a leading axis, which has that size if it does not depend on the batch."""
    value, batched = operand
    if batched:
        return value
    return broadcast_to(value, (size, *value.shape))


def calls_functions(program: Program) -> bool:
    """Whether a program, or one among the parameters of its ops, calls functions of the process."""
    return program.has(Callback) or any(
        calls_functions(inner) for op in program.ops for inner in op.programs
    )


def call_of(op: Op) -> HostCall:
    """The call that an op makes."""
    p = op.params
    return HostCall(p["function"], [v.type for v in op.operands], p["types"], p["batch"])


callback = Callback("callback")
