"""Selection: if only a few sorted values are read, they are found without sorting the others.

Before::

    %1: f64[300,3000] = sort %0
    %2: f64[300,1] = slice %1 {start=(0, 1500), stop=(300, 1501), stride=(1, 1)}
    %3: f64[300,1] = slice %1 {start=(0, 2999), stop=(300, 3000), stride=(1, 1)}

After::

    %1: f64[300,2] = order_statistics %0 {places=(1500, 2999)}
    %2: f64[300,1] = slice %1 {start=(0, 0), stop=(300, 1), stride=(1, 1)}
    %3: f64[300,1] = slice %1 {start=(0, 1), stop=(300, 2), stride=(1, 1)}

A sample of a row bounds the number at a place in the sorted row (R. Floyd and R. Rivest, "Expected
Time Bounds for Selection", CACM 18, 1975): one pass over the row counts those below and keeps those
between, and only these are sorted.

Legal where every reader of the sorted values is a slice, in steps of one along the rows, and they
are not an output. Nothing changes in the results, except which of -0.0 and 0.0 is read. It pays in
long rows, where few numbers are between the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.linalg.order import order_statistics, sort
from autojit.ir.ops.move import slice_
from autojit.ir.rewriting import cse, dce
from autojit.ir.rewriting.bodies import rule as in_bodies
from autojit.ir.rewriting.rewrite import Rewriter, rewrite

#: The least length of a row for selection: rows of 300 are sorted in less time.
LEAST = 500
#: The most numbers in a sample, and how many standard deviations of a place in it are kept.
SAMPLE = 1024
DEVIATIONS = 3.0
#: The most passes over a row, and the most of it that is kept in all of them together.
MOST_PASSES = 6
MOST_KEPT = 0.5


class Window(NamedTuple):
    """The first and last place of a sorted row that one pass finds; and the places in the sorted
    sample that bound them (None: no bound)."""

    first: int
    last: int
    low: int | None
    high: int | None


def sample_size(n: int) -> int:
    """The sample size for a row of n numbers."""
    return max(1, min(SAMPLE, round(n ** (2 / 3)), n))


def windows(places: Sequence[int], n: int) -> list[Window]:
    """The passes over a row of n numbers that find the numbers at some places, in ascending
    order."""
    found: list[Window] = []
    for place in places:
        new = _window(place, place, n)
        if found:
            both = _window(found[-1].first, place, n)
            if _kept(both, n) <= _kept(found[-1], n) + _kept(new, n):
                found[-1] = both
                continue
        found.append(new)
    return found


def _window(first: int, last: int, n: int) -> Window:
    m = sample_size(n)

    def margin(place: int) -> float:
        share = (place + 0.5) / n
        return 1 + DEVIATIONS * math.sqrt(m * share * (1 - share))

    low = math.floor(first * m / n - margin(first))
    high = math.ceil((last + 1) * m / n + margin(last))
    return Window(first, last, low if low >= 0 else None, high if high < m else None)


def _kept(window: Window, n: int) -> float:
    """The fraction of a row that a pass keeps."""
    m = sample_size(n)
    low = 0 if window.low is None else window.low
    return ((m if window.high is None else window.high) - low) / m


def _pays(places: Sequence[int], n: int) -> bool:
    if n < LEAST:
        return False
    found = windows(places, n)
    return len(found) <= MOST_PASSES and sum(_kept(w, n) for w in found) <= MOST_KEPT


def selected(program: Program) -> Program:
    """The program with order statistics instead of sorted values that few ops read."""
    if not _sorts(program):
        return program
    places = _places_read(program)

    def rule(op: Op, at: Rewriter) -> Sequence[Value] | None:
        if op.kind is not slice_ or op.operands[0] not in places:
            return None
        wanted = places[op.operands[0]]
        made = at.maker(op.operands[0])
        assert made is not None
        found = order_statistics(*made.operands, places=wanted)
        start, stop = (list(op.params[name]) for name in ("start", "stop"))
        count, start[-1] = stop[-1] - start[-1], wanted.index(start[-1])
        stop[-1] = start[-1] + count
        taken = slice_(found, start=tuple(start), stop=tuple(stop), stride=op.params["stride"])
        return (taken,)

    made = rewrite(program, [in_bodies(selected), cse.rule(), rule])
    return dce.run(made) if places else made


def _sorts(program: Program) -> bool:
    if sort in program.kinds:
        return True
    return any(_sorts(body) for op in program.ops for body in op.programs)


def _places_read(program: Program) -> dict[Value, tuple[int, ...]]:
    """The places read from each array of sorted values, if they are few."""
    found = {op.result: set[int]() for op in program.ops if op.kind is sort}
    if not found:
        return {}
    for value in program.outputs:
        found.pop(value, None)
    for op in program.ops:
        for value in op.operands:
            if value not in found:
                continue
            if op.kind is slice_ and op.params["stride"][-1] == 1:
                found[value].update(range(op.params["start"][-1], op.params["stop"][-1]))
            else:
                del found[value]
    return {
        value: tuple(sorted(places))
        for value, places in found.items()
        if places and _pays(sorted(places), value.shape[-1])
    }
