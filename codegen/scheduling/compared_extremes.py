"""Finds values that must be computed once because they are compared with their own extremes.

    x == max(x)

A product and a sum in the same loop are one instruction, rounded once; in different loops they may
not be. If the value were computed in both places, no element might equal the largest one.

Legal where a value can be stored, and every array can. This module says which values must be: if
one were computed in two places, results that have to be equal might differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import frexp

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import eq, ge, gt, le, lt, ne
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Broadcast, Reshape, Transpose
from autojit.ir.ops.reduce import max_, min_

from .op_loops import REDUCING

#: Ops whose results show the elements of their operand.
_SAME_ELEMENTS = (Broadcast, Reshape, Transpose)
_COMPARISONS = (eq, ne, lt, le, gt, ge)

#: The ops by their results.
Definers = Mapping[Value, Op]


def compared_with_extremes(ops: Iterable[Op], definers: Definers) -> set[Value]:
    """Values that are compared with their own extremes, if their rounding may differ."""
    found: set[Value] = set()
    for op in ops:
        if op.kind in _COMPARISONS:
            for x, other in (op.operands, op.operands[::-1]):
                made = definers.get(_unmoved(other, definers))
                if made is not None and made.kind in (max_, min_):
                    x = _unmoved(x, definers)
                    if x is _unmoved(made.operands[0], definers) and _may_contract(x, definers):
                        found.add(x)
    return found


def _unmoved(value: Value, definers: Definers) -> Value:
    """The value whose elements a value shows."""
    while (op := definers.get(value)) and isinstance(op.kind, _SAME_ELEMENTS):
        (value,) = op.operands
    return value


def _may_contract(value: Value, definers: Definers) -> bool:
    """Whether the computation of each element of a value contains a product and a sum."""
    words: set[str] = set()
    seen, left = {value}, [value]
    while left:
        op = definers.get(left.pop())
        if op is None or isinstance(op.kind, (*REDUCING, BodyOp)):
            continue
        if isinstance(op.kind, Elementwise) and not _is_exact(op, definers):
            words.add(op.kind.name)
        left += [v for v in op.operands if v not in seen]
        seen.update(op.operands)
    return "mul" in words and not words.isdisjoint(("add", "sub"))


def _is_exact(op: Op, definers: Definers) -> bool:
    """Whether an op is a product with a power of two."""
    numbers = (definers.get(v) for v in op.operands)
    values = [n.params["value"] for n in numbers if n and isinstance(n.kind, Constant)]
    return op.kind.name == "mul" and any(
        isinstance(v, float) and abs(frexp(v)[0]) == 0.5 for v in values
    )
