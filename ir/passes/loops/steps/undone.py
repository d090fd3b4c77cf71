"""What steps replace in an array is recorded, and put back: see ``undo_tapes`` and ``undo_steps``.

A loop inside of a step records what its steps replace in arrays, which have a row for each step
that it may take.  Another loop puts that back, from the last step to the first.  Branches record
which of them it was, and what it replaces.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import gt
from autojit.ir.ops.bodies import INDEX, groups, or_zero
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import Update, scatter, update
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch

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
    op = change.op
    if not change.inner:
        recorded = _replaced_by(op, operands)
        return builder.repeat(op, operands), recorded
    m = len(op.results)
    if isinstance(op.kind, Switch):
        branches = {"branches": _recording_branches(change)}
        made = builder.emit(op.kind, operands, branches)
        return made[:m], [operands[0], *made[m:]]
    if isinstance(op.kind, Scan):
        body = _and_recorded(op.params["body"], change.inner[0])
        made = builder.emit(op.kind, operands, {**op.params, "body": body})
        return made[:m], list(made[m:])
    rows = change.types[1:]
    constants, starts, _ = groups(operands, op.params["constants"], m)
    params = {
        **op.params, "carries": (m + 1 + len(rows),),
        "sweeps": (_recording(op.params["sweeps"][0], change, rows),),
        "condition": _with_inputs(op.params["condition"], [INDEX, *rows]),
    }  # fmt: skip
    zeros = [full(0, t) for t in (INDEX, *rows)]
    made = builder.emit(op.kind, [*constants, *starts, *zeros], params)
    return made[:m], list(made[m:])


def _and_recorded(body: Program, changes: Sequence[Change]) -> Program:
    """A body that returns what changes replace, and where, after its results."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(builder):
        outputs, recorded = _recorded(builder, body, inputs, changes)
    return builder.finish(inputs, [*outputs, *recorded], name=body.name)


def _recording_branches(change: Change) -> tuple[Program, ...]:
    """Branches that return what they replace, and where, in places that they share; the others are
    zero."""
    slots, places = change.slots
    branches = []
    for branch, changes, mine in zip(
        change.op.params["branches"], change.inner, places, strict=True
    ):
        builder, inputs = Builder(), [Value(v.type) for v in branch.inputs]
        with building(builder):
            outputs, recorded = _recorded(builder, branch, inputs, changes)
            of = dict(zip(mine, recorded, strict=True))
            outputs += [or_zero(of.get(k), t) for k, t in enumerate(slots)]
        branches.append(builder.finish(inputs, outputs, name=branch.name))
    return tuple(branches)


def _with_inputs(program: Program, types: Sequence[Type]) -> Program:
    more = [Value(t) for t in types]
    return Program([*program.inputs, *more], program.ops, program.outputs, name=program.name)


def _recording(body: Program, change: Change, rows: Sequence[Type]) -> Program:
    """A step that stores what it replaces in the row of its number."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    number, arrays = Value(INDEX), [Value(t) for t in rows]
    with building(builder):
        outputs, replaced = _recorded(builder, body, inputs, change.inner[0])
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
    parts = groups(recorded, *(len(change.types) for change in changes))
    for change, mine in reversed(list(zip(changes, parts, strict=False))):
        array = _put_back(array, change, mine)
    return array


def _put_back(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    op = change.op
    if isinstance(op.kind, Switch):
        return _put_back_branches(array, change, recorded)
    if isinstance(op.kind, Scan):
        return _put_back_rows(array, change, recorded)
    if change.inner:
        return _put_back_steps(array, change, recorded)
    old, *indices = recorded
    if isinstance(op.kind, Update):
        return update(array, old, **op.params)
    return scatter(array, old, *indices, axes=op.params["axes"])


def _put_back_branches(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    """The same branch, the other way."""
    branches = []
    for changes, mine in zip(change.inner, change.slots[1], strict=True):
        builder, inputs = Builder(), [Value(v.type) for v in (array, *recorded[1:])]
        with building(builder):
            before = put_back(inputs[0], changes, [inputs[k + 1] for k in mine])
        branches.append(builder.finish(inputs, [before], name="put_back"))
    index, *slots = recorded
    result: Value = change.op.kind(index, array, *slots, branches=tuple(branches))
    return result


def _put_back_rows(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    """The same number of steps, from the last to the first."""
    number, carried = Value(INDEX), Value(array.type)
    rows = [Value(v.type.with_shape(v.shape[1:])) for v in recorded]
    builder = Builder()
    with building(builder):
        before = put_back(carried, change.inner[0], rows)
    params = {
        "body": builder.finish([number, carried, *rows], [before], name="put_back"),
        "carries": 1, "constants": 0, "length": change.most,
        "reverse": not change.op.params["reverse"],
    }  # fmt: skip
    result: Value = change.op.kind(array, *recorded, **params)
    return result


def _put_back_steps(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    """A loop from the last step of another to the first."""
    steps, *rows = recorded
    given = [Value(v.type) for v in rows]
    left, carried = Value(INDEX), Value(array.type)
    builder = Builder()
    with building(builder):
        number = left - 1
        picked = [gather(v, number, axes=(0,)) for v in given]
        outputs = [number, put_back(carried, change.inner[0], picked)]
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
