"""Writes the loops of one-hot rows (see ``one_hot_rows``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    IndexValue,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.origins import origins_of
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

#: Loops of so many iterations are written out.
UNROLL = 8
#: From the place in a row and the free index: where an element is.
At = Callable[[Affine, Affine], Affine]


@dataclass
class Product:
    """A product with the rows of a stored share, and how it is a sum of what each element adds.

    ``way``: "left" for ``c[f, j] += a[row, f] * t[row, j]``, "right" for ``c[j, f] += t[row, j] *
    b[row, f]``, and "rows" for ``c[row, f] += t[row, j] * b[j, f]``; ``f`` is below ``extent``.
    """

    store: Store
    product: MatrixProduct
    way: str
    other: Operand
    extent: int


@dataclass
class Found:
    """A loop that only the picked elements of a row have an effect in."""

    loop: Loop
    #: The loop before that counts them: 1 where one is picked, and how many are.
    counting: Loop
    one: Scalar
    count: Finish
    #: What the shares are multiplied with, by their numbers.
    factors: dict[int, Scalar]
    products: list[Product] = field(default_factory=list)


class Writer:
    """Writes the kernel with one such loop, and what goes ahead of it."""

    def __init__(self, kernel: Kernel, row: Loop, found: Found, unused: int) -> None:
        self.kernel = kernel
        self.row = row
        self.found = found
        #: Of scalars: those that no other kernel has, which may become one with this.
        self.numbers: Iterator[int] = count(unused)
        self.dtype = found.one.dtype
        self.place = Accumulator(next(self.numbers), self.dtype, "add", 0.0)
        self.ahead: list[Kernel] = []
        self.origins = origins_of([kernel, *(p.product for p in found.products)])

    def written(self) -> list[Kernel]:
        """The kernels: sums begin ahead of the rows."""
        found, body = self.found, []
        for s in self.row.body:
            if s is found.counting:
                body += [Begin(self.place), replace(s, body=self._with_places(s))]
            elif s is found.loop:
                body += [self._zeros(p) for p in found.products if p.way == "rows"]
                only = self._hot_place(body)
                added = any(p.way == "rows" for p in found.products)  # to the same numbers
                role = "reduce" if added else s.role
                body.append(replace(s, body=self._with_products(s), only=only, role=role))
            else:
                body.append(s)
        sums = [p for p in found.products if p.way != "rows"]
        row = replace(self.row, body=body, role="reduce" if sums else self.row.role)
        fills = [Fill(p.product.c, Affine(0), p.product.c.size, 0.0) for p in sums]
        whole = [*fills, *(row if s is self.row else s for s in self.kernel.body)]
        name, values = self.kernel.name, next(self.numbers)
        return [*self.ahead, Kernel(name, whole, buffers_of(whole), values, self.origins)]

    def _new(self, dtype: str, like: Scalar) -> Scalar:
        return Scalar(next(self.numbers), dtype, like.depth, None)

    def _with_places(self, loop: Loop) -> list[Any]:
        """The body of the counting loop, which sums the places of those that it counts."""
        one = self.found.one
        place, counted = self._new(self.dtype, one), self._new(self.dtype, one)
        return [
            *loop.body,
            IndexValue(place, affine.of(loop.var)),
            Compute(counted, "mul", (one, place)),
            Accumulate(self.place, counted),
        ]

    # -- which one ------------------------------------------------------------

    def _hot_place(self, body: list[Any]) -> Scalar:
        """The place of the only one that is picked, or -1; its statements go to a body."""
        like, dtype = self.found.count.result, self.dtype
        place = self._new(dtype, like)
        body.append(Finish(place, self.place))
        rests = [self._rest(body, factor) for factor in self.found.factors.values()]
        rests += [self._rest_of(body, p) for p in self.found.products]
        alone = self._equal(body, like, 1.0)
        if rests:
            finite = self._equal(body, self._sum(body, rests), 0.0)
            both = self._new("bool", like)
            body.append(Compute(both, "and", (alone, finite)))
            alone = both
        none, chosen, only = self._new(dtype, like), self._new(dtype, like), self._new("i64", like)
        body += [
            Constant(none, -1.0),
            Compute(chosen, "select", (alone, place, none)),
            Compute(only, "convert", (chosen,)),
        ]
        return only

    def _equal(self, body: list[Any], x: Scalar, number: float) -> Scalar:
        constant, equal = self._new(x.dtype, x), self._new("bool", x)
        body += [Constant(constant, number), Compute(equal, "eq", (x, constant))]
        return equal

    def _sum(self, body: list[Any], terms: list[Scalar]) -> Scalar:
        total, *others = terms
        for term in others:
            if term.dtype != total.dtype:
                same = self._new(total.dtype, term)
                body.append(Compute(same, "convert", (term,)))
                term = same
            more = self._new(total.dtype, total)
            body.append(Compute(more, "add", (total, term)))
            total = more
        return total

    def _rest(self, body: list[Any], x: Scalar) -> Scalar:
        """Zero if a number is finite, else NaN."""
        rest = self._new(x.dtype, x)
        body.append(Compute(rest, "sub", (x, x)))
        return rest

    def _rest_of(self, body: list[Any], p: Product) -> Scalar:
        """Zero if all numbers that a row may be multiplied with are finite, else NaN."""
        if p.way != "rows":
            return self._rest_of_loops(body, p, [p.extent], self._element(p))
        flag = Buffer(f"finite_{p.other.buffer}", p.product.dtype, 1, "temp")
        inner: list[Any] = []
        rest = self._rest_of_loops(inner, p, [p.product.k, p.extent], self._element(p))
        inner.append(Store(flag, Affine(0), rest))
        name = f"{self.kernel.name}_finite{len(self.ahead)}"
        values = next(self.numbers)
        self.ahead.append(Kernel(name, inner, buffers_of(inner), values, p.product.origins))
        known = self._new(p.product.dtype, self.found.count.result)
        body.append(Load(known, flag, Affine(0), None))
        return known

    def _rest_of_loops(self, body: list[Any], p: Product, extents: list[int], at: At) -> Scalar:
        """The sum over loops of what numbers leave when they are subtracted from themselves."""
        dtype, like = p.product.dtype, self.found.count.result
        total = Accumulator(next(self.numbers), dtype, "add", 0.0)
        variables = [Var(n) for n in extents]
        x = self._new(dtype, like)
        here = affine.of(variables[0]) if len(extents) > 1 else Affine(0)
        inner: list[Any] = [Load(x, p.other.buffer, at(here, affine.of(variables[-1])), None)]
        inner.append(Accumulate(total, self._rest(inner, x)))
        for var in reversed(variables):
            unroll = len(extents) == 1 and var.extent <= UNROLL
            inner = [Loop(var, 0, var.extent, inner, "reduce", unroll)]
        result = self._new(dtype, like)
        body += [Begin(total), *inner, Finish(result, total)]
        return result

    # -- products -------------------------------------------------------------

    def _zeros(self, p: Product) -> Loop:
        free, zero = Var(p.extent), self._new(p.product.dtype, p.store.value)
        at = affine.of(self.row.var) * p.extent + affine.of(free)
        body = [Constant(zero, 0.0), Store(p.product.c, at, zero)]
        return Loop(free, 0, p.extent, body, "map", unroll=p.extent <= UNROLL)

    def _element(self, p: Product) -> At:
        """Where the other operand has what an element of a row is multiplied with: from the
        element's place in the row, and the free index."""
        first, second = p.other.strides[-2:]
        row, offset = affine.of(self.row.var), p.other.offset
        if p.way == "left":
            return lambda here, free: offset + row * second + free * first
        if p.way == "right":
            return lambda here, free: offset + row * first + free * second
        return lambda here, free: offset + here * first + free * second

    def _result(self, p: Product, here: Affine, free: Affine) -> Affine:
        if p.way == "left":
            return free * self.found.loop.stop + here
        return (here if p.way == "right" else affine.of(self.row.var)) * p.extent + free

    def _with_products(self, loop: Loop) -> list[Any]:
        """The body with each store as what its products add."""
        body: list[Any] = []
        for s in loop.body:
            mine = [p for p in self.found.products if p.store is s]
            body += [self._added(p, affine.of(loop.var)) for p in mine] or [s]
        return body

    def _added(self, p: Product, here: Affine) -> Loop:
        free = Var(p.extent)
        x, term = (self._new(p.product.dtype, p.store.value) for _ in range(2))
        at = affine.of(free)
        body = [
            Load(x, p.other.buffer, self._element(p)(here, at), None),
            Compute(term, "mul", (x, p.store.value)),
            AccumulateInto(p.product.c, self._result(p, here, at), "add", term),
        ]
        return Loop(free, 0, p.extent, body, "map", unroll=p.extent <= UNROLL)
