"""Blocks sort elements: first tiles in shared memory, then merges of sorted runs.

A block sorts a tile of a row like ``ordering``, but in its shared memory.  Sorted runs are merged
in pairs; each block writes one tile of the merged run:

    the run's elements:   A = 1 3 5 7 | B = 2 2 4 8        tiles of 4: 1 2 2 3 | 4 5 7 8

Bisection finds how many of the first ``d`` elements come from A, for the first and the last place
of the tile (Odeh, Green, Mwassi, Shmueli and Birk, "Merge path: parallel merging made simple",
2012).  Then both parts are read into shared memory, merged there and written.  So each pass reads
and writes every element once, and neighbouring threads access neighbours.

Rows are padded, so that all tiles are equally long, with values that come after all others: NaN,
or the largest integer.  Equal elements keep their order, so the padding stays at the end.

The lengths of runs are numbers in memory, which the first launch writes.  So all passes are one
kernel: compiling it takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.types import dtype_from_name

from .builder import Array, Code
from .ordering import Run, before, half, ordered_halves, passes_of, precedes

#: The most bytes of a block's tiles: two blocks of 1,024 threads then fit on a processor.
MOST_BYTES = 32 << 10


class Stage(NamedTuple):
    """The work of a block on each tile, the variables of rows and tiles, and its shared memory."""

    batch: list[Var]
    body: list[Any]
    in_block: list[Buffer]


def tile_of(s: Factorization, near: int) -> int:
    """The number of elements of a tile: a power of two, or that of a shorter row.

    ``near`` is the number of bytes of shared memory per block.
    """
    each = itemsize(s.inputs[0].buffer.dtype) + (4 if s.name == "argsort" else 0)
    most = min(near - 32, MOST_BYTES) // (2 * each)
    return int(min(s.m, 1 << (most.bit_length() - 1)))


def merges_of(s: Factorization, near: int) -> int:
    """The number of passes that merge runs."""
    return max(0, (-(-s.m // tile_of(s, near)) - 1).bit_length())


def stages(s: Factorization, near: int) -> list[Stage]:
    """The launches that sort each row, with ``near`` bytes of shared memory per block."""
    batch = [Var(extent) for extent in s.batch]
    number = Affine(0)
    for var in batch:
        number = number * var.extent + affine.of(var)
    here = [affine.of(v) for v in batch]
    whole, dtype = Code(prod(s.batch), number), s.inputs[0].buffer.dtype
    x = Array.of(s.inputs[0], here, dtype)
    result = Array.of(s.outputs[0], here, s.outputs[0].buffer.dtype)
    n, tile, merges = s.m, tile_of(s, near), merges_of(s, near)
    # The last pass writes to the first run. For an argsort it does not write the keys.
    runs = [Run(result, None)]
    if s.name == "argsort":
        keys = whole.workspace(dtype, 1, n) if merges > 1 else None
        runs = [Run(keys, result)]
    if merges:
        places = whole.workspace(result.buffer.dtype, 1, n) if s.name == "argsort" else None
        runs.append(Run(whole.workspace(dtype, 1, n), places))
    lengths = [Array(Buffer("length", "i64", 1, "temp"), Affine(0), (1,), 1) for _ in range(merges)]
    sorting = _Stages(n, tile, near, batch, s.name == "argsort")
    made = [sorting.tiles(x, _target(runs, merges), number, lengths)]
    for k, length in enumerate(lengths):
        left = merges - k
        made.append(sorting.merge(runs[left % 2], _target(runs, left - 1), length))
    return made


def _target(runs: Sequence[Run], left: int) -> Run:
    """The run that a pass writes to if ``left`` passes follow it."""
    found = runs[left % len(runs)]
    return Run(None, found.places) if not left and found.places is not None else found


class _Stages:
    """Writes the launches for rows of ``n`` elements in tiles."""

    def __init__(self, n: int, tile: int, near: int, batch: list[Var], with_places: bool) -> None:
        self.n, self.tile, self.near, self.batch = n, tile, near, batch
        self.with_places = with_places

    def _begin(self) -> tuple[Code, Var]:
        code = Code()
        code.near = self.near
        return code, Var(-(-self.n // self.tile))

    def _room(self, code: Code, dtype: str, tiles: int = 1) -> Run:
        """Room for tiles in shared memory, for an argsort with places."""
        keys = code.room(dtype, 1, tiles * self.tile)
        places = code.room("i32", 1, tiles * self.tile) if self.with_places else None
        assert keys is not None
        return Run(keys, places)

    # -- tiles ------------------------------------------------------------------------------

    def tiles(self, x: Array, target: Run, row: Affine, lengths: Sequence[Array]) -> Stage:
        """Sort each tile of a row separately; one block also stores the lengths of runs."""
        code, tile = self._begin()
        if lengths:
            with code.when(code.within(row * tile.extent + affine.of(tile), 0, 1)):
                for k, length in enumerate(lengths):
                    code.store(length, (0,), (code.constant(self.tile << k, "i64"),))
        first, passes = affine.of(tile) * self.tile, passes_of(self.tile)
        both = self._room(code, x.buffer.dtype, 2)
        source, made = (
            half(both, Affine((passes + 1) % 2), self.tile).keys,
            half(both, Affine(0), self.tile),
        )
        assert source is not None
        with code.loop(self.tile) as q:
            inside = code.within(first + q, 0, self.n)
            value = code.load_where(inside, x, first + q)
            last = code.constant(largest(x.buffer.dtype), x.buffer.dtype)
            code.store(source, (q,), code.select(inside, value, (last,)))
        ordered_halves(code, source, both, self.tile, passes)
        with code.loop(self.tile) as q, code.when(code.within(first + q, 0, self.n)):
            if target.keys is not None and made.keys is not None:
                code.store(target.keys, (first + q,), code.load(made.keys, q))
            if target.places is not None and made.places is not None:
                kind = target.places.buffer.dtype
                (place,) = code.load(made.places, q)
                place = code.compute("convert", place, dtype=kind)
                place = code.compute("add", place, code.number(first, kind))
                code.store(target.places, (first + q,), (place,))
        return Stage([*self.batch, tile], code.body, code.in_block)

    # -- merges -----------------------------------------------------------------------------

    def merge(self, source: Run, target: Run, length: Array) -> Stage:
        """Merge pairs of runs, whose length is ``length[0]``, a power of two."""
        code, tile = self._begin()
        return Stage(
            [*self.batch, tile], _Merge(self, code, source, length, tile).written(target),
            code.in_block,
        )  # fmt: skip


class _Merge:
    """Writes one merge; places are counted within the merged run."""

    def __init__(self, stages: _Stages, code: Code, source: Run, length: Array, tile: Var) -> None:
        self.stages, self.code, self.source = stages, code, source
        self.n, self.tile = stages.n, stages.tile
        self.place = affine.of(tile) * self.tile
        #: The length of a run, and of a pair.
        (self.width,) = code.load(length, 0)
        self.both = code.compute("add", self.width, self.width)
        #: The begin of the pair of runs, and that of the tile within it.
        place, last = code.number(self.place), code.constant(1, "i64")
        self.start = code.compute("and", place, code.compute("sub", self.both, last))
        self.begin = code.compute("sub", place, self.start)

    def written(self, target: Run) -> list[Any]:
        code, keys = self.code, self.source.keys
        assert keys is not None
        dtype = keys.buffer.dtype
        read, made = (self.stages._room(code, dtype) for _ in range(2))
        bounds = code.room("i64", 1, 2)
        assert bounds is not None
        total = self._length(None, self.both)
        with code.loop(2) as k:
            code.store(bounds, (k,), (self._of_first(keys, self._end(k, total)),))
        (low,), (high,) = code.load(bounds, 0), code.load(bounds, 1)
        count = code.compute("sub", high, low)
        ends = self._end(Affine(0), total), self._end(Affine(1), total)
        both = code.compute("sub", ends[1], ends[0])
        self._read(read, low, count, both)
        self._ranked(read, made, count, both)
        with code.loop(self.tile) as q, code.when(code.compare("lt", code.number(q), both)):
            self._put(made, q, target, self.place + q)
        return code.body

    def _length(self, first: Scalar | None, most: Scalar) -> Scalar:
        """The number of elements from place ``first`` of the pair (None: 0) to the row's end, at
        most ``most``."""
        code = self.code
        left = code.compute("sub", code.constant(self.n, "i64"), self.begin)
        left = left if first is None else code.compute("sub", left, first)
        zero = code.constant(0, "i64")
        return code.compute("minimum", code.compute("maximum", left, zero), most)

    def _end(self, k: Affine, total: Scalar) -> Scalar:
        """The place where the tile begins (``k`` = 0) or ends (1)."""
        end = self.code.compute("add", self.start, self.code.number(k * self.tile))
        return self.code.compute("minimum", end, total)

    def _of_first(self, keys: Array, d: Scalar) -> Scalar:
        """The number of elements of the first run among the first ``d`` merged ones."""
        code = self.code
        first, second = self._length(None, self.width), self._length(self.width, self.width)
        zero = code.constant(0, "i64")
        low = code.compute("maximum", zero, code.compute("sub", d, second))
        high = code.compute("minimum", d, first)

        def is_before(middle: Scalar) -> Scalar:
            """Whether element ``middle`` of the first run is among them."""
            mine = code.load_row(keys, code.compute("add", self.begin, middle), self.n)
            last = code.compute("sub", d, code.constant(1, "i64"))
            there = code.compute("sub", last, middle)
            there = code.compute("add", there, code.compute("add", self.begin, self.width))
            return code.compute("not", before(code, code.load_row(keys, there, self.n), mine))

        return _bisected(code, low, high, self.n, is_before)

    def _read(self, read: Run, low: Scalar, count: Scalar, both: Scalar) -> None:
        """Read both parts of the tile to shared memory, one after the other."""
        code = self.code
        with code.loop(self.tile) as q:
            place = code.number(q)
            with code.when(code.compare("lt", place, both)):
                is_first = code.compare("lt", place, count)
                one = code.compute("add", code.compute("add", self.begin, place), low)
                # The second part begins at start - low of its run, and is put after count others.
                other = code.compute("add", code.number(self.place + q), self.width)
                other = code.compute("sub", other, code.compute("add", low, count))
                row = code.compute("select", is_first, one, other)
                for here, there in zip(read, self.source, strict=True):
                    if here is None or there is None:
                        continue
                    (value,) = code.load_row(there, row, self.n)
                    code.store(here, (q,), (_as(code, value, here),))

    def _ranked(self, read: Run, made: Run, count: Scalar, both: Scalar) -> None:
        """Store each element at its place in the tile.

        Bisection finds the number of elements of the other part that come before it.
        """
        code, keys = self.code, read.keys
        assert keys is not None
        with code.loop(self.tile) as q:
            place = code.number(q)
            with code.when(code.compare("lt", place, both)):
                mine, zero = code.load(keys, q), code.constant(0, "i64")
                is_first = code.compare("lt", place, count)
                low = code.compute("select", is_first, count, zero)
                high = code.compute("select", is_first, both, count)

                def is_before(
                    middle: Scalar, mine: tuple[Scalar, ...] = mine, is_first: Scalar = is_first
                ) -> Scalar:
                    other = code.load_row(keys, middle, self.tile)
                    # If elements are equal, those of the first run come first.
                    return precedes(code, other, mine, code.compute("not", is_first))

                found = _bisected(code, low, high, self.tile, is_before)
                # In the second part, q counts all elements of the first part: subtract these.
                rank = code.compute("sub", code.compute("add", place, found), count)
                for here, there in zip(read, made, strict=True):
                    if here is not None and there is not None:
                        code.store_row(there, rank, self.tile, (), code.load(here, q))

    def _put(self, made: Run, q: Affine, target: Run, at: Affine) -> None:
        code = self.code
        for here, there in zip(made, target, strict=True):
            if here is not None and there is not None:
                (value,) = code.load(here, q)
                code.store(there, (at,), (_as(code, value, there),))


def _as(code: Code, value: Scalar, array: Array) -> Scalar:
    kind = array.buffer.dtype
    return value if value.dtype == kind else code.compute("convert", value, dtype=kind)


def _bisected(code: Code, low: Scalar, high: Scalar, most: int, is_before: Any) -> Scalar:
    """The first number in ``low..high`` for which ``is_before`` is false, or ``high``.

    ``most`` bounds the length of the range.
    """
    ends = [Array(Buffer(name, "i64", 1, "local"), Affine(0), (1,), 1) for name in ("low", "high")]
    for end, value in zip(ends, (low, high), strict=True):
        code.store(end, (0,), (value,))
    with code.loop(most.bit_length(), "sequence"):
        (a,), (b,) = (code.load(end, 0) for end in ends)
        with code.when(code.compare("lt", a, b)):
            two, one = code.constant(2, "i64"), code.constant(1, "i64")
            middle = code.compute("floor_divide", code.compute("add", a, b), two)
            found = is_before(middle)
            after = code.compute("add", middle, one)
            code.store(ends[0], (0,), (code.compute("select", found, after, a),))
            code.store(ends[1], (0,), (code.compute("select", found, b, middle),))
    return code.load(ends[0], 0)[0]


def largest(dtype: str) -> Any:
    """The value that comes after all others."""
    if dtype == "bool":
        return True
    return np.nan if dtype[0] in "fb" else int(np.iinfo(dtype_from_name(dtype)).max)
