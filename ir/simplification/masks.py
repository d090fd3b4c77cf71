"""Rules for selections by the same condition, as in slices with traced bounds and derivatives.

They are exact up to the sign of a zero: 0.0 is not added to -0.0.

Legal where the conditions are the same value, so that they hold for the same elements. A value that
is not selected, even NaN or infinity, does not affect the result before or after.
"""

from __future__ import annotations

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import add, select
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


@rules(select)
def select_again(op: Op, at: Rewriter) -> Value | None:
    """select(c, select(c, a, b), d) → select(c, a, d), and likewise where c does not hold"""
    condition, a, b = op.operands
    first, second = at.definition(a, select), at.definition(b, select)
    if first is not None and first.operands[0] is condition:
        return select(condition, first.operands[1], b)
    if second is not None and second.operands[0] is condition:
        return select(condition, a, second.operands[2])
    return None


@rules(add)
def add_complements(op: Op, at: Rewriter) -> Value | None:
    """select(c, 0, x) + select(c, y, 0) → select(c, y, x)"""
    a, b = (at.definition(v, select) for v in op.operands)
    if a is None or b is None or a.operands[0] is not b.operands[0]:
        return None
    for without, within in ((a, b), (b, a)):
        (condition, zero, x), (_, y, nothing) = without.operands, within.operands
        if at.scalar(zero) == 0 and at.scalar(nothing) == 0:
            return select(condition, y, x)
    return None
