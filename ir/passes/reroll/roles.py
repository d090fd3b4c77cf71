"""The role of each carry of a captured loop whose steps can become ops on arrays.

Legal where each carry is unchanged; is an integer that grows by a constant; is a sum or difference
to which each step contributes and that nothing else reads; is not read by the steps; or is an array
in which each step sets elements of its own, or all steps add to one element (``stores``); and where
no op has bodies or raises an error, except for a place out of range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from autojit.ir.core.program import Op, Value, readers_of
from autojit.ir.ops.arithmetic import add, sub
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.index import gather

from .indices import Indices
from .rows import KINDS, LARGEST, LARGEST_ROW
from .stores import Chain, Element, Links, Stored, chain_of, element, stored

#: Of longer loops, so many steps are tried first.
FIRST = 64


class Same(NamedTuple):
    """A carry that no step changes."""


class Counter(NamedTuple):
    """An integer that grows by a constant."""

    by: int


class Sum(NamedTuple):
    """A carry used only in sums: each op, and the position of the carry among its operands."""

    links: Links


class Last(NamedTuple):
    """A carry that no step reads: only its last value is needed."""


Role = Same | Counter | Sum | Last | Stored | Element


class Body(NamedTuple):
    """The body of a loop: what it takes besides constants, and returns."""

    ops: Sequence[Op]
    number: Value
    carries: Sequence[Value]
    ends: Sequence[Value]
    stacked: Sequence[Value]
    #: The numbers that carries begin with, by their places, where they are known.
    firsts: Mapping[int, np.ndarray]


def roles_of(body: Body, steps: int) -> list[Role] | None:
    """The role of each carry; None if the steps cannot become ops on arrays."""
    readers = readers_of(body.ops, [*body.ends, *body.stacked])
    users: dict[Value, list[Op]] = {}
    for op in body.ops:
        for v in dict.fromkeys(op.operands):
            users.setdefault(v, []).append(op)
    flow = _Flow(body, steps, users, readers, {v: op for op in body.ops for v in op.results})
    roles = [_role(first, end, flow) for first, end in zip(body.carries, body.ends, strict=True)]
    found = [role for role in roles if role is not None]
    if len(found) < len(roles):
        return None
    stores = {op for role in found if isinstance(role, (Stored, Element)) for op in role.ops}
    rest = [op for op in body.ops if op not in stores]
    largest = _largest(rest, {body.number, *body.carries, *(op.result for op in stores)})
    if largest > LARGEST_ROW or largest * steps > LARGEST or not all(map(_has_rows, rest)):
        return None
    return found


class _Flow(NamedTuple):
    """The ops that make and read the values of a body."""

    body: Body
    steps: int
    users: dict[Value, list[Op]]
    readers: Mapping[Value, int]
    made: dict[Value, Op]


def _largest(ops: Sequence[Op], changing: set[Value]) -> int:
    """The size of the largest value that differs from step to step."""
    largest = 0
    for op in ops:
        if not changing.isdisjoint(op.operands):
            changing.update(op.results)
            largest = max(largest, *(v.type.size for v in op.results))
    return largest


def _has_rows(op: Op) -> bool:
    if not isinstance(op.kind, KINDS) or len(op.results) != 1:
        return False
    if op.kind is ensure:
        return bool(op.params["failure"] == "overflow")
    return op.kind is gather or not op.kind.may_fail(op)


def _role(first: Value, end: Value, flow: _Flow) -> Role | None:
    if first is end:
        return Same()
    is_integer = first.dtype.kind in "iu" and not first.shape
    by = _growth(first, end, flow.made) if is_integer else None
    if by is not None:
        return Counter(by)
    if not flow.readers.get(first):
        return Last()
    links = _links(first, end, flow) if end.dtype.kind in "iufc" else None
    return _stores(first, end, flow) if links is None else Sum(links)


def _stores(first: Value, end: Value, flow: _Flow) -> Stored | Element | None:
    """What an array is in which the steps set elements."""
    chain = chain_of(first, end, flow.users, flow.readers) if first.shape else None
    if chain is None:
        return None
    # Most loops that are no such array show it in their first steps.
    if flow.steps > FIRST and _stores_of(first, chain, flow, FIRST) is None:
        return None
    return _stores_of(first, chain, flow, flow.steps)


def _stores_of(first: Value, chain: Chain, flow: _Flow, steps: int) -> Stored | Element | None:
    """The role of an array if the loop had so many steps."""
    numbers = {v: found[:steps] for v, found in _numbers(flow).items()}
    indices = Indices(flow.body.ops, numbers, flow.body.carries, steps)
    found = stored(chain, first.shape, indices)
    if found is not None or first.dtype.kind not in "iufc":
        return found
    return element(chain, lambda a, b: _links(a, b, flow), indices)


def _numbers(flow: _Flow) -> dict[Value, np.ndarray]:
    """The number of the step, and carries of which the number at each step is known."""
    every = np.arange(flow.steps)
    found = {flow.body.number: every}
    for k, number in flow.body.firsts.items():
        v = flow.body.carries[k]
        by = _growth(v, flow.body.ends[k], flow.made)
        if by is not None:
            found[v] = number + by * every
    return found


def _growth(first: Value, end: Value, made: dict[Value, Op]) -> int | None:
    """The constant by which an integer grows in each step; None if it does not."""
    by, value = 0, end
    while value is not first:
        op = made.get(value)
        if op is None or op.kind not in (add, sub, ensure):
            return None
        if op.kind is ensure:
            value = op.operands[0]
            continue
        constants = [_constant(v, made) for v in op.operands]
        place = 0 if constants[1] is not None else 1
        number = constants[1 - place]
        if number is None or (op.kind is sub and place):
            return None
        by += -number if op.kind is sub else number
        value = op.operands[place]
    return by


def _constant(v: Value, made: dict[Value, Op]) -> int | None:
    op = made.get(v)
    if op is None or op.operands or v.shape:
        return None
    return int(op.kind.evaluate(**op.params))


def _links(first: Value, end: Value, flow: _Flow) -> Links | None:
    """The sums and differences between two values, if nothing else reads what they compute."""
    links: list[tuple[Op, int]] = []
    value = first
    while value is not end:
        if flow.readers.get(value) != 1 or value not in flow.users:
            return None
        (op,) = flow.users[value]
        place = op.operands.index(value)
        if not (op.kind is add or (op.kind is sub and place == 0)):
            return None
        links.append((op, place))
        value = op.result
    return tuple(links) if flow.readers.get(end) == 1 else None
