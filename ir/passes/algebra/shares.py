"""Multiplies the shares of tied elements by the reciprocal of their number instead of dividing.

Before::

    %truth = convert %is_largest {dtype=f64}
    %count = sum %truth {axes=(1,)}
    %n = broadcast %count {dims=(0,), shape=(1000, 100)}
    %share = div %truth, %n                      # 100,000 divisions

After::

    %part = div 1, %count                        # 1,000 divisions
    %n = broadcast %part {dims=(0,), shape=(1000, 100)}
    %share = mul %truth, %n

The cotangent of a maximum begins like this.  The bits are the same, since a count is an integer: 1
divided by it is rounded once either way, and 0 times infinity is NaN, as is 0 divided by 0.

Legal where the numerator is 0 or 1, and the divisor is a sum of such numbers.  Nothing changes in
the results.
results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import convert, div, mul
from autojit.ir.ops.move import broadcast, reshape
from autojit.ir.ops.reduce import sum_
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass


@program_pass(
    "Multiplies the shares of tied elements by a reciprocal instead of dividing them.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with each of these divisions done once, before the divisor is repeated."""
    return rewrite(program, [_rule]) if {div, convert} <= program.kinds else program


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if op.kind is not div or not _is_truth(op.operands[0], at):
        return None
    repeated = at.definition(op.operands[1], broadcast)
    if repeated is None or not _is_count(repeated.operands[0], at):
        return None
    (count,) = repeated.operands
    part = div(full(1.0, count.type), count)
    return (mul(op.operands[0], broadcast(part, **repeated.params)),)


def _is_truth(v: Value, at: Rewriter) -> bool:
    """Whether a value is a condition converted to a float."""
    made = at.definition(v, convert)
    return made is not None and made.operands[0].dtype == np.dtype(np.bool_) and v.dtype.kind == "f"


def _is_count(v: Value, at: Rewriter) -> bool:
    while made := at.definition(v, reshape):
        (v,) = made.operands
    made = at.definition(v, sum_)
    return made is not None and _is_truth(made.operands[0], at)
