"""Indices are written as the user wrote them: NumPy itself counts negative ones from the end.

The tracer records `select(i < 0, i + n, i)`. If that is the index of an axis of n elements, the
NumPy code uses i.
"""

from __future__ import annotations

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import add, lt, select
from autojit.ir.ops.index import Gather, ScatterAdd
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt, Scatter
from autojit.ir.rewriting import dce

#: Ops whose last operands are indices, with the number of operands before them.
_FIRST: dict[type, int] = {Gather: 1, ScatterAdd: 1, Scatter: 2, AddAt: 2}


def natural(program: Program) -> tuple[Program, set[tuple[Value, int]]]:
    """Replace such indices. Return the program, and the indices that NumPy may count from the end,
    each with the extent of its axis."""
    makers = {v: op for op in program.ops for v in op.results}
    found: set[tuple[Value, int]] = set()
    ops = [_with_natural(op, makers, found) for op in program.ops]
    if not found:
        return program, found
    return dce.run(program.with_body(ops, program.outputs)), found


def _with_natural(op: Op, makers: dict[Value, Op], found: set[tuple[Value, int]]) -> Op:
    first = _FIRST.get(type(op.kind))
    if first is None:
        return op
    shape = op.params.get("shape", op.operands[0].shape)
    operands = list(op.operands)
    for k, axis in enumerate(op.params["axes"], first):
        index = _wrapped(operands[k], shape[axis], makers)
        if index is not None:
            operands[k] = index
            found.add((index, shape[axis]))
    if operands == list(op.operands):
        return op
    return Op(op.kind, tuple(operands), op.params, op.results, op.source)


def _wrapped(value: Value, extent: int, makers: dict[Value, Op]) -> Value | None:
    """Return the i of ``select(i < 0, i + extent, i)``."""
    op = makers.get(value)
    if op is None or op.kind is not select:
        return None
    condition, moved, index = op.operands
    test, sum_ = makers.get(condition), makers.get(moved)
    if test is None or test.kind is not lt or sum_ is None or sum_.kind is not add:
        return None
    if test.operands[0] is not index or not _is(test.operands[1], 0, makers):
        return None
    parts = list(sum_.operands)
    if index not in parts:
        return None
    parts.remove(index)
    return index if _is(parts[0], extent, makers) else None


def _is(value: Value, number: int, makers: dict[Value, Op]) -> bool:
    op = makers.get(value)
    return op is not None and op.kind is constant and op.params["value"] == number
