"""Stretches of a program that repeat themselves: where they are, and what their steps read.

A stretch is found by its period, the distance at which equal ops follow each other: the ops of
all distances are compared as arrays of numbers.

Legal where ops stand for each other: one declaration, equal types, and parameters that are equal or
slide evenly; and where operands are the same value, or correspond, in every step.  Nothing is
rewritten here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from ..ops.move import Move
from ..program import Op, Value, param_key

#: At least three: from the second step to the third is seen what stays the same.
LEAST_STEPS = 8
#: How many periods of one number of bits are tried, and how far apart equal ops are compared to
#: find them.
MOST_PERIODS = 8
FARTHEST = 8
#: How many places with ops of a period are looked at, and how many stretches in one.
MOST_RUNS = 4
MOST_PARTS = 64
#: A step may read what one of so many steps before it computed.
MOST_BACK = 4


class Stretch(NamedTuple):
    """So many steps of so many ops.  Where it is ``loose``, an operand may also be another value
    in each step, if all of them are computed before the stretch."""

    start: int
    period: int
    steps: int
    loose: bool

    @property
    def size(self) -> int:
        """How many ops it covers."""
        return self.period * self.steps


def repetitions(
    ops: Ops, least: int, free: np.ndarray, any_numbers: bool = False
) -> Iterator[Stretch]:
    """Stretches of at least so many ops, the longest first; of nearly equal ones that with the
    shortest step.

    ``free`` says of each op whether it may be in one; who takes a stretch notes it there.
    ``any_numbers``: ops without operands may have any parameters that slide in each step.
    """
    queue: list[tuple[tuple[int, int, bool, int], int, int, Stretch]] = []

    def put(found: Stretch, first: int = 0, high: int = 0) -> None:
        """Where the steps are not looked at yet, from where on ops are alike, and up to where they
        correspond."""
        if found.size >= least and found.steps >= LEAST_STEPS:
            order = (-_rough(found.size), found.period, found.loose, found.start)
            heappush(queue, (order, first, high, found))

    for found, first, high in _candidates(ops, least):
        put(found, first, high)
    while queue:  # what takes longer is done for those whose turn it is
        _, first, high, found = heappop(queue)
        if not high:
            if free[found.start : found.start + found.size].all():
                yield found
            continue
        if not free[found.start : high].any():
            continue
        start = ops.phase(found.start, found.period, first)
        whole = found._replace(start=start, steps=(high - start) // found.period)
        found = _sliding(ops, _uniform(ops, whole), any_numbers)
        put(found)
        rest = found.start + found.size  # an inner loop may begin again
        put(whole._replace(start=rest, steps=(high - rest) // found.period), rest, high)


def _candidates(ops: Ops, least: int) -> Iterator[tuple[Stretch, int, int]]:
    """Stretches whose ops correspond, before their steps are looked at; from where on the ops are
    alike, and up to where they correspond."""
    for period in sorted({*_periods(ops.alike), *_periods(ops.equal)}):
        runs = _runs(ops.alike[:-period] == ops.alike[period:])
        runs = [(low, count) for low, count in runs
                if count + period >= least and ops.counts[low : low + period].any()]  # fmt: skip
        for low, count in _longest(runs, MOST_RUNS):
            for loose in (False, True):
                parts = _runs(ops.correspond(low, low + count, period, loose))
                for first, length in _longest(parts, MOST_PARTS):
                    start, high = low + first, low + first + length + period
                    yield Stretch(start, period, (high - start) // period, loose), low, high


def _longest(runs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    return sorted(runs, key=lambda run: -run[1])[:most]


def _rough(size: int) -> int:
    """The size on a scale of steps of a tenth."""
    return int(np.log(size) / np.log(1.1))


class Ops:
    """Ops as arrays of numbers, so that all pairs of a distance are compared at once."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        #: Equal for ops that may stand for each other, and for those with equal parameters too.
        self.alike, self.equal = _signatures(ops)
        #: Whether an op computes something; steps that only move elements stay as they are.
        self.counts = np.array([not isinstance(op.kind, Move) for op in ops], bool)
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

    def correspond(self, low: int, high: int, period: int, loose: bool) -> np.ndarray:
        """For the ops from low to high, which are like those a period later: whether the two
        read corresponding values."""
        right = self.linked(low, high, period)
        if loose:
            both = slice(self.start[low], self.start[high + period])
            before = self.maker[both] < low
            apart = self.start[low + period] - self.start[low]
            right |= before[: len(right)] & before[apart:]
        holds = np.ones(high - low, bool)
        holds[self._readers(low, high)[~right] - low] = False
        return holds

    def _readers(self, low: int, high: int) -> np.ndarray:
        """For the operands of the ops from low to high: which op reads it."""
        return np.repeat(np.arange(low, high), np.diff(self.start[low : high + 1]))

    def linked(self, low: int, high: int, period: int) -> np.ndarray:
        """For the operands of the ops from low to high: whether the op a period later reads the
        same value, or what is computed a period later than that."""
        a = slice(self.start[low], self.start[high])
        b = slice(self.start[low + period], self.start[high + period])
        shifted = (
            (self.maker[a] >= 0)
            & (self.maker[b] == self.maker[a] + period)
            & (self.place[a] == self.place[b])
            & (self.maker[a] > self._readers(low, high) - MOST_BACK * period)
        )
        linked: np.ndarray = shifted | self.fixed(low, high, period)
        return linked

    def fixed(self, low: int, high: int, period: int) -> np.ndarray:
        """For the operands of the ops from low to high: whether the op a period later reads the
        same value."""
        a = slice(self.start[low], self.start[high])
        b = slice(self.start[low + period], self.start[high + period])
        same: np.ndarray = self.value[a] == self.value[b]
        return same

    def phase(self, low: int, period: int, first: int) -> int:
        """Where in the first of the steps from low on they begin: where the fewest values go from
        one to the next, and of such places the one a step after ``first`` or next to that."""
        step = slice(low + period, low + 2 * period)
        reads = slice(self.start[step.start], self.start[step.stop])
        reader = self._readers(step.start, step.stop)
        maker, place = self.maker[reads], self.place[reads]
        near = (maker >= low) & ~self.fixed(step.start, step.stop, period)
        #: For each result of the step, by op and number: how many ops later it is read last.
        reach: dict[tuple[int, int], int] = {}
        for m, which, r in zip(maker[near], place[near], reader[near], strict=True):
            key = (int(m - low) % period, int(which))
            reach[key] = max(reach.get(key, 0), int(r - m))
        handed = np.zeros(period, np.int64)
        for (m, _), far in reach.items():
            whole, rest = divmod(far, period)
            handed += whole
            handed[np.arange(m + 1, m + 1 + rest) % period] += 1
        places = low + np.flatnonzero(handed == handed.min())
        return int(places[((places - first) % period).argmin()])

    def made_before(self, start: int, stop: int) -> np.ndarray:
        """For the operands of the ops from start to stop: whether they are computed before."""
        before: np.ndarray = self.maker[self.start[start] : self.start[stop]] < start
        return before


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


def compared(a: Op, b: Op) -> tuple[bool, bool]:
    """Whether the ops may stand for each other whatever their sliding parameters are, and whether
    these are equal too."""
    kinds, params = _signatures([a, b])
    return bool(kinds[0] == kinds[1]), bool(params[0] == params[1])


def _periods(alike: np.ndarray) -> list[int]:
    """Distances at which equal ops follow each other most often."""
    votes: Counter[int] = Counter()
    order = np.argsort(alike, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
        if len(places) < LEAST_STEPS:
            continue
        for apart in range(1, min(FARTHEST, len(places) - 1) + 1):
            gaps, counts = np.unique(places[apart:] - places[:-apart], return_counts=True)
            often = counts >= LEAST_STEPS - 1
            for gap, count in zip(gaps[often].tolist(), counts[often].tolist(), strict=True):
                votes[gap] += count
    found: dict[int, list[int]] = {}
    for period, _ in votes.most_common():
        found.setdefault(period.bit_length(), []).append(period)
    return [period for periods in found.values() for period in periods[:MOST_PERIODS]]


def _runs(holds: np.ndarray) -> list[tuple[int, int]]:
    """Start and length of each run of True."""
    edges = np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return list(zip(starts.tolist(), (stops - starts).tolist(), strict=True))


def _longest_run(holds: np.ndarray) -> tuple[int, int]:
    """Start and length of the longest run of True."""
    return next(iter(_longest(_runs(holds), 1)), (0, 0))


def _uniform(ops: Ops, found: Stretch) -> Stretch:
    """The longest part of a stretch in which each operand is fixed in all steps or in none.

    What is fixed is computed before the part: where its first step computes it, that step, of which
    it would be a result, is left out.  In a loose stretch an operand may be anything that is
    computed before, but then in all steps: the first may not read what lies there by chance.
    """
    start, period, steps, loose = found
    if steps < 2:
        return found
    last = start + (steps - 1) * period
    fixed = ops.fixed(start, last, period).reshape(steps - 1, -1)
    right = np.ones(steps - 1, bool)
    if loose:
        before = np.all(ops.made_before(start, last + period).reshape(steps, -1), axis=0)
        fixed = fixed & ~before
        right = np.all(ops.linked(start, last, period).reshape(steps - 1, -1) | before, axis=1)
    same = np.all(fixed[1:] == fixed[:-1], axis=1) & right[1:] & right[:-1]
    first, pairs = _longest_run(same)
    start, steps = start + first * period, pairs + 2
    makers = ops.maker[ops.start[start] : ops.start[start + period]]
    if np.any(makers[fixed[first]] >= start):
        return Stretch(start + period, period, steps - 1, loose)
    return Stretch(start, period, steps, loose)


def _sliding(ops: Ops, found: Stretch, any_numbers: bool) -> Stretch:
    """As many steps as have parameters that are equal or slide evenly."""
    start, period, steps, loose = found
    for k in range(period):
        kind = ops.ops[start + k].kind
        if kind.sliding and not (any_numbers and kind.arity == 0):
            steps = min(steps, _even(ops, range(start + k, start + steps * period, period)))
    return Stretch(start, period, steps, loose)


def _even(ops: Ops, column: range) -> int:
    """How many ops from the first on have equal parameters, or such that slide evenly."""
    other = ops.equal[column.start : column.stop : column.step] != ops.equal[column.start]
    if not other.any():
        return len(column)
    kind, params = ops.ops[column.start].kind, [ops.ops[i].params for i in column]
    low, high = max(1, int(other.argmax())), len(params)
    if kind.slide(params) is not None:
        return high
    while low < high:  # the most for which it holds
        middle = (low + high + 1) // 2
        if kind.slide(params[:middle]) is not None:
            low = middle
        else:
            high = middle - 1
    return low


def slide_of(column: Sequence[Op]) -> Any:
    """How the parameters of ops of one place of the step slide; None where they are equal."""
    first = _key(column[0].params)
    if not column[0].kind.sliding or all(_key(op.params) == first for op in column):
        return None
    return column[0].kind.slide([op.params for op in column])


def _key(params: dict[str, Any]) -> Any:
    return tuple([param_key(v) for v in params.values()])
