"""Accumulates in a register an element that all steps of a loop add to and that they do not read.

    while …:                              s = 0
        b[i, k] += …               ->     while …:
        b[k, j] += … b[i, j] …                s += …
                                              b[k, j] += … b[i, j] …
                                          b[i, k] += s

The sum is then in a register. In memory, each step had to wait for the previous one, as ``b[k, j]``
might be the same element.

Legal where the places of the element are constants of the loop and inside the array, and, by the
forms of the places, no other access of a step is to that element.  Numbers are added in another
order; nothing else changes in the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autojit.ir.autodiff.final.integers import Integers, Steps
from autojit.ir.autodiff.final.places import (
    NotKnown,
    Place,
    Version,
    apart,
    read,
    versions_of,
    written,
)
from autojit.ir.autodiff.scalar_ranges import Known, rewrite_with_ranges
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import AddAt, add_at
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting.rewrite import Rewriter
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Accumulates in a number what the steps of a loop add to one element.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these sums; the same object if there are none."""
    return rewrite_with_ranges(program, _rule)


def _rule(op: Op, at: Rewriter, of: Known) -> Sequence[Value] | None:
    if not isinstance(op.kind, While) or len(op.params["sweeps"]) > 1:
        return None
    (body,), n = op.params["sweeps"], op.params["constants"]
    for k, last in enumerate(body.outputs):
        first = body.inputs[n + k]
        chain = versions_of(body.ops, first, last) if first.shape else None
        if chain and all(isinstance(each.op.kind, AddAt) for each in chain):
            try:
                found = _single(op, body, first, chain, of.integers)
            except NotKnown:
                continue
            if found is not None:
                return _summed(op, body, k, found, at)
    return None


def _single(
    op: Op, body: Program, first: Value, chain: Sequence[Version], outer: Integers
) -> Op | None:
    """An op of a step that adds to an element that the loop uses only there; None if none."""
    step, constants = Steps(op, outer).now, body.inputs[: op.params["constants"]]
    for each in chain:
        _, added, *places = each.op.operands
        if added.type.shape or not all(v in constants for v in places):
            continue
        if len(places) < first.type.ndim or not _is_inside(op, body, each.op, outer):
            continue
        (mine,) = written(each, step)
        others = [p for other in chain if other is not each for p in written(other, step)]
        others += _reads(body, first, chain, step)
        if all(apart(step.bounds, mine, other) for other in others):
            return each.op
    return None


def _is_inside(op: Op, body: Program, adding: Op, outer: Integers) -> bool:
    """Whether the element exists, whether or not the loop runs."""
    for value, axis in zip(adding.operands[2:], adding.params["axes"], strict=True):
        found = outer.range(op.operands[body.inputs.index(value)])
        if found is None or found[0] < 0 or found[1] >= adding.result.shape[axis]:
            return False
    return True


def _reads(
    body: Program, first: Value, chain: Sequence[Version], step: Integers
) -> Iterator[Place]:
    changing = {each.op for each in chain}
    for version in (first, *(each.after for each in chain)):
        if version in body.outputs[: body.outputs.index(chain[-1].after)]:
            raise NotKnown
        for op in body.ops:
            if version in op.operands and not (op in changing and op.operands[0] is version):
                yield from read(op, version, step)


def _summed(op: Op, body: Program, k: int, adding: Op, at: Rewriter) -> Sequence[Value]:
    n, (m,) = op.params["constants"], op.params["carries"]
    number = adding.operands[1].type
    sums = number.with_shape((1,))
    builder, env = Builder(), {v: Value(v.type) for v in body.inputs}
    inputs, total = list(env.values()), Value(sums)
    new = total
    with building(builder):
        for each in body.ops:
            operands = [env[v] for v in each.operands]
            if each is adding:
                new = add_at(total, operands[1], full(0, INDEX), axes=(0,))
                made: Sequence[Value] = [operands[0]]
            else:
                made = builder.repeat(each, operands)
            env.update(zip(each.results, made, strict=True))
    summing = builder.finish(
        [*inputs, total], [*(env[v] for v in body.outputs), new], name=body.name
    )
    test = op.params["condition"]
    condition = Program([*test.inputs, Value(sums)], test.ops, test.outputs, name=test.name)
    params = {**op.params, "condition": condition, "sweeps": (summing,), "carries": (m + 1,)}
    constants, _ = groups(op.operands, n)
    *results, found = at.emit(op.kind, [*op.operands, full(0, sums)], params)
    places = [constants[body.inputs.index(v)] for v in adding.operands[2:]]
    element = gather(found, full(0, INDEX), axes=(0,))
    results[k] = add_at(results[k], element, *places, axes=adding.params["axes"])
    return results
