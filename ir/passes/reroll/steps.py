"""The values that the steps of a repeated stretch read, and those of their results read later.

Legal where ``repetitions`` found the stretch: an operand is then of the same sort in every step.
Nothing is rewritten here.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.move import reshape, slice_

from .likeness import compared, slide_of
from .repetitions import MOST_BACK, Stretch


class Made(NamedTuple):
    """Result ``result`` of op ``op`` of a step, computed ``ago`` steps ago."""

    op: int
    result: int
    ago: int


class Each(NamedTuple):
    """A different value in each step; all are computed before the stretch."""

    values: tuple[Value, ...]


#: The source of an operand of a step: the same value in all steps, or one of the above.
Read = Value | Made | Each


class Flow:
    """Where the values of a program are computed and read; computed once for all stretches."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def maker(self) -> dict[Value, tuple[int, Op, int]]:
        """For each value: the number of the op that computes it, the op, and the result's place."""
        ops = self.program.ops
        return {v: (i, op, r) for i, op in enumerate(ops) for r, v in enumerate(op.results)}

    @cached_property
    def readers(self) -> dict[Value, list[tuple[int, int]]]:
        """For each value: its readers, as op and operand numbers; outputs count as a last op."""
        found: dict[Value, list[tuple[int, int]]] = {}
        ops = [op.operands for op in self.program.ops]
        for i, operands in enumerate([*ops, self.program.outputs]):
            for place, v in enumerate(operands):
                found.setdefault(v, []).append((i, place))
        return found


class Steps:
    """A stretch of a program, with the operands of its steps classified."""

    def __init__(self, flow: Flow, found: Stretch) -> None:
        program = self.program = flow.program
        self.flow = flow
        self.start, period, self.count, self.loose = found
        #: The position after the stretch.
        self.stop = self.start + period * self.count
        ops = program.ops
        #: Op k of each step.
        self.columns = [list(ops[self.start + k : self.stop : period]) for k in range(period)]
        #: Where values of the stretch and of the steps before it are computed: (step, op, result).
        self._place: dict[Value, tuple[int, int, int]] = {}
        self._value: dict[tuple[int, int, int], Value] = {}
        for i in range(max(0, self.start - MOST_BACK * period), self.stop):
            step, k = divmod(i - self.start, period)
            for r, v in enumerate(ops[i].results):
                self._place[v] = (step, k, r)
                self._value[step, k, r] = v
        #: The source of each operand of each op of a step.
        self.reads: list[list[Read]] = [
            [self._read(column, place) for place in range(len(column[0].operands))]
            for column in self.columns
        ]
        #: The values that a step reads from earlier steps, and the initial values before the first
        #: step.
        self.carried: dict[Made, Value] = {}
        for reads in self.reads:
            for read in reads:
                if isinstance(read, Made):
                    for ago in range(1, read.ago + 1):
                        made = Made(read.op, read.result, ago)
                        self.carried[made] = self._value[-ago, read.op, read.result]
        self.later = self._needed_later()
        if self.carried and all(made.ago == 1 for made in self.carried):
            while self._take_in_the_step_before():
                pass

    @property
    def template(self) -> list[Op]:
        """The ops of the first step."""
        return [column[0] for column in self.columns]

    def slide(self, k: int) -> Any:
        """How the parameters of op k change from step to step; None if they do not."""
        return slide_of(self.columns[k])

    def operands(self) -> Iterator[Value]:
        """The values from before the stretch that its steps read."""
        yield from self.carried.values()
        for read in itertools.chain.from_iterable(self.reads):
            if isinstance(read, Value):
                yield read
            elif isinstance(read, Each):
                yield from read.values

    def rename(self, replaced: dict[Value, Value]) -> None:
        """Replace values that are read from before the stretch."""
        self.carried = {made: replaced.get(v, v) for made, v in self.carried.items()}
        for reads in self.reads:
            for place, read in enumerate(reads):
                if isinstance(read, Value):
                    reads[place] = replaced.get(read, read)
                elif isinstance(read, Each):
                    reads[place] = Each(tuple([replaced.get(v, v) for v in read.values]))

    def _read(self, column: list[Op], place: int) -> Read:
        """The source of an operand, determined from the first two steps; from all in a loose
        stretch.

        One value can be read in two ways, as a fixed value and as the result of the step before the
        first, so each operand has its own source.
        """
        a, b = column[0].operands[place], column[1].operands[place]
        if self.loose:
            values = tuple([op.operands[place] for op in column])
            if all(self._place.get(v, (-1,))[0] < 0 for v in values):
                return a if all(v is a for v in values) else Each(values)
        if a is b:
            assert self._place.get(a, (-1,))[0] < 0, "a fixed operand is computed outside"
            return a
        step, j, r = self._place[a]
        return Made(j, r, -step)

    def _needed_later(self) -> dict[tuple[int, int, int], Value]:
        """The results read after the stretch, by step, op and result, in the order of the reads."""
        found: list[tuple[tuple[int, int], tuple[int, int, int], Value]] = []
        for v, where in self._place.items():
            read = self.flow.readers.get(v, ()) if where[0] >= 0 else ()
            if read and read[-1][0] >= self.stop:
                found.append((read[bisect_left(read, (self.stop, 0))], where, v))
        return {where: v for _, where, v in sorted(found, key=itemgetter(0))}

    # -- the first step of a loop -------------------------------------------------------

    def _take_in_the_step_before(self) -> bool:
        """Include the step before the stretch, if the initial values were computed like a step.

        The first step of a loop often reads other initial values than steps hand on. The ops of
        that step may lie anywhere before the stretch, and stay there.
        """
        found = self._matched()
        if found is None:
            return False
        ops, handed = found
        for k, column in enumerate(self.columns):
            slide, first = slide_of(column), ops[k]
            if slide is None:
                if not compared(first, column[0])[1]:
                    return False
            elif slide_of([first, *column]) != slide:
                return False
        for k, reads in enumerate(self.reads):
            self.columns[k].insert(0, ops[k])
            for place, read in enumerate(reads):
                if isinstance(read, Each):
                    reads[place] = Each((ops[k].operands[place], *read.values))
        self.count += 1
        self.carried = handed
        self.later = {(step + 1, k, r): v for (step, k, r), v in self.later.items()}
        return True

    def _matched(self) -> tuple[dict[int, Op], dict[Made, Value]] | None:
        """The ops of a step before the first, by number, and the values it reads from one before
        it.

        None unless the values handed on were computed in that way.
        """
        ops: dict[int, Op] = {}
        handed: dict[Made, Value] = {}
        left: list[tuple[Made, Value]] = list(self.carried.items())
        while left:
            made, value = left.pop()
            number, op, result = self.flow.maker.get(value, (self.start, None, 0))
            if op is None or number >= self.start or result != made.result:
                return None
            if made.op in ops:
                if ops[made.op] is not op:
                    return None
                continue
            if not compared(op, self.columns[made.op][0])[0]:
                return None
            ops[made.op] = op
            for v, read in zip(op.operands, self.reads[made.op], strict=True):
                if isinstance(read, Made) and not read.ago:
                    left.append((read, v))
                elif not _is_like(v, read, handed):
                    return None
        whole = len(ops) == len(self.columns) and handed.keys() == self.carried.keys()
        return (ops, handed) if whole else None


def _is_like(value: Value, read: Read, handed: dict[Made, Value]) -> bool:
    """Whether a step may read ``value`` as its operand.

    Other steps read there a fixed value, a different value each, or a value handed on by the
    previous step, which is then noted.
    """
    if isinstance(read, Made):
        return handed.setdefault(read, value) is value
    return value is read or isinstance(read, Each)


def row(stacked: Value, step: int) -> Value:
    """The result of one step."""
    shape = stacked.shape
    found = slice_(
        stacked,
        start=(step, *[0] * (len(shape) - 1)),
        stop=(step + 1, *shape[1:]),
        stride=(1,) * len(shape),
    )
    return reshape(found, shape=shape[1:])
