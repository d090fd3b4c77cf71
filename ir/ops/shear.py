"""Windows that slide along an axis, and the shear that takes them back.

A window is read at the sum of two indices, ``x[i + j]``, without an array of windows or of indices.
The cotangent reverses that sum: the windows are sheared, ``c[p - j, j]``, and added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type

from .linear import Linear
from .move import Move
from .reduce import sum_
from .sources import Condition, Source


class Windows(Move):
    """``windows(x, axis=k, size=m)``: m elements of axis k from each place on, as a last axis."""

    parameters = ("axis", "size")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), axis, size = types, params["axis"], params["size"]
        require(
            0 <= axis < x.ndim and 1 <= size <= x.shape[axis],
            f"windows of {size} along axis {axis} of {x}",
        )
        places = x.shape[axis] - size + 1
        return (x.with_shape((*x.shape[:axis], places, *x.shape[axis + 1 :], size)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        view = np.lib.stride_tricks.sliding_window_view
        return np.array(view(np.asarray(arrays[0]), params["size"], params["axis"]))

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        *outer, inner = index
        outer[params["axis"]] = outer[params["axis"]] + inner
        return [Source(0, tuple(outer))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(operands[0].value, axis=op.params["axis"] + 1, size=op.params["size"])

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        axis, last = params["axis"], operand.ndim
        extent = operand.shape[axis]
        back = shear(cotangent, axis=axis, along=last, by=-1, start=0, extent=extent)
        return sum_(back, axes=(last,))


class Shear(Linear):
    """``shear(x, axis=a, along=b, by=s, start=c, extent=n)``: the element at i of axis a and j of
    axis b is that of x at i + s j + c and j, or zero where x has none; axis a has n elements."""

    moves = True
    parameters = ("along", "axis", "by", "extent", "start")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), axis, along = types, params["axis"], params["along"]
        require(
            0 <= axis < x.ndim
            and 0 <= along < x.ndim
            and axis != along
            and params["by"] in (1, -1)
            and params["extent"] >= 0,
            f"shear of axis {axis} along axis {along} of {x} by {params['by']}",
        )
        return (x.with_shape((*x.shape[:axis], params["extent"], *x.shape[axis + 1 :])),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x, axis, along = np.asarray(arrays[0]), params["axis"], params["along"]
        shape = (*x.shape[:axis], params["extent"], *x.shape[axis + 1 :])
        result = np.zeros(shape, x.dtype)
        places: list[Any] = [slice(None)] * x.ndim
        for j in range(x.shape[along]):
            moved = params["by"] * j + params["start"]
            low, high = max(0, -moved), min(params["extent"], x.shape[axis] - moved)
            if low < high:
                places[along], places[axis] = j, slice(low, high)
                into = tuple(places)
                places[axis] = slice(low + moved, high + moved)
                result[into] = x[tuple(places)]
        return result

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        axis, inner = params["axis"], list(index)
        inner[axis] = index[axis] + index[params["along"]] * params["by"] + params["start"]
        return [Source(0, tuple(inner), (Condition(inner[axis], 0, operands[0].shape[axis]),))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        p = op.params
        return self(
            operands[0].value,
            axis=p["axis"] + 1,
            along=p["along"] + 1,
            by=p["by"],
            start=p["start"],
            extent=p["extent"],
        )

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        axis = params["axis"]
        return shear(
            cotangent,
            axis=axis,
            along=params["along"],
            by=-params["by"],
            start=-params["start"],
            extent=operand.shape[axis],
        )


windows = Windows("windows")
shear = Shear("shear")
