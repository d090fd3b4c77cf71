"""Tapes of arrays of which a step replaces little: what is replaced is stored, and put back.

A loop that runs the other way often reads an array as each step of an earlier loop found it, so
the earlier one stacks it: all of it, for every step.  Where a step replaces only some elements
(``x[i] = …``) those are stacked instead, and the loop that runs the other way begins with the array
as it was in the end, and puts back in each step what that step had replaced.  This is how the tapes
of source-transforming tools for Fortran and C work (Griewank and Walther, Evaluating Derivatives,
2nd ed., SIAM 2008, section 4.2).

Before::

    %x, %tape = scan … {body: … %new = scatter %x, %v, %i; return %new, %x}
    … = scan …, %tape {body: … reads %x …, reverse=True}

After::

    %x, %olds, %is = scan … {
        body: … %old = gather %x, %i; %new = scatter %x, %v, %i; return %new, %old, %i}
    … = scan …, %x, %olds, %is {
        body: … %before = scatter %x, %old, %i; reads %before …, reverse=True}

Results are the same to the last bit.

Legal where every reader takes the tape row by row, in the opposite direction, the tape is no
output, and steps change the array by setting elements, or adding to them, alone.  Nothing changes
in the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.autodiff.scalar_ranges import Range, range_of
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups
from autojit.ir.passes.loops.steps.changes import Change, RangeOf, changes_of
from autojit.ir.passes.loops.steps.undone import put_back, recording
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.while_ import While
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass

from .recomputed_tapes import Readers, recomputed_tapes

#: Into how many parts a loop's steps are divided; each part has its own ranges.
PARTS = 256


class _Tape(NamedTuple):
    """Results of a loop that stack one of its carries, as each step found it, or as it was after
    the first few of its changes."""

    maker: Op
    #: How many changes each result has in it, by its number.
    results: dict[int, int]
    carry: int
    #: The changes of the carry in a step, in order.
    changes: tuple[Change, ...]
    readers: tuple[Op, ...]


@program_pass(
    "Stores what steps replace, and not whole arrays for every step.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program without such tapes."""
    while program.has(Scan) and (found := _improved(program)):
        program = found
    return program


def _improved(program: Program) -> Program | None:
    """The program with one tape less, or with the tape of an array in place of what is read from
    that array."""
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
        alone = tape not in kept and all(_reads_backwards(op, tape, maker) for op in found)
        return tuple(found) if alone else ()

    tape = _find(loops, readers)
    if tape is not None:
        return _without(program, tape)
    return recomputed_tapes(program, loops, readers, _changes)


def _changes(maker: Op, carry: int) -> tuple[Change, ...]:
    """What a step changes in a carry, if that is little."""
    body, first = maker.params["body"], maker.params["constants"] + 1
    return changes_of(body, body.inputs[first + carry], body.outputs[carry], _ranges(maker))


# -- finding ----------------------------------------------------------------------


def _find(loops: Sequence[Op], readers_of: Readers) -> _Tape | None:
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
            versions = _versions(maker, carry, changes) if changes else []
            results = {
                j: versions.index(body.outputs[j]) for j in read if body.outputs[j] in versions
            }
            if results:
                readers = {op: None for j in results for op in read[j]}
                return _Tape(maker, results, carry, changes, tuple(readers))
    return None


def _versions(maker: Op, carry: int, changes: Sequence[Change]) -> list[Value]:
    """A carry before each of its changes in a step."""
    value = maker.params["body"].inputs[maker.params["constants"] + 1 + carry]
    found = [value]
    for change in changes[:-1]:
        op = change.op
        first = op.params["constants"] if change.inner else 0
        value = op.results[op.operands.index(value, first) - first]
        found.append(value)
    return found


def _ranges(loop: Op) -> list[RangeOf]:
    """The ranges of integers in a step, for each of some parts of the steps."""
    body, length = loop.params["body"], loop.params["length"]
    if not body.has(While):
        return []
    makers = {v: op for op in body.ops for v in op.results}
    index = body.inputs[loop.params["constants"]]
    steps = -(-length // PARTS)

    def ranges(first: int) -> RangeOf:
        known: dict[Value, Range] = {index: (first, min(first + steps, length) - 1)}
        return lambda value: range_of(value, makers.get, known)

    return [ranges(first) for first in range(0, length, steps)]


def _reads_backwards(op: Op, tape: Value, maker: Op) -> bool:
    """Whether a loop runs the other way over the tape, and uses it for nothing else."""
    if not isinstance(op.kind, Scan) or op.params["reverse"] == maker.params["reverse"]:
        return False
    before = op.params["constants"] + op.params["carries"]
    return op.operands.count(tape) == 1 and op.operands.index(tape) >= before


# -- rewriting --------------------------------------------------------------------


def _without(program: Program, tape: _Tape) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    stacked: Sequence[Value] = ()
    with building(builder):
        for op in program.ops:
            operands = [env.get(v, v) for v in op.operands]
            with builder.at(op.source):
                if op is tape.maker:
                    results, stacked = _stack_what_is_replaced(builder, op, operands, tape)
                elif op in tape.readers:
                    final = env[tape.maker.results[tape.carry]]
                    results = _put_back(builder, op, operands, tape, final, stacked)
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


def _stack_what_is_replaced(
    builder: Builder, op: Op, operands: Sequence[Value], tape: _Tape
) -> tuple[Sequence[Value], Sequence[Value]]:
    """The loop without its tapes: its results, and what it stacks instead."""
    body: Program = op.params["body"]
    first = min(tape.results)
    new, _ = recording(body, tape.changes, first)
    made = builder.emit(op.kind, operands, {**op.params, "body": new})
    count = len(op.results) - 1
    # Nobody reads the tapes any more; any value may stand for the first, and the others go as what
    # nobody reads does.
    results = [*made[:first], made[tape.carry], *made[first:count]]
    return results, made[count:]


def _put_back(
    builder: Builder, op: Op, operands: Sequence[Value], tape: _Tape, final: Value,
    stacked: Sequence[Value],
) -> Sequence[Value]:  # fmt: skip
    """The loop that reads tapes, with the array as one more carry, the last."""
    body: Program = op.params["body"]
    n, m = op.params["constants"], op.params["carries"]
    stacks = {tape.maker.results[j]: done for j, done in tape.results.items()}
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
    """An array before each of its changes; each is put back as late as it can be, when a loop that
    reads the array after it has been through."""

    def __init__(self, array: Value, changes: Sequence[Change], recorded: Sequence[Value]) -> None:
        self.changes = changes
        self.parts = groups(recorded, *(change.recorded for change in changes))
        self.found = {len(changes): array}

    def before(self, done: int) -> Value:
        """The array with so many changes done."""
        if done not in self.found:
            after = self.before(done + 1)
            self.found[done] = put_back(after, [self.changes[done]], self.parts[done])
        return self.found[done]
