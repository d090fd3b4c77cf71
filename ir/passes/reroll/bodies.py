"""Turns a captured loop with independent steps into ops on all steps at once.

Before (the trace of ``for k in range(n): total = total + w[k] * x[k]``, whose body was traced
once)::

    %3: f64[] = scan %0, %1, %2 {body=program loop(%0: f64[n], %1: f64[n], %2: i64[], %3: f64[]) {
      %4: f64[] = gather %0, %2 {axes=(0,)}
      %5: f64[] = gather %1, %2 {axes=(0,)}
      %6: f64[] = mul %4, %5
      %7: f64[] = add %3, %6
      return %7
    }, …}

After::

    %3: f64[] = dot %0, %1 {…}
    %4: f64[] = add %2, %3

``rows`` does the same for steps that Python has unrolled; here the steps need not be traced one by
one.  Integers that depend only on the number of the step are computed for all steps, and evenly
spaced places in arrays become slices.

Legal where each carry is unchanged; is an integer that grows by a constant; is a sum or difference
to which each step contributes and that nothing else reads; or is not read by the steps; and where
no op has bodies or raises an error, except for a place out of range.  Integers and places are
checked for every step, so a loop that would raise stays a loop.  Sums are rounded in another order,
as in ``rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Program, Value, current_builder, readers_of
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import add, mul, select, sub
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota

from .places import slices_of
from .rows import KINDS, LARGEST, LARGEST_ROW, summed
from .steps import row


class Known(NamedTuple):
    """Integers or bools of all steps, along axis 0."""

    rows: np.ndarray


class Same(NamedTuple):
    """A carry that no step changes."""


class Counter(NamedTuple):
    """An integer that grows by a constant."""

    by: int


class Sum(NamedTuple):
    """A carry used only in sums: each op, and the position of the carry among its operands."""

    links: tuple[tuple[Op, int], ...]


class Last(NamedTuple):
    """A carry that no step reads: only its last value is needed."""


Role = Same | Counter | Sum | Last


class Body(NamedTuple):
    """The body of a loop: its ops, its inputs besides constants and index, and its results."""

    ops: Sequence[Op]
    carries: Sequence[Value]
    ends: Sequence[Value]
    stacked: Sequence[Value]


def roles_of(body: Body, steps: int) -> list[Role] | None:
    """The role of each carry; None if the steps cannot become ops on arrays."""
    largest = max((v.type.size for op in body.ops for v in op.results), default=0)
    if largest > LARGEST_ROW or largest * steps > LARGEST or not all(map(_has_rows, body.ops)):
        return None
    readers = readers_of(body.ops, [*body.ends, *body.stacked])
    users: dict[Value, list[Op]] = {}
    for op in body.ops:
        for v in dict.fromkeys(op.operands):
            users.setdefault(v, []).append(op)
    made = {v: op for op in body.ops for v in op.results}
    roles = [
        _role(first, end, made, users, readers)
        for first, end in zip(body.carries, body.ends, strict=True)
    ]
    return None if None in roles else [role for role in roles if role is not None]


def _has_rows(op: Op) -> bool:
    if not isinstance(op.kind, KINDS) or len(op.results) != 1:
        return False
    if op.kind is ensure:
        return bool(op.params["failure"] == "overflow")
    return op.kind is gather or not op.kind.may_fail(op)


def _role(
    first: Value, end: Value, made: dict[Value, Op], users: dict[Value, list[Op]],
    readers: Mapping[Value, int],
) -> Role | None:  # fmt: skip
    if first is end:
        return Same()
    by = _growth(first, end, made) if first.dtype.kind in "iu" and not first.shape else None
    if by is not None:
        return Counter(by)
    if not readers.get(first):
        return Last()
    return _sum(first, end, users, readers)


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


def _sum(
    first: Value, end: Value, users: dict[Value, list[Op]], readers: Mapping[Value, int]
) -> Sum | None:
    links: list[tuple[Op, int]] = []
    value = first
    while value is not end:
        if readers.get(value) != 1 or value not in users:
            return None
        (op,) = users[value]
        place = op.operands.index(value)
        if not (op.kind is add or (op.kind is sub and place == 0)):
            return None
        links.append((op, place))
        value = op.result
    return Sum(tuple(links)) if readers.get(end) == 1 and end.dtype.kind in "iufc" else None


# -- all steps at once ---------------------------------------------------------------------


class GivesUp(Exception):
    """A step raises an error; the loop is kept so that it raises at the right step."""


class AtOnce(NamedTuple):
    """The results of a loop, and the final values of carries that are known integers."""

    results: list[Value]
    numbers: dict[int, int]


#: The values that a value of the body has in all steps.
_Rows = Known | Batched


def as_arrays(
    program: Program,
    operands: Sequence[Value],
    constants: int,
    steps: int,
    known: Mapping[int, np.ndarray],
    table: Callable[[np.ndarray], Value],
) -> AtOnce | None:
    """Emit the ops of all steps of a ``scan`` that scans over no arrays.

    ``known`` has the known integers among the operands; ``table`` makes a value of an array.  None
    if it stays a loop; nothing that was emitted is then used.
    """
    count = len(operands) - constants
    carries = program.inputs[constants + 1 :]
    body = Body(program.ops, carries, program.outputs[:count], program.outputs[count:])
    roles = roles_of(body, steps)
    if roles is None or len(carries) != count:
        return None
    made = _AtOnce(body, roles, steps, table)
    env = made.env
    env.update(zip(program.inputs, (Batched(v, False) for v in operands[:constants]), strict=False))
    env[program.inputs[constants]] = Known(np.arange(steps))
    try:
        return made.run(operands[constants:], {k - constants: v for k, v in known.items()})
    except GivesUp:
        return None


class _AtOnce:
    def __init__(
        self, body: Body, roles: list[Role], steps: int, table: Callable[[np.ndarray], Value]
    ) -> None:
        self.body, self.roles, self.n, self.table = body, roles, steps, table
        self.env: dict[Value, _Rows] = {}
        self.builder = current_builder()
        self.first = len(self.builder.ops)

    def run(self, firsts: Sequence[Value], known: Mapping[int, np.ndarray]) -> AtOnce:
        linked: set[Value] = set()
        for k, (v, role) in enumerate(zip(self.body.carries, self.roles, strict=True)):
            if isinstance(role, Sum):
                linked.update(op.result for op, _ in role.links)
            elif isinstance(role, Counter):
                self.env[v] = self._counted(firsts[k], known.get(k), role.by)
            else:
                self.env[v] = Batched(firsts[k], False)
        for op in self.body.ops:
            if op.result not in linked:
                with self.builder.at(op.source):
                    self.env[op.result] = self._op(op)
        ends = [self._end(k, first) for k, first in enumerate(firsts)]
        stacked = [along(self._batched(self.env[v]), self.n) for v in self.body.stacked]
        numbers = {k: n for k in range(len(firsts)) if (n := self._number(k)) is not None}
        return AtOnce([*ends, *stacked], numbers)

    def _counted(self, first: Value, known: np.ndarray | None, by: int) -> _Rows:
        places = np.arange(self.n) * by
        if known is not None:
            return Known((known + places).astype(first.dtype))
        moved = along(self._batched(Known(places.astype(first.dtype))), self.n)
        return Batched(add(along(Batched(first, False), self.n), moved), True)

    def _number(self, k: int) -> int | None:
        """The final value of a carry, if it is a known integer."""
        role = self.roles[k]
        by = role.by if isinstance(role, Counter) else 0
        found = self.env.get(self.body.ends[k] if isinstance(role, Last) else self.body.carries[k])
        if not isinstance(found, Known) or found.rows.ndim > 1 or found.rows.dtype.kind == "b":
            return None
        return int(found.rows[-1]) + by

    def _end(self, k: int, first: Value) -> Value:
        role, end = self.roles[k], self.body.ends[k]
        if isinstance(role, Same):
            return first
        if isinstance(role, Counter):
            return add(first, full(self.n * role.by, first.type))
        if isinstance(role, Last):
            return row(along(self._batched(self.env[end]), self.n), self.n - 1)
        value = first
        for op, place in role.links:
            with self.builder.at(op.source):
                terms = along(self._batched(self.env[op.operands[1 - place]]), self.n)
                total = summed(terms, self.builder.ops[self.first :])
                value = add(value, total) if op.kind is add else sub(value, total)
        return value

    # -- ops ---------------------------------------------------------------------------

    def _op(self, op: Op) -> _Rows:
        operands = [self.env[v] for v in op.operands]
        if op.kind is ensure and isinstance(operands[1], Known):
            if not operands[1].rows.all():
                raise GivesUp
            return operands[0]
        if op.result.dtype.kind in "iub" and all(isinstance(x, Known) for x in operands):
            return Known(self._evaluated(op, [x.rows for x in operands if isinstance(x, Known)]))
        if op.kind is select and isinstance(operands[0], Known):
            chosen = np.unique(operands[0].rows)
            if len(chosen) == 1:
                return operands[1 if chosen[0] else 2]
        if op.kind is gather:
            places = [x.rows for x in operands[1:] if isinstance(x, Known)]
            if len(places) == len(operands) - 1:
                return self._picked(op, self._batched(operands[0]), places)
        return self._batch(op, [self._batched(x) for x in operands])

    def _evaluated(self, op: Op, operands: list[np.ndarray]) -> np.ndarray:
        shape = (self.n, *op.result.shape)
        with np.errstate(all="ignore"):
            if not operands:
                return np.broadcast_to(op.kind.evaluate(**op.params), shape)
            if isinstance(op.kind, Elementwise):
                return np.asarray(op.kind.evaluate(*operands, **op.params)).reshape(shape)
            try:
                rows = [op.kind.evaluate(*x, **op.params) for x in zip(*operands, strict=True)]
            except IndexError:
                raise GivesUp from None
        return np.asarray(rows, op.result.dtype).reshape(shape)

    def _batch(self, op: Op, operands: list[Batched]) -> Batched:
        if not any(x.batched for x in operands):
            (value,) = self.builder.emit(op.kind, [x.value for x in operands], op.params)
            return Batched(value, False)
        made = op.kind.batch(op, operands, self.n)
        assert isinstance(made, Value)
        return Batched(made, True)

    def _picked(self, op: Op, x: Batched, places: list[np.ndarray]) -> Batched:
        axes = op.params["axes"]
        for a, place in zip(axes, places, strict=True):
            if ((place < 0) | (place >= op.operands[0].shape[a])).any():
                raise GivesUp
        found = None if x.batched else slices_of(x.value, places, axes)
        if found is not None:
            return found
        return self._batch(op, [x, *(self._batched(Known(p)) for p in places)])

    # -- integers as values --------------------------------------------------------------

    def _batched(self, x: _Rows) -> Batched:
        if isinstance(x, Batched):
            return x
        rows = x.rows
        if (rows == rows[:1]).all():
            return Batched(self._array(rows[0]), False)
        return Batched(self._array(rows), True)

    def _array(self, numbers: np.ndarray) -> Value:
        """Numbers as a value; those that grow evenly along each axis need no table."""
        if (numbers == numbers.flat[0]).all():
            return full(numbers.flat[0].item(), Type(numbers.dtype, numbers.shape))
        steps = _even(numbers)
        if steps is None:
            return self.table(np.ascontiguousarray(numbers))
        first, by = steps
        params: dict[str, Any] = {"dtype": numbers.dtype, "shape": numbers.shape}
        made: Value | None = None
        for axis, step in enumerate(by):
            if step:
                (count,) = self.builder.emit(iota, (), {**params, "axis": axis})
                moved = count if step == 1 else mul(count, full(step, count.type))
                made = moved if made is None else add(made, moved)
        assert made is not None, "numbers that are all equal are a constant"
        return made if first == 0 else add(made, full(first, made.type))


def _even(numbers: np.ndarray) -> tuple[int, list[int]] | None:
    """The first of some integers, and their growth along each axis; None if they grow unevenly."""
    if numbers.dtype.kind != "i" or not numbers.size:
        return None
    first = int(numbers[(0,) * numbers.ndim])
    made = np.zeros(numbers.shape, np.int64)
    by = []
    for axis, n in enumerate(numbers.shape):
        second = [0] * numbers.ndim
        second[axis] = min(1, n - 1)
        by.append(int(numbers[tuple(second)]) - first)
        shape = [1] * numbers.ndim
        shape[axis] = n
        made = made + np.arange(n).reshape(shape) * by[-1]
    return (first, by) if (made + first == numbers).all() else None
