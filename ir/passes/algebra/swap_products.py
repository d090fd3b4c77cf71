"""Computes a product transposed if only its transpose is read: ``(A.T @ B).T`` is ``B.T @ A``.

Before::

    %p = dot %x, %d {batch=((), ()), contract=((0,), (0,))}     # (64, 1000)
    %g = transpose %p {axes=(1, 0)}                             # a copy

After::

    %g = dot %d, %x {batch=((), ()), contract=((0,), (0,))}     # (1000, 64)

The gradient of ``x @ w.T`` with respect to w has this form.  Each element is the same sum.

Legal where nothing else reads the product, and the transpose exchanges all free axes of one factor
with those of the other, after the batch axes.  Each element is the sum of the same terms, which a
library may add up in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.move import transpose
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass

#: A result with fewer columns may take longer to compute than to copy.
LEAST_COLUMNS = 32


@program_pass(
    "Computes matrix products in transposed form if they are read transposed.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these products transposed."""
    if not {transpose, dot} <= program.kinds:
        return program
    readers = readers_of(program.ops, program.outputs)

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is not transpose or readers[op.operands[0]] != 1:
            return None
        made = at.definition(op.operands[0], dot)
        if made is None:
            return None
        (a, b), (contract, batch) = made.operands, (made.params["contract"], made.params["batch"])
        rows = free_axes(a.type.ndim, contract[0], batch[0])
        first = len(batch[0])
        middle, end = first + len(rows), op.result.type.ndim
        order = (*range(first), *range(middle, end), *range(first, middle))
        if op.params["axes"] != order or prod(a.shape[axis] for axis in rows) < LEAST_COLUMNS:
            return None
        return (dot(b, a, contract=contract[::-1], batch=batch[::-1]),)

    return rewrite(program, [rule])
