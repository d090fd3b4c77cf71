"""Shared code of the functions over the tiles of a product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

I64 = ir.IntType(64)


def whole(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


class Writer:
    """What functions over tiles have in common: arithmetic with integers and places."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.size: ir.Value

    def told(self, fields: ir.Value, names: Sequence[str]) -> dict[str, ir.Value]:
        """The facts about a product, by name."""
        b = self.builder
        found = {
            name: b.load(b.gep(fields, [whole(i)], source_etype=I64), typ=I64)
            for i, name in enumerate(names)
        }
        self.size = found["size"]
        return found

    def begin(self, first: ir.Value, last: ir.Value) -> ir.Block:
        """Begin with the items, if there are any; the block to go to after them."""
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
        """Where A and B begin, of one product of a batch in two axes, at step k."""
        places = []
        for name, place in zip("ab", matrices, strict=False):
            place = self.moved(place, outer, field[f"{name}_outer"])
            place = self.moved(place, inner, field[f"{name}_inner"])
            places.append(self.moved(place, k, field[f"{name}_step"]))
        return places

    def divided(self, number: ir.Value, count: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Quotient and remainder."""
        return self.builder.udiv(number, count), self.builder.urem(number, count)

    def start(self, number: ir.Value, extent: ir.Value, last: ir.Value) -> ir.Value:
        """Where a tile begins: the last one ends where the matrix does."""
        return self.least(self.builder.mul(number, extent), last)

    def least(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_unsigned("<", one, other), one, other)

    def moved(self, pointer: ir.Value, number: ir.Value, stride: ir.Value) -> ir.Value:
        """The pointer to another element; strides are in scalars."""
        b = self.builder
        offset = b.mul(b.mul(number, stride), self.size)
        return b.gep(pointer, [offset], inbounds=True, source_etype=ir.IntType(8))
