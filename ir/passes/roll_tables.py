"""Numbers that differ from step to step of a repeated stretch, as elements of tables.

Before (the trace of ``for t in range(n): s = s * a + y[t]`` with numbers ``y`` from outside)::

    %2: f64[] = mul %0, %1
    %3: f64[] = constant {value=0.31}
    %4: f64[] = add %2, %3
    %5: f64[] = mul %4, %1
    %6: f64[] = constant {value=-1.7}
    …

After, with a table ``%9: f64[n]`` that the program has captured::

    %2: f64[] = mul %0, %1
    %3: f64[1] = slice %9 {start=(0,), stop=(1,), stride=(1,)}
    …

so that the steps are equal but for where they read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ops.linear import constant
from ..ops.move import broadcast, reshape, slice_
from ..program import Builder, Op, Program, Value, building
from ..types import Type
from .repetitions import LEAST_STEPS, Ops, compared, repetitions, slide_of

#: Steps before a stretch that are looked at: a part of one, and the first of a loop.
MOST_BEFORE = 3
#: How many ops above the readers of two numbers are compared.
DEPTH = 2


def with_tables(program: Program, ops: Ops, least: int) -> Program | None:
    """The program, of these ops, with tables for stretches of at least so many; None where there
    are none."""
    numbers = [op.params["value"] for op in program.ops if op.kind is constant]
    if len(numbers) < LEAST_STEPS or len(set(numbers)) < 2:
        return None
    tables, ends = _Tables(), _Ends(program)
    free = np.ones(len(program.ops), bool)
    for found in repetitions(ops, least, free, any_numbers=True):
        stop = found.start + found.size
        free[found.start : stop] = False
        for first in range(found.start, found.start + found.period):
            column = program.ops[first : stop : found.period]
            if column[0].kind is constant and _is_uneven(column):
                tables.put(ends.extended(column, first, found.period))
    return tables.read_by(program) if tables.places else None


def _is_uneven(column: Sequence[Op]) -> bool:
    """Whether numbers, one a step, are neither equal nor move by equal amounts."""
    first = column[0].kind.key(column[0].params)
    return slide_of(column) is None and any(op.kind.key(op.params) != first for op in column)


class _Ends:
    """The steps before and behind a stretch, which may be parts of steps, or the first one of a
    loop with something else: what numbers they read belongs to the tables too."""

    def __init__(self, program: Program) -> None:
        self.ops = program.ops
        self.place = {v: i for i, op in enumerate(program.ops) for v in op.results}
        #: The last op that reads a value.
        self.reader = {v: op for op in program.ops for v in op.operands}

    def extended(self, column: Sequence[Op], first: int, period: int) -> list[Op]:
        """The constants of a column, those of the steps before, and that of the step behind."""
        found = list(column)
        for _ in range(MOST_BEFORE):
            far = range(first - 1, max(-1, first - 2 * period - 1), -1)
            place = next((i for i in far if self._is_like(self.ops[i], found[0])), None)
            if place is None:
                break
            first = place
            found.insert(0, self.ops[place])
        behind = self.place[column[-1].result] + period
        if behind < len(self.ops) and self._is_like(self.ops[behind], column[-1]):
            found.append(self.ops[behind])
        return found

    def _is_like(self, a: Op, b: Op) -> bool:
        """Whether two constants may be the same number of different steps, as what reads them
        reads equal things beside them."""
        if a.kind is not constant or a.result.type != b.result.type:
            return False
        x, y = self.reader.get(a.result), self.reader.get(b.result)
        if x is None or y is None or not all(compared(x, y)):
            return False
        pairs = zip(x.operands, y.operands, strict=True)
        return all(
            (v is a.result) == (w is b.result) and (v is a.result or self._is_equal(v, w, DEPTH))
            for v, w in pairs
        )

    def _is_equal(self, v: Value, w: Value, depth: int) -> bool:
        """Whether values are computed alike, as far as one looks."""
        if v is w or not depth:
            return v.type == w.type
        if v not in self.place or w not in self.place:
            return False
        x, y = (self.ops[self.place[u]] for u in (v, w))
        if not all(compared(x, y)):
            return False
        pairs = zip(x.operands, y.operands, strict=True)
        return all(self._is_equal(a, b, depth - 1) for a, b in pairs)


class _Tables:
    def __init__(self) -> None:
        #: Inputs and what is in them, by what is in them.
        self.tables: dict[tuple[np.dtype, bytes], tuple[Value, np.ndarray]] = {}
        #: For each constant, by its result: the table and the place in it.
        self.places: dict[Value, tuple[Value, int]] = {}

    def put(self, column: list[Op]) -> None:
        """Take the numbers of the steps."""
        dtype = column[0].params["dtype"]
        numbers = np.array([op.params["value"] for op in column], dtype)
        numbers.flags.writeable = False
        made = (Value(Type(dtype, numbers.shape)), numbers)
        table, _ = self.tables.setdefault((dtype, numbers.tobytes()), made)
        self.places.update((op.result, (table, i)) for i, op in enumerate(column))

    def read_by(self, program: Program) -> Program:
        """The program that reads the tables."""
        builder = Builder()
        replaced: dict[Value, Value] = {}
        with building(builder):
            for op in program.ops:
                place = self.places.get(op.result) if len(op.results) == 1 else None
                if place is None:
                    operands = tuple([replaced.get(v, v) for v in op.operands])
                    builder.append(Op(op.kind, operands, op.params, op.results, op.source))
                    continue
                table, i = place
                with builder.at(op.source):
                    number = slice_(table, start=(i,), stop=(i + 1,), stride=(1,))
                    number = reshape(number, shape=())
                    if op.result.shape:
                        number = broadcast(number, shape=op.result.shape, dims=())
                replaced[op.result] = number
        return builder.finish(
            [*program.inputs, *(table for table, _ in self.tables.values())],
            [replaced.get(v, v) for v in program.outputs],
            name=program.name,
            captured=[*program.captured, *(numbers for _, numbers in self.tables.values())],
        )
