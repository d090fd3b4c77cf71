"""The functions that all tiled products share: a tile, packing, and the loop over tiles."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.cpu.llvm.scalars import CONTRACT, llvm_type
from autojit.codegen.loop_ir.cost import itemsize

from .writer import Writer, whole

I8, I32, I64, POINTER = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.PointerType()
VOID = ir.VoidType()

#: Bytes of a cache line.
LINE = 64
#: The side of the largest square that is transposed in registers: LLVM is slow with many shuffles.
LARGEST_SQUARE = 8
#: Up to this many products of float32 are summed in one accumulator; more are summed in blocks,
#: since a single long sum would lose digits.
BLOCK = 512


class Tile(NamedTuple):
    """``rows`` rows of ``vectors`` vectors of ``lanes`` scalars.

    The last vector ends at the last column, and may overlap the one before it.
    """

    rows: int
    vectors: int
    lanes: int
    columns: int


#: The parameters of a product, as integers in this order.
FIELDS = (
    "inner", "down", "across", "group", "groups", "m", "n", "k", "rows", "columns",
    "size", "a_outer", "a_inner", "a_row", "a_step", "b_outer", "b_inner", "b_step", "b_column",
    "last_vector", "block", "b_stride",
)  # fmt: skip


#: k, a, row of a, step of a, b, step of b, c, row of c, column of the last vector, whether to add
#: to c
INNER = ir.FunctionType(VOID, [I64, POINTER, I64, I64, POINTER, I64, POINTER, I64, I64, I64])
#: k, b, stride of its columns (or rows), panel
PACK = ir.FunctionType(VOID, [I64, POINTER, I64, POINTER])
#: Passed if there is no function that packs.
NO_PACKING = ir.Constant(PACK.as_pointer(), None)
#: first and last item, fields, a, b, c, panel, the function of a tile, the packing function or null
_MULTIPLY = ir.FunctionType(VOID, [I64, I64, *[POINTER] * 5, INNER.as_pointer(), PACK.as_pointer()])


def multiply(module: ir.Module) -> ir.Function:
    """Return ``void multiply(first, last, fields, a, b, c, panel, tile, pack)``: it computes items.

    ``fields`` are the integers of ``FIELDS``. ``tile`` and ``pack`` are the functions of the
    product's tiles; ``pack`` is null if B is read in place.
    """
    return library.function(module, "multiply", _MULTIPLY, lambda f: _Multiply(f).write())


def inner(module: ir.Module, dtype: str, tile: Tile) -> ir.Function:
    """Return ``void tile(k, a, row of a, step of a, b, step of b, c, row of c, last, add)``, which
    computes one tile of C = A B, or of C + A B. Its last vector begins at the column ``last``.
    """
    name = f"tile_{dtype}_{tile.rows}_{tile.vectors}_{tile.lanes}"
    return library.function(module, name, INNER, partial(_inner_product, dtype, tile))


def packing(
    module: ir.Module, dtype: str, width: int, lanes: int, *, contiguous: bool, k: int
) -> ir.Function:
    """Return ``void pack(k, source, stride, panel)``: it copies k rows of ``width`` scalars.

    The copy is contiguous. If ``contiguous``, the source's rows are a stride apart, else its
    columns are.
    """
    if contiguous:
        name = f"copy_{dtype}_{width}_{lanes}"
        return library.function(module, name, PACK, partial(_copying, dtype, width, lanes))
    side = min(lanes, LARGEST_SQUARE, 1 << (k.bit_length() - 1))
    while side > width:
        side //= 2
    name = f"pack_{dtype}_{width}_{side}"
    return library.function(module, name, PACK, partial(_transposing, dtype, width, side))


class _Multiply(Writer):
    """The function that computes some items of a product."""

    def write(self) -> None:
        b = self.builder
        first, last, fields, *matrices, panel, inner_product, pack = self.function.args
        field = self.told(fields, FIELDS)
        packs = b.icmp_unsigned("!=", pack, ir.Constant(pack.type, None))
        step = b.select(packs, field["columns"], field["b_step"])
        done = self.begin(first, last)
        last_row = b.sub(field["m"], field["rows"])
        last_column = b.sub(field["n"], field["columns"])
        size = b.mul(field["m"], field["n"])
        blocks = b.udiv(b.sub(b.add(field["k"], field["block"]), whole(1)), field["block"])
        with (
            CountedLoop(b, whole(0), blocks, keep_rolled=True) as block,
            CountedLoop(b, first, last, keep_rolled=True) as item,
        ):
            k = b.mul(block, field["block"])
            count = self.least(b.sub(field["k"], k), field["block"])
            add = b.zext(b.icmp_unsigned("!=", block, whole(0)), I64)
            group, column = self.divided(item, field["across"])
            number, group = self.divided(group, field["groups"])
            outer, inner = self.divided(number, field["inner"])
            j = self.start(column, field["columns"], last_column)
            places = self.operands(matrices, field, outer, inner, k)
            a, c = places[0], self.moved(matrices[2], number, size)
            factors = self.moved(places[1], j, field["b_column"])
            with b.if_then(packs):
                b.call(pack, [count, factors, field["b_stride"], panel])
            factors = b.select(packs, panel, factors)
            start = b.mul(group, field["group"])
            stop = self.least(b.add(start, field["group"]), field["down"])
            with CountedLoop(b, start, stop, keep_rolled=True) as number:
                i = self.start(number, field["rows"], last_row)
                row, result = self.moved(a, i, field["a_row"]), self.moved(c, i, field["n"])
                b.call(
                    inner_product,
                    [
                        count, row, field["a_row"], field["a_step"], factors, step,
                        self.moved(result, j, whole(1)), field["n"], field["last_vector"], add,
                    ],
                )  # fmt: skip
        self.end(done)


def _inner_product(dtype: str, tile: Tile, function: ir.Function) -> None:
    no_alias(function)
    _InnerProduct(dtype, tile, function).write()


class _InnerProduct:
    """One tile of C = A B: a loop over k, in blocks for float32."""

    def __init__(self, dtype: str, tile: Tile, function: ir.Function) -> None:
        self.function = function
        self.tile = tile
        self.scalar = llvm_type(dtype)
        self.vector = ir.VectorType(self.scalar, tile.lanes)
        self.align = itemsize(dtype)
        self.zero = ir.Constant(self.vector, None)
        self.places = [(i, j) for i in range(tile.rows) for j in range(tile.vectors)]
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def write(self) -> None:
        k, a, a_row, a_step, factors, b_step, c, c_row, last, _ = self.function.args
        self.columns = [whole(j * self.tile.lanes) for j in range(self.tile.vectors - 1)] + [last]
        self.offsets = [self.builder.mul(a_row, whole(i), ("nsw",)) for i in range(self.tile.rows)]
        if self.align < 8:
            self._write_in_blocks()
        else:
            totals, _, _ = self._loop(k, a, factors, a_step, b_step)
            self._store(c, c_row, totals)

    def _write_in_blocks(self) -> None:
        b = self.builder
        k, a, _, a_step, factors, b_step, c, c_row, _, _ = self.function.args
        several = b.icmp_unsigned(">", k, whole(BLOCK))
        kept = self._room()
        with b.if_then(several):
            for slot in kept.values():
                b.store(self.zero, slot, align=self.align)
        entry, block = b.block, b.append_basic_block("block")
        b.branch(block)
        b.position_at_end(block)
        start, column, row = (b.phi(v.type) for v in (k, a, factors))
        left = b.sub(k, start)
        is_last = b.icmp_unsigned("<=", left, whole(BLOCK))
        count = b.select(is_last, left, whole(BLOCK))
        totals, next_column, next_row = self._loop(count, column, row, a_step, b_step)
        more, done = (b.append_basic_block(name) for name in ("more", "done"))
        b.cbranch(is_last, done, more)
        b.position_at_end(more)
        for place, slot in kept.items():
            b.store(b.fadd(self._load(slot), totals[place]), slot, align=self.align)
        following = b.add(start, count)
        for phi, first, then in (
            (start, whole(0), following),
            (column, a, next_column),
            (row, factors, next_row),
        ):
            phi.add_incoming(first, entry)
            phi.add_incoming(then, more)
        b.branch(block)
        b.position_at_end(done)
        together, alone = (b.append_basic_block(name) for name in ("together", "alone"))
        b.cbranch(several, together, alone)
        b.position_at_end(alone)
        self._store(c, c_row, totals)
        b.position_at_end(together)
        self._store(c, c_row, {p: b.fadd(self._load(kept[p]), totals[p]) for p in self.places})

    def _room(self) -> dict[tuple[int, int], ir.Value]:
        """Allocate slots on the stack for the sums of the blocks before the last one."""
        room = self.builder.alloca(self.vector, size=len(self.places))
        room.align = self.align * self.tile.lanes
        room = self.builder.bitcast(room, POINTER)
        return {p: self._at(room, whole(n * self.tile.lanes)) for n, p in enumerate(self.places)}

    def _loop(
        self, count: ir.Value, column: ir.Value, row: ir.Value, a_step: ir.Value, b_step: ir.Value
    ) -> tuple[dict[tuple[int, int], ir.Value], ir.Value, ir.Value]:
        """Return the sums over one block, and the addresses at which the next one begins."""
        b = self.builder
        loop = CountedLoop(b, whole(0), count, keep_rolled=True)
        with loop:
            sums = {place: loop.carry(self.zero) for place in self.places}
            column, row = loop.carry(column), loop.carry(row)
            factors = [self._load(self._at(row, column)) for column in self.columns]
            totals = {}
            for i, offset in enumerate(self.offsets):
                place = b.gep(column, [offset], inbounds=True, source_etype=self.scalar)
                element = b.load(place, align=self.align, typ=self.scalar)
                everywhere = _splat(b, element, self.vector)
                for j, factor in enumerate(factors):
                    term = b.fmul(everywhere, factor, flags=CONTRACT)
                    totals[i, j] = b.fadd(sums[i, j], term, flags=CONTRACT)
            following = [
                b.gep(p, [step], inbounds=True, source_etype=self.scalar)
                for p, step in ((column, a_step), (row, b_step))
            ]
            for phi, value in (
                *((sums[place], totals[place]) for place in self.places),
                *zip((column, row), following, strict=True),
            ):
                phi.add_incoming(value, b.block)
        return totals, following[0], following[1]

    def _store(self, c: ir.Value, c_row: ir.Value, totals: dict[tuple[int, int], ir.Value]) -> None:
        b = self.builder
        places: dict[tuple[int, int], ir.Value] = {}
        for i in range(self.tile.rows):
            offset = b.mul(c_row, whole(i), ("nsw",))
            row = b.gep(c, [offset], inbounds=True, source_etype=self.scalar)
            places |= {(i, j): self._at(row, column) for j, column in enumerate(self.columns)}
        before, adding, storing = b.block, *map(b.append_basic_block, ("adding", "storing"))
        b.cbranch(b.icmp_unsigned("!=", self.function.args[-1], whole(0)), adding, storing)
        b.position_at_end(adding)
        added = {key: b.fadd(self._load(place), totals[key]) for key, place in places.items()}
        b.branch(storing)
        b.position_at_end(storing)
        stored = {key: b.phi(self.vector) for key in places}
        for key, total in stored.items():
            total.add_incoming(totals[key], before)
            total.add_incoming(added[key], adding)
            b.store(total, places[key], align=self.align)
        b.ret_void()

    def _load(self, place: ir.Value) -> ir.Value:
        return self.builder.load(place, align=self.align, typ=self.vector)

    def _at(self, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return self.builder.gep(pointer, [offset], inbounds=True, source_etype=self.scalar)


def _copying(dtype: str, width: int, lanes: int, function: ir.Function) -> None:
    no_alias(function)
    count, source, stride, panel = function.args
    scalar, align = llvm_type(dtype), itemsize(dtype)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    at = partial(builder.gep, inbounds=True, source_etype=scalar)
    types = ir.FunctionType(VOID, [POINTER, I32, I32, I32])
    prefetch = function.module.declare_intrinsic("llvm.prefetch.p0", (), types)
    with CountedLoop(builder, whole(0), count, keep_rolled=True) as row:
        here = at(source, [builder.mul(row, stride)])
        target = at(panel, [builder.mul(row, whole(width))])
        for line in range(0, width * align, LINE):
            next_line = builder.gep(here, [whole(width * align + line)], source_etype=I8)
            builder.call(prefetch, [next_line, *(ir.Constant(I32, n) for n in (0, 2, 1))])
        first = 0
        while first < width:
            while lanes > width - first:
                lanes //= 2
            kind = scalar if lanes == 1 else ir.VectorType(scalar, lanes)
            part = builder.load(at(here, [whole(first)]), align=align, typ=kind)
            builder.store(part, at(target, [whole(first)]), align=align)
            first += lanes
    builder.ret_void()


def _transposing(dtype: str, columns: int, side: int, function: ir.Function) -> None:
    """Write columns of B, each contiguous, as rows of a panel.

    Squares of scalars are loaded, transposed in registers and stored; the last squares overlap
    those before them.
    """
    no_alias(function)
    count, b, stride, panel = function.args
    scalar, align = llvm_type(dtype), itemsize(dtype)
    vector = ir.VectorType(scalar, side)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    at = partial(builder.gep, inbounds=True, source_etype=scalar)
    last = builder.sub(count, whole(side))
    squares = builder.udiv(builder.add(count, whole(side - 1)), whole(side))
    width, last_column = whole(-(-columns // side)), whole(columns - side)
    with CountedLoop(builder, whole(0), width, keep_rolled=True) as number:
        j = builder.mul(number, whole(side))
        j = builder.select(builder.icmp_unsigned("<", j, last_column), j, last_column)
        with CountedLoop(builder, whole(0), squares, keep_rolled=True) as square:
            start = builder.mul(square, whole(side))
            start = builder.select(builder.icmp_unsigned("<", start, last), start, last)
            source = at(b, [builder.add(builder.mul(j, stride), start)])
            rows = []
            for i in range(side):
                place = at(source, [builder.mul(stride, whole(i))])
                rows.append(builder.load(place, align=align, typ=vector))
            target = at(panel, [builder.add(builder.mul(start, whole(columns)), j)])
            for i, row in enumerate(_transposed(builder, rows)):
                builder.store(row, at(target, [whole(i * columns)]), align=align)
    builder.ret_void()


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose a square: swap the blocks off the diagonal, then recursively within blocks."""
    side = len(rows)
    distance = side // 2
    while distance:
        changed = list(rows)
        for i in range(side):
            if i & distance:
                continue
            above, below = rows[i], rows[i + distance]
            lower = [c if not c & distance else side + c - distance for c in range(side)]
            upper = [c + distance if not c & distance else side + c for c in range(side)]
            changed[i] = builder.shuffle_vector(above, below, _lanes(lower))
            changed[i + distance] = builder.shuffle_vector(above, below, _lanes(upper))
        rows = changed
        distance //= 2
    return rows


def _splat(builder: ir.IRBuilder, element: ir.Value, vector: ir.VectorType) -> ir.Value:
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, element, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, nothing, _lanes([0] * vector.count))


def _lanes(numbers: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(numbers)), [ir.Constant(I32, n) for n in numbers])


def no_alias(function: ir.Function) -> None:
    for argument in function.args:
        if argument.type == POINTER:
            argument.add_attribute("noalias")
