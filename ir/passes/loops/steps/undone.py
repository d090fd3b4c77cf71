"""What steps replace in an array is recorded, and put back: see ``undo_tapes`` and ``undo_steps``.

A loop inside of a step records what its steps replace in arrays, which have a row for each step
that it may take.  Another loop puts that back, from the last step to the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import gt
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import Update, scatter, update

from .changes import Change


def recording(
    body: Program, changes: Sequence[Change], dropped: int
) -> tuple[Program, list[Value]]:
    """A step that returns what changes replace, and where, after its results but for one; and
    these values."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(builder):
        outputs, recorded = _recorded(builder, body, inputs, changes)
    del outputs[dropped]
    return builder.finish(inputs, [*outputs, *recorded], name=body.name), recorded


def _recorded(
    builder: Builder, body: Program, inputs: Sequence[Value], changes: Sequence[Change]
) -> tuple[list[Value], list[Value]]:
    """The outputs of a body for these inputs; the values that changes replace, and their places."""
    env = dict(zip(body.inputs, inputs, strict=True))
    by_op = {change.op: change for change in changes}
    recorded = list[Value]()
    for op in body.ops:
        operands = [env[v] for v in op.operands]
        if op in by_op:
            made, replaced = _repeated(builder, by_op[op], operands)
            recorded += replaced
        else:
            made = builder.repeat(op, operands)
        env.update(zip(op.results, made, strict=True))
    return [env[v] for v in body.outputs], recorded


def _repeated(
    builder: Builder, change: Change, operands: Sequence[Value]
) -> tuple[Sequence[Value], list[Value]]:
    """The results of a change on other operands; the values that it replaces, and their places."""
    if not change.inner:
        recorded = _replaced_by(change.op, operands)
        return builder.repeat(change.op, operands), recorded
    op, n = change.op, change.op.params["constants"]
    m = len(op.results)
    rows = [v.type.with_shape((change.most, *v.shape)) for v in change.values]
    constants, starts, _ = groups(operands, n, m)
    params = {
        **op.params, "carries": (m + 1 + len(rows),),
        "sweeps": (_recording(op.params["sweeps"][0], change, rows),),
        "condition": _with_inputs(op.params["condition"], [INDEX, *rows]),
    }  # fmt: skip
    zeros = [full(0, t) for t in (INDEX, *rows)]
    made = builder.emit(op.kind, [*constants, *starts, *zeros], params)
    return made[:m], list(made[m:])


def _with_inputs(program: Program, types: Sequence[object]) -> Program:
    more = [Value(t) for t in types]  # type: ignore[arg-type]
    return Program([*program.inputs, *more], program.ops, program.outputs, name=program.name)


def _recording(body: Program, change: Change, rows: Sequence[object]) -> Program:
    """A step that stores what it replaces in the row of its number."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    number, arrays = Value(INDEX), [Value(t) for t in rows]  # type: ignore[arg-type]
    with building(builder):
        outputs, replaced = _recorded(builder, body, inputs, change.inner)
        stored = [scatter(a, v, number, axes=(0,)) for a, v in zip(arrays, replaced, strict=True)]
        following = number + 1
    return builder.finish(
        [*inputs, number, *arrays], [*outputs, following, *stored], name=body.name
    )


def _replaced_by(op: Op, operands: Sequence[Value]) -> list[Value]:
    array, _, *indices = operands
    if isinstance(op.kind, Update):
        return [op.kind.pull_back_updates(array, op), *indices]
    return [gather(array, *indices, axes=op.params["axes"]), *indices]


def put_back(array: Value, changes: Sequence[Change], recorded: Sequence[Value]) -> Value:
    """The array before the changes, by what each of them has replaced, in their order."""
    left = list(recorded)
    for change in reversed(changes):
        mine = left[-change.recorded :]
        del left[-change.recorded :]
        op, (old, *indices) = change.op, mine
        if change.inner:
            array = _put_back_steps(array, change, mine)
        elif isinstance(op.kind, Update):
            array = update(array, old, **op.params)
        else:
            array = scatter(array, old, *indices, axes=op.params["axes"])
    return array


def _put_back_steps(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    """A loop from the last step of another to the first."""
    steps, *rows = recorded
    given = [Value(v.type) for v in rows]
    left, carried = Value(INDEX), Value(array.type)
    builder = Builder()
    with building(builder):
        number = left - 1
        picked = [gather(v, number, axes=(0,)) for v in given]
        outputs = [number, put_back(carried, change.inner, picked)]
    body = builder.finish([*given, left, carried], outputs, name="put_back")
    testing, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(testing):
        test = gt(inputs[len(rows)], 0)
    params = {
        "backward": (False,), "carries": (2,), "constants": len(rows), "sweeps": (body,),
        "condition": testing.finish(inputs, [test], name="condition"),
    }  # fmt: skip
    made = change.op.kind(*rows, steps, array, **params)
    result: Value = made[1]
    return result
