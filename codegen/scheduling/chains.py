"""Chains of updates: which of them are written one after the other.

For an element of ``update(update(x, a), b)`` it can be chosen whether it comes from
b, a or x, inside of whatever reads it.  If the chain is long, as that of a loop over
``out[i] = …``, each window is computed for itself and written into one buffer.

Legal where a link of the chain is read by the next one alone; the memory of one that others read
too is copied (``Selection._prepare_update``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autojit.ir.core.program import Op, Readers, Value
from autojit.ir.ops.update import Update, is_sparse

#: Chains of at most this many windows are a choice for each element.
LONGEST_CHOICE = 8


def long_chains(ops: Sequence[Op], readers: Readers) -> set[Value]:
    """The results of updates in long chains, in which each is read by the next alone."""
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
    """The results of updates of a few elements far apart, which are not looked for everywhere."""
    return {
        op.result
        for op in ops
        if isinstance(op.kind, Update)
        and max(op.params["stride"], default=1) > 1
        and is_sparse(op.operands[1].type, op.result.type)
    }
