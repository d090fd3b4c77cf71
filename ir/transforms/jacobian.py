"""Jacobians: the linear map applied to a whole basis at once.

The program computes the basis itself (by an index comparison), and the batched linear program is
optimised with the rest, so a Jacobian is one program without a loop over rows.

Legal where linearization, transposition and batching are.  Each row is the derivative along one
unit vector, so 0 times infinity is NaN as in a product with a unit matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.kept_errors import with_errors
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import convert, eq
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import reshape
from autojit.ir.ops.move import transpose as transpose_op
from autojit.ir.pass_manager.records import phase


@phase("jacobian")
def jacobian(program: Program, wrt: Sequence[int], *, forward: bool) -> Program:
    """``inputs -> d output / d input``, for every output and, within it, every input in wrt.

    Each has the axes of the output, then those of the input.
    """
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    results = []
    with building(builder):
        for k, output in enumerate(program.outputs):
            for i in wrt:
                operand = program.inputs[i]
                one = program.with_body(program.ops, [program.outputs[k]])
                derive = _by_forward if forward else _by_reverse
                results.append(derive(builder, one, i, inputs, output.type, operand.type))
    return builder.finish(inputs, results, name=program.name, captured=program.captured)


def _by_forward(
    builder: Builder, program: Program, i: int, inputs: list[Value], out: Type, operand: Type
) -> Value:
    parts = linearize(program, [i])
    value, *residuals = builder.inline(parts.primal, inputs)
    ops = tuple(builder.ops)
    if not parts.active:
        zeros = full(0, Type(out.dtype, (*out.shape, *operand.shape)))
        return with_errors(ops, [value], [zeros])[0]
    rows = batch(parts.linear, operand.size, [False] * len(residuals) + [True])
    (columns,) = builder.inline(rows, [*residuals, _basis(operand)])
    axes = (*range(1, out.ndim + 1), 0)
    moved = transpose_op(columns, axes=axes) if out.ndim else columns
    made = reshape(moved, shape=(*out.shape, *operand.shape))
    return with_errors(ops, [value], [made])[0]


def _by_reverse(
    builder: Builder, program: Program, i: int, inputs: list[Value], out: Type, operand: Type
) -> Value:
    parts = linearize(program, [i])
    value, *residuals = builder.inline(parts.primal, inputs)
    ops = tuple(builder.ops)
    if not parts.active:
        zeros = full(0, Type(operand.dtype, (*out.shape, *operand.shape)))
        return with_errors(ops, [value], [zeros])[0]
    backward = transpose(parts.linear, parts.residuals)
    rows = batch(backward, out.size, [False] * len(residuals) + [True])
    (made,) = builder.inline(rows, [*residuals, _basis(out)])
    result = reshape(made, shape=(*out.shape, *operand.shape))
    return with_errors(ops, [value], [result])[0]


def _basis(type: Type) -> Value:
    """The unit vectors of a type, one per row of the leading axis."""
    n, index = type.size, np.dtype(np.int64)
    rows = iota(dtype=index, shape=(n, n), axis=0)
    columns = iota(dtype=index, shape=(n, n), axis=1)
    unit = convert(eq(rows, columns), dtype=type.dtype)
    return reshape(unit, shape=(n, *type.shape))
