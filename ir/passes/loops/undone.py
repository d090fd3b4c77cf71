"""What steps replace in an array, and how it is put back: see ``undo_tapes`` and ``undo_steps``.

Legal where a step changes the array by setting elements, or adding to them, alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import AddAt, Scatter, Update, scatter, update

#: What is replaced in a step is at most one part in so many of the array.
FEW = 4


def changes_of(body: Program, array: Value, value: Value) -> tuple[Op, ...]:
    """What a body does to an array that becomes another value, in order, if that is to replace few
    of its elements, or to add to them."""
    made_by = {v: op for op in body.ops for v in op.results}
    changes, size = list[Op](), 0
    while value is not array:
        op = made_by.get(value)
        if op is None or not isinstance(op.kind, (Update, Scatter, AddAt)):
            return ()
        changes.append(op)
        size += sum(v.type.size for v in op.operands[1:])
        value = op.operands[0]
    return tuple(reversed(changes)) if size * FEW <= array.type.size else ()


def replaced_by(change: Op, operands: Sequence[Value]) -> list[Value]:
    """What is in an array where it is about to be changed, and where that is."""
    array, _, *indices = operands
    if isinstance(change.kind, Update):
        return [change.kind.pull_back_updates(array, change), *indices]
    return [gather(array, *indices, axes=change.params["axes"]), *indices]


def put_back(array: Value, changes: Sequence[Op], stacked: Sequence[Value]) -> Value:
    """The array before the changes, by what each of them has replaced, in their order."""
    left = list(stacked)
    for change in reversed(changes):
        count = len(change.operands) - 1
        old, *indices = left[-count:]
        del left[-count:]
        if isinstance(change.kind, Update):
            array = update(array, old, **change.params)
        else:
            array = scatter(array, old, *indices, axes=change.params["axes"])
    return array
