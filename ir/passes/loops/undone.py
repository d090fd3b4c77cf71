"""What steps replace in an array, and how it is put back: see ``undo_tapes`` and ``undo_steps``.

A step may also change the array in a loop of its own that counts to a bound.  Such a loop records
what its steps replace in arrays with as many rows as it has steps at most, and another loop puts
that back, from the last step to the first.

Legal where a step changes the array by setting elements, or adding to them, alone; and where the
ranges of integers say how many steps an inner loop has at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.autodiff.scalar_ranges import Range
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import add, gt, lt
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt, Scatter, Update, scatter, update
from autojit.ir.regions.while_ import While

#: What is replaced in a step is at most one part in so many of the array.
FEW = 4

RangeOf = Callable[[Value], Range]


class Change(NamedTuple):
    """An op that changes an array; ``inner`` has the changes of a step of a loop, which has at
    most so many steps."""

    op: Op
    inner: tuple[Change, ...] = ()
    most: int = 1

    @property
    def values(self) -> list[Value]:
        """What is replaced in a step, and where: one value of each type."""
        if not self.inner:
            return list(self.op.operands[1:])
        return [v for change in self.inner for v in change.values]

    @property
    def size(self) -> int:
        return self.most * sum(v.type.size for v in self.values)

    @property
    def recorded(self) -> int:
        """How many values :func:`repeated` records."""
        return len(self.values) + bool(self.inner)


def changes_of(
    body: Program, array: Value, value: Value, of: Sequence[RangeOf] = ()
) -> tuple[Change, ...]:
    """What a body does to an array that becomes another value, in order, if that is to replace few
    of its elements, or to add to them.  With ``of`` it may do so in loops: each knows the ranges of
    integers in a part of the steps."""
    made_by = {v: op for op in body.ops for v in op.results}
    changes = list[Change]()
    while value is not array:
        op = made_by.get(value)
        if op is None:
            return ()
        change = _change(op, value, of)
        if change is None:
            return ()
        changes.append(change)
        value = _changed(op, value)
    fits = sum(change.size for change in changes) * FEW <= array.type.size
    return tuple(reversed(changes)) if fits else ()


def _changed(op: Op, value: Value) -> Value:
    """The array that an op makes a value of."""
    loop = isinstance(op.kind, While)
    position: int = op.params["constants"] + op.results.index(value) if loop else 0
    return op.operands[position]


def _change(op: Op, value: Value, of: Sequence[RangeOf]) -> Change | None:
    if isinstance(op.kind, (Update, Scatter, AddAt)):
        return Change(op)
    if not of or not isinstance(op.kind, While) or len(op.params["sweeps"]) > 1:
        return None
    most = _most_steps(op, of)
    (body,) = op.params["sweeps"]
    k = op.results.index(value)
    inner = changes_of(body, body.inputs[op.params["constants"] + k], body.outputs[k])
    return Change(op, inner, most) if most and inner else None


def _most_steps(op: Op, of: Sequence[RangeOf]) -> int | None:
    """The most steps of a loop that counts upwards as long as a carry is less than a constant."""
    n, test, (body,) = op.params["constants"], op.params["condition"], op.params["sweeps"]
    made = test.ops[-1] if test.ops else None
    if made is None or made.kind is not lt or test.outputs[0] is not made.result:
        return None
    counter, bound = made.operands
    if counter not in test.inputs[n:] or bound not in test.inputs[:n]:
        return None
    k = test.inputs.index(counter)
    makers = {v: op for op in body.ops for v in op.results}
    step = makers.get(body.outputs[k - n])
    if step is None or step.kind is not add or step.operands[0] is not body.inputs[k]:
        return None
    by = makers.get(step.operands[1])
    if by is None or by.kind is not constant or by.params["value"] < 1:
        return None
    start, end = op.operands[k], op.operands[test.inputs.index(bound)]
    most = 0
    for ranges in of:
        first, last = ranges(start), ranges(end)
        if first is None or last is None:
            return None
        most = max(most, last[1] - first[0])
    return most


def repeated(
    builder: Builder, change: Change, operands: Sequence[Value]
) -> tuple[Sequence[Value], list[Value]]:
    """The results of a change on other operands, and what it replaces and where."""
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
    builder = Builder()
    inputs = [Value(v.type) for v in body.inputs]
    number, arrays = Value(INDEX), [Value(t) for t in rows]  # type: ignore[arg-type]
    env = dict(zip(body.inputs, inputs, strict=True))
    by_op = {inner.op: inner for inner in change.inner}
    replaced = list[Value]()
    with building(builder):
        for op in body.ops:
            operands = [env[v] for v in op.operands]
            if op in by_op:
                replaced += _replaced_by(op, operands)
            env.update(zip(op.results, builder.repeat(op, operands), strict=True))
        stored = [scatter(a, v, number, axes=(0,)) for a, v in zip(arrays, replaced, strict=True)]
        following = number + 1
    outputs = [env[v] for v in body.outputs]
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
