"""A ``while`` over a batch runs as long as the condition holds for any element of it.

An element whose condition no longer holds keeps its carries, in every sweep. The body is still
computed for it, but so that it cannot fail (``guarded``); if that is impossible, the elements are
computed one after the other.

Legal where each element makes the steps that it makes alone, and no op fails for an element that
has made them. If the condition is the same for all elements, they make their steps together.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.batching import Batched
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.ops.arithmetic import select
from autojit.ir.ops.bodies import BodyOp, batched_as, each_alone, groups, guarded, needs_guard
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.reduce import any_

from .while_moving import moving_of


def batched(
    kind: BodyOp, op: Op, operands: Sequence[Batched], size: int
) -> Sequence[Value | Batched]:
    """Emit the loop over a batch; its results say whether they have the batch axis."""
    params = op.params
    marks = [o.batched for o in operands]
    moving = moving_of(params, marks)
    condition = params["condition"]
    together = not depends(condition, [*moving.constants, *moving.carries[0]])[0]
    sweeps: list[Program | None] = list(params["sweeps"])
    if not together:
        sweeps = [guarded(body) if needs_guard(body) else body for body in params["sweeps"]]
        moving = moving_of(params, marks, everything=True)
    bodies = []
    for k, body in enumerate(sweeps):
        if body is None:
            return each_alone(op, operands, size)
        outputs = [*moving.carries[k], *moving.streams[k]]
        inputs = moving.inputs(k)
        guards = [True] * (len(body.inputs) - len(inputs))
        bodies.append(batch(body, size, [*guards, *inputs], outputs))
    if together:
        conditions = batch(condition, size, [*moving.constants, *moving.carries[0]], [False])
    else:
        each = batch(condition, size, [*moving.constants, *moving.carries[0]])
        is_guarded = [a is not b for a, b in zip(sweeps, params["sweeps"], strict=True)]
        bodies = _masked(bodies, each, params["carries"], params["constants"], is_guarded)
        conditions = _any(each)
    constants, *carries, _ = groups(operands, params["constants"], *params["carries"])
    values = batched_as(constants, moving.constants, size)
    for mine, ms in zip(carries, moving.carries, strict=True):
        values += batched_as(mine, ms, size)
    results = current_builder().emit(
        kind, values, {**params, "sweeps": tuple(bodies), "condition": conditions}
    )
    flat = [m for ms in moving.carries for m in ms]
    return [Batched(r, m) for r, m in zip(results, flat, strict=True)]


def _any(each: Program) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in each.inputs]
    with building(builder):
        (held,) = builder.inline(each, inputs)
        outputs = [any_(held, axes=(0,))]
    return builder.finish(inputs, outputs, name=each.name)


def _masked(
    bodies: list[Program], each: Program, counts: Sequence[int], constants: int,
    is_guarded: Sequence[bool],
) -> list[Program]:  # fmt: skip
    """Return bodies in which an element whose condition does not hold keeps its carries. The first
    input of a guarded body says for which elements the condition holds.

    The first sweep pushes whether the condition held, which later sweeps read.
    """
    result = []
    for k, (body, m) in enumerate(zip(bodies, counts, strict=True)):
        builder = Builder()
        first = len(bodies[0].outputs) - counts[0]  # the number of streams before the mask
        with building(builder):
            inputs = own = [Value(v.type) for v in body.inputs[is_guarded[k] :]]
            c, rest = groups(inputs, constants)
            old = inputs[len(inputs) - m :]
            if k == 0:
                (alive,) = builder.inline(each, inputs)
                extra = [alive]
            else:
                alive = Value(each.outputs[0].type)
                extra = []
                inputs = [*c, *rest[:first], alive, *rest[first:]]
            made = builder.inline(body, [alive, *own] if is_guarded[k] else own)
            kept = [select(_wide(alive, new), new, o) for new, o in zip(made[:m], old, strict=True)]
        result.append(builder.finish(inputs, [*kept, *made[m:], *extra], name=body.name))
    return result


def _wide(alive: Value, like: Value) -> Value:
    return broadcast(alive, shape=like.shape, dims=(0,)) if like.type.ndim > 1 else alive
