"""Rolling: a stretch of ops that repeats itself becomes a loop.

Before (the trace of ``for i in range(n): x = sin(x) * w[i]``)::

    %2: f64[] = sin %1
    %3: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
    …
    %8: f64[] = sin %7
    %9: f64[1] = slice %0 {start=(1,), stop=(2,), stride=(1,)}
    …

After: the first step as it was, and a ``scan`` of the others, in which the slice is taken
at the index of the step.

The steps have to be equal op for op.  An operand is one of the same step, one of a step shortly
before, or one and the same value for all of them; parameters that declarations call
``sliding`` may move by a constant amount.  What a step of the middle computes for later
is stacked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ops.bodies import INDEX
from ..ops.declaration import full
from ..ops.move import reshape, slice_
from ..ops.scan import scan
from ..program import Builder, Op, Program, Value, building, param_key
from . import dce
from .rewrite import rewrite
from .simplify import simplify

LEAST_STEPS = 8
#: How many periods are tried, and how far apart equal ops are compared to find them.
MOST_PERIODS = 16
FARTHEST = 8
#: A step may read what one of so many steps before it computed.
MOST_BACK = 4


def roll(program: Program, least: int) -> Program:
    """The program with repetitions of at least so many ops rolled into loops; the same object
    without any."""
    while len(program.ops) >= least:
        found = _longest(program, least)
        if found is None:
            break
        rolled = _Rolled(program, found).run()
        # What reads all steps (np.stack of a list) becomes a read of the stacked array.
        program = dce.run(rewrite(rolled, [simplify]))
    return program


class _Stretch(NamedTuple):
    start: int
    period: int
    steps: int


# -- finding repetitions ------------------------------------------------------------


def _longest(program: Program, least: int) -> _Stretch | None:
    """The stretch that covers most ops; of nearly equal ones that with the shortest step."""
    ops = _Ops(program.ops)
    best: _Stretch | None = None
    for period in sorted({*_periods(ops.alike), *_periods(ops.equal)}):
        rough = _longest_run(ops.alike[:-period] == ops.alike[period:])
        if rough[1] + period < least:
            continue
        low, count = rough
        start, length = _longest_run(ops.correspond(low, low + count, period))
        found = _Stretch(low + start, period, (length + period) // period)
        found = _sliding(ops, _uniform(ops, found))
        size = found.period * found.steps
        if size < least or found.steps < LEAST_STEPS:
            continue
        if best is None or size > 1.1 * best.period * best.steps:
            best = found
    return best


class _Ops:
    """Ops as arrays of numbers, so that all pairs of a distance are compared at once."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        #: Equal for ops that may stand for each other, and for those with equal parameters too.
        self.alike, self.equal = _signatures(ops)
        #: The operands of op i are those from start[i] to start[i + 1] of the arrays below.
        self.start = np.zeros(len(ops) + 1, np.int64)
        np.cumsum([len(op.operands) for op in ops], out=self.start[1:])
        numbers: dict[Value, int] = {}
        makers: list[int] = []  # by number of the value: the op that computes it, or -1
        places: list[int] = []  # and which of its results it is
        read: list[int] = []
        for i, op in enumerate(ops):
            for v in op.operands:
                number = numbers.setdefault(v, len(makers))
                if number == len(makers):
                    makers.append(-1)
                    places.append(0)
                read.append(number)
            for k, v in enumerate(op.results):
                numbers[v] = len(makers)
                makers.append(i)
                places.append(k)
        self.value = np.array(read, np.int64)
        self.maker = np.array(makers, np.int64)[self.value]
        self.place = np.array(places, np.int64)[self.value]

    def correspond(self, low: int, high: int, period: int) -> np.ndarray:
        """For the ops from low to high, which are like those a period later: whether the two
        read corresponding values."""
        a = slice(self.start[low], self.start[high])
        b = slice(self.start[low + period], self.start[high + period])
        reader = np.repeat(np.arange(low, high), np.diff(self.start[low : high + 1]))
        shifted = (
            (self.maker[a] >= 0)
            & (self.maker[b] == self.maker[a] + period)
            & (self.place[a] == self.place[b])
            & (self.maker[a] > reader - MOST_BACK * period)
        )
        wrong = ~(shifted | self.fixed(low, high, period))
        holds = np.ones(high - low, bool)
        holds[reader[wrong] - low] = False
        return holds

    def fixed(self, low: int, high: int, period: int) -> np.ndarray:
        """For the operands of the ops from low to high: whether the op a period later reads the
        same value."""
        a = slice(self.start[low], self.start[high])
        b = slice(self.start[low + period], self.start[high + period])
        same: np.ndarray = self.value[a] == self.value[b]
        return same


def _signatures(ops: Sequence[Op]) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each op: equal for ops that may stand for each other whatever their
    sliding parameters are, and for those with equal parameters, which tells the steps of an inner
    loop apart."""
    numbers: dict[Any, int] = {}
    types: dict[Any, int] = {}
    known: dict[int, int] = {}  # the same by id, which is faster to look up
    alike = np.empty(len(ops), np.int64)
    equal = np.empty(len(ops), np.int64)
    for i, op in enumerate(ops):
        key: list[Any] = [op.kind]
        for v in (*op.operands, *op.results):
            number = known.get(id(v.type))
            if number is None:
                number = known[id(v.type)] = types.setdefault(v.type, len(types))
            key.append(number)
        slides: list[Any] = []
        for name in op.kind.parameters:
            (slides if name in op.kind.sliding else key).append(param_key(op.params[name]))
        fixed = tuple(key)
        alike[i] = equal[i] = numbers.setdefault(fixed, len(numbers))
        if slides:
            equal[i] = numbers.setdefault((fixed, *slides), len(numbers))
    return alike, equal


def _periods(alike: np.ndarray) -> list[int]:
    """Distances at which equal ops follow each other most often."""
    votes: Counter[int] = Counter()
    order = np.argsort(alike, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
        if len(places) < LEAST_STEPS:
            continue
        for apart in range(1, min(FARTHEST, len(places) - 1) + 1):
            gaps, counts = np.unique(places[apart:] - places[:-apart], return_counts=True)
            if counts.max() >= LEAST_STEPS - 1:
                votes[int(gaps[counts.argmax()])] += int(counts.max())
    return [period for period, _ in votes.most_common(MOST_PERIODS)]


def _longest_run(holds: np.ndarray) -> tuple[int, int]:
    """Start and length of the longest run of True."""
    edges = np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not len(starts):
        return 0, 0
    longest = int((stops - starts).argmax())
    return int(starts[longest]), int(stops[longest] - starts[longest])


def _uniform(ops: _Ops, found: _Stretch) -> _Stretch:
    """The longest part of a stretch in which each operand is fixed in all steps or in none.

    What is fixed is computed before the part: where its first step computes it, that step, of which
    it would be a result, is left out.
    """
    start, period, steps = found
    if steps < 2:
        return found
    fixed = ops.fixed(start, start + (steps - 1) * period, period).reshape(steps - 1, -1)
    first, pairs = _longest_run(np.all(fixed[1:] == fixed[:-1], axis=1))
    start, steps = start + first * period, pairs + 2
    makers = ops.maker[ops.start[start] : ops.start[start + period]]
    if np.any(makers[fixed[first]] >= start):
        return _Stretch(start + period, period, steps - 1)
    return _Stretch(start, period, steps)


def _sliding(ops: _Ops, found: _Stretch) -> _Stretch:
    """As many steps as have parameters that are equal or slide evenly."""
    start, period, steps = found
    for k in range(period):
        if ops.ops[start + k].kind.sliding:
            steps = min(steps, _even(ops, range(start + k, start + steps * period, period)))
    return _Stretch(start, period, steps)


def _even(ops: _Ops, column: range) -> int:
    """How many ops from the first on have equal parameters, or such that slide evenly."""
    other = ops.equal[column.start : column.stop : column.step] != ops.equal[column.start]
    if not other.any():
        return len(column)
    kind, params = ops.ops[column.start].kind, [ops.ops[i].params for i in column]
    low, high = max(1, int(other.argmax())), len(params)
    while low < high:  # the most for which it holds
        middle = (low + high + 1) // 2
        if kind.slide(params[:middle]) is not None:
            low = middle
        else:
            high = middle - 1
    return low


def _slide_of(column: Sequence[Op]) -> Any:
    """How the parameters of ops of one place of the step slide; None where they are equal."""
    first = _key(column[0].params)
    if not column[0].kind.sliding or all(_key(op.params) == first for op in column):
        return None
    return column[0].kind.slide([op.params for op in column])


def _key(params: dict[str, Any]) -> Any:
    return tuple([param_key(v) for v in params.values()])


# -- building the loop ----------------------------------------------------------------


class _Rolled:
    """A program in which one stretch becomes a loop."""

    def __init__(self, program: Program, found: _Stretch) -> None:
        self.program = program
        self.start, self.period, self.steps = found
        self.stop = self.start + self.period * self.steps
        self.ops = program.ops
        #: Where a value of the stretch, or of the steps before, is computed: (step, op, result).
        self.place: dict[Value, tuple[int, int, int]] = {}
        self.value: dict[tuple[int, int, int], Value] = {}
        for i in range(max(0, self.start - MOST_BACK * self.period), self.stop):
            step, k = divmod(i - self.start, self.period)
            for r, v in enumerate(self.ops[i].results):
                self.place[v] = (step, k, r)
                self.value[step, k, r] = v
        self.constants: dict[Value, None] = {}
        #: Results by op, number, and how many steps ago they were computed; the first values.
        self.carried: dict[tuple[int, int, int], Value | None] = {}
        self.stacked: dict[tuple[int, int], None] = {}

    def run(self) -> Program:
        later = self._needed_later()
        self._classify()
        self.stacked.update(((k, r), None) for step, k, r in later if step < self.steps - 1)
        for _, k, r in later:
            if (k, r) not in self.stacked:
                self.carried.setdefault((k, r, 1), None)
        builder = Builder()
        builder.ops.extend(self.ops[: self.start])
        with building(builder):
            replaced = self._loop(builder, later)
            for op in self.ops[self.stop :]:
                operands = tuple(replaced.get(v, v) for v in op.operands)
                builder.append(Op(op.kind, operands, op.params, op.results, op.source))
        outputs = [replaced.get(v, v) for v in self.program.outputs]
        return self.program.with_body(builder.ops, outputs)

    def _needed_later(self) -> dict[tuple[int, int, int], Value]:
        found: dict[tuple[int, int, int], Value] = {}
        read = [v for op in self.ops[self.stop :] for v in op.operands]
        for v in [*read, *self.program.outputs]:
            where = self.place.get(v)
            if where is not None and where[0] >= 0:
                found[where] = v
        return found

    def _classify(self) -> None:
        """Where each operand of a step is from.

        One value can be read in two ways, as what is fixed and as what a step before the first
        computed, so this is said of operands and not of values.
        """
        #: For each operand of each op: a fixed value, or (op, result, how many steps ago).
        self.reads: list[list[Value | tuple[int, int, int]]] = []
        for k in range(self.period):
            first, second = self.ops[self.start + k], self.ops[self.start + self.period + k]
            self.reads.append([])
            for a, b in zip(first.operands, second.operands, strict=True):
                if a is b:
                    assert self.place.get(a, (-1,))[0] < 0, "a fixed operand is computed outside"
                    self.constants[a] = None
                    self.reads[k].append(a)
                    continue
                step, j, r = self.place[a]
                self.reads[k].append((j, r, -step))
                for back in range(1, 1 - step):
                    self.carried[j, r, back] = self.value[-back, j, r]

    def _loop(
        self, builder: Builder, later: dict[tuple[int, int, int], Value]
    ) -> dict[Value, Value]:
        """Emit the scan; the values that take the places of those needed later."""
        body, starts = self._body()
        source = self.ops[self.start].source
        with builder.at(source):
            firsts = [full(0, t) if v is None else v for v, t in starts]
            made = builder.emit(
                scan,
                [*self.constants, *firsts],
                {"body": body, "constants": len(self.constants), "carries": len(firsts),
                 "length": self.steps, "reverse": False},
            )  # fmt: skip
            last = dict(zip(self.carried, made, strict=False))
            stacks = dict(zip(self.stacked, made[len(self.carried) :], strict=True))
            replaced = {}
            for (step, k, r), value in later.items():
                stacked = stacks.get((k, r))
                replaced[value] = last[k, r, 1] if stacked is None else _row(stacked, step)
        return replaced

    def _body(self) -> tuple[Program, list[tuple[Value | None, Any]]]:
        builder = Builder()
        constants = {v: Value(v.type) for v in self.constants}
        index = Value(INDEX)
        template = self.ops[self.start : self.start + self.period]
        types = {key: template[key[0]].results[key[1]].type for key in self.carried}
        carries = {key: Value(t) for key, t in types.items()}
        #: What is computed in the step itself is zero steps ago.
        known = dict(carries)
        with building(builder):
            for k, op in enumerate(template):
                operands = [
                    constants[v] if isinstance(v, Value) else known[v] for v in self.reads[k]
                ]
                with builder.at(op.source):
                    slide = self._slide(k)
                    if slide is None:
                        results = builder.emit(op.kind, operands, op.params)
                    else:
                        results = (op.kind.at_step(operands, op, slide, index),)
                known.update(((k, r, 0), v) for r, v in enumerate(results))
        outputs = [known[k, r, back - 1] for k, r, back in self.carried]
        outputs += [known[k, r, 0] for k, r in self.stacked]
        body = builder.finish([*constants.values(), index, *carries.values()], outputs, name="body")
        return body, [(v, types[key]) for key, v in self.carried.items()]

    def _slide(self, k: int) -> Any:
        return _slide_of([self.ops[self.start + t * self.period + k] for t in range(self.steps)])


def _row(stacked: Value, step: int) -> Value:
    shape = stacked.shape
    row = slice_(
        stacked,
        start=(step, *[0] * (len(shape) - 1)),
        stop=(step + 1, *shape[1:]),
        stride=(1,) * len(shape),
    )
    return reshape(row, shape=shape[1:])
