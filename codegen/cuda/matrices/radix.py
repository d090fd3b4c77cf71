"""Blocks sort long rows by digits of eight bits, the lowest digit first.

A pass has three launches, where each block has a part of the row:

    1. the blocks count the digits of their parts:             3 x 1, 0 x 2, ...
    2. for each digit, its counts are summed up, block by block
    3. the blocks move their elements to the places that these sums give

Between the launches, all that is stored are the elements, and for an argsort their places.

A block moves its part tile by tile.  It sorts a tile by the digit in shared memory, first by the
lower and then by the upper four bits (Satish, Harris and Garland, "Designing efficient sorting
algorithms for manycore GPUs", 2009).  Each of ``LANES`` threads has some neighbouring elements, and
counts how often each of the sixteen numbers occurs in them.  The sums of all counts before a
thread's own are the places of its elements.  In a sorted tile, elements of one digit are
neighbours, and so are their places in memory.

A pass keeps equal digits in their order, so the sort is stable, and in every run the same.  Both
zeros have the same digits, and so have all NaN, which are the largest.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from autojit.codegen.cuda.device_program.figures import BANDWIDTH, CYCLES, LAUNCH
from autojit.codegen.cuda.device_program.nodes import Atomic, Digit
from autojit.codegen.cuda.device_program.numbers import scalar
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Buffer, Place, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .builder import Array, Code, Number
from .merging import Stage, largest, merges_of
from .ordering import Run, half
from .sums import BANKS, converted, room_for, skewed, skewed_room, skewed_size, sum_up

#: The threads that count and place elements together, and the most elements of each.
LANES, MOST_OF_LANE = 256, 8
#: The digits; half of a digit's bits; the numbers of four bits.
DIGITS, HALF, NUMBERS = 256, 4, 16
#: The turns that shared memory takes for an element, in a pass over a digit, in a merge, and in
#: sorting tiles: counted by the executor (see record 0116).
TURNS_OF_DIGIT, TURNS_OF_MERGE, TURNS_OF_TILE = 2.8, 0.6, 4.4
#: Copies of the counts of digits in a block, so that fewer threads add to the same count.
COPIES = 8


class Seconds(NamedTuple):
    """Estimates for sorting by digits, and by merges."""

    digits: float
    merges: float


def seconds(s: Factorization, near: int, processors: int) -> Seconds:
    """Estimate both sorts by launches, and by global or shared memory, whichever takes longer (see
    ``device_program/figures.py``).

    A merge reads and writes each element.  A pass over a digit reads it twice, and its writes count
    twice: a tile has few elements of a digit, which begin and end within sectors.  It also writes
    and reads, twice each, the number of elements of each digit in at most every tile.
    """
    key, count = itemsize(s.inputs[0].buffer.dtype), prod(s.batch) * s.m
    place = itemsize(s.outputs[0].buffer.dtype) if s.name == "argsort" else 0
    merges = merges_of(s, near)
    merge = _of_memory(2 * (key + place), TURNS_OF_MERGE, processors)
    sorted_tiles = _of_memory(2 * key + place, TURNS_OF_TILE, processors)
    moved: float = 2 * key + (2 * (key + 4) + 4 if place else 2 * key)
    moved += 4 * 4 * DIGITS / (LANES * _of_lane(s, near))
    digit = _of_memory(moved, TURNS_OF_DIGIT, processors)
    return Seconds(
        3 * key * LAUNCH + key * digit * count,
        (1 + merges) * LAUNCH + (sorted_tiles + merges * merge) * count,
    )


def _of_memory(moved: float, turns: float, processors: int) -> float:
    """The seconds for an element: its bytes, or the turns of shared memory."""
    return max(moved / BANDWIDTH, turns / (processors * CYCLES))


def pays(s: Factorization, near: int, processors: int) -> bool:
    """Whether rows are sorted by digits: if that is estimated to be faster than merges."""
    if s.m >= 1 << 31 or not _of_lane(s, near):
        return False
    found = seconds(s, near, processors)
    return found.digits < found.merges


def _of_lane(s: Factorization, near: int) -> int:
    """The number of elements of a thread, a power of two; 0 if shared memory is too small."""
    each = itemsize(s.inputs[0].buffer.dtype) + (4 if s.name == "argsort" else 0)
    fixed = 2 * skewed_size(NUMBERS * LANES) + 4 * (2 * LANES + 2 * DIGITS)
    found = MOST_OF_LANE
    while found and fixed + 2 * each * skewed_size(found * LANES) > near:
        found //= 2
    return found


def stages(s: Factorization, near: int, blocks: int) -> list[Stage]:
    """The launches that sort each row, with at most ``blocks`` blocks."""
    sorting = _Sorting(s, near, max(1, blocks // max(1, prod(s.batch))))
    made: list[Stage] = []
    for number in range(sorting.passes):
        made += sorting.one_pass(number)
    return made


class _Sorting:
    """Writes the launches for all rows of an array."""

    def __init__(self, s: Factorization, near: int, blocks: int) -> None:
        self.n, self.near, self.dtype = s.m, near, s.inputs[0].buffer.dtype
        self.passes = itemsize(self.dtype)
        self.per = _of_lane(s, near)
        self.tile = LANES * self.per
        tiles = -(-self.n // self.tile)
        #: The tiles of a block, and the number of blocks for a row.
        self.of_block = -(-tiles // blocks)
        self.blocks = -(-tiles // self.of_block)
        self.batch = [Var(extent) for extent in s.batch]
        self.row = Affine(0)
        for var in self.batch:
            self.row = self.row * var.extent + affine.of(var)
        here = [affine.of(v) for v in self.batch]
        self.with_places = s.name == "argsort"
        rows = prod(s.batch)
        whole = Code(rows, self.row)
        self.given = Run(Array.of(s.inputs[0], here, self.dtype), None)
        self.result = Array.of(s.outputs[0], here, s.outputs[0].buffer.dtype)
        count = min(2 if self.with_places else 1, self.passes - 1)
        self.spare = [self._spare(whole) for _ in range(count)]
        self.counts = whole.workspace("i32", 1, DIGITS, self.blocks)
        self.totals = whole.workspace("i32", 1, DIGITS)
        self.shifts = [self._number() for _ in range(1, self.passes)]

    def _spare(self, whole: Code) -> Run:
        places = whole.workspace("i32", 1, self.n) if self.with_places else None
        return Run(whole.workspace(self.dtype, 1, self.n), places)

    def _number(self) -> Array:
        return Array(Buffer("shift", "i64", 1, "temp"), Affine(0), (1,), 1)

    def _target(self, number: int) -> Run:
        """The memory that a pass writes."""
        left = self.passes - 1 - number
        if not left and self.with_places:
            return Run(None, self.result)
        if self.with_places:
            return self.spare[number % len(self.spare)]
        return self.spare[0] if left % 2 else Run(self.result, None)

    def one_pass(self, number: int) -> list[Stage]:
        """The launches of a pass; the first one also stores the shifts of the later ones."""
        source = self._target(number - 1) if number else self.given
        shift = self.shifts[number - 1] if number else None
        return [
            self._counted(source, shift),
            self._summed(),
            self._moved(source, self._target(number), shift),
        ]

    # -- counts -----------------------------------------------------------------------------

    def _counted(self, source: Run, shift: Array | None) -> Stage:
        """Count the digits of each block's part."""
        code, block = _begun(self.near), Var(self.blocks)
        b, keys = affine.of(block), source.keys
        assert keys is not None
        if shift is None and self.shifts:
            with code.when(code.within(self.row * self.blocks + b, 0, 1)):
                for k, each in enumerate(self.shifts):
                    code.store(each, (0,), (code.constant(8 * (k + 1), "i64"),))
        by = self._shift(code, shift)
        found = room_for(code, "i32", COPIES * DIGITS)
        with code.loop(COPIES * DIGITS) as q:
            code.store(found, (q,), (code.constant(0, "i32"),))
        part = self.of_block * self.tile
        with code.loop(part) as q, code.when(code.within(b * part + q, 0, self.n)):
            digit = _digit(code, code.load(keys, b * part + q)[0], by)
            copy = affine.divide(q, COPIES, {})[1] * DIGITS
            place = Place(digit, 1, DIGITS)
            one = code.constant(1, "i32")
            code.body.append(Atomic(found.buffer, copy, (place,), "add", one))
        with code.loop(DIGITS) as d:
            (total,) = code.load(found, d)
            for k in range(1, COPIES):
                total = code.compute("add", total, code.load(found, d + k * DIGITS)[0])
            code.store(self.counts, (d, b), (total,))
        return Stage([*self.batch, block], code.body, code.in_block)

    def _summed(self) -> Stage:
        """For each digit, sum up the counts of the blocks before each."""
        code, digit = _begun(self.near), Var(DIGITS)
        d, per = affine.of(digit), self.blocks // LANES + 1
        sums = skewed_room(code, "i32", LANES * per)
        with code.loop(LANES * per) as q:
            inside = code.within(q, 0, self.blocks)
            code.store(sums, (skewed(q),), code.load_where(inside, self.counts, d, q))
        sum_up(code, sums, LANES, per, room_for(code, "i32", 2 * LANES))
        with code.loop(self.blocks) as q:
            code.store(self.counts, (d, q), code.load(sums, skewed(q)))
        code.store(self.totals, (d,), code.load(sums, skewed(Affine(self.blocks))))
        return Stage([*self.batch, digit], code.body, code.in_block)

    # -- elements ---------------------------------------------------------------------------

    def _moved(self, source: Run, target: Run, shift: Array | None) -> Stage:
        """Move the elements of each block's part to their places."""
        code, block = _begun(self.near), Var(self.blocks)
        b, by = affine.of(block), self._shift(code, shift)
        partial, base = room_for(code, "i32", 2 * LANES), room_for(code, "i32", DIGITS)
        with code.loop(DIGITS) as d:
            code.store(base, (d,), code.load(self.totals, d))
        sum_up(code, base, LANES, DIGITS // LANES, partial, is_skewed=False)
        with code.loop(DIGITS) as d:
            code.store(base, (d,), code.add(code.load(base, d), code.load(self.counts, d, b)))
        tiles = _Tiles(self, code, by, partial, base)
        with code.loop(self.of_block, "sequence") as t:
            tiles.move((b * self.of_block + t) * self.tile, source, target)
        return Stage([*self.batch, block], code.body, code.in_block)

    def _shift(self, code: Code, shift: Array | None) -> Scalar:
        return code.constant(0, "i64") if shift is None else code.load(shift, 0)[0]


class _Tiles:
    """Writes what a block does with each of its tiles.

    Elements and places are in the first of two halves of shared memory, before and after.
    """

    def __init__(
        self, sorting: _Sorting, code: Code, shift: Scalar, partial: Array, base: Array
    ) -> None:  # fmt: skip
        self.n, self.per, self.tile = sorting.n, sorting.per, sorting.tile
        self.code, self.shift, self.partial, self.base = code, shift, partial, base
        self.counts = skewed_room(code, "i16", NUMBERS * LANES)
        self.starts = room_for(code, "i32", DIGITS)
        size = 2 * skewed_size(self.tile)
        places = room_for(code, "i32", size) if sorting.with_places else None
        self.both = Run(room_for(code, sorting.dtype, size), places)

    def move(self, first: Affine, source: Run, target: Run) -> None:
        """Move the tile that begins at ``first``."""
        self._read(first, source)
        with self.code.loop(2, "sequence") as step:
            numbers = (affine.divide(step + k, 2, {})[1] for k in range(2))
            old, new = (half(self.both, k, skewed_size(self.tile)) for k in numbers)
            self._placed(old, new, step)
        self._write(first, target)

    def _read(self, first: Affine, source: Run) -> None:
        """Read the tile.  What is missing at the end of the row is filled with a key that comes
        last, and so it stays at the end."""
        code, (keys, places) = self.code, self.both
        assert keys is not None
        assert source.keys is not None
        dtype = keys.buffer.dtype
        with code.loop(self.tile) as q:
            inside, last = code.within(first + q, 0, self.n), code.constant(largest(dtype), dtype)
            value = code.load_where(inside, source.keys, first + q)
            code.store(keys, (skewed(q),), code.select(inside, value, (last,)))
            if places is not None:
                place: Number = (code.number(first + q, "i32"),)
                if source.places is not None:
                    place = code.load_where(inside, source.places, first + q)
                code.store(places, (skewed(q),), place)

    def _placed(self, source: Run, target: Run, step: Affine) -> None:
        """Sort the tile by the lower (``step`` = 0) or the upper (1) four bits of the digit."""
        code = self.code
        shift = code.compute("add", self.shift, code.number(step * HALF))
        rows = Array(self.counts.buffer, Affine(0), (skewed_size(LANES), 1), 1)
        with code.loop(skewed_size(NUMBERS * LANES)) as q:
            code.store(self.counts, (q,), (code.constant(0, "i16"),))
        with code.loop(LANES) as t, code.loop(self.per, "sequence") as k:
            self._counted(rows, source, skewed(t * self.per + k), skewed(t), shift)
        sum_up(code, self.counts, LANES, NUMBERS, self.partial)
        with code.loop(LANES) as t, code.loop(self.per, "sequence") as k:
            here = skewed(t * self.per + k)
            place = self._counted(rows, source, here, skewed(t), shift)
            place = code.compute("convert", place, dtype="i64")
            bits = code.constant(BANKS.bit_length() - 1, "i64")
            there = code.compute("add", place, code.compute("shift_right", place, bits))
            for old, new in zip(source, target, strict=True):
                if old is not None and new is not None:
                    code.store_row(new, there, skewed_size(self.tile), (), code.load(old, here))

    def _counted(
        self, rows: Array, source: Run, here: Affine, thread: Affine, shift: Scalar
    ) -> Scalar:
        """Count an element among those of its thread with the same four bits; return the count
        before."""
        code = self.code
        assert source.keys is not None
        digit = _digit(code, code.load(source.keys, here)[0], shift)
        number = code.compute("and", digit, code.constant(NUMBERS - 1, "i64"))
        (before,) = code.load_row(rows, number, NUMBERS, thread)
        after = code.compute("add", before, code.constant(1, "i16"))
        code.store_row(rows, number, NUMBERS, (thread,), (after,))
        return before

    def _write(self, first: Affine, target: Run) -> None:
        """Write the sorted tile, and add the numbers of its elements to the places of digits."""
        code, keys = self.code, self.both.keys
        assert keys is not None

        def digit(value: tuple[Scalar, ...]) -> Scalar:
            return _digit(code, value[0], self.shift)

        with code.loop(self.tile) as q:
            mine, is_first = digit(code.load(keys, skewed(q))), code.within(q, 0, 1)
            before = digit(code.load_where(code.within(q, 1, self.tile), keys, skewed(q - 1)))
            with code.when(code.compute("or", is_first, code.compare("ne", mine, before))):
                code.store_row(self.starts, mine, DIGITS, (), (code.number(q, "i32"),))
        with code.loop(self.tile) as q, code.when(code.within(first + q, 0, self.n)):
            place = self._place(digit(code.load(keys, skewed(q))), code.number(q, "i32"))
            place = code.compute("convert", place, dtype="i64")
            for here, there in zip(self.both, target, strict=True):
                if here is not None and there is not None:
                    (value,) = code.load(here, skewed(q))
                    code.store_row(there, place, self.n, (), (converted(code, value, there),))
        with code.loop(self.tile) as q, code.when(code.within(first + q, 0, self.n)):
            mine, follows = digit(code.load(keys, skewed(q))), code.within(q, 0, self.tile - 1)
            after = digit(code.load_where(follows, keys, skewed(q + 1)))
            more = code.compute("and", follows, code.within(first + q, 0, self.n - 1))
            more = code.compute("and", more, code.compare("eq", mine, after))
            with code.when(code.compute("not", more)):
                place = self._place(mine, code.number(q + 1, "i32"))
                code.store_row(self.base, mine, DIGITS, (), (place,))

    def _place(self, digit: Scalar, q: Scalar) -> Scalar:
        """The place in the row of element ``q`` of the sorted tile."""
        code = self.code
        (base,), (start,) = (code.load_row(x, digit, DIGITS) for x in (self.base, self.starts))
        return code.compute("add", base, code.compute("sub", q, start))


def _digit(code: Code, x: Scalar, shift: Scalar) -> Scalar:
    """The digit of an element, from the bit ``shift`` on."""
    found = Digit(scalar("i64"), x, shift)
    code.body.append(found)
    return found.result


def _begun(near: int) -> Code:
    code = Code()
    code.near = near
    return code
