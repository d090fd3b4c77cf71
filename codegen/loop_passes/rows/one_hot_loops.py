"""Writes the loops of one-hot rows (see ``one_hot_rows``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.origins import origins_of
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .one_hot import Found, Product
from .one_hot_place import UNROLL, HotPlace


class Writer:
    """Writes the kernel with one such loop, and the statements before it."""

    def __init__(self, kernel: Kernel, row: Loop, found: Found, unused: int) -> None:
        self.kernel = kernel
        self.row = row
        self.found = found
        self.hot = HotPlace(kernel.name, row, found, unused)
        self.origins = origins_of([kernel, *(p.product for p in found.products)])

    def written(self) -> list[Kernel]:
        """The kernels: sums begin ahead of the rows."""
        found, body = self.found, []
        for s in self.row.body:
            if s is found.counting:
                body += [Begin(self.hot.sum), replace(s, body=self.hot.counting(s))]
            elif s is found.loop:
                body += [self._zeros(p) for p in found.products if p.way == "rows"]
                only = self.hot.written(body)
                added = any(p.way == "rows" for p in found.products)  # to the same numbers
                role = "reduce" if added else s.role
                body.append(replace(s, body=self._with_products(s), only=only, role=role))
            else:
                body.append(s)
        sums = [p for p in found.products if p.way != "rows"]
        row = replace(self.row, body=body, role="reduce" if sums else self.row.role)
        fills = [Fill(p.product.c, Affine(0), p.product.c.size, 0.0) for p in sums]
        whole = [*fills, *(row if s is self.row else s for s in self.kernel.body)]
        name, values = self.kernel.name, next(self.hot.numbers)
        return [*self.hot.ahead, Kernel(name, whole, buffers_of(whole), values, self.origins)]

    # -- products -------------------------------------------------------------

    def _zeros(self, p: Product) -> Loop:
        free, zero = Var(p.extent), self.hot.new(p.product.dtype, p.store.value)
        at = affine.of(self.row.var) * p.extent + affine.of(free)
        body = [Constant(zero, 0.0), Store(p.product.c, at, zero)]
        return Loop(free, 0, p.extent, body, "map", unroll=p.extent <= UNROLL)

    def _with_products(self, loop: Loop) -> list[Any]:
        """The body with each store replaced by the additions of its products."""
        body: list[Any] = []
        for s in loop.body:
            mine = [p for p in self.found.products if p.store is s]
            body += [self._added(p, affine.of(loop.var)) for p in mine] or [s]
        return body

    def _added(self, p: Product, here: Affine) -> Loop:
        row, free = affine.of(self.row.var), Var(p.extent)
        x, term = (self.hot.new(p.product.dtype, p.store.value) for _ in range(2))
        at, result = affine.of(free), p.result(row, self.found.loop.stop)
        body = [
            Load(x, p.other.buffer, p.factor(row)(here, at), None),
            Compute(term, "mul", (x, p.store.value)),
            AccumulateInto(p.product.c, result(here, at), "add", term),
        ]
        return Loop(free, 0, p.extent, body, "map", unroll=p.extent <= UNROLL)
