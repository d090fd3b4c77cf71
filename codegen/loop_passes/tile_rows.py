"""Tile the rows of several steps together, so that the data between them stays in the cache.

    t = x @ w             # 10,000 rows        for each tile of 125 rows:
    for i in 0..10000:                           t = x[tile] @ w
      u[i] = <a loop over row t[i]>       ->     for i in tile: u[i] = <a loop over row t[i]>
    c = x.T @ u                                  c += x[tile].T @ u

A product writes a matrix of megabytes, loops read and change it, and another product sums over its
rows: the matrix goes through memory four times.  A tile of its rows fits in the second-level cache.
If nothing else reads the matrix, it gets memory for one tile only.

Steps form a group if each one reads rows that an earlier one writes, at the same index.  Steps in
between that are independent of the group run before it.  Steps that depend on all rows, or whose
dependences are unknown, run after it.

Legal where a step depends on earlier steps of the group through its own row only (``row_groups``),
where steps that are moved before or after the group conflict with nothing that they pass
(``conflict``), and where only temporaries that no other step touches get memory for one tile.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from autojit.codegen.analysis.loop_level import FLAT, NESTS, NO_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Fill, Loop
from autojit.codegen.loop_ir.origins import origins_of
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import (
    Elsewhere,
    buffers_of,
    redirected,
    redirected_operand,
    substituted,
)
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.codegen.loop_passes.rows.row_groups import RowGroup, is_large
from autojit.codegen.loop_passes.rows.row_steps import as_rows, extents
from autojit.codegen.loop_passes.rows.tile_cost import stays_in_cache, tiles_of
from autojit.codegen.loop_passes.tasks.copies import combined_into
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .coalesce import coalesced
from .products import chosen
from .strip_mine import BLOCK, strip_mined


@steps_pass(
    "Runs products and loops over the same rows a tile at a time.",
    needs=[NESTS, NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def tiled_rows(steps: list[Any]) -> list[Any]:
    """The steps of a program; groups over the same rows become one kernel where that pays."""
    result: list[Any] = []
    left = list(steps)
    while left:
        found = _tiled(left, result)
        if found is None:
            result.append(left.pop(0))
        else:
            ahead, kernel, left = found
            result += [*ahead, kernel]
    return result


def _tiled(steps: list[Any], done: list[Any]) -> tuple[list[Any], Kernel, list[Any]] | None:
    """The steps before the group that begins with the first step, the group as a kernel, and the
    steps after it; None if there is no group.  ``done`` are the steps before all of them."""
    for extent in extents(steps[0]):
        for member in as_rows(steps[0], extent):
            if any(is_large(a, extent) and a.writes for a in member.inside):
                group = RowGroup(extent, member, steps)
                tiles = tiles_of(group, done)
                kernel = _Writer(group, *tiles).kernel() if tiles is not None else None
                if kernel is not None:
                    return group.ahead, kernel, group.left
    return None


# -- writing ------------------------------------------------------------------------


class _Writer:
    """Writes the members of a group tile by tile."""

    def __init__(self, group: RowGroup, own: dict[Buffer, tuple[Buffer, int]], rows: int) -> None:
        self.group = group
        self.own = own
        self.rows = rows
        kernels = [m.step for m in group.members if isinstance(m.step, Kernel)]
        self.name = "_".join(k.name for k in kernels) or "tiles"
        self.numbers = count(max((k.values for k in kernels), default=0))

    def kernel(self) -> Kernel | None:
        """The kernel; None if a product of one tile's rows cannot be computed in register tiles."""
        before: list[Any] = []
        after: list[Any] = []
        for member in self.group.members:
            step = member.step
            if isinstance(step, Kernel):
                before += step.body[: member.place]
                after += step.body[member.place + 1 :]
            elif member.way == "sum":
                before.append(Fill(step.c, Affine(0), step.c.size, 0.0))
        tiles, rest = divmod(self.group.extent, self.rows)
        tile = Var(tiles)
        body = self._body(affine.of(tile) * self.rows, self.rows)
        last = self._body(Affine(tiles * self.rows), rest) if rest else []
        if body is None or last is None:
            return None
        body = [*before, Loop(tile, 0, tiles, body, "reduce"), *last, *after]
        origins = origins_of(member.step for member in self.group.members)
        return Kernel(self.name, body, buffers_of(body), next(self.numbers), origins)

    def _body(self, first: Affine, rows: int) -> list[Any] | None:
        """The statements for the rows from ``first`` on."""
        body: list[Any] = []
        for member in self.group.members:
            if isinstance(member.step, Kernel):
                body += self._loop(member.step.body[member.place], first, rows)
                continue
            product = self._product(member.step, member.way, first, rows)
            if product is None:
                return None
            body.append(product)
            if member.way == "sum":
                number = next(self.numbers)
                body.append(combined_into(member.step.c, "add", product.c, Affine(0), number))
        return body

    def _loop(self, loop: Loop, first: Affine, rows: int) -> list[Any]:
        """The loop over the rows of a tile; a single row needs no loop."""
        tiles = self._tiles(first)
        if rows == 1:
            return redirected([substituted(s, loop.var, first) for s in loop.body], tiles)
        inner = Var(rows)
        row = first + affine.of(inner)
        body = redirected([substituted(s, loop.var, row) for s in loop.body], tiles)
        made = Kernel("", [Loop(inner, 0, rows, body, loop.role)], [])
        return strip_mined(coalesced(made), rows if rows < 2 * BLOCK else None).body

    def _product(
        self, s: MatrixProduct, way: str, first: Affine, rows: int
    ) -> MatrixProduct | None:
        """The product of a tile's rows; a partial sum goes to a buffer of its own."""
        a, b, c = s.a, s.b, Operand(s.c, s.c_offset, ())
        made = replace(s, tiled=False, blocked=False, panel=None)
        again = 0
        if way == "batch":
            a, b = (self._moved(o, o.strides[0], first) for o in (a, b))
            c = self._moved(c, s.strides_of_results[0], first)
            made = replace(made, batch=(rows, *s.batch[1:]))
        elif way == "rows":
            a, c = self._moved(a, a.strides[-2], first), self._moved(c, s.n, first)
            made, again = replace(made, m=rows), s.k * s.n
        else:
            a, b = self._moved(a, a.strides[-1], first), self._moved(b, b.strides[-2], first)
            c = Operand(Buffer(f"{s.c}_part", s.dtype, s.c.size, "temp"), Affine(0), ())
            made, again = replace(made, k=rows), s.m * s.n
        made = chosen(replace(made, a=a, b=b, c=c.buffer, c_offset=c.offset))
        is_small = stays_in_cache(again * itemsize(s.dtype))
        return made if made.tiled and not made.blocked and is_small else None

    def _moved(self, o: Operand, step: int, first: Affine) -> Operand:
        """The operand from the first row of a tile on."""
        return redirected_operand(replace(o, offset=o.offset + first * step), self._tiles(first))

    def _tiles(self, first: Affine) -> Elsewhere:
        """The tile's memory in place of whole matrices."""
        return {b: (tile, first * -row) for b, (tile, row) in self.own.items()}
