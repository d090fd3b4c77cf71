"""Constant folding: an op on constants whose result is uniform becomes a constant.

Before::

    %0: f64[] = constant {dtype=f64, shape=(), value=2.0}
    %1: f64[] = sqrt %0
    %2: f64[3] = broadcast %1 {dims=(), shape=(3,)}

After (the ops that nobody reads any more are left to ``dce``)::

After (unused ops are left to ``dce``)::
    %1: f64[] = constant {dtype=f64, shape=(), value=1.4142135623730951}
    %2: f64[3] = constant {dtype=f64, shape=(3,), value=1.4142135623730951}

One element is computed, whatever the shape; declarations say how (``uniform``).

Legal where all operands are constants, every element of the result is the same, and NumPy computes
it without an error, which would belong to the run. Sums are folded if they are exact in every
order. Nothing changes in the results except the last bits of functions that a target rounds
differently from NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

from .rewrite import Rewriter, rewrite


def fold(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
    """Apply the rule of this pass."""
    scalars = []
    for v in op.operands:
        scalar = rewriter.scalar(v)
        if scalar is None:
            return None
        scalars.append(scalar)
    if not scalars or len(op.results) != 1:
        return None
    element = op.kind.uniform(op, scalars)
    return None if element is None else (full(element, op.result.type),)


@program_pass("Computes operations on constants.", keeps=STRUCTURE)
def run(program: Program) -> Program:
    """Fold constants."""
    return rewrite(program, [fold])
