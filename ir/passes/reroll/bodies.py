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

Legal where ``roles`` gives each carry a role.  Integers and places are checked for every step, so a
loop that would raise stays a loop.  Sums are rounded in another order, as in ``rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import add, mul, select, sub
from autojit.ir.ops.checks import ensure
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.update import scatter

from .indices import GivesUp, evaluated
from .places import rows_of, with_rows
from .roles import Body, Counter, Last, Role, Same, Sum, roles_of
from .rows import summed
from .steps import row
from .stores import Element, Links, Stored


class Known(NamedTuple):
    """Integers or bools of all steps, along axis 0."""

    rows: np.ndarray


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
    index = program.inputs[constants]
    ends, stacked = program.outputs[:count], program.outputs[count:]
    firsts = {k - constants: v for k, v in known.items()}
    body = Body(program.ops, index, carries, ends, stacked, firsts)
    roles = roles_of(body, steps)
    if roles is None or len(carries) != count:
        return None
    made = _AtOnce(body, roles, steps, table)
    env = made.env
    env.update(zip(program.inputs, (Batched(v, False) for v in operands[:constants]), strict=False))
    env[index] = Known(np.arange(steps))
    try:
        return made.run(operands[constants:], firsts)
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
        forwarded: dict[Op, Value] = {}
        for k, (v, role) in enumerate(zip(self.body.carries, self.roles, strict=True)):
            if isinstance(role, (Sum, Element)):
                linked.update(op.result for op, _ in role.links)
            if isinstance(role, Element):
                linked.update(op.result for op in role.ops)
            elif isinstance(role, Stored):  # a read that is not forwarded finds what was there
                first = Batched(firsts[k], False)
                self.env.update(dict.fromkeys((v, *(op.result for op in role.ops)), first))
                linked.update(op.result for op in role.ops)
                forwarded |= role.forwarded
            elif isinstance(role, Counter):
                self.env[v] = self._counted(firsts[k], known.get(k), role.by)
            elif not isinstance(role, Sum):
                self.env[v] = Batched(firsts[k], False)
        for op in self.body.ops:
            if op in forwarded:
                self.env[op.result] = self.env[forwarded[op]]
            elif op.result not in linked:
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
        if isinstance(role, Stored):
            return self._stored(first, role)
        if isinstance(role, Element):
            return self._element(first, role)
        return self._summed(first, role.links)

    def _summed(self, first: Value, links: Links) -> Value:
        value = first
        for op, place in links:
            with self.builder.at(op.source):
                terms = along(self._batched(self.env[op.operands[1 - place]]), self.n)
                total = summed(terms, self.builder.ops[self.first :])
                value = add(value, total) if op.kind is add else sub(value, total)
        return value

    def _element(self, x: Value, role: Element) -> Value:
        """The array with all terms added to an element."""
        axes, indices = role.places
        with self.builder.at(role.ops[0].source):
            places = [self._batched(self.env[v]).value for v in indices]
            value = self._summed(gather(x, *places, axes=axes), role.links)
            return scatter(x, value, *places, axes=axes)

    def _stored(self, x: Value, role: Stored) -> Value:
        """The array with the elements set that the steps set."""
        for (rows, (axes, indices)), op in zip(role.ends, role.ops, strict=False):
            with self.builder.at(op.source):
                places = [p for v in indices if (p := _place(self.env[v])) is not None]
                assert len(places) == len(axes), "the role says what places are"
                made = along(self._batched(self.env[rows]), self.n)
                x = with_rows(x, made, places, axes, self._array)
        return x

    # -- ops ---------------------------------------------------------------------------

    def _op(self, op: Op) -> _Rows:
        operands = [self.env[v] for v in op.operands]
        if op.kind is ensure and isinstance(operands[1], Known):
            if not operands[1].rows.all():
                raise GivesUp
            return operands[0]
        if op.result.dtype.kind in "iub" and all(isinstance(x, Known) for x in operands):
            return Known(evaluated(op, [x.rows for x in operands if isinstance(x, Known)], self.n))
        if op.kind is select and isinstance(operands[0], Known):
            chosen = np.unique(operands[0].rows)
            if len(chosen) == 1:
                return operands[1 if chosen[0] else 2]
        if op.kind is gather:
            return self._picked(op, self._batched(operands[0]), operands[1:])
        return self._batch(op, [self._batched(x) for x in operands])

    def _batch(self, op: Op, operands: list[Batched]) -> Batched:
        if not any(x.batched for x in operands):
            (value,) = self.builder.emit(op.kind, [x.value for x in operands], op.params)
            return Batched(value, False)
        made = op.kind.batch(op, operands, self.n)
        assert isinstance(made, Value)
        return Batched(made, True)

    def _picked(self, op: Op, x: Batched, indices: list[_Rows]) -> Batched:
        axes, places = op.params["axes"], [_place(i) for i in indices]
        for a, place in zip(axes, places, strict=True):
            extent = op.operands[0].shape[a]
            if isinstance(place, np.ndarray) and ((place < 0) | (place >= extent)).any():
                raise GivesUp
        known = [p for p in places if p is not None]
        found = None
        if not x.batched and len(known) == len(places):
            found = rows_of(x.value, known, axes)
        return self._batch(op, [x, *map(self._batched, indices)]) if found is None else found

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


def _place(x: _Rows) -> np.ndarray | Value | None:
    """An index as numbers, one a step along axis 0; as the value that all steps have, or None."""
    if isinstance(x, Known):
        return x.rows
    return None if x.batched else x.value


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
