"""Recording of the elements that steps replace in an array; see ``undo_tapes`` and ``undo_steps``.

A loop inside a step records the replaced elements in arrays with a row for each possible step, but
not the places that follow from the step's number.  Branches record which branch was taken, and the
elements that it replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import INDEX, groups, or_zero
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import Update, scatter
from autojit.ir.regions.scan import Scan

from .changes import Change


def recording(
    body: Program, changes: Sequence[Change], dropped: int
) -> tuple[Program, list[Value]]:
    """A step that also returns the replaced elements and their places, without one of its results.

    Return it, and these values.
    """
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(builder):
        outputs, recorded = _recorded(builder, body, inputs, changes)
    del outputs[dropped]
    return builder.finish(inputs, [*outputs, *recorded], name=body.name), recorded


def _recorded(
    builder: Builder, body: Program, inputs: Sequence[Value], changes: Sequence[Change]
) -> tuple[list[Value], list[Value]]:
    """The outputs of a body for these inputs, and the replaced elements and their places."""
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
    """The results of a change on other operands, and the replaced elements and their places."""
    op = change.op
    if not change.inner:
        recorded = _replaced_by(op, operands)
        return builder.repeat(op, operands), recorded
    m = len(op.results)
    if change.places is None:
        branches = {"branches": _recording_branches(change)}
        made = builder.emit(op.kind, operands, branches)
        return made[:m], [operands[0], *made[m:]]
    body = op.params["body"] if isinstance(op.kind, Scan) else op.params["sweeps"][0]
    given = [operands[body.inputs.index(v)] for v in change.places.given]
    if isinstance(op.kind, Scan):
        params = {**op.params, "body": _and_recorded(body, change)}
        made = builder.emit(op.kind, operands, params)
        return made[:m], [*made[m:], *given]
    rows = change.types[1 : len(change.types) - len(given)]
    constants, starts, _ = groups(operands, op.params["constants"], m)
    params = {
        **op.params, "carries": (m + 1 + len(rows),),
        "sweeps": (_recording(body, change, rows),),
        "condition": _with_inputs(op.params["condition"], [INDEX, *rows]),
    }  # fmt: skip
    zeros = [full(0, t) for t in (INDEX, *rows)]
    made = builder.emit(op.kind, [*constants, *starts, *zeros], params)
    return made[:m], [*made[m:], *given]


def _and_recorded(body: Program, change: Change) -> Program:
    """A step that also returns the replaced elements and their indices, after its results."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    with building(builder):
        outputs, recorded = _recorded_rows(builder, body, inputs, change)
    return builder.finish(inputs, [*outputs, *recorded], name=body.name)


def _recorded_rows(
    builder: Builder, body: Program, inputs: Sequence[Value], change: Change
) -> tuple[list[Value], list[Value]]:
    """The same as ``_recorded``, without the places that follow from the number of the step."""
    assert change.places is not None
    outputs, recorded = _recorded(builder, body, inputs, change.inner[0])
    values = change.places.values
    return outputs, [v for v, known in zip(recorded, values, strict=True) if known is None]


def _recording_branches(change: Change) -> tuple[Program, ...]:
    """Branches that return the replaced elements and their indices in shared slots; unused slots
    are zero.
    """
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
    """A step that stores the replaced elements in the row with its number."""
    builder, inputs = Builder(), [Value(v.type) for v in body.inputs]
    number, arrays = Value(INDEX), [Value(t) for t in rows]
    with building(builder):
        outputs, replaced = _recorded_rows(builder, body, inputs, change)
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
