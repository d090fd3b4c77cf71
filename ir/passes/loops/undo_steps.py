"""Loops of unknown length push the elements that a step replaces, not the whole array.

``undo_tapes`` does the same for loops over rows; this pass does it for the sweeps of a ``while``.
The first sweep pushes the elements that a step replaces and their places, instead of the array at
the beginning of the step. A sweep that runs backwards begins with the final array, and restores
these elements.  Another loop computes the final array; in memory it is the loop that pushes
(``kept_tapes``).

The backward sweep ends with the initial array of the first sweep. Later readers of the initial
array read this one, so a single array in memory suffices.

Legal where only sweeps that run backwards read the array, and steps change it only by setting
elements or adding to them.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups, read_inputs
from autojit.ir.passes.loops.steps.changes import Change, changes_of
from autojit.ir.passes.loops.steps.recorded import recording
from autojit.ir.passes.loops.steps.undone import put_back
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting.dce import with_outputs
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

from .recomputed_streams import recomputed_streams


@program_pass(
    "Pushes only the elements that a step replaces, not the whole array for each step.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program without these streams."""
    program = recomputed_streams(program)
    while program.has(While):
        found = next(filter(None, map(_find, program.ops)), None)
        if found is None:
            break
        program = _without(program, found)
    return program


class _Stream(NamedTuple):
    """A stream of a loop's first sweep that is a carry at the beginning of each step."""

    op: Op
    number: int
    carry: int
    changes: tuple[Change, ...]
    #: The numbers of the sweeps that read it.
    readers: tuple[int, ...]


def _find(op: Op) -> _Stream | None:
    if not isinstance(op.kind, While) or len(op.params["sweeps"]) < 2:
        return None
    n, m = op.params["constants"], op.params["carries"][0]
    first, *later = op.params["sweeps"]
    carries = first.inputs[n:]
    for number, value in enumerate(first.outputs[m:]):
        if value not in carries:
            continue
        readers = [k for k, body in enumerate(later, 1) if read_inputs(body)[n + number]]
        carry = carries.index(value)
        changes = changes_of(first, value, first.outputs[carry], [])
        if changes and readers and all(op.params["backward"][k] for k in readers):
            return _Stream(op, number, carry, changes, tuple(readers))
    return None


def _without(program: Program, stream: _Stream) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    begun = end = None
    with building(builder):
        for op in program.ops:
            operands = [env.get(v, v) for v in op.operands]
            with builder.at(op.source):
                results: Sequence[Value]
                if op is stream.op:
                    begun = op.operands[op.params["constants"] + stream.carry]
                    results, end = _pushing_less(builder, operands, stream)
                else:
                    results = list(builder.repeat(op, operands))
            env.update(zip(op.results, results, strict=True))
            if op is stream.op and begun is not None and end is not None:
                env[begun] = end
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


def _pushing_less(
    builder: Builder, operands: Sequence[Value], stream: _Stream
) -> tuple[list[Value], Value]:
    """The loop's results, and the initial array as restored by a backward sweep."""
    op, params = stream.op, stream.op.params
    n, counts = params["constants"], params["carries"]
    constants, *starts, _ = groups(operands, n, *counts)
    first = params["sweeps"][0]
    alone = {
        **params, "sweeps": (with_outputs(first, first.outputs[: counts[0]]),),
        "carries": counts[:1], "backward": (False,),
    }  # fmt: skip
    final = builder.emit(op.kind, [*constants, *starts[0]], alone)[stream.carry]
    pushing, extra = _pushing(first, counts[0], stream)
    sweeps = [pushing]
    for k, body in enumerate(params["sweeps"][1:], 1):
        sweeps.append(_reading(body, k, extra, len(first.outputs) - counts[0], stream))
        if k in stream.readers:
            starts[k] = [*starts[k], final]
    new = {**params, "sweeps": tuple(sweeps), "carries": tuple(map(len, starts))}
    made = builder.emit(op.kind, [*constants, *(v for s in starts for v in s)], new)
    parts = groups(made, *map(len, starts))
    results = [v for part, count in zip(parts, counts, strict=False) for v in part[:count]]
    return results, parts[stream.readers[-1]][-1]


def _pushing(body: Program, carries: int, stream: _Stream) -> tuple[Program, list[Value]]:
    """The first sweep, and the values that it pushes instead of the stream, after other streams."""
    return recording(body, stream.changes, carries + stream.number)


def _reading(
    body: Program, k: int, extra: Sequence[Value], streams: int, stream: _Stream
) -> Program:
    """A later sweep; if it reads the stream, it has the array as an additional last carry."""
    n, m = stream.op.params["constants"], stream.op.params["carries"][k]
    builder = Builder()
    given = {v: Value(v.type) for v in body.inputs}
    constants, own, others, carries, _ = groups(
        list(given.values()), n, streams, len(body.inputs) - n - streams - m, m
    )
    asked = own.pop(stream.number)
    pushed = [Value(v.type) for v in extra]
    env = dict(given)
    added = []
    with building(builder):
        if k in stream.readers:
            array = Value(asked.type)
            before = put_back(array, stream.changes, pushed)
            env[body.inputs[n + stream.number]] = before
            carries, added = [*carries, array], [before]
        for op in body.ops:
            made = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, made, strict=True))
    outputs = [env[v] for v in body.outputs]
    return builder.finish(
        [*constants, *own, *pushed, *others, *carries],
        [*outputs[:m], *added, *outputs[m:]],
        name=body.name,
    )
