"""Puts numbers and arrays that differ from step to step of a repeated stretch into tables.

Before (the trace of ``for t in range(n): s = s * a + y[t]`` with captured numbers ``y``)::

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

so that the steps differ only in the places that they read.  If each step reads another captured
array (``x @ w + np.roll(y, t)``), these arrays are stacked in the same way.  If steps read an array
at unevenly spaced places (``for i, j in edges: e += (x[i] - x[j]) ** 2``), all these elements are
gathered before, by a table of the places.

Legal where the steps differ in constants, or in captured arrays, of one type, or in known places of
one array.  A table holds the same bits, so nothing changes in the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.core.types import Type, canonical_dtype
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import broadcast, reshape, slice_

from .likeness import compared, slide_of
from .repetitions import LEAST_STEPS, Kinds, Ops, repetitions

#: How many steps before a stretch are examined: part of a step, and the first step of a loop.
MOST_BEFORE = 3
#: The most bytes of a table, or of captured arrays of one type.
LARGEST = 1 << 26
#: How many ops above the readers of two numbers are compared.
DEPTH = 2


class Stacked(NamedTuple):
    """A captured table that stacks other captured arrays, given by their positions."""

    places: tuple[int, ...]


class _Held(Declaration):
    """Stands for a captured array while stretches are searched; no other program contains it."""

    arity = 0
    parameters = ("place", "type")
    sliding = ("place",)

    def __init__(self) -> None:
        self.name = "held"


_held = _Held()
#: Ops that may differ from step to step: numbers and arrays; and also parts of one array.
DATA: Kinds = (constant, _held)
DATA_AND_PARTS: Kinds = (*DATA, slice_)


def with_tables(program: Program, ops: Ops, least: int, kinds: Kinds) -> Program | None:
    """The program with tables for ops of some kinds, in stretches of at least ``least`` ops.

    ``ops`` are those of the program. None if there are no tables for ops of the last kind.
    """
    held = _with_held(program)
    if held is not None:
        program, ops = held, Ops(held.ops)
    elif not _has_uneven(program, kinds):
        return None
    tables, ends = _Tables(program), _Ends(program)
    free = np.ones(len(program.ops), bool)
    for found in repetitions(ops, least, free, kinds):
        stop = found.start + found.size
        free[found.start : stop] = False
        for first in range(found.start, found.start + found.period):
            column = program.ops[first : stop : found.period]
            if column[0].kind in kinds and _is_uneven(column):
                tables.put(ends.extended(column, first, found.period))
    needed = slice_ not in kinds or tables.parts
    return tables.read() if tables.places and needed else None


def _has_uneven(program: Program, kinds: Kinds) -> bool:
    """Whether steps may differ in ops of these kinds."""
    if slice_ in kinds:
        return slice_ in program.kinds
    numbers = [op.params["value"] for op in program.ops if op.kind is constant]
    return len(numbers) >= LEAST_STEPS and len(set(numbers)) >= 2


def _with_held(program: Program) -> Program | None:
    """The program with ops that stand for captured arrays, each before its first reader.

    None if there are too few arrays of one type for a table.
    """
    inputs = program.inputs[len(program.inputs) - len(program.captured) :]
    often = Counter(v.type for v in inputs)
    own = {
        v: place
        for place, v in enumerate(inputs)
        if often[v.type] >= LEAST_STEPS and v.type.nbytes * often[v.type] <= LARGEST
    }
    if not own:
        return None
    ops: list[Op] = []
    made: dict[Value, Value] = {}
    for op in program.ops:
        for v in op.operands:
            if v in own and v not in made:
                made[v] = Value(v.type)
                params = {"place": own[v], "type": v.type}
                ops.append(Op(_held, (), params, (made[v],), op.source))
        operands = tuple([made.get(v, v) for v in op.operands])
        ops.append(Op(op.kind, operands, op.params, op.results, op.source))
    return program.with_body(ops, program.outputs)


def _is_uneven(column: Sequence[Op]) -> bool:
    """Whether the parameters of ops, one per step, are neither equal nor evenly spaced."""
    first = column[0].kind.key(column[0].params)
    return slide_of(column) is None and any(op.kind.key(op.params) != first for op in column)


class _Ends:
    """The steps before and after a stretch.

    They may be parts of steps, or the first step of a loop with other initial values. The numbers
    that they read belong in the tables too.
    """

    def __init__(self, program: Program) -> None:
        self.ops = program.ops
        self.place = {v: i for i, op in enumerate(program.ops) for v in op.results}
        #: The last op that reads each value.
        self.reader = {v: op for op in program.ops for v in op.operands}

    def extended(self, column: Sequence[Op], first: int, period: int) -> list[Op]:
        """The ops of a column, with those of the steps before and of the step after."""
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
        """Whether two ops may be one op of different steps: readers and other inputs match."""
        if a.kind is not b.kind or a.operands != b.operands or a.result.type != b.result.type:
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
        """Whether values are computed alike, up to a depth."""
        if v is w or not depth:
            return v.type == w.type
        if v not in self.place or w not in self.place:
            return False
        x, y = (self.ops[self.place[u]] for u in (v, w))
        if not all(compared(x, y)):
            return False
        pairs = zip(x.operands, y.operands, strict=True)
        return all(self._is_equal(a, b, depth - 1) for a, b in pairs)


class _Parts(NamedTuple):
    """Parts of one array: a slice with extent 1 along some axes, and the places along them."""

    first: Op
    axes: tuple[int, ...]
    places: tuple[Value, ...]

    def gathered(self, x: Value) -> Value:
        """The parts of an array, one per row."""
        params = {name: list(self.first.params[name]) for name in ("start", "stop", "stride")}
        for a in self.axes:
            params["start"][a], params["stop"][a], params["stride"][a] = 0, x.shape[a], 1
        window = slice_(x, **{name: tuple(numbers) for name, numbers in params.items()})
        return gather(window, *self.places, axes=self.axes)


class _Tables:
    def __init__(self, program: Program) -> None:
        self.program = program
        #: content -> the input for a table, and its content.
        self.tables: dict[Hashable, tuple[Value, Any]] = {}
        #: For each value that a step reads: its table, and its position in it.
        self.places: dict[Value, tuple[Value | _Parts, int]] = {}
        #: Whether there are tables of places in an array.
        self.parts = False

    def put(self, column: list[Op]) -> None:
        """Put the values that the steps read into a table."""
        if column[0].kind is constant:
            table: Value | _Parts = self._known(
                np.array([op.params["value"] for op in column], column[0].params["dtype"])
            )
        elif column[0].kind is _held:
            held = column[0].params["type"]
            key = tuple([op.params["place"] for op in column])
            stacked = _stacked([self.program.captured[place] for place in key])
            type = Type(held.dtype, (len(column), *held.shape))
            table, _ = self.tables.setdefault(key, (Value(type), stacked))
        else:
            parts = self._parts(column)
            if parts is None:
                return
            table = parts
        self.places.update((op.result, (table, i)) for i, op in enumerate(column))

    def _known(self, numbers: np.ndarray) -> Value:
        """The input for a table of numbers."""
        numbers.flags.writeable = False
        key = (numbers.dtype, numbers.tobytes())
        type = Type(canonical_dtype(numbers.dtype), numbers.shape)
        return self.tables.setdefault(key, (Value(type), numbers))[0]

    def _parts(self, column: list[Op]) -> _Parts | None:
        """The parts of one array that slices read; None if they are not one row per step."""
        first = column[0]
        starts = np.array([op.params["start"] for op in column])
        axes = tuple(np.flatnonzero((starts != starts[0]).any(axis=0)).tolist())
        same = all(op.operands == first.operands for op in column)
        thin = all(first.result.shape[a] == 1 for a in axes)
        if not same or not thin or len(column) * first.result.type.nbytes > LARGEST:
            return None
        self.parts = True
        places = tuple([self._known(np.ascontiguousarray(starts[:, a], np.int64)) for a in axes])
        return _Parts(first, axes, places)

    def read(self) -> Program:
        """The program that reads from the tables."""
        program, builder = self.program, Builder()
        own = len(program.inputs) - len(program.captured)
        replaced: dict[Value, Value] = {}
        gathered: dict[_Parts, Value] = {}
        with building(builder):
            for op in program.ops:
                if len(op.results) == 1 and op.result in self.places:
                    table, i = self.places[op.result]
                    with builder.at(op.source):
                        if isinstance(table, _Parts):
                            if table not in gathered:
                                (x,) = op.operands
                                gathered[table] = table.gathered(replaced.get(x, x))
                            row = _part(gathered[table], i)
                            replaced[op.result] = reshape(row, shape=op.result.shape)
                        else:
                            replaced[op.result] = _row(table, i, op.result.shape)
                elif op.kind is _held:
                    replaced[op.result] = program.inputs[own + op.params["place"]]
                else:
                    operands = tuple([replaced.get(v, v) for v in op.operands])
                    builder.append(Op(op.kind, operands, op.params, op.results, op.source))
        outputs = [replaced.get(v, v) for v in program.outputs]
        used = {v for op in builder.ops for v in op.operands}.union(outputs)
        bound = zip(program.inputs[own:], program.captured, strict=True)
        captured = [(v, thing) for v, thing in bound if v in used] + list(self.tables.values())
        return builder.finish(
            [*program.inputs[:own], *(v for v, _ in captured)],
            outputs,
            name=program.name,
            captured=[thing for _, thing in captured],
        )


def _stacked(captured: list[Any]) -> Any:
    """The table of captured arrays, or a reference to the arrays with these positions."""
    return Stacked(tuple(captured)) if type(captured[0]) is int else np.stack(captured)


def _row(table: Value, i: int, shape: tuple[int, ...]) -> Value:
    """The value that a step reads: a row, or a number that is broadcast."""
    rest = table.shape[1:]
    row = reshape(_part(table, i), shape=rest)
    return row if rest == shape else broadcast(row, shape=shape, dims=())


def _part(table: Value, i: int) -> Value:
    """A row of a table, with its first axis kept."""
    rest = table.shape[1:]
    return slice_(
        table, start=(i, *[0] * len(rest)), stop=(i + 1, *rest), stride=(1,) * table.type.ndim
    )
