"""Masks that a step of a loop computes from its number alone, as those of ``A[:, i:]`` in step i.

They are found by the ops that compute them, and their values in a step are known before the loop
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import needed
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Program, Value, current_builder
from autojit.ir.ops.arithmetic import select
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.linear import constant, iota
from autojit.ir.ops.move import broadcast
from autojit.ir.tools.interpreter import interpret

#: The most steps whose masks are counted.
COUNTED = 16


class Mask(NamedTuple):
    """A mask of an array: axis k of ``value`` is axis ``dims[k]`` of the array."""

    value: Value
    dims: tuple[int, ...]

    def along(self, axes: Mapping[int, int]) -> Mask:
        """The same mask of an array whose axes are numbered otherwise."""
        return Mask(self.value, tuple(axes[d] for d in self.dims))


class StepMasks:
    """The masks in the body of a scan of some length."""

    def __init__(self, body: Program, index: Value, length: int) -> None:
        self.body, self.index, self.length = body, index, length
        self.definer = {v: op for op in body.ops for v in op.results}
        self._counted = {index}
        for op in body.ops:
            if self._counted.issuperset(op.operands) and not (op.programs or op.kind.fallible):
                self._counted.update(op.results)

    def of(self, value: Value) -> Mask | None:
        """The mask that a value repeats; None if it depends on more than the step's number."""
        op = self.definer.get(value)
        if value not in self._counted or op is None:
            return None
        if op.kind is broadcast:
            return Mask(op.operands[0], op.params["dims"])
        return Mask(value, tuple(range(value.type.ndim)))

    def cut(self, value: Value) -> tuple[Value, Mask] | None:
        """The array and the mask of ``select(mask, array, 0)``; None if a value is not one."""
        op = self.definer.get(value)
        if op is None or op.kind is not select:
            return None
        zero = self.definer.get(op.operands[2])
        mask = self.of(op.operands[0])
        if mask is None or zero is None or zero.kind is not constant or zero.params["value"] != 0:
            return None
        return op.operands[1], mask

    def part(self, mask: Mask) -> float:
        """The mean part of an array that a mask keeps: of evenly spaced steps."""
        program = self._program(mask)
        count = min(self.length, COUNTED)
        steps = np.linspace(0, self.length - 1, count).astype(np.int64)
        return float(np.mean([np.mean(interpret(program, [step])[0]) for step in steps]))

    def all_steps(self, mask: Mask) -> Value:
        """The masks of all steps, as an array with an axis of steps in front."""
        program = batch(self._program(mask), self.length, [True])
        steps = iota(shape=(self.length,), axis=0, dtype=INDEX.dtype)
        (result,) = current_builder().inline(program, [steps])
        return result

    def _program(self, mask: Mask) -> Program:
        return Program([self.index], needed(self.body.ops, [mask.value]), [mask.value])


def kept(mask: Mask, value: Value) -> Value:
    """``select(mask, value, 0)``, in the body of the mask's loop."""
    repeated = broadcast(mask.value, shape=value.shape, dims=mask.dims)
    return select(repeated, value, full(0, value.type))
