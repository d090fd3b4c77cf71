"""Starts a loop that accumulates from zero with the value that its sum is added to later.

Before::

    %z: f64[9] = constant {dtype=f64, shape=(9,), value=0.0}
    %2: f64[9] = scan %z, %i, %v {body=program step(%0: i64[], %1: f64[9], %2: i64[], %3: f64[]) {
      %4: f64[9] = add_at %1, %3, %2 {axes=(0,)}
      return %4
    }, carries=1, constants=0, length=4, reverse=False}
    %3: f64[9] = add %x, %2

After: the loop begins with ``%x``, and its result is the sum.  The transposes of loops sum the
cotangents of values that all steps read. In nested loops, each step would otherwise clear and add
an array.

Legal where the first value is zero, steps only add to the carry, the sum is the only reader of the
result, and the value added later does not depend on the loop.  Numbers are added in another order;
nothing else changes in the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autojit.ir.autodiff.partition import needed
from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.arithmetic import add
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.while_ import While
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Starts the sum of a loop from the value that it is added to later.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with such loops; the same object if there are none."""
    while program.has(Scan, While):
        made = _improved(program)
        if made is None:
            break
        program = made
    return program


class _Carry(NamedTuple):
    """A carry of a loop: its operand, its result, and its next value in a step."""

    operand: int
    result: int
    body: Program
    old: Value
    new: Value


def _carries(op: Op) -> Iterator[_Carry]:
    n = op.params["constants"]
    if isinstance(op.kind, Scan):
        body = op.params["body"]
        for k in range(op.params["carries"]):
            yield _Carry(n + k, k, body, body.inputs[n + 1 + k], body.outputs[k])
        return
    numbers = groups(range(len(op.results)), *op.params["carries"])
    for body, mine in zip(op.params["sweeps"], numbers, strict=False):
        first = len(body.inputs) - len(mine)
        for k, result in enumerate(mine):
            yield _Carry(n + result, result, body, body.inputs[first + k], body.outputs[k])


def _improved(program: Program) -> Program | None:
    makers = {v: op for op in program.ops for v in op.results}
    readers = readers_of(program.ops, program.outputs)
    for sum_ in program.ops:
        if sum_.kind is not add:
            continue
        for total, other in (sum_.operands, sum_.operands[::-1]):
            loop = makers.get(total)
            if loop is None or not isinstance(loop.kind, (Scan, While)) or readers[total] > 1:
                continue
            carry = next((c for c in _carries(loop) if loop.results[c.result] is total), None)
            if carry is None:
                continue
            first = makers.get(loop.operands[carry.operand])
            zero = first is not None and first.kind is constant and first.params["value"] == 0
            if zero and total.shape and _only_added_to(carry):
                made = _begun(program, loop, carry, sum_, other)
                if made is not None:
                    return made
    return None


def _only_added_to(carry: _Carry) -> bool:
    """Whether a step only adds to a carry."""
    body, value = carry.body, carry.old
    readers = readers_of(body.ops, body.outputs)
    while readers[value] == 1 and value is not carry.new:
        op = next((op for op in body.ops if value in op.operands), None)
        if op is None or not (
            op.kind is add or (isinstance(op.kind, AddAt) and op.operands[0] is value)
        ):
            return False
        value = op.result
    # The step does not stack the value that it returns as the carry.
    return value is carry.new and readers[value] == 1


def _begun(program: Program, loop: Op, carry: _Carry, sum_: Op, other: Value) -> Program | None:
    start, end = program.ops.index(loop), program.ops.index(sum_)
    ahead = needed(program.ops[start:end], [other])
    if loop in ahead:
        return None
    operands = [*loop.operands]
    operands[carry.operand] = other
    begun = Op(loop.kind, tuple(operands), loop.params, loop.results, loop.source)
    moved = set(ahead)
    after = [op for op in program.ops[start + 1 :] if op not in moved and op is not sum_]
    replaced = {sum_.result: loop.results[carry.result]}
    rest = [
        Op(
            op.kind,
            tuple(replaced.get(v, v) for v in op.operands),
            op.params,
            op.results,
            op.source,
        )
        for op in after
    ]
    outputs = [replaced.get(v, v) for v in program.outputs]
    return program.with_body([*program.ops[:start], *ahead, begun, *rest], outputs)
