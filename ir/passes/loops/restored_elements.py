"""Leaves an element unchanged that is cleared and later added back.

    %g = gather %x, %i
    %y = scatter %x, 0, %i             ->     %z = add_at %x, %a, %j
    %z = add_at %y, %a, %j
    %w = add_at %z, %g, %i

The transpose of ``x[i] -= a[j] * …`` has this form: the cotangent of the replaced element is also
that of its old value.

Legal where the same places are gathered, cleared and added to, and in between the array is only
added to and has no other reader.  Numbers are added in another order, and a negative zero stays
negative; nothing else changes in the results.
"""

from __future__ import annotations

from collections.abc import Mapping

from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.index import Gather
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import AddAt, Scatter
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Leaves elements unchanged that are cleared and added back.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program without these pairs; the same object if there are none."""
    makers = {v: op for op in program.ops for v in op.results}
    readers = readers_of(program.ops, program.outputs)
    replaced: dict[Value, Value] = {}
    for op in program.ops:
        if not isinstance(op.kind, AddAt) or op.operands[1] not in makers:
            continue
        cleared = _cleared(op, makers, readers)
        if cleared is not None and cleared.result not in replaced:
            replaced |= {cleared.result: cleared.operands[0], op.result: op.operands[0]}
    if not replaced:
        return program

    def final(value: Value) -> Value:
        while value in replaced:
            value = replaced[value]
        return value

    ops = [
        Op(op.kind, tuple(map(final, op.operands)), op.params, op.results, op.source)
        for op in program.ops
        if replaced.keys().isdisjoint(op.results)
    ]
    return program.with_body(ops, list(map(final, program.outputs)))


def _cleared(op: Op, makers: Mapping[Value, Op], readers: Mapping[Value, int]) -> Op | None:
    """The op that cleared the elements that this op adds back; None if there is none."""
    array, added, *places = op.operands
    pick = makers[added]
    if not isinstance(pick.kind, Gather) or list(pick.operands[1:]) != places:
        return None
    if pick.params["axes"] != op.params["axes"] or any(v.type.shape for v in places):
        return None
    while readers[array] == 1 and (made := makers.get(array)) is not None:
        if isinstance(made.kind, AddAt):
            array = made.operands[0]
            continue
        same = isinstance(made.kind, Scatter) and list(made.operands[2:]) == places
        if not same or made.params["axes"] != op.params["axes"]:
            return None
        zero = makers.get(made.operands[1])
        is_zero = zero is not None and zero.kind is constant and zero.params["value"] == 0
        return made if is_zero and made.operands[0] is pick.operands[0] else None
    return None
