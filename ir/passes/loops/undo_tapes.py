"""Tapes of arrays that a step changes little: only the replaced elements are stored, and restored.

A loop that runs the other way often reads an array as it was in each step of an earlier loop. So
the earlier loop stacks the whole array in every step.  If a step replaces only some elements
(``x[i] = …``), these elements are stacked instead. The loop that runs the other way begins with the
final array, and each of its steps restores the elements that were replaced.  Source-transforming
tools for Fortran and C use such tapes (Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM
2008, section 4.2).

Before::

    %x, %tape = scan … {body: … %new = scatter %x, %v, %i; return %new, %x}
    … = scan …, %tape {body: … reads %x …, reverse=True}

After::

    %x, %olds, %is = scan … {
        body: … %old = gather %x, %i; %new = scatter %x, %v, %i; return %new, %old, %i}
    … = scan …, %x, %olds, %is {
        body: … %before = scatter %x, %old, %i; reads %before …, reverse=True}

Results are the same to the last bit.

Legal where every reader takes the tape row by row, in the opposite direction; the tape is not an
output; and steps change the array only by setting elements or adding to them.  Nothing changes in
the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.scalar_ranges import Range, inputs_of
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.passes.loops.steps.changes import Change, Parts, Ranges, changes_of
from autojit.ir.passes.loops.steps.tapes import (
    Tape,
    reads_backwards,
    recorded_by,
    undone_by,
    versions_of,
)
from autojit.ir.regions.scan import Scan
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

from .nested_tapes import without_nested_tape
from .recomputed_tapes import Readers, recomputed_tapes

#: The number of parts into which a loop's steps are divided; each part has its own ranges.
PARTS = 256


@program_pass(
    "Stores only the elements that a step replaces, not the whole array for each step.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program without these tapes."""
    while program.has(Scan) and (found := _improved(program)):
        program = found
    return program


def _improved(program: Program) -> Program | None:
    """The program with one tape less, or with a tape of an array instead of values read from it.

    None if there is no such tape.
    """
    loops = [op for op in program.ops if isinstance(op.kind, Scan)]
    if len(loops) < 2:
        return None
    users: dict[Value, list[Op]] = {}
    for op in program.ops:
        for v in set(op.operands):
            users.setdefault(v, []).append(op)
    kept = set(program.outputs)

    def readers(maker: Op, tape: Value) -> Sequence[Op]:
        found = users.get(tape, ())
        alone = tape not in kept and all(reads_backwards(op, tape, maker) for op in found)
        return tuple(found) if alone else ()

    tape = _find(loops, readers)
    if tape is not None:
        return _without(program, tape)
    nested = without_nested_tape(program, loops, _changes)
    return nested or recomputed_tapes(program, loops, readers, _changes)


def _changes(maker: Op, carry: int, outer: Op | None = None) -> tuple[Change, ...]:
    """The changes of a carry in a step, if they are small; the loop may be inside another one."""
    body, first = maker.params["body"], maker.params["constants"] + 1
    array = body.inputs[first + carry]
    return changes_of(body, array, body.outputs[carry], _parts(maker, outer))


# -- finding ----------------------------------------------------------------------


def _find(loops: Sequence[Op], readers_of: Readers) -> Tape | None:
    for maker in loops:
        body, m = maker.params["body"], maker.params["carries"]
        read = {
            j: readers
            for j, value in enumerate(maker.results[m:], m)
            if (readers := readers_of(maker, value))
        }
        arrays = {body.outputs[j].type for j in read}
        for carry in range(m) if read else ():
            changes = _changes(maker, carry) if body.outputs[carry].type in arrays else ()
            versions = versions_of(maker, carry, changes) if changes else []
            results = {
                j: versions.index(body.outputs[j]) for j in read if body.outputs[j] in versions
            }
            if results:
                every = dict.fromkeys(op for j in results for op in read[j])
                return Tape(maker, results, carry, changes, tuple(every))
    return None


def _parts(loop: Op, outer: Op | None) -> Parts:
    """The ranges of integers in parts of the steps; also in parts of the steps of an outer loop."""
    body = loop.params["body"]
    if not body.has(BodyOp):
        return []
    if outer is None:
        return [_of_each_part(loop, {})]
    around = _of_each_part(outer, {})
    every = Ranges(outer.params["body"], _index(outer, 0, outer.params["length"]))
    return [
        [ranges.inside(loop, body) for ranges in around],
        _of_each_part(loop, inputs_of(loop, body, every)),
    ]


def _of_each_part(loop: Op, known: dict[Value, Range]) -> list[Ranges]:
    body, length = loop.params["body"], loop.params["length"]
    steps = -(-length // PARTS) or 1
    return [
        Ranges(body, {**known, **_index(loop, first, steps)}) for first in range(0, length, steps)
    ]


def _index(loop: Op, first: int, steps: int) -> dict[Value, Range]:
    """The range of a loop's index in some of its steps."""
    last = min(first + steps, loop.params["length"]) - 1
    return {loop.params["body"].inputs[loop.params["constants"]]: (first, last)}


# -- rewriting --------------------------------------------------------------------


def _without(program: Program, tape: Tape) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    stacked: Sequence[Value] = ()
    with building(builder):
        for op in program.ops:
            operands = [env.get(v, v) for v in op.operands]
            with builder.at(op.source):
                if op is tape.maker:
                    results, stacked = recorded_by(builder, op, operands, tape)
                elif op in tape.readers:
                    final = env[tape.maker.results[tape.carry]]
                    results = undone_by(builder, op, operands, tape, final, stacked)
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)
