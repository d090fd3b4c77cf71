"""Integers that the number of a step decides, in the body of a captured loop.

Legal where the op is evaluated as the interpreter evaluates it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import Constant, Iota, Linear

#: The places of an array that an op reads or sets: axes, and the index of each.
Places = tuple[tuple[int, ...], tuple[Value, ...]]


class GivesUp(Exception):
    """A step raises an error, which the loop raises at its place."""


def evaluated(op: Op, operands: list[np.ndarray], steps: int) -> np.ndarray:
    """The results of an op of numbers at all steps, along axis 0 of each array."""
    shape = (steps, *op.result.shape)
    with np.errstate(all="ignore"):
        if not operands:
            return np.broadcast_to(op.kind.evaluate(**op.params), shape)
        if isinstance(op.kind, Elementwise):
            return np.asarray(op.kind.evaluate(*operands, **op.params)).reshape(shape)
        try:
            rows = [op.kind.evaluate(*x, **op.params) for x in zip(*operands, strict=True)]
        except IndexError:
            raise GivesUp from None
    return np.asarray(rows, op.result.dtype).reshape(shape)


class Indices:
    """What each value of a body is as an index: an array of integers, one a step along axis 0; the
    value itself if no step changes it; or None."""

    def __init__(
        self, ops: Sequence[Op], known: Mapping[Value, np.ndarray], carries: Sequence[Value],
        steps: int,
    ) -> None:  # fmt: skip
        self.steps = steps
        self.found: dict[Value, np.ndarray | Value | None] = {**dict.fromkeys(carries), **known}
        #: The first of equal values.
        self.first: dict[Value, Value] = {}
        first: dict[Hashable, Value] = {}
        for op in ops:
            for v in op.results:
                self.found[v] = self._result(op, v)
            if len(op.results) == 1 and op.result.dtype.kind in "iub":
                key = op.kind, op.kind.key(op.params), *map(self.same, op.operands)
                self.first[op.result] = first.setdefault(key, op.result)

    def __call__(self, v: Value) -> np.ndarray | Value | None:
        """What a value is."""
        return self.found.get(v, v)

    def same(self, v: Value) -> Value:
        """The first value of the body that is computed as this one is."""
        return self.first.get(v, v)

    def places(self, op: Op) -> Places:
        """Where a ``gather`` reads, or a ``scatter`` sets elements."""
        indices = op.operands[1 if op.kind is gather else 2 :]
        return tuple(op.params["axes"]), tuple(map(self.same, indices))

    def _result(self, op: Op, v: Value) -> np.ndarray | Value | None:
        operands = [self(x) for x in op.operands]
        if v.dtype.kind not in "iub" or any(x is None for x in operands):
            return None
        rows = [x for x in operands if isinstance(x, np.ndarray)]
        if operands and not rows:
            return v
        if len(rows) < len(operands):
            return None
        if op.kind is ensure:
            return rows[0] if rows[1].all() else None
        if not isinstance(op.kind, (Elementwise, Linear, Constant, Iota)):
            return None
        return evaluated(op, rows, self.steps)
