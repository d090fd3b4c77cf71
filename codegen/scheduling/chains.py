"""Chains of updates: which of them are written in sequence.

A reader of ``update(update(x, a), b)`` can select for each element whether it comes from b, a or x.
If the chain is long, as that of a loop over ``out[i] = …``, each window is computed separately and
written into one buffer.

Legal where only the next link of the chain reads a link; the memory of a link with other readers is
copied (``Selection._prepare_update``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from autojit.ir.core.program import Op, Readers, Value
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.update import Update, is_sparse

from .op_loops import UPDATING

#: The most windows of a chain that becomes a selection for each element.
LONGEST_CHOICE = 8


def long_chains(ops: Sequence[Op], readers: Readers) -> set[Value]:
    """The results of updates in long chains, in which only the next update reads each."""
    length: dict[Value, int] = {}
    found: set[Value] = set()
    updates = [op for op in ops if isinstance(op.kind, Update)]
    for op in updates:
        base = op.operands[0]
        length[op.result] = 1 + (length.get(base, 0) if readers[base] == 1 else 0)
    for op in reversed(updates):
        base = op.operands[0]
        if op.result in found or length[op.result] > LONGEST_CHOICE:
            found.add(op.result)
            if base in length and readers[base] == 1:
                found.add(base)
    return found


def sparse_windows(ops: Iterable[Op]) -> set[Value]:
    """The results of updates of a few distant elements, for which not every element selects."""
    return {
        op.result
        for op in ops
        if isinstance(op.kind, Update)
        and max(op.params["stride"], default=1) > 1
        and is_sparse(op.operands[1].type, op.result.type)
    }


def may_read(
    value: Value, array: Value, definers: Mapping[Value, Op], stored: AbstractSet[Value]
) -> bool:
    """Whether an element of a value is computed from an array's contents before some update,
    through values that are not stored before it."""
    root, open_, seen = _root(array, definers), [value], {value}
    while open_:
        v = open_.pop()
        if v.type == array.type and _root(v, definers) is root:
            return True
        op = definers.get(v)
        if op is None or v in stored or isinstance(op.kind, BodyOp):
            continue
        open_ += [x for x in op.operands if x not in seen]
        seen.update(op.operands)
    return False


def _root(value: Value, definers: Mapping[Value, Op]) -> Value:
    """The array that a value comes from, before updates and loops."""
    op = definers.get(value)
    while op is not None:
        if isinstance(op.kind, (*UPDATING, Update)):
            value = op.operands[0]
        elif isinstance(op.kind, BodyOp):
            k, first = op.results.index(value), op.kind.initial(op.params)
            if k >= len(first):
                break
            value = op.operands[first[k]]
        else:
            break
        op = definers.get(value)
    return value
