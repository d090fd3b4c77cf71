"""Recomputes tapes of loops over rows from an array of which a step replaces little.

This prepares loops for ``undo_tapes``.

    … = scan … {… return …, select(j < i, %x, 0)}     … = scan … {… return …, %x}
    … = scan …, %tape {body: … %tape …}            -> … = scan …, %xs {… select(j < i, %x, 0) …}

Stacking the array costs only as much as a step replaces in it, since ``undo_tapes`` stacks that.
``recomputed_streams`` does this for loops of unknown length.

Legal where only loops that run the other way read the tape.  Values are recomputed by the same ops
from the same operands: nothing changes in the results, and no new error can occur.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autojit.ir.autodiff.partition import needed
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups
from autojit.ir.passes.loops.steps.changes import Change
from autojit.ir.passes.loops.steps.leaves import leaves_of

#: The loops that read a tape backwards, if nothing else reads it; otherwise none.
Readers = Callable[[Op, Value], Sequence[Op]]
#: The changes that steps of a loop make to a carry, given by its number.
Changes = Callable[[Op, int], tuple[Change, ...]]


class _Tape(NamedTuple):
    """A result that a loop stacks, the ops of a step that compute it, and their inputs."""

    maker: Op
    result: int
    ops: list[Op]
    leaves: list[Value]
    readers: Sequence[Op]

    @property
    def pushed(self) -> list[Value]:
        """The inputs that the loop has to stack; the others are its operands or its index."""
        free = _at_hand(self.maker)
        return [v for v in self.leaves if v not in free]


def recomputed_tapes(program: Program, loops: Sequence[Op], readers: Readers, changes: Changes
                     ) -> Program | None:  # fmt: skip
    """The program without one of these tapes; None if there is none."""
    for maker in loops:
        tape = _find(maker, readers, changes)
        if tape is not None:
            return _without(program, tape)
    return None


def _at_hand(maker: Op) -> set[Value]:
    """The inputs of a step that are not carries."""
    n, m = maker.params["constants"], maker.params["carries"]
    inputs = maker.params["body"].inputs
    return {*inputs[: n + 1], *inputs[n + 1 + m :]}


def _find(maker: Op, readers: Readers, changes: Changes) -> _Tape | None:
    body, n, m = (maker.params[k] for k in ("body", "constants", "carries"))
    made = {v: op for op in body.ops for v in op.results}
    tapes = [
        (j, readers_)
        for j in range(m, len(maker.results))
        if body.outputs[j] in made and (readers_ := readers(maker, maker.results[j]))
    ]
    if not tapes:
        return None
    undone = {
        body.inputs[n + 1 + k]: sum(change.size for change in found)
        for k in range(m)
        if (found := changes(maker, k))
    }
    for j, readers_ in tapes:
        leaves = leaves_of(body.outputs[j], made, undone, _at_hand(maker)) if undone else None
        if leaves is not None and _is_less(leaves, undone, body.outputs[j]):
            ends = set(leaves)
            ops = needed([op for op in body.ops if ends.isdisjoint(op.results)], [body.outputs[j]])
            return _Tape(maker, j, ops, leaves, readers_)
    return None


def _is_less(leaves: Sequence[Value], undone: Mapping[Value, int], value: Value) -> bool:
    """Whether the parts of arrays that steps replace are smaller than the value read from them."""
    return sum(undone.get(v, 0) for v in leaves) < value.type.size


def _without(program: Program, tape: _Tape) -> Program:
    builder = Builder()
    env = {v: Value(v.type) for v in program.inputs}
    inputs = list(env.values())
    stacked: dict[Value, Value] = {}
    with building(builder):
        for op in program.ops:
            operands = [env[v] for v in op.operands]
            with builder.at(op.source):
                if op is tape.maker:
                    results, stacked = _stacking(builder, operands, tape)
                elif op in tape.readers:
                    given = dict(zip(tape.maker.operands, _operands(env, tape.maker), strict=True))
                    results = _reading(builder, op, operands, tape, {**given, **stacked})
                else:
                    results = builder.repeat(op, operands)
            env.update(zip(op.results, results, strict=True))
    outputs = [env[v] for v in program.outputs]
    return builder.finish(inputs, outputs, name=program.name, captured=program.captured)


def _operands(env: dict[Value, Value], op: Op) -> list[Value]:
    return [env[v] for v in op.operands]


def _stacking(
    builder: Builder, operands: Sequence[Value], tape: _Tape
) -> tuple[Sequence[Value], dict[Value, Value]]:
    """Stack the leaves in place of the tape; return the loop's results and the stacked leaves."""
    op, body, m = tape.maker, tape.maker.params["body"], tape.maker.params["carries"]
    kept = [j for j in range(len(op.results)) if j != tape.result]
    outputs = [body.outputs[j] for j in kept]
    new = [v for v in tape.pushed if v not in outputs[m:]]
    params = {**op.params, "body": body.with_body(body.ops, [*outputs, *new])}
    made = builder.emit(op.kind, operands, params)
    by_leaf = dict(zip(reversed([*outputs[m:], *new]), reversed(made[m:]), strict=True))
    results = list(made[: len(kept)])
    # Nothing reads the tape any more, so any value may replace it.
    results.insert(tape.result, made[0] if made else operands[0])
    return results, {v: by_leaf[v] for v in tape.pushed}


def _reading(
    builder: Builder, op: Op, operands: Sequence[Value], tape: _Tape, given: dict[Value, Value]
) -> Sequence[Value]:
    """A loop that recomputes the slices of the tape.

    ``given`` has the operands of the loop that made the tape, and the values stacked for its
    leaves.
    """
    body, n, m = (op.params[k] for k in ("body", "constants", "carries"))
    at = op.operands.index(tape.maker.results[tape.result])
    own = {v: Value(v.type) for k, v in enumerate(body.inputs) if k != at + 1}
    constants, (index,), carries, slices = groups(list(own.values()), n, 1, m)
    more_constants: dict[Value, Value] = {}
    more_slices: dict[Value, Value] = {}
    first, count = tape.maker.params["constants"], tape.maker.params["carries"]
    places = {v: k for k, v in enumerate(tape.maker.params["body"].inputs)}
    env: dict[Value, Value] = {}
    for leaf in tape.leaves:
        if leaf is tape.maker.params["body"].inputs[first]:
            env[leaf] = index
            continue
        env[leaf] = Value(leaf.type)
        if leaf in tape.pushed:
            more_slices[env[leaf]] = given[leaf]
        elif places[leaf] < first:
            more_constants[env[leaf]] = given[tape.maker.operands[places[leaf]]]
        else:
            assert places[leaf] > first + count
            more_slices[env[leaf]] = given[tape.maker.operands[places[leaf] - 1]]
    inner = Builder()
    with building(inner):
        for step in tape.ops:
            made = inner.repeat(step, [env[v] for v in step.operands])
            env.update(zip(step.results, made, strict=True))
        again = env[tape.maker.params["body"].outputs[tape.result]]
        outputs = inner.inline(
            body, [again if k == at + 1 else own[v] for k, v in enumerate(body.inputs)]
        )
    new = inner.finish(
        [*constants, *more_constants, index, *carries, *slices, *more_slices],
        outputs,
        name=body.name,
    )
    rest = [v for k, v in enumerate(operands) if k >= n + m and k != at]
    params = {**op.params, "body": new, "constants": n + len(more_constants)}
    return builder.emit(
        op.kind,
        [*operands[:n], *more_constants.values(), *operands[n : n + m], *rest,
         *more_slices.values()],
        params,
    )  # fmt: skip
