"""Whether the steps of a loop are independent of each other except for sums, so that they could
become operations on arrays.

    for k in range(n):
        s = s + p[k] * x[k]            # s is only added to
        at = at + 3                    # an integer that grows by a known number
        out[k] = np.sin(x[k])          # each step has a place of its own

The answer decides between two ways to compile a loop, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from autojit.ir.core.program import Op, Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import add_at, scatter, update

#: Operations on a carry that steps may do in any order.
_SUMS = frozenset({arithmetic.add, arithmetic.mul, arithmetic.maximum, arithmetic.minimum, ensure})
#: Such operations if the carry is their first operand.
_FIRST = frozenset({arithmetic.sub, arithmetic.convert, update})


def steps_are_independent(
    ops: Sequence[Op], inputs: Sequence[Value], outputs: Sequence[Value]
) -> bool:
    """Whether no step reads a result of another one, given a body's ops and its carries. All ops
    must have a counterpart on arrays, which branches and other loops do not have."""
    if any(op.programs for op in ops):
        return False
    users = _users(ops)
    made = {v: op for op in ops for v in op.results}
    pairs = [(a, b) for a, b in zip(inputs, outputs, strict=True) if a is not b]
    return all(
        _is_counter(first, last, made) or _is_chain(first, last, users) for first, last in pairs
    )


def _users(ops: Sequence[Op]) -> dict[Value, list[Op]]:
    users: dict[Value, list[Op]] = defaultdict(list)
    for op in ops:
        for v in dict.fromkeys(op.operands):
            users[v].append(op)
    return users


def _is_counter(first: Value, last: Value, made: dict[Value, Op]) -> bool:
    """Whether an integer grows by a number that is the same in each step."""
    if first.dtype.kind not in "iu":
        return False
    while last is not first:
        op = made.get(last)
        if op is None or op.kind not in (arithmetic.add, arithmetic.sub, ensure):
            return False
        if op.kind is not ensure:
            steps = [v for v in op.operands if v is not first and _is_known(v, made)]
            if len(steps) != 1:
                return False
            last = next(v for v in op.operands if v is not steps[0])
        else:
            last = op.operands[0]
    return True


def _is_known(v: Value, made: dict[Value, Op]) -> bool:
    """Whether a value is a constant, or comes from outside the body."""
    op = made.get(v)
    return op is not None and not op.operands


def _is_chain(first: Value, last: Value, users: dict[Value, list[Op]]) -> bool:
    """Whether a carry passes from a step's beginning to its end through sums only."""
    value = first
    while value is not last:
        found = users.get(value, [])
        if len(found) == 2:
            found = _without_own_read(value, found)
        if len(found) != 1:
            return False
        following = _after(value, found[0])
        if following is None:
            return False
        value = following
    return not users.get(last)


def _without_own_read(value: Value, users: list[Op]) -> list[Op]:
    """The uses, except a read of the very place that is written next."""
    read, written = users if users[0].kind is gather else users[::-1]
    same = (
        read.kind is gather
        and written.kind in (scatter, add_at)
        and read.operands[0] is value
        and written.operands[0] is value
        and read.operands[1:] == written.operands[2:]
    )
    return [written] if same else users


def _after(value: Value, op: Op) -> Value | None:
    """The carry after an operation; None if steps may not do it in any order."""
    if op.operands.count(value) != 1:
        return None
    place = op.operands.index(value)
    if op.kind in _SUMS:
        return op.result
    return op.result if op.kind in _FIRST and place == 0 else None
