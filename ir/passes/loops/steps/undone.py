"""Restoring of elements that steps have replaced in an array; see ``recorded``.

Another loop restores the records of a loop inside a step, from the last step to the first. The
records of a branch are restored by the branch with the same number.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Builder, Value, building
from autojit.ir.ops.arithmetic import gt
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import Update, scatter, update
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch

from .changes import Change


def put_back(array: Value, changes: Sequence[Change], recorded: Sequence[Value]) -> Value:
    """The array before the changes; ``recorded`` has the records of each change, in order."""
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
    """Undo the changes of the branch that was taken."""
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
    """Undo the steps of a counted loop, from the last to the first."""
    assert change.places is not None
    stacked, given = groups(recorded, len(recorded) - len(change.places.given))
    constants, number, carried = [Value(v.type) for v in given], Value(INDEX), Value(array.type)
    rows = [Value(v.type.with_shape(v.shape[1:])) for v in stacked]
    builder = Builder()
    with building(builder):
        before = _put_back_step(carried, change, number, rows, constants)
    params = {
        "body": builder.finish([*constants, number, carried, *rows], [before], name="put_back"),
        "carries": 1, "constants": len(given), "length": change.most,
        "reverse": not change.op.params["reverse"],
    }  # fmt: skip
    result: Value = change.op.kind(*given, array, *stacked, **params)
    return result


def _put_back_step(
    array: Value, change: Change, number: Value, rows: Sequence[Value], given: Sequence[Value]
) -> Value:
    """The array before a step of a loop, restored from the step's records."""
    assert change.places is not None
    known, left = change.places.computed(number, given), iter(rows)
    recorded = [next(left) if v is None else known[v] for v in change.places.values]
    return put_back(array, change.inner[0], recorded)


def _put_back_steps(array: Value, change: Change, recorded: Sequence[Value]) -> Value:
    """Undo the steps of a loop of unknown length, from the last to the first."""
    assert change.places is not None
    steps, *constants = recorded
    inputs = [Value(v.type) for v in constants]
    left, carried = Value(INDEX), Value(array.type)
    rows, given = groups(inputs, len(inputs) - len(change.places.given))
    builder = Builder()
    with building(builder):
        number = left - 1
        picked = [gather(v, number, axes=(0,)) for v in rows]
        outputs = [number, _put_back_step(carried, change, number, picked, given)]
    body = builder.finish([*inputs, left, carried], outputs, name="put_back")
    testing, asked = Builder(), [Value(v.type) for v in body.inputs]
    with building(testing):
        test = gt(asked[len(inputs)], 0)
    params = {
        "backward": (False,), "carries": (2,), "constants": len(inputs), "sweeps": (body,),
        "condition": testing.finish(asked, [test], name="condition"),
    }  # fmt: skip
    made = change.op.kind(*constants, steps, array, **params)
    result: Value = made[1]
    return result
