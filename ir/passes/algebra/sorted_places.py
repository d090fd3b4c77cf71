"""Reads sorted values by the sorting permutation if that is computed as well.

Before::

    %v = sort %x
    ...
    %p = argsort %x                       # for the derivative

After::

    %p = argsort %x
    %r = iota {axis=0, dtype=i64, shape=(1000, 300)}
    %v = gather %x, %r, %p {axes=(0, 1)}

A function with a sort, together with its gradient, would sort the rows twice. Reading the values
takes a fifth of the time of sorting them again.

Legal where the permutation is that of the same values.  Nothing changes in the results, except
which of -0.0 and 0.0 comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.linalg.order import argsort, at_places, sort
from autojit.ir.rewriting.bodies import rule as in_bodies
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, SIMPLIFIED, program_pass


@program_pass(
    "Gathers sorted values by the sorting permutation if that is computed as well.",
    needs=[CALLS_INLINED, SIMPLIFIED],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with one sort for values and permutation."""
    if not {sort, argsort} <= program.kinds:
        return program
    by_kind = [{op.operands[0] for op in program.ops if op.kind is k} for k in (sort, argsort)]
    wanted = set.intersection(*by_kind)
    known: dict[Value, Value] = {}

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is argsort and op.operands[0] in known:
            return (known[op.operands[0]],)
        if op.kind is sort and op.operands[0] in wanted:
            (x,) = op.operands
            known[x] = argsort(x)
            return (at_places(x, known[x]),)
        return None

    return rewrite(program, [rule]) if wanted else program


def by_places(program: Program) -> Program:
    """The program with every sort replaced by reads, for targets that only have argsort."""

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is not sort:
            return None
        (x,) = op.operands
        return (at_places(x, argsort(x)),)

    return rewrite(program, [in_bodies(by_places), rule])
