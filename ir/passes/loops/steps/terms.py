"""The terms of sums; None stands for zero."""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.declaration import MaybeValue
from autojit.ir.core.program import Op, Program, Readers, Value, readers_of
from autojit.ir.ops.arithmetic import add, select, sub
from autojit.ir.ops.bodies import or_zero, present


def sums(body: Program, carries: list[Value]) -> dict[int, list[Value]]:
    """The terms that steps add to carries that are not read otherwise, by the carry's position."""
    maker = {v: op for op in body.ops for v in op.results}
    readers = readers_of(body.ops, body.outputs)
    found = {}
    for k, own in enumerate(carries):
        terms = terms_of(body.outputs[k], maker, readers)
        if own.dtype.kind in "iufc" and readers[own] == 1 and own in terms and len(terms) > 1:
            found[k] = [v for v in terms if v is not own]
    return found


def terms_of(v: Value, maker: dict[Value, Op], readers: Readers) -> list[Value]:
    """The terms of a sum; sums that are read elsewhere are not split."""
    op = maker.get(v)
    if op is None or op.kind is not add or readers[v] != 1:
        return [v]
    return [t for operand in op.operands for t in terms_of(operand, maker, readers)]


def total(terms: Sequence[Value]) -> Value:
    """The sum of at least one term, added from left to right."""
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found


def negative(v: MaybeValue) -> MaybeValue:
    return None if v is None else -v


def joined(op: Op, choice: Sequence[Value], x: MaybeValue, y: MaybeValue) -> MaybeValue:
    """The sum, difference or choice of two numbers, either of which may be zero."""
    if x is None and y is None:
        return None
    if op.kind is select:
        like = present([x, y])[0].type
        return select(*choice, or_zero(x, like), or_zero(y, like))
    if x is None or y is None:
        left = present([x, y])[0]
        return -left if x is None and op.kind is sub else left
    return x + y if op.kind is add else x - y
