"""Writes the statements that find the only relevant element of a row, if there is one.

The loop that counts the equal elements also sums their places. The place is -1 if there are
several, or if a factor of the others is not finite, so that they must not be skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Begin,
    Compute,
    Constant,
    Finish,
    IndexValue,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .one_hot import At, Found, Product

#: Loops of at most this many iterations are written out.
UNROLL = 8


class HotPlace:
    """The place of the relevant element of a row."""

    def __init__(self, name: str, row: Loop, found: Found, unused: int) -> None:
        self.name = name
        self.row = row
        self.found = found
        #: Of scalars: those that no other kernel has, which may become one with this.
        self.numbers: Iterator[int] = count(unused)
        self.dtype = found.one.dtype
        self.sum = Accumulator(next(self.numbers), self.dtype, "add", 0.0)
        #: Kernels that find whether whole operands are finite.
        self.ahead: list[Kernel] = []

    def new(self, dtype: str, like: Scalar) -> Scalar:
        """Another scalar, which is computed at the depth of a known one."""
        return Scalar(next(self.numbers), dtype, like.depth, None)

    def counting(self, loop: Loop) -> list[Any]:
        """The body of the counting loop, which also sums the places of the counted elements."""
        one = self.found.one
        place, counted = self.new(self.dtype, one), self.new(self.dtype, one)
        return [
            *loop.body,
            IndexValue(place, affine.of(loop.var)),
            Compute(counted, "mul", (one, place)),
            Accumulate(self.sum, counted),
        ]

    def written(self, body: list[Any]) -> Scalar:
        """The place of the only selected element, or -1; the statements are added to a body."""
        like, dtype = self.found.count.result, self.dtype
        place = self.new(dtype, like)
        body.append(Finish(place, self.sum))
        rests = [self._rest(body, factor) for factor in self.found.factors.values()]
        rests += [self._rest_of(body, p) for p in self.found.products]
        alone = self._equal(body, like, 1.0)
        if rests:
            finite = self._equal(body, self._sum(body, rests), 0.0)
            both = self.new("bool", like)
            body.append(Compute(both, "and", (alone, finite)))
            alone = both
        none, chosen, only = self.new(dtype, like), self.new(dtype, like), self.new("i64", like)
        body += [
            Constant(none, -1.0),
            Compute(chosen, "select", (alone, place, none)),
            Compute(only, "convert", (chosen,)),
        ]
        return only

    def _equal(self, body: list[Any], x: Scalar, number: float) -> Scalar:
        constant, equal = self.new(x.dtype, x), self.new("bool", x)
        body += [Constant(constant, number), Compute(equal, "eq", (x, constant))]
        return equal

    def _sum(self, body: list[Any], terms: list[Scalar]) -> Scalar:
        total, *others = terms
        for term in others:
            if term.dtype != total.dtype:
                same = self.new(total.dtype, term)
                body.append(Compute(same, "convert", (term,)))
                term = same
            more = self.new(total.dtype, total)
            body.append(Compute(more, "add", (total, term)))
            total = more
        return total

    def _rest(self, body: list[Any], x: Scalar) -> Scalar:
        """Zero if a number is finite, else NaN."""
        rest = self.new(x.dtype, x)
        body.append(Compute(rest, "sub", (x, x)))
        return rest

    def _rest_of(self, body: list[Any], p: Product) -> Scalar:
        """Zero if all numbers that a row may be multiplied with are finite, else NaN."""
        at = p.factor(affine.of(self.row.var))
        if p.way != "rows":
            return self._rest_of_loops(body, p, [p.extent], at)
        flag = Buffer(f"finite_{p.other.buffer}", p.product.dtype, 1, "temp")
        inner: list[Any] = []
        rest = self._rest_of_loops(inner, p, [p.product.k, p.extent], at)
        inner.append(Store(flag, Affine(0), rest))
        name = f"{self.name}_finite{len(self.ahead)}"
        values = next(self.numbers)
        self.ahead.append(Kernel(name, inner, buffers_of(inner), values, p.product.origins))
        known = self.new(p.product.dtype, self.found.count.result)
        body.append(Load(known, flag, Affine(0), None))
        return known

    def _rest_of_loops(self, body: list[Any], p: Product, extents: list[int], at: At) -> Scalar:
        """The sum, over loops, of numbers minus themselves: zero if all are finite, else NaN."""
        dtype, like = p.product.dtype, self.found.count.result
        total = Accumulator(next(self.numbers), dtype, "add", 0.0)
        variables = [Var(n) for n in extents]
        x = self.new(dtype, like)
        here = affine.of(variables[0]) if len(extents) > 1 else Affine(0)
        inner: list[Any] = [Load(x, p.other.buffer, at(here, affine.of(variables[-1])), None)]
        inner.append(Accumulate(total, self._rest(inner, x)))
        for var in reversed(variables):
            unroll = len(extents) == 1 and var.extent <= UNROLL
            inner = [Loop(var, 0, var.extent, inner, "reduce", unroll)]
        result = self.new(dtype, like)
        body += [Begin(total), *inner, Finish(result, total)]
        return result
