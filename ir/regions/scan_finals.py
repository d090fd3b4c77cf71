"""The values that a ``scan`` stores for its derivative, and those read from its final arrays.

Legal where :mod:`autojit.ir.autodiff.final.reads` says so. The linear loop begins after the primal
one has ended, so it can take the primal's final arrays as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.final.integers import Integers, Steps
from autojit.ir.autodiff.final.reads import finals_of, read_in_the_end
from autojit.ir.autodiff.final.rows import with_rows
from autojit.ir.autodiff.linearize import Linearized, linearize
from autojit.ir.autodiff.partition import free_values, needed, parted
from autojit.ir.autodiff.residuals import choose_residuals, repeatable
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.index import Gather
from autojit.ir.simplification.simplified import simplified

#: A step that stores at most as many bytes may store arrays instead of their rows.
SMALL = 64


def residuals_of(
    kind: Declaration, operands: Sequence[Value], params: dict[str, Any], wrt: list[int]
) -> tuple[Linearized, list[int]]:
    """Return a step with the residuals that take the fewest bytes.

    The last inputs of its primal program are carries as the loop leaves them, with the returned
    numbers; only its linear program reads them.
    """
    body, n, m = params["body"], params["constants"], params["carries"]
    outer = Integers.here()
    op = Op(kind, tuple(operands), params, tuple(Value(v.type) for v in body.outputs))
    linearized = linearize(body, wrt, Steps(op, outer).now)
    is_free = [not n < i <= n + m for i in range(len(body.inputs))]
    parts = choose_residuals(linearized, is_free)
    if stored_bytes(parts, params) > SMALL:
        rows = _reading_rows(op, linearized, outer)
        if rows is not None:
            chosen = choose_residuals(rows, is_free)
            parts = min(parts, chosen, key=lambda each: stored_bytes(each, params))
    other, carries = _reading_ends(op, linearized, outer)
    if not carries:
        return parts, []
    more = [*is_free, *[True] * len(carries)]
    other = choose_residuals(other, more, later=len(carries))
    less = stored_bytes(other, params) < stored_bytes(parts, params)
    return (other, carries) if less else (parts, [])


def stored_bytes(parts: Linearized, params: dict[str, Any]) -> int:
    """Return the number of bytes that a step of a scan stores."""
    n, m, outs = params["constants"], params["carries"], len(params["body"].outputs)
    inputs = parts.primal.inputs
    free = {*inputs[: n + 1], *inputs[n + 1 + m :]}
    return sum(v.type.nbytes for v in parts.primal.outputs[outs:] if v not in free)


def _whole_step(parts: Linearized) -> tuple[Program, list[Op], list[Value]]:
    """Return a step that computes values and tangents, its linear ops, and its tangents."""
    primal, linear = parts.primal, parts.linear
    outs = len(primal.outputs) - parts.residuals
    tangents = [Value(v.type) for v in linear.inputs[parts.residuals :]]
    builder = Builder()
    with building(builder):
        outputs = builder.inline(linear, [*primal.outputs[outs:], *tangents])
    step = primal.with_body([*primal.ops, *builder.ops], [*primal.outputs[:outs], *outputs])
    return step, builder.ops, tangents


def _taken_apart(
    parts: Linearized, ops: Sequence[Op], outputs: Sequence[Value], tangents: Sequence[Value],
    more: Sequence[Value] = (),
) -> Linearized:  # fmt: skip
    """Return the ops of a whole step as a primal and a linear program."""
    primal, outs = parts.primal, len(parts.primal.outputs) - parts.residuals
    first, second, _ = parted(ops, tangents)
    second = needed(second, outputs)
    residuals = free_values(second, list(outputs), list(tangents))
    return Linearized(
        Program([*primal.inputs, *more], first, [*primal.outputs[:outs], *residuals],
                name=primal.name),
        Program([*residuals, *tangents], second, outputs, name=parts.linear.name),
        parts.wrt, parts.active,
    )  # fmt: skip


def _reading_rows(op: Op, parts: Linearized, outer: Integers) -> Linearized | None:
    """Return the same step, in which loops inside take rows instead of arrays; None if none can."""
    step, linear, tangents = _whole_step(parts)
    whole = Op(op.kind, op.operands, {**op.params, "body": step}, op.results)
    ops = with_rows(linear, Steps(whole, outer).now)
    if len(ops) == len(linear):
        return None
    outs = len(parts.primal.outputs) - parts.residuals
    ordered = _as_soon_as_possible(step.inputs, parts.primal.ops, ops)
    return _without_unread(_taken_apart(parts, ordered, step.outputs[outs:], tangents))


def _without_unread(parts: Linearized) -> Linearized:
    """The same split without residuals that the linear program no longer reads, such as an array
    that loops inside take, but of which they read rows."""
    primal, linear, n = parts.primal, simplified(parts.linear), parts.residuals
    read = {v for op in linear.ops for v in op.operands} | set(linear.outputs)
    kept = [k for k, v in enumerate(linear.inputs[:n]) if v in read]
    outs = len(primal.outputs) - n
    residuals = [primal.outputs[outs + k] for k in kept]
    inputs = [*(linear.inputs[k] for k in kept), *linear.inputs[n:]]
    return Linearized(
        primal.with_body(primal.ops, [*primal.outputs[:outs], *residuals]),
        Program(inputs, linear.ops, linear.outputs, name=linear.name),
        parts.wrt, parts.active,
    )  # fmt: skip


def _as_soon_as_possible(
    inputs: Sequence[Value], primal: Sequence[Op], ops: Sequence[Op]
) -> list[Op]:
    """Return the ops with gathers of rows before the next changes of their arrays, which are then
    in place."""
    rows = [op for op in ops if isinstance(op.kind, Gather)]
    made, known = list[Op](), set(inputs)

    def add_rows() -> None:
        for op in rows:
            if known.issuperset(op.operands) and known.isdisjoint(op.results):
                made.append(op)
                known.update(op.results)

    add_rows()
    for op in primal:
        made.append(op)
        known.update(op.results)
        add_rows()
    return [*made, *(op for op in ops if known.isdisjoint(op.results))]


def _reading_ends(op: Op, parts: Linearized, outer: Integers) -> tuple[Linearized, list[int]]:
    """Return the same step, with a linear part that reads carries as the loop leaves them."""
    step, linear, tangents = _whole_step(parts)
    n, m = op.params["constants"], op.params["carries"]
    outputs: Sequence[Value] = step.outputs[len(parts.primal.outputs) - parts.residuals :]
    carries = {k: (step.inputs[n + 1 + k], step.outputs[k]) for k in range(m)}
    whole = Op(op.kind, op.operands, {**op.params, "body": step}, op.results)
    found = finals_of(whole, step, carries, outer)
    if not found.carries:
        return parts, []
    ends = {k: Value(step.outputs[k].type) for k in found.carries}
    moving = set(linear)
    added, outputs = read_in_the_end(
        step.ops, outputs, found, ends, lambda each: each in moving or repeatable(each)
    )
    made = _taken_apart(parts, [*step.ops, *added], outputs, tangents, list(ends.values()))
    return made, found.carries
