"""Finds repeated stretches of a program, and the values that their steps read.

A stretch is found by its period, the distance between equal ops: the ops at each distance are
compared as arrays of numbers.

Legal where ops correspond: they have one declaration, equal types, and parameters that are equal or
slide evenly; and where operands are the same value, or correspond, in every step.  Nothing is
rewritten here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.move import Move

from .likeness import may_repeat, signatures, sliding_numbers

Kinds = Collection[Declaration]
NONE: Kinds = ()

#: At least three, since the second and third step show what stays the same.
LEAST_STEPS = 8
#: The most periods of one bit length that are tried, and how far apart, in occurrences, equal ops
#: are compared to find them.
MOST_PERIODS = 8
FARTHEST = 8
#: The number of consecutive ops that identify a place of a step if no single op does.
WINDOW = 8
#: The most places examined for each period, and the most stretches in each.
MOST_RUNS = 4
MOST_PARTS = 64
#: A step may read the results of this many steps before it.
MOST_BACK = 4
#: The relative distance of a number from a straight line that is accepted at first, before the op
#: itself decides whether its parameters slide.
ROUNDING = 1e-14


class Stretch(NamedTuple):
    """Steps with the same number of ops each.

    If it is ``loose``, an operand may also be a different value in each step, if all of these are
    computed before the stretch.
    """

    start: int
    period: int
    steps: int
    loose: bool

    @property
    def size(self) -> int:
        """The number of ops in the stretch."""
        return self.period * self.steps


def repetitions(
    ops: Ops, least: int, free: np.ndarray, may_be_uneven: Kinds = NONE
) -> Iterator[Stretch]:
    """Yield stretches of at least ``least`` ops, the longest first.

    Of stretches of nearly equal length, the one with the shortest step comes first. ``free`` marks
    the ops that may be in a stretch; the caller clears the ops of those it accepts. Ops of kinds in
    ``may_be_uneven`` may have any sliding parameters in each step.
    """
    queue: list[tuple[tuple[int, int, bool, int], int, int, Stretch]] = []

    def put(found: Stretch, first: int, high: int) -> None:
        """Add a stretch to the queue. If its steps have not been examined, ``first`` is where ops
        begin to be alike, and ``high`` is where correspondence ends."""
        if found.size >= least and found.steps >= LEAST_STEPS:
            order = (-_rough(found.size), found.period, found.loose, found.start)
            heappush(queue, (order, first, high, found))

    if not may_repeat(ops.alike, least, LEAST_STEPS):
        return
    ops.prepare()
    for found, first, high in _candidates(ops, least):
        put(found, first, high)
    while queue:  # expensive checks run only for the next stretch
        _, first, high, found = heappop(queue)
        if not high:
            if free[found.start : found.start + found.size].all():
                yield found
            continue
        if not free[found.start : high].any():
            continue
        for place in _looked_at(ops, found, first, high, may_be_uneven):
            put(*place)


def _looked_at(
    ops: Ops, found: Stretch, first: int, high: int, may_be_uneven: Kinds
) -> Iterator[tuple[Stretch, int, int]]:
    """The stretches in a candidate, and parts of it to examine separately, in which an inner loop
    may begin again."""
    start = ops.phase(found.start, found.period, first)
    whole = found._replace(start=start, steps=(high - start) // found.period)
    for part in _uniform(ops, whole):
        first_part, *others = _nearly_even(ops, part, may_be_uneven)
        yield from ((even, 0, 0) for even in _sliding(ops, first_part, may_be_uneven))
        for other in others:
            yield other, other.start, min(high, other.start + other.size + other.period)


def _candidates(ops: Ops, least: int) -> Iterator[tuple[Stretch, int, int]]:
    """Stretches whose ops correspond, before their steps are examined.

    Each comes with the place from which ops are alike, and the place up to which they correspond.
    """
    periods = {*_periods(ops.alike), *_periods(ops.equal), *_periods(_windows(ops.alike))}
    for period in sorted(periods):
        long = max(least, LEAST_STEPS * period) - period
        runs = _runs(ops.alike[:-period] == ops.alike[period:], long)
        runs = [(low, count) for low, count in runs if ops.counts[low : low + period].any()]
        for low, count in _longest(runs, MOST_RUNS):
            for loose in (False, True):
                parts = _runs(ops.correspond(low, low + count, period, loose))
                for first, length in _longest(parts, MOST_PARTS):
                    start, high = low + first, low + first + length + period
                    yield Stretch(start, period, (high - start) // period, loose), low, high


def _longest(runs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    return sorted(runs, key=lambda run: -run[1])[:most]


def _rough(size: int) -> int:
    """The size on a logarithmic scale with steps of a tenth."""
    return int(np.log(size) / np.log(1.1))


class Ops:
    """Ops as arrays of numbers, so that all pairs at a distance are compared at once."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        #: Equal for corresponding ops, and for corresponding ops with equal parameters.
        self.alike, self.equal = signatures(ops)
        self.is_prepared = False

    def prepare(self) -> None:
        """Number the values that ops read; not needed for ``alike`` and ``equal``."""
        if self.is_prepared:
            return
        self.is_prepared = True
        ops = self.ops
        #: Whether an op computes something; steps that only move elements are not rolled.
        self.counts = np.array([not isinstance(op.kind, Move) for op in ops], bool)
        self.kinds = np.array([id(op.kind) for op in ops], np.int64)
        #: The operands of op i are at start[i] to start[i + 1] of the arrays below.
        self.start = np.zeros(len(ops) + 1, np.int64)
        #: The numbers in sliding parameters.
        self.numbers = sliding_numbers(ops)
        np.cumsum([len(op.operands) for op in ops], out=self.start[1:])
        numbers: dict[Value, int] = {}
        makers: list[int] = []  # for each value: the op that computes it, or -1
        places: list[int] = []  # and the number of the result
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
        """For the ops from low to high, which are like those a period later: whether both read
        corresponding values."""
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
        """For the operands of the ops from low to high: the op that reads each."""
        return np.repeat(np.arange(low, high), np.diff(self.start[low : high + 1]))

    def linked(self, low: int, high: int, period: int) -> np.ndarray:
        """For the operands of the ops from low to high: whether the op a period later reads the
        same value, or the corresponding value computed a period later."""
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
        """The place at which steps begin, in the first step from ``low`` on.

        It is where the fewest values pass from one step to the next; among equal places, the first
        one at or after ``first``, modulo the period.
        """
        step = slice(low + period, low + 2 * period)
        reads = slice(self.start[step.start], self.start[step.stop])
        reader = self._readers(step.start, step.stop)
        maker, place = self.maker[reads], self.place[reads]
        near = (maker >= low) & ~self.fixed(step.start, step.stop, period)
        #: For each result of the step, by op and number: the distance to its last reader, in ops.
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

    def uneven(self, found: Stretch, may_be_uneven: Kinds) -> np.ndarray:
        """For each step of a stretch except the last two: whether it has parameters that surely do
        not slide evenly to the two following steps."""
        start, period, steps, _ = found
        last = start + (steps - 2) * period
        a, b, c = (slice(start + k * period, last + k * period) for k in range(3))
        equal = (self.equal[a] == self.equal[b]) & (self.equal[b] == self.equal[c])
        for kind in may_be_uneven:
            equal |= self.kinds[a] == id(kind)
        x, y, z = (self.numbers[part] for part in (a, b, c))
        with np.errstate(all="ignore"):
            change = np.abs((z - y) - (y - x))
            rounding = ROUNDING * (np.abs(x) + np.abs(y) + np.abs(z))
        even = equal | np.all(change <= rounding, axis=1)
        uneven: np.ndarray = ~even.reshape(steps - 2, period).all(axis=1)
        return uneven

    def made_before(self, start: int, stop: int) -> np.ndarray:
        """For the operands of the ops from start to stop: whether they are computed before."""
        before: np.ndarray = self.maker[self.start[start] : self.start[stop]] < start
        return before


def _periods(alike: np.ndarray) -> list[int]:
    """The most frequent distances between equal ops."""
    votes: Counter[int] = Counter()
    order = np.argsort(alike, kind="stable")
    ordered = alike[order]
    group = np.cumsum(np.diff(ordered, prepend=ordered[:1]) != 0)
    often = np.bincount(group, minlength=1)[group] >= LEAST_STEPS
    order, group = order[often], group[often]
    #: Sorted by the order in which periods with equal votes are tried: group, apart, distance.
    rows: list[tuple[int, int, int, int]] = []
    for apart in range(1, FARTHEST + 1):
        same = group[apart:] == group[:-apart]
        gaps = (order[apart:] - order[:-apart])[same]
        pairs, counts = np.unique(group[apart:][same] * len(alike) + gaps, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            if count >= LEAST_STEPS - 1:
                number, gap = divmod(pair, len(alike))
                rows.append((number, apart, gap, count))
    for _, _, gap, count in sorted(rows):
        votes[gap] += count
    found: dict[int, list[int]] = {}
    for period, _ in votes.most_common():
        found.setdefault(period.bit_length(), []).append(period)
    return [period for periods in found.values() for period in periods[:MOST_PERIODS]]


def _windows(alike: np.ndarray) -> np.ndarray:
    """A number for each op, equal for ops that begin equal sequences.

    It identifies places even in steps without an op of their own, such as sums of products.
    """
    numbers, length = alike, 1
    while length < WINDOW and len(numbers) > length:
        pairs = numbers[:-length] * (numbers.max() + 1) + numbers[length:]
        numbers = np.unique(pairs, return_inverse=True)[1]
        length *= 2
    return numbers


def _runs(holds: np.ndarray, least: int = 1) -> list[tuple[int, int]]:
    """The start and length of each run of at least ``least`` True values."""
    edges = np.flatnonzero(np.diff(holds, prepend=False, append=False))
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    long = lengths >= least
    return list(zip(starts[long].tolist(), lengths[long].tolist(), strict=True))


def _uniform(ops: Ops, found: Stretch) -> Iterator[Stretch]:
    """The parts of a stretch in each of which an operand is fixed in all steps or in none.

    A fixed value is computed before the part; if the first step computes it, that step is left out.
    In a loose stretch, an operand may be any value computed before the stretch, but then in all
    steps: the first step must not read a value there by chance.
    """
    start, period, steps, loose = found
    if steps < LEAST_STEPS:
        return
    last = start + (steps - 1) * period
    fixed = ops.fixed(start, last, period).reshape(steps - 1, -1)
    right = np.ones(steps - 1, bool)
    if loose:
        before = np.all(ops.made_before(start, last + period).reshape(steps, -1), axis=0)
        fixed = fixed & ~before
        right = np.all(ops.linked(start, last, period).reshape(steps - 1, -1) | before, axis=1)
    same = np.all(fixed[1:] == fixed[:-1], axis=1) & right[1:] & right[:-1]
    for first, pairs in _runs(same):
        if pairs + 2 < LEAST_STEPS:
            continue
        part = Stretch(start + first * period, period, pairs + 2, loose)
        makers = ops.maker[ops.start[part.start] : ops.start[part.start + period]]
        if np.any(makers[fixed[first]] >= part.start):
            part = Stretch(part.start + period, period, part.steps - 1, loose)
        yield part


def _nearly_even(ops: Ops, found: Stretch, may_be_uneven: Kinds) -> Iterator[Stretch]:
    """The parts of a stretch in which any three consecutive steps appear to slide evenly; after the
    first part, only those that are long enough."""
    start, period, steps, loose = found
    at = 0
    for first in [*np.flatnonzero(ops.uneven(found, may_be_uneven)).tolist(), steps - 2]:
        if first < at:  # the two steps of this place are in the part before
            continue
        count = first + 2 - at
        if not at or count >= LEAST_STEPS:
            yield Stretch(start + at * period, period, count, loose)
        at = first + 2


def _sliding(ops: Ops, found: Stretch, may_be_uneven: Kinds) -> Iterator[Stretch]:
    """The parts of a stretch in which the parameters of all steps are equal or slide evenly."""
    start, period, left, loose = found
    kinds = [ops.ops[start + k].kind for k in range(period)]
    sliding = [
        k for k, kind in enumerate(kinds)
        if kind.sliding and kind not in may_be_uneven
    ]  # fmt: skip
    while left >= LEAST_STEPS:
        steps = left
        for k in sliding:
            steps = _even(ops, range(start + k, start + steps * period, period))
        yield Stretch(start, period, steps, loose)
        start, left = start + steps * period, left - steps


def _even(ops: Ops, column: range) -> int:
    """The number of ops from the first on whose parameters are equal or slide evenly.

    The number of ops tested doubles each time, so that an early end is found quickly.
    """
    low, high = 1, min(LEAST_STEPS, len(column))
    while _is_even(ops, column[:high]):
        if high == len(column):
            return high
        low, high = high, min(2 * high, len(column))
    while low < high - 1:  # even up to low, but not up to high
        middle = (low + high) // 2
        if _is_even(ops, column[:middle]):
            low = middle
        else:
            high = middle
    return low


def _is_even(ops: Ops, column: range) -> bool:
    equal = ops.equal[column.start : column.stop : column.step]
    if (equal == equal[0]).all():
        return True
    kind = ops.ops[column.start].kind
    return kind.slide([ops.ops[i].params for i in column]) is not None
