"""Computes arithmetic on float16 in float32, and rounds after each operation.

Before::

    %2: f16[9] = add %0, %1
    %3: f16[] = sum %2 {axes=(0,)}

After::

    %2: f32[9] = convert %0 {dtype=f32}
    %3: f32[9] = convert %1 {dtype=f32}
    %4: f32[9] = add %2, %3
    %5: f16[9] = convert %4 {dtype=f16}
    %6: f32[9] = convert %5 {dtype=f32}
    %7: f32[] = sum %6 {axes=(0,)}
    %8: f16[] = convert %7 {dtype=f16}

So targets need only loads, stores and conversions of float16, and later passes see no arithmetic on
it.  A sum, difference, product, quotient or root has the bits of a single rounding, since float32
has more than twice the digits.  A reduction or a product of matrices accumulates in float32 and is
rounded once.

Legal where operations compute; ops that only move elements stay as they are.  Nothing changes in
the results: NumPy computes each element in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.ir.core.halves import is_half, widened_params
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import convert
from autojit.ir.rewriting.rewrite import Rewriter, rewrite
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

_WIDE = np.dtype(np.float32)


@program_pass("Computes half-precision arithmetic in float32.", keeps=STRUCTURE)
def run(program: Program) -> Program:
    """The program with half-precision floats in memory only."""
    # Checking the few dtypes is faster than checking the many operations.
    results = {v.type.dtype for op in program.ops for v in op.results}
    if not any(map(is_half, results.union(v.type.dtype for v in program.inputs))):
        return program
    return rewrite(program, [_rule]) if any(map(_is_computed, program.ops)) else program


def _is_computed(op: Op) -> bool:
    """Whether an op computes with half-precision floats."""
    if op.kind.moves:
        return False
    return any(is_half(v.dtype) for values in (op.operands, op.results) for v in values)


def _rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
    if not _is_computed(op):
        return None
    operands = [convert(v, dtype=_WIDE) if is_half(v.dtype) else v for v in op.operands]
    made = at.emit(op.kind, operands, widened_params(op.params))
    pairs = zip(made, op.results, strict=True)
    return [convert(new, dtype=old.dtype) if is_half(old.dtype) else new for new, old in pairs]
