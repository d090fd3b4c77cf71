"""Common subexpressions: an op that was computed before is not computed again.

Before::

    %2: f64[3] = mul %0, %1
    %3: f64[3] = mul %1, %0
    %4: f64[3] = add %2, %3

After::

    %2: f64[3] = mul %0, %1
    %3: f64[3] = add %2, %2

The first of equal ops stays, with its source.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..program import Op, Program, Value, param_key
from .rewrite import Rewriter, Rule, rewrite


def rule() -> Rule:
    """The rule of this pass for one walk; it remembers the ops that it has seen."""
    seen: dict[Hashable, Op] = {}

    def reuse(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        first = seen.setdefault(_key(op), op)
        return None if first is op else first.results

    return reuse


def _key(op: Op) -> Hashable:
    operands = op.operands
    if op.kind.commutative:
        operands = tuple(sorted(operands, key=id))
    if not op.params:
        return (op.kind, operands)
    return (op.kind, operands, *[param_key(op.params[name]) for name in op.kind.parameters])


def run(program: Program) -> Program:
    """Merge equal ops."""
    return rewrite(program, [rule()])
