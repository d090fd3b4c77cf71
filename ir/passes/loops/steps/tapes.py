"""Tapes of arrays that a step changes little.

One loop records the replaced elements, and another one restores them; see ``undo_tapes``.

Legal where the reader runs the other way, and reads the tape row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups
from autojit.ir.regions.scan import Scan

from .changes import Change
from .recorded import recording
from .undone import put_back


class Tape(NamedTuple):
    """Results of a loop that stack one of its carries.

    A row is the carry at the beginning of a step, or after the first few of its changes.
    """

    maker: Op
    #: For the number of each result, how many changes are included.
    results: dict[int, int]
    carry: int
    #: The changes of the carry in a step, in order.
    changes: tuple[Change, ...]
    readers: tuple[Op, ...]

    @property
    def stacks(self) -> dict[Value, int]:
        """How many changes each result includes."""
        return {self.maker.results[j]: done for j, done in self.results.items()}


def versions_of(maker: Op, carry: int, changes: Sequence[Change]) -> list[Value]:
    """The carry before each of its changes in a step."""
    value = maker.params["body"].inputs[maker.params["constants"] + 1 + carry]
    return [value, *(change.result for change in changes[:-1])]


def reads_backwards(op: Op, tape: Value, maker: Op) -> bool:
    """Whether a loop reads a tape in the opposite direction, and does not use it otherwise."""
    if not isinstance(op.kind, Scan) or op.params["reverse"] == maker.params["reverse"]:
        return False
    before = op.params["constants"] + op.params["carries"]
    return op.operands.count(tape) == 1 and op.operands.index(tape) >= before


def recorded_by(
    builder: Builder, op: Op, operands: Sequence[Value], tape: Tape
) -> tuple[Sequence[Value], Sequence[Value]]:
    """The loop without its tapes: its results, and the records that it stacks instead."""
    body: Program = op.params["body"]
    first = min(tape.results)
    new, _ = recording(body, tape.changes, first)
    made = builder.emit(op.kind, operands, {**op.params, "body": new})
    count = len(op.results) - 1
    # Nothing reads the tapes any more: any value may replace the first, and the others are removed
    # as dead code.
    results = [*made[:first], made[tape.carry], *made[first:count]]
    return results, made[count:]


def undone_by(
    builder: Builder, op: Op, operands: Sequence[Value], tape: Tape, final: Value,
    stacked: Sequence[Value], stacks: Mapping[Value, int] | None = None,
) -> Sequence[Value]:  # fmt: skip
    """The loop that reads tapes, with the array as an additional last carry.

    ``final`` is the final array, and ``stacked`` contains the records of the steps. ``stacks`` says
    how many changes each tape among the operands includes, if tapes are not the results themselves.
    """
    body: Program = op.params["body"]
    n, m = op.params["constants"], op.params["carries"]
    stacks = tape.stacks if stacks is None else stacks
    at = {k: stacks[v] for k, v in enumerate(op.operands) if v in stacks}
    inner = Builder()
    array = Value(final.type)
    slices = [Value(v.type.with_shape(v.shape[1:])) for v in stacked]
    inputs = {v: Value(v.type) for k, v in enumerate(body.inputs) if k - 1 not in at}
    with building(inner):
        versions = _Versions(array, tape.changes, slices)
        read = {body.inputs[k + 1]: done for k, done in at.items()}
        env = dict(inputs)
        for step in body.ops:
            for v in sorted(read.keys() & set(step.operands), key=lambda v: -read[v]):
                env[v] = versions.before(read[v])
            results = inner.repeat(step, [env[v] for v in step.operands])
            env.update(zip(step.results, results, strict=True))
        env.update({v: versions.before(done) for v, done in read.items()})
        first = versions.before(0)
    own = list(inputs.values())
    outputs = [env[v] for v in body.outputs]
    new = inner.finish(
        [*own[: n + 1 + m], array, *own[n + 1 + m :], *slices],
        [*outputs[:m], first, *outputs[m:]],
        name=body.name,
    )
    rest = [v for k, v in enumerate(operands) if k >= n + m and k not in at]
    params = {**op.params, "body": new, "carries": m + 1}
    made = builder.emit(op.kind, [*operands[: n + m], final, *rest, *stacked], params)
    return [*made[:m], *made[m + 1 :]]


class _Versions:
    """An array before each of its changes.

    Each change is undone as late as possible, after the reader has run a loop over the changed
    array.
    """

    def __init__(self, array: Value, changes: Sequence[Change], recorded: Sequence[Value]) -> None:
        self.changes = changes
        self.parts = groups(recorded, *(len(change.types) for change in changes))
        self.found = {len(changes): array}

    def before(self, done: int) -> Value:
        """The array after ``done`` changes."""
        if done not in self.found:
            after = self.before(done + 1)
            self.found[done] = put_back(after, [self.changes[done]], self.parts[done])
        return self.found[done]
