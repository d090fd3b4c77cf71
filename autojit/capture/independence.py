"""Whether the steps of a loop are independent of each other but for sums: what can become
operations on arrays.

    for k in range(n):
        s = s + p[k] * x[k]            # s is only added to
        at = at + 3                    # an integer that grows by a known number
        out[k] = np.sin(x[k])          # each step has a place of its own

What this says decides between two ways to compile a loop, and about nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from autojit.ir.core.program import Op, Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import add_at, scatter, update
from autojit.ir.regions.scan import scan
from autojit.ir.regions.switch import switch
from autojit.ir.regions.while_ import while_

#: What steps may do in any order.
_SUMS = frozenset({arithmetic.add, arithmetic.mul, arithmetic.maximum, arithmetic.minimum, ensure})
#: The same where the carry comes first.
_FIRST = frozenset({arithmetic.sub, arithmetic.convert, scatter, add_at, update})


def steps_are_independent(
    ops: Sequence[Op], inputs: Sequence[Value], outputs: Sequence[Value]
) -> bool:
    """Whether no step reads what another one has made, given a body's ops and its carries."""
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
    """Whether a value is a constant, or comes from outside of the body."""
    op = made.get(v)
    return op is not None and not op.operands


def _is_chain(first: Value, last: Value, users: dict[Value, list[Op]]) -> bool:
    """Whether a carry goes from a step's beginning to its end through sums only."""
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
    """The uses but for a read of the very place that is written then."""
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
    """What a carry becomes in an operation; None where steps may not go in any order."""
    if op.operands.count(value) != 1:
        return None
    place = op.operands.index(value)
    if op.kind in _SUMS:
        return op.result
    if op.kind in _FIRST:
        return op.result if place == 0 else None
    if op.kind is scan:
        return _after_scan(place, op)
    if op.kind is while_:
        return _after_while(place, op)
    return _after_switch(place, op) if op.kind is switch else None


def _after_scan(place: int, op: Op) -> Value | None:
    body, n = op.params["body"], op.params["constants"]
    number = place - n
    if not 0 <= number < op.params["carries"]:
        return None
    return _through(body, n + 1 + number, number, op)


def _after_while(place: int, op: Op) -> Value | None:
    n, condition = op.params["constants"], op.params["condition"]
    number = place - n
    if number < 0 or len(op.params["sweeps"]) != 1:
        return None
    if any(condition.inputs[place] in each.operands for each in condition.ops):
        return None
    return _through(op.params["sweeps"][0], place, number, op)


def _after_switch(place: int, op: Op) -> Value | None:
    if place == 0:
        return None
    for number in range(len(op.results)):
        if all(_through(b, place - 1, number, op) is not None for b in op.params["branches"]):
            return op.results[number]
    return None


def _through(body: Any, place: int, number: int, op: Op) -> Value | None:
    """The result of an operation with a body through which a carry goes, if by sums only."""
    first, last = body.inputs[place], body.outputs[number]
    return op.results[number] if _is_chain(first, last, _users(body.ops)) else None
