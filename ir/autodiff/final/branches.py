"""What the comparison that selects a branch says about integers in it.

Legal where the branch is taken: forms of the branch's integers are compared with these facts only
for accesses in the branch.
"""

from __future__ import annotations

from autojit.ir.core.affine import Affine
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Op

from .integers import OPPOSITE, Integers, compared, in_body, is_integer


def in_branch(op: Op, number: int, outer: Integers) -> Integers:
    """The forms in a branch of a ``switch``, with bounds that hold where it is taken."""
    found = in_body(op, op.params["branches"][number], outer)
    test = branch_test(op, number, outer)
    if test is not None:
        found.bounds = found.bounds.copied()
        found.bounds.assume(*test)
    return found


def branch_test(op: Op, number: int, outer: Integers) -> tuple[Declaration, Affine, Affine] | None:
    """The comparison of two integers that holds where a branch is taken."""
    test = compared(op, outer.maker)
    if test is None or not is_integer(test.operands[0]):
        return None
    a, b = map(outer.of, test.operands)
    return test.kind if number else OPPOSITE[test.kind], a, b
