"""The loop that carries the tangents of a ``while`` reads the final arrays of the loop itself.

Legal where :mod:`autojit.ir.autodiff.final.reads` says so: the loop has run before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.final.integers import Integers
from autojit.ir.autodiff.final.reads import Finals, finals_of, read_in_the_end
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.ops.bodies import BodyOp


def with_finals(
    kind: BodyOp, operands: Sequence[Value], params: dict[str, Any], values: Sequence[Value],
    outer: Integers,
) -> Sequence[Value]:  # fmt: skip
    """Return the tangents of the results of a loop that has run.

    ``params`` and ``operands`` are those of the loop that carries values, then tangents. ``values``
    are the results of the loop itself, and ``outer`` knows the integers among its operands.
    """
    (body,), (m,), n = params["sweeps"], params["carries"], params["constants"]
    first, builder = len(values), current_builder()
    carries = {k: (body.inputs[n + k], body.outputs[k]) for k in range(first)}
    results = tuple(Value(v.type) for v in body.outputs[:m])
    op = Op(kind, tuple(operands), params, results)
    found = finals_of(op, body, carries, outer)
    if not found.carries:
        return builder.emit(kind, operands, params)[first:]
    more = [values[k] for k in found.carries]
    op = _reading(op, body, found, more)
    smaller = kind.narrow(op, [k >= first for k in range(m)]) or op
    made = builder.emit(kind, smaller.operands, smaller.params)
    by_result = dict(zip(smaller.results, made, strict=True))
    return [by_result[v] for v in op.results[first:]]


def _reading(op: Op, body: Program, found: Finals, more: Sequence[Value]) -> Op:
    """Return the loop with some of its results as additional constants."""
    n = op.params["constants"]
    ends = {k: Value(v.type) for k, v in zip(found.carries, more, strict=True)}
    changed = {body.outputs[k] for k in ends}
    added, outputs = read_in_the_end(body.ops, body.outputs, found, ends, lambda op: True)
    outputs = [v if v in changed else w for v, w in zip(body.outputs, outputs, strict=True)]
    test = op.params["condition"]
    unread = [Value(v.type) for v in more]
    params = {
        **op.params, "constants": n + len(more),
        "condition": Program([*test.inputs[:n], *unread, *test.inputs[n:]], test.ops, test.outputs,
                             name=test.name),
        "sweeps": (Program([*body.inputs[:n], *ends.values(), *body.inputs[n:]],
                           [*body.ops, *added], outputs, name=body.name),),
    }  # fmt: skip
    operands = (*op.operands[:n], *more, *op.operands[n:])
    return Op(op.kind, operands, params, op.results, op.source)
