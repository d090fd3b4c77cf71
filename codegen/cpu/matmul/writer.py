"""Shared code of the functions over the tiles of a product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

I64 = ir.IntType(64)


def whole(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


class Writer:
    """The common base of functions over tiles: integer arithmetic and addresses."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.size: ir.Value

    def told(self, fields: ir.Value, names: Sequence[str]) -> dict[str, ir.Value]:
        """Load the parameters of a product, by name."""
        b = self.builder
        found = {
            name: b.load(b.gep(fields, [whole(i)], source_etype=I64), typ=I64)
            for i, name in enumerate(names)
        }
        self.size = found["size"]
        return found

    def begin(self, first: ir.Value, last: ir.Value) -> ir.Block:
        """Begin to process the items, if there are any. Return the block to jump to after them."""
        some, done = (self.function.append_basic_block(name) for name in ("some", "done"))
        self.builder.cbranch(self.builder.icmp_unsigned("<", first, last), some, done)
        self.builder.position_at_end(some)
        return done

    def end(self, done: ir.Block) -> None:
        self.builder.branch(done)
        self.builder.position_at_end(done)
        self.builder.ret_void()

    def operands(
        self, matrices: Sequence[ir.Value], field: Mapping[str, ir.Value], outer: ir.Value,
        inner: ir.Value, k: ir.Value,
    ) -> list[ir.Value]:  # fmt: skip
        """Return the addresses of A and B at step k, of one product in a batch of two axes."""
        places = []
        for name, place in zip("ab", matrices, strict=False):
            place = self.moved(place, outer, field[f"{name}_outer"])
            place = self.moved(place, inner, field[f"{name}_inner"])
            places.append(self.moved(place, k, field[f"{name}_step"]))
        return places

    def divided(self, number: ir.Value, count: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return quotient and remainder."""
        return self.builder.udiv(number, count), self.builder.urem(number, count)

    def start(self, number: ir.Value, extent: ir.Value, last: ir.Value) -> ir.Value:
        """Return the start of a tile; the last tile ends at the end of the matrix."""
        return self.least(self.builder.mul(number, extent), last)

    def least(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_unsigned("<", one, other), one, other)

    def moved(self, pointer: ir.Value, number: ir.Value, stride: ir.Value) -> ir.Value:
        """Return the pointer to another element; strides are in scalars."""
        b = self.builder
        offset = b.mul(b.mul(number, stride), self.size)
        return b.gep(pointer, [offset], inbounds=True, source_etype=ir.IntType(8))
