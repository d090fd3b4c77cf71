"""Replaces tapes of arrays that the steps of an inner loop change little, inside an outer loop.

``undo_tapes`` replaces tapes if one loop over rows makes the tape and another one reads it. Here
the loop that makes the tape is in the body of a loop that stacks the tapes, and the reader is in
the body of another loop, which reads one of the stacked tapes in each step::

    %t = scan … {%x, %tape = scan …; return …, %tape}         # n rows of n arrays
    … = scan …, %t {… = scan …, %row {… reads %x …}}

The inner loop records the replaced elements, and the outer one stacks these records and the final
array.

Legal where nothing else reads the tapes of either loop, the inner loops run in opposite directions,
and steps change the array only by setting elements or adding to them.  Nothing changes in the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.core.program import Builder, Op, Program, Value, building, readers_of
from autojit.ir.passes.loops.steps.changes import Change
from autojit.ir.passes.loops.steps.tapes import (
    Tape,
    reads_backwards,
    recorded_by,
    undone_by,
    versions_of,
)
from autojit.ir.regions.scan import Scan

#: The changes that steps of a loop inside another one make to a carry, given by its number.
Changes = Callable[[Op, int, Op], tuple[Change, ...]]


class _Nested(NamedTuple):
    """A tape, the loops around its maker and its readers, and the number of the stacked result."""

    tape: Tape
    outer: Op
    position: int
    #: The outer loops that read it, and for each the input of a step that is one tape.
    rows: dict[Op, Value]


def without_nested_tape(program: Program, loops: Sequence[Op], changes: Changes) -> Program | None:
    """The program without one of these tapes; None if there is none."""
    read = readers_of(program.ops, program.outputs)
    for outer in loops:
        for maker in outer.params["body"].ops:
            if isinstance(maker.kind, Scan):
                found = _find(outer, maker, loops, read, changes)
                if found is not None:
                    return _without(program, found)
    return None


def _find(
    outer: Op, maker: Op, loops: Sequence[Op], read: dict[Value, int], changes: Changes
) -> _Nested | None:
    body, m = outer.params["body"], maker.params["carries"]
    inside = readers_of(body.ops, body.outputs)
    for j, value in enumerate(maker.results[m:], m):
        if inside[value] != 1 or value not in body.outputs[outer.params["carries"] :]:
            continue
        position = body.outputs.index(value)
        whole = outer.results[position]
        rows = {op: row for op in loops if (row := _row(op, whole)) is not None}
        if not rows or len(rows) != read[whole]:
            continue
        inner = [_readers(op.params["body"], row, maker) for op, row in rows.items()]
        if not all(inner):
            continue
        for carry in range(m):
            steps = changes(maker, carry, outer)
            versions = versions_of(maker, carry, steps) if steps else []
            if maker.params["body"].outputs[j] in versions:
                done = versions.index(maker.params["body"].outputs[j])
                readers = tuple(op for found in inner for op in found)
                return _Nested(Tape(maker, {j: done}, carry, steps, readers), outer, position, rows)
    return None


def _row(op: Op, whole: Value) -> Value | None:
    """The input of a step that is a row of ``whole``; None if the loop reads it in another way."""
    before = op.params["constants"] + op.params["carries"]
    if op.operands.count(whole) != 1 or op.operands.index(whole) < before:
        return None
    row: Value = op.params["body"].inputs[op.operands.index(whole) + 1]
    return row


def _readers(body: Program, row: Value, maker: Op) -> list[Op]:
    """The loops of a body that read a tape backwards; none if anything else reads it."""
    found = [op for op in body.ops if row in op.operands]
    alone = row not in body.outputs and all(reads_backwards(op, row, maker) for op in found)
    return found if alone else []


def _without(program: Program, nested: _Nested) -> Program:
    builder = Builder()
    env = {v: Value(v.type) for v in program.inputs}
    inputs = list(env.values())
    more: Sequence[Value] = ()
    with building(builder):
        for op in program.ops:
            operands = [env[v] for v in op.operands]
            results: Sequence[Value]
            with builder.at(op.source):
                if op is nested.outer:
                    body = _recording(nested)
                    made = builder.emit(op.kind, operands, {**op.params, "body": body})
                    kept, more = list(made[: len(op.results) - 1]), made[len(op.results) - 1 :]
                    # Nothing reads the tape any more, so any value may replace it.
                    results = [*kept[: nested.position], more[0], *kept[nested.position :]]
                elif op in nested.rows:
                    row = nested.rows[op]
                    at = op.params["body"].inputs.index(row) - 1
                    given = [*operands[:at], *operands[at + 1 :], *more]
                    params = {**op.params, "body": _undoing(op, row, nested, more)}
                    results = builder.emit(op.kind, given, params)
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


def _recording(nested: _Nested) -> Program:
    """A step of the outer loop that stacks the final array and the elements replaced in it."""
    body, tape = nested.outer.params["body"], nested.tape
    builder = Builder()
    env = {v: Value(v.type) for v in body.inputs}
    inputs = list(env.values())
    more: list[Value] = []
    with building(builder):
        for op in body.ops:
            operands = [env[v] for v in op.operands]
            with builder.at(op.source):
                if op is tape.maker:
                    results, stacked = recorded_by(builder, op, operands, tape)
                    more = [results[tape.carry], *stacked]
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for k, v in enumerate(body.outputs) if k != nested.position]
    return builder.finish(inputs, [*outputs, *more], name=body.name)


def _undoing(outer: Op, row: Value, nested: _Nested, more: Sequence[Value]) -> Program:
    """A step of an outer loop whose inner loop restores the replaced elements."""
    body, tape = outer.params["body"], nested.tape
    builder = Builder()
    env = {v: Value(v.type) for v in body.inputs if v is not row}
    final, *stacked = [Value(v.type.with_shape(v.shape[1:])) for v in more]
    inputs = [*env.values(), final, *stacked]
    with building(builder):
        for op in body.ops:
            # The row itself is not an operand of the new loop.
            operands = [final if v is row else env[v] for v in op.operands]
            with builder.at(op.source):
                if op in tape.readers:
                    done = next(iter(tape.results.values()))
                    results = undone_by(builder, op, operands, tape, final, stacked, {row: done})
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    return builder.finish(inputs, [env[v] for v in body.outputs], name=body.name)
