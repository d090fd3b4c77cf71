"""Finds the masks of slices with traced bounds, and the values that they cut.

    m = (j >= a) & (j < b);  y = select(m, x, 0)          # x[a:b], in an array of x's length

A loop that computes the mask itself is restricted to the iterations from a to b (``narrow_loops``).
A loop that reads it, or a value that it cuts, from memory runs over the whole axis. Both are
therefore computed where they are used.

Legal because any value can be computed where it is used; what is computed instead of stored is a
choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import bitwise_and, ge, gt, le, lt, select
from autojit.ir.ops.linear import Constant, Iota
from autojit.ir.ops.move import Broadcast

_COMPARISONS = (lt, le, gt, ge)


class RangeMasks(NamedTuple):
    """The masks, and the values that are zero where they do not hold."""

    masks: frozenset[Value]
    cut: frozenset[Value]


def range_masks(ops: Iterable[Op], definers: Mapping[Value, Op]) -> RangeMasks:
    """The range masks of a program along the last axes of arrays."""
    masks, cut = set[Value](), set[Value]()
    for op in ops:
        if op.kind in _COMPARISONS:
            a, b = op.operands
            if (_counts(a, definers) and _is_steady(b, definers)) or (
                _counts(b, definers) and _is_steady(a, definers)
            ):
                masks.add(op.result)
        elif op.kind is bitwise_and and masks.issuperset(op.operands):
            masks.add(op.result)
        elif op.kind is select and op.operands[0] in masks:
            made = definers.get(op.operands[2])
            if made is not None and isinstance(made.kind, Constant) and made.params["value"] == 0:
                cut.add(op.result)
    return RangeMasks(frozenset(masks), frozenset(cut))


def _counts(value: Value, definers: Mapping[Value, Op]) -> bool:
    """Whether a value counts along its last axis."""
    op, axis = definers.get(value), value.type.ndim - 1
    while op is not None and isinstance(op.kind, Broadcast):
        if axis not in op.params["dims"]:
            return False
        axis = op.params["dims"].index(axis)
        op = definers.get(op.operands[0])
    return op is not None and isinstance(op.kind, Iota) and op.params["axis"] == axis


def _is_steady(value: Value, definers: Mapping[Value, Op]) -> bool:
    """Whether a value is the same along its last axis."""
    op = definers.get(value)
    if op is None or not value.type.ndim:
        return False
    if isinstance(op.kind, Constant):
        return True
    return isinstance(op.kind, Broadcast) and value.type.ndim - 1 not in op.params["dims"]
