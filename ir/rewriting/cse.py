"""Common subexpressions: an op that was computed before is reused.

Before::

    %2: f64[3] = mul %0, %1
    %3: f64[3] = mul %1, %0
    %4: f64[3] = add %2, %3

After::

    %2: f64[3] = mul %0, %1
    %3: f64[3] = add %2, %2

The first of equal ops stays, with its source.

Legal where both ops have one declaration, equal parameters and the same operands, in any order if
the declaration calls the op commutative: an op computes the same result from the same operands. A
product of complex numbers in the other order may be rounded differently, if the machine fuses one
of its multiplications with the addition; nothing else changes in the results. Before derivatives
are taken, ops with programs are not merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.tools.program_passes import FINAL, STRUCTURE, program_pass

from .rewrite import Rewriter, Rule, rewrite


def rule() -> Rule:
    """Return the rule of this pass for one walk; it remembers the ops that it has seen."""
    seen: dict[Hashable, Op] = {}

    def reuse(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        first = seen.setdefault(_key(op), op)
        return None if first is op else first.results

    return reuse


def _key(op: Op) -> Hashable:
    operands = op.operands
    if op.kind.commutative:
        operands = tuple(sorted(operands, key=id))
    return (op.kind, operands, op.kind.key(op.params) if op.params else ())


@program_pass("Computes equal operations once.", keeps=FINAL)
def run(program: Program) -> Program:
    """Merge equal ops."""
    return rewrite(program, [rule()])


@program_pass(
    "Computes equal operations once, except operations that contain programs.",
    name="cse_before_derivatives",
    keeps=STRUCTURE,
)
def before_derivatives(program: Program) -> Program:
    """Merge equal ops, except ops with programs. Such an op may have a user-defined derivative that
    is not linear in the cotangent (one that clips it, for instance), so that the derivatives of two
    ops are not the derivative of one op for the sum."""
    merge = rule()

    def reuse(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        return None if op.params and op.programs else merge(op, rewriter)

    return rewrite(program, [reuse])
