"""Rules for unit matrices, such as the basis of a Jacobian.

They are exact except for 0 times infinity, which makes a product with a unit matrix NaN.

Legal where rows are compared with columns of a square, numbers are inexact, and one axis is
contracted. Besides, NaN in one place does not spread to others, and -0.0 keeps its sign.
"""

from __future__ import annotations

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import convert, eq
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import reshape, transpose
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


@rules(iota)
def iota_of_one(op: Op, at: Rewriter) -> Value | None:
    """iota along an axis of one element → 0"""
    shape, axis = op.params["shape"], op.params["axis"]
    return full(0, op.result.type) if shape[axis] == 1 else None


def _unit(v: Value, at: Rewriter) -> bool:
    """Whether a value is a unit matrix, made by comparing row and column."""
    if inner := at.definition(v, reshape):
        v = inner.operands[0] if inner.operands[0].shape == v.shape else v
    made = at.definition(v, convert)
    equal = at.definition(made.operands[0], eq) if made else None
    if equal is None or v.type.ndim != 2 or v.shape[0] != v.shape[1]:
        return False
    sides = [at.definition(side, iota) for side in equal.operands]
    return {s.params["axis"] for s in sides if s} == {0, 1}


@rules(dot)
def dot_with_unit(op: Op, at: Rewriter) -> Value | None:
    """x @ I → x, I @ x → x, with axes in their order; 0 times infinity is left out"""
    (ca, cb), (ba, _) = op.params["contract"], op.params["batch"]
    if ba or len(ca) != 1 or not op.result.type.is_inexact:
        return None
    a, b = op.operands
    if _unit(b, at):
        kept = free_axes(a.type.ndim, ca, ())
        return transpose(a, axes=(*kept, *ca))
    if _unit(a, at):
        kept = free_axes(b.type.ndim, cb, ())
        return transpose(b, axes=(*cb, *kept))
    return None
