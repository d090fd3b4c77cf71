"""What a step changes in an array, where that is little: it sets elements, or adds to them.

A step may also change the array in a loop that counts to a bound; it then changes at most that many
times as much.

Legal where nothing else makes the array of the next step; and where the ranges of integers say how
many steps an inner loop has at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.autodiff.scalar_ranges import Range
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.arithmetic import add, lt
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt, Scatter, Update
from autojit.ir.regions.while_ import While

#: A step replaces at most one part in this many of the array.
FEW = 4

RangeOf = Callable[[Value], Range]


class Change(NamedTuple):
    """An op that changes an array; ``inner`` has the changes of one step of an inner loop, and
    ``most`` says how many steps that loop has at most."""

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
        """How many values are recorded: what is replaced, and of a loop how many steps it took."""
        return len(self.values) + bool(self.inner)


def changes_of(
    body: Program, array: Value, value: Value, of: Sequence[RangeOf] = ()
) -> tuple[Change, ...]:
    """The changes of an array in a body, in order, until it becomes another value; none unless they
    replace few of its elements, or add to them.  With ``of`` it may do so in loops: each knows the
    ranges of integers in a part of the steps."""
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
