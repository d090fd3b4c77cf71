"""Moves products out of a loop whose steps use only a part of a matrix, as ``x[i] @ A[:, i:]``.

Before::

    %r = scan %A, %x {body=program body(%A, %i, %x_i) {
      %c = select %mask, %A, %zero          # %mask depends on %i alone: A[:, i:]
      %p = dot %x_i, %c                     # reads the matrix in each step
      %s = select %mask, %p, %y
      ...

After::

    %ps = dot %x, %A                        # one product of matrices
    %r = scan %A, %ps {body=program body(%A, %i, %p) {
      %s = select %mask, %p, %y
      ...

In the same way products follow the loop that no carry depends on, with what depends on them, and
products that are added to a carry (``scan_products`` moves the ones without masks). A
mask along the axes that are summed then cuts the other factor, ``A @ select(mask, v, 0)``. That is
the same only if the elements of A that the mask drops are finite, because NaN times zero is NaN.
So the program checks whether A is finite, and sums only the selected terms if it is not.

Legal where one factor is the same in all steps and the other depends on no carry, or is stacked by
the loop; where a product that precedes the loop is read through the mask of its factor alone, and
no carry depends on one that follows it; and where a sum of steps is read by nothing but its
next addition.  Sums are rounded in another order, and the sign of a zero may change.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.contract import Dot
from autojit.ir.passes.loops.steps.late_products import moved_after
from autojit.ir.passes.loops.steps.late_terms import LateTerms
from autojit.ir.regions.scan import scan
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Moves products with a part of a matrix out of loops.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with products of matrices before and after such loops."""
    if scan not in program.kinds:
        return program

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is not scan or op.params["length"] < 2 or not op.params["body"].has(Dot):
            return None
        products = LateTerms(op)
        if early := products.early():
            return products.moved_before(early)
        late = products.late()
        return moved_after(products, late) if late else None

    return rewrite(program, [rule])
