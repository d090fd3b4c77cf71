"""Small changes of an array in a step, which sets elements or adds to them.

A step may also change the array in a loop that runs a known number of times or counts to a bound,
and in branches; these may be nested.  The changes of a loop are at most those of a step times the
number of steps; the changes of branches are at most those of the branch that stores most.

Legal where nothing else makes the array of the next step, and where the ranges of integers bound
the number of steps of an inner loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.autodiff.scalar_ranges import Range, inputs_of, range_of
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import add, lt
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt, Scatter, Update
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch
from autojit.ir.regions.while_ import While

from .given_places import Places, given_places

#: A step replaces at most one part in this many of the array.
FEW = 4


class Ranges:
    """The ranges of integers in a body, derived from those of its inputs."""

    def __init__(self, body: Program, known: dict[Value, Range]) -> None:
        self._body, self._known = body, known
        self._makers: dict[Value, Op] | None = None

    def __call__(self, value: Value) -> Range:
        if self._makers is None:
            self._makers = {v: op for op in self._body.ops for v in op.results}
        return range_of(value, self._makers.get, self._known)

    def inside(self, op: Op, body: Program) -> Ranges:
        """The ranges in a body of one of the ops."""
        return Ranges(body, inputs_of(op, body, self))


#: The steps divided into parts in one or more ways, with the ranges in each part.
Parts = Sequence[Sequence[Ranges]]


class Change(NamedTuple):
    """An op that changes an array, and its result.

    ``inner`` has the changes in each of its bodies, and ``most`` is the largest number of steps.
    """

    op: Op
    result: Value
    inner: tuple[tuple[Change, ...], ...] = ()
    most: int = 1
    #: For a loop, the values that need not be recorded in each step.
    places: Places | None = None

    @property
    def types(self) -> list[Type]:
        """The types of the recorded values.

        A change records the replaced elements and their places. A loop records them for as many
        steps as it has at most, and the number of its steps, but not places that follow from the
        step's number. Branches record which branch was taken.
        """
        if not self.inner:
            return [v.type for v in self.op.operands[1:]]
        if isinstance(self.op.kind, Switch):
            return [INDEX, *self.slots[0]]
        assert self.places is not None
        step = (t for change in self.inner[0] for t in change.types)
        rows = [
            t.with_shape((self.most, *t.shape))
            for t, value in zip(step, self.places.values, strict=True) if value is None
        ]  # fmt: skip
        scan = isinstance(self.op.kind, Scan)
        return [*([] if scan else [INDEX]), *rows, *(v.type for v in self.places.given)]

    @property
    def recorded(self) -> list[Value | None]:
        """The recorded values that exist in a step before it is rewritten; None for others."""
        indices = [] if self.inner else self.op.operands[2:]
        return [*[None] * (len(self.types) - len(indices)), *indices]

    @property
    def slots(self) -> tuple[list[Type], list[list[int]]]:
        """The types of the slots in which branches record, and the slots of each branch."""
        types: list[Type] = []
        places: list[list[int]] = []
        for changes in self.inner:
            mine: list[int] = []
            for t in (t for change in changes for t in change.types):
                free = (k for k, slot in enumerate(types) if slot == t and k not in mine)
                mine.append(next(free, len(types)))
                types += [t] * (mine[-1] == len(types))
            places.append(mine)
        return types, places

    @property
    def size(self) -> int:
        return sum(t.size for t in self.types)


def changes_of(body: Program, array: Value, value: Value, of: Parts) -> tuple[Change, ...]:
    """The changes of an array in a body, in order, until it becomes another value.

    There are none unless they replace few of its elements or add to them.
    """
    changes = _changes(body, array, value, of) or ()
    fits = sum(change.size for change in changes) * FEW <= array.type.size
    return changes if fits else ()


def _changes(body: Program, array: Value, value: Value, of: Parts) -> tuple[Change, ...] | None:
    """The changes, whatever their size; None if something else makes the value."""
    made_by = {v: op for op in body.ops for v in op.results}
    changes = list[Change]()
    while value is not array:
        op = made_by.get(value)
        found = None if op is None else _change(op, value, of)
        if found is None:
            return None
        value, change = found
        changes.append(change)
    return tuple(reversed(changes))


def _change(op: Op, value: Value, of: Parts) -> tuple[Value, Change] | None:
    """The array that an op changes to make a value, and the change; None for other ops."""
    if isinstance(op.kind, (Update, Scatter, AddAt)):
        return op.operands[0], Change(op, value)
    if isinstance(op.kind, Switch):
        return _in_branches(op, value, of)
    if isinstance(op.kind, (Scan, While)):
        return _in_steps(op, value, of)
    return None


def _in_branches(op: Op, value: Value, of: Parts) -> tuple[Value, Change] | None:
    k, branches = op.results.index(value), op.params["branches"]
    ways = [[[at.inside(op, b) for at in parts] for parts in of] for b in branches]
    for j, operand in enumerate(op.operands[1:]):
        if operand.type != value.type:
            continue
        found = [
            _changes(b, b.inputs[j], b.outputs[k], way)
            for b, way in zip(branches, ways, strict=True)
        ]
        inner = tuple(changes for changes in found if changes is not None)
        if len(inner) == len(branches):
            return operand, Change(op, value, inner)
    return None


def _in_steps(op: Op, value: Value, of: Parts) -> tuple[Value, Change] | None:
    scan, n, k = isinstance(op.kind, Scan), op.params["constants"], op.results.index(value)
    if k >= op.params["carries"] if scan else len(op.params["sweeps"]) > 1:
        return None
    body = op.params["body"] if scan else op.params["sweeps"][0]
    most = op.params["length"] if scan else _most_steps(op, of)
    if not most:
        return None
    within = [[at.inside(op, body) for at in parts] for parts in of]
    inner = _changes(body, body.inputs[n + scan + k], body.outputs[k], within)
    if not inner:
        return None
    places = given_places(op, body, [v for change in inner for v in change.recorded])
    return op.operands[n + k], Change(op, value, (inner,), most, places)


def _most_steps(op: Op, of: Parts) -> int | None:
    """The most steps of a loop that counts upwards while a carry is less than a constant."""
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
    found = [_longest(start, end, parts) for parts in of]
    return min((most for most in found if most is not None), default=None)


def _longest(start: Value, end: Value, parts: Sequence[Ranges]) -> int | None:
    """The most integers from a first to before a last one, in any of the parts."""
    most = 0
    for ranges in parts:
        first, last = ranges(start), ranges(end)
        if first is None or last is None:
            return None
        most = max(most, last[1] - first[0])
    return most
