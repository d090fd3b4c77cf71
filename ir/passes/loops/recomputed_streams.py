"""Recomputes streams of a ``while`` from an array of which a step replaces little.

This prepares loops for ``undo_steps``.

    first sweep: push(row := select(j < k, A[k], 0))     first sweep: push(A), push(k)
    backward:    ... row ...                          -> backward: ... select(j < k, A[k], 0) ...

Pushing the array costs only as much as a step replaces in it, since ``undo_steps`` pushes that.

Legal where only sweeps that run backwards read the stream.  Values are recomputed by the same ops
from the same operands: nothing changes in the results, and no new error can occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.autodiff.partition import needed
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups, read_inputs
from autojit.ir.passes.loops.steps.changes import changes_of
from autojit.ir.passes.loops.steps.leaves import leaves_of
from autojit.ir.regions.while_ import While


class _Found(NamedTuple):
    """Streams of a first sweep, the ops that compute them, and the values to push for that.

    Constants of the loop need not be pushed.
    """

    streams: list[Value]
    ops: list[Op]
    pushed: list[Value]


def recomputed_streams(program: Program) -> Program:
    """The program with these loops changed."""
    found = {op: stream for op in program.ops if (stream := _find(op)) is not None}
    if not found:
        return program
    builder = Builder()
    env = {v: Value(v.type) for v in program.inputs}
    inputs = list(env.values())
    with building(builder):
        for op in program.ops:
            operands = [env[v] for v in op.operands]
            with builder.at(op.source):
                if op in found:
                    results = builder.emit(op.kind, operands, _params(op, found[op]))
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


def _find(op: Op) -> _Found | None:
    if not isinstance(op.kind, While) or len(op.params["sweeps"]) < 2:
        return None
    n, m = op.params["constants"], op.params["carries"][0]
    first = op.params["sweeps"][0]
    constants, carries = first.inputs[:n], first.inputs[n:]
    undone = {
        v for v, new in zip(carries, first.outputs, strict=False) if changes_of(first, v, new, [])
    }
    made = {v: made_by for made_by in first.ops for v in made_by.results}
    streams, pushed = list[Value](), list[Value]()
    for number, value in enumerate(first.outputs[m:]):
        if value not in made or not undone or not _is_read_backwards(op, n + number):
            continue
        leaves = leaves_of(value, made, undone, constants)
        if leaves is not None:
            streams.append(value)
            pushed += [v for v in leaves if v not in constants]
    ends = set(pushed) | set(constants)
    between = needed([o for o in first.ops if ends.isdisjoint(o.results)], streams)
    return _Found(streams, between, list(dict.fromkeys(pushed))) if streams else None


def _is_read_backwards(op: Op, place: int) -> bool:
    readers = [k for k, body in enumerate(op.params["sweeps"][1:], 1) if read_inputs(body)[place]]
    return bool(readers) and all(op.params["backward"][k] for k in readers)


def _params(op: Op, found: _Found) -> dict[str, object]:
    first, *later = op.params["sweeps"]
    m = op.params["carries"][0]
    kept = [v for v in first.outputs[m:] if v not in found.streams]
    new = [v for v in found.pushed if v not in kept]
    pushing = first.with_body(first.ops, [*first.outputs[:m], *kept, *new])
    sweeps = [pushing, *(_reading(op, k, body, found, new) for k, body in enumerate(later, 1))]
    return {**op.params, "sweeps": tuple(sweeps)}


def _reading(op: Op, k: int, body: Program, found: _Found, new: Sequence[Value]) -> Program:
    """A later sweep that recomputes the streams."""
    n, m = op.params["constants"], op.params["carries"][k]
    first = op.params["sweeps"][0]
    streams = first.outputs[op.params["carries"][0] :]
    given = {v: Value(v.type) for v in body.inputs}
    constants, own, others, carries, _ = groups(
        list(given.values()), n, len(streams), len(body.inputs) - n - len(streams) - m, m
    )
    pushed = [Value(v.type) for v in new]
    at_hand = dict(zip(first.inputs[:n], constants, strict=True))
    at_hand |= {s: v for s, v in zip(streams, own, strict=True) if s not in found.streams}
    at_hand |= dict(zip(new, pushed, strict=True))
    builder, env = Builder(), dict(given)
    with building(builder):
        if any(
            r and s in found.streams for r, s in zip(read_inputs(body)[n:], streams, strict=False)
        ):
            for made in found.ops:
                results = builder.repeat(made, [at_hand[v] for v in made.operands])
                at_hand.update(zip(made.results, results, strict=True))
            for asked, s in zip(body.inputs[n:], streams, strict=False):
                if s in found.streams:
                    env[asked] = at_hand[s]
        for made in body.ops:
            env.update(zip(made.results, builder.repeat(made, [env[v] for v in made.operands]),
                           strict=True))  # fmt: skip
    kept = [v for v, s in zip(own, streams, strict=True) if s not in found.streams]
    inputs = [*constants, *kept, *pushed, *others, *carries]
    return builder.finish(inputs, [env[v] for v in body.outputs], name=body.name)
