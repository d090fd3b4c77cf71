"""Large matrix products: blocks of both matrices are copied into an order that suits the caches.

For each block of k, a group of rows of A is copied tile by tile, so that it stays in the
second-level cache. For each group, panels of columns of B are copied, which stay in the first-level
cache. (K. Goto and R. van de
Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008.)

The tiles are those of ``tiles``. The last tiles of a row or a column overlap those before them:
they are computed separately, and only their own elements are written to the result.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.cpu.llvm.scalars import llvm_type
from autojit.codegen.loop_ir.cost import itemsize

from .tile_functions import INNER, PACK, VOID, Tile
from .writer import Writer, whole

I64, POINTER = ir.IntType(64), ir.PointerType()

#: The parameters of a product, as integers in this order.
FIELDS = (
    "inner", "down", "across", "group", "groups", "m", "n", "k", "block", "rows", "columns",
    "size", "a_outer", "a_inner", "a_row", "a_step", "b_outer", "b_inner", "b_step", "b_column",
    "a_stride", "b_stride", "b_panel", "last_vector",
)  # fmt: skip

#: first and last item, fields, a, b, c, panel, the functions for a tile and for packing A and B
_MULTIPLY = ir.FunctionType(
    VOID, [I64, I64, *[POINTER] * 5, INNER.as_pointer(), PACK.as_pointer(), PACK.as_pointer()]
)


def multiply(module: ir.Module, dtype: str, tile: Tile) -> ir.Function:
    """Return ``void multiply(first, last, fields, a, b, c, panel, tile, pack_a, pack_b)``, which
    computes some items of a product. At ``panel`` are panels of A, then one of B.
    """
    name = f"multiply_blocks_{dtype}_{tile.rows}_{tile.columns}"
    return library.function(module, name, _MULTIPLY, lambda f: _Multiply(f, dtype, tile).write())


class _Multiply(Writer):
    """The function that computes some items of a product."""

    def __init__(self, function: ir.Function, dtype: str, tile: Tile) -> None:
        super().__init__(function)
        self.scalar, self.align, self.tile = llvm_type(dtype), itemsize(dtype), tile

    def write(self) -> None:
        b = self.builder
        first, last, fields, *matrices, panel, self.inner, pack_a, pack_b = self.function.args
        field = self.field = self.told(fields, FIELDS)
        scratch = b.alloca(self.scalar, size=self.tile.rows * self.tile.columns)
        scratch.align = 64
        self.scratch = b.bitcast(scratch, POINTER)
        done = self.begin(first, last)
        last_row = b.sub(field["m"], field["rows"])
        last_column = b.sub(field["n"], field["columns"])
        size = b.mul(field["m"], field["n"])
        b_panel = self.moved(panel, field["b_panel"], whole(1))
        blocks = b.udiv(b.sub(b.add(field["k"], field["block"]), whole(1)), field["block"])
        with CountedLoop(b, whole(0), blocks, keep_rolled=True) as block:
            k = b.mul(block, field["block"])
            count = self.least(b.sub(field["k"], k), field["block"])
            add = b.zext(b.icmp_unsigned("!=", block, whole(0)), I64)
            with CountedLoop(b, first, last, keep_rolled=True) as item:
                group, column = self.divided(item, field["across"])
                matrix, group = self.divided(group, field["groups"])
                outer, inner = self.divided(matrix, field["inner"])
                places = self.operands(matrices, field, outer, inner, k)
                c = self.moved(matrices[2], matrix, size)
                start = b.mul(group, field["group"])
                stop = self.least(b.add(start, field["group"]), field["down"])
                is_new = b.or_(
                    b.icmp_unsigned("==", item, first), b.icmp_unsigned("==", column, whole(0))
                )
                with (
                    b.if_then(is_new),
                    CountedLoop(b, start, stop, keep_rolled=True) as tile,
                ):
                    i = self.start(tile, field["rows"], last_row)
                    source = self.moved(places[0], i, field["a_row"])
                    b.call(
                        pack_a,
                        [count, source, field["a_stride"], self._panel(panel, tile, start, count)],
                    )
                j = self.start(column, field["columns"], last_column)
                source = self.moved(places[1], j, field["b_column"])
                b.call(pack_b, [count, source, field["b_stride"], b_panel])
                before = b.sub(b.mul(column, field["columns"]), j)
                with CountedLoop(b, start, stop, keep_rolled=True) as tile:
                    i = self.start(tile, field["rows"], last_row)
                    above = b.sub(b.mul(tile, field["rows"]), i)
                    target = self.moved(self.moved(c, i, field["n"]), j, whole(1))
                    self._tile(
                        count, self._panel(panel, tile, start, count), b_panel, target, add,
                        above, before,
                    )  # fmt: skip
        self.end(done)

    def _panel(self, panel: ir.Value, tile: ir.Value, start: ir.Value, count: ir.Value) -> ir.Value:
        """Return the address of the copy of a tile's rows of A."""
        b = self.builder
        return self.moved(panel, b.mul(b.sub(tile, start), count), self.field["rows"])

    def _tile(
        self, count: ir.Value, a: ir.Value, factors: ir.Value, target: ir.Value, add: ir.Value,
        above: ir.Value, before: ir.Value,
    ) -> None:  # fmt: skip
        """Compute a tile; its first ``above`` rows and ``before`` columns belong to other tiles."""
        b, field = self.builder, self.field
        given = [count, a, whole(1), field["rows"], factors, field["columns"]]
        last = field["last_vector"]
        overlaps = b.icmp_unsigned("!=", b.or_(above, before), whole(0))
        with b.if_else(overlaps, likely=False) as (overlapping, alone):
            with alone:
                b.call(self.inner, [*given, target, field["n"], last, add])
            with overlapping:
                b.call(self.inner, [*given, self.scratch, field["columns"], last, whole(0)])
                self._add_part(target, add, above, before)

    def _add_part(self, target: ir.Value, add: ir.Value, above: ir.Value, before: ir.Value) -> None:
        b, field = self.builder, self.field
        adds = b.icmp_unsigned("!=", add, whole(0))
        with (
            CountedLoop(b, above, field["rows"], keep_rolled=True) as row,
            CountedLoop(b, before, field["columns"], keep_rolled=True) as column,
        ):
            source = self.moved(self.moved(self.scratch, row, field["columns"]), column, whole(1))
            place = self.moved(self.moved(target, row, field["n"]), column, whole(1))
            value = b.load(source, align=self.align, typ=self.scalar)
            with b.if_then(adds):
                old = b.load(place, align=self.align, typ=self.scalar)
                b.store(b.fadd(old, value), place, align=self.align)
            with b.if_then(b.not_(adds)):
                b.store(value, place, align=self.align)
