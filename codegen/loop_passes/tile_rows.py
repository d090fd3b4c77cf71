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

Legal where a step depends on earlier steps of the group through its own row only (``_in_step``),
where steps that are moved before or after the group conflict with nothing that they pass
(``conflict``), and where only temporaries that no other step touches get memory for one tile
(``_is_own``).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from autojit.codegen.analysis.loop_level import FLAT, NESTS, NO_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import AccumulateInto, Fill, Load, Loop
from autojit.codegen.loop_ir.origins import origins_of
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of, memory, substituted
from autojit.codegen.loop_ir.values import Buffer, Operand, Scalar
from autojit.codegen.loop_passes.rows.row_steps import (
    Access,
    RowStep,
    as_rows,
    conflict,
    extents,
    touched,
)
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import L2, current

from .coalesce import coalesced
from .products import chosen
from .strip_mine import BLOCK, strip_mined

#: Parts of the second-level cache.  A matrix of at least its size is evicted before it is read
#: again. A tile takes about an eighth, and a half at most where single rows are large.  An operand
#: that each tile reads again, or a sum that each tile adds to, takes a quarter; everything
#: together, the whole.
LEAST, TILE, LARGEST, AGAIN, ROOM = 1, 1 / 8, 1 / 2, 1 / 4, 1
#: Products of fewer rows than a register tile are slow; below the second number they are slower
#: than larger ones.
FEW, ENOUGH = 8, 32
#: Fewer tiles do not pay.
LEAST_TILES = 4
#: How many steps after the first one are searched for members of its group.
AHEAD = 24


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
        found = _group(left, result)
        if found is None:
            result.append(left.pop(0))
        else:
            ahead, kernel, left = found
            result += [*ahead, kernel]
    return result


def _group(steps: list[Any], done: list[Any]) -> tuple[list[Any], Kernel, list[Any]] | None:
    """The steps before the group that begins with the first step, the group as a kernel, and the
    steps after it; None if there is no group.  ``done`` are the steps before all of them."""
    for extent in extents(steps[0]):
        for member in as_rows(steps[0], extent):
            if any(_is_large(a, extent) and a.writes for a in member.inside):
                group = _Group(extent, member, steps)
                kernel = group.kernel(done)
                if kernel is not None:
                    return group.ahead, kernel, group.left
    return None


def _is_large(access: Access, extent: int) -> bool:
    if access.row is None:
        return False
    return access.row * extent * itemsize(access.memory.dtype) >= _near(LEAST)


class _Group:
    """Steps that run over the same rows, and the other steps around them."""

    def __init__(self, extent: int, first: RowStep, steps: list[Any]) -> None:
        self.extent = extent
        self.members = [first]
        #: Steps that run before the group.
        self.ahead: list[Any] = []
        behind: list[Any] = []
        skipped: list[tuple[Any, bool]] = []
        used = 1
        for position, step in enumerate(steps[1 : 1 + AHEAD], 1):
            mine = touched(step)
            waits = any(conflict(mine, touched(s)) for s in behind) or any(
                conflict(mine, touched(s)) for s, later in skipped if later
            )
            free = not any(conflict(mine, m.accesses) for m in self.members)
            member = None if waits or free else self._joining(step)
            if member is None:
                skipped.append((step, waits or not free))
                continue
            self.members.append(member)
            self.ahead += [s for s, later in skipped if not later]
            behind += [s for s, later in skipped if later]
            skipped = []
            used = position + 1
        #: Steps that run after the group, in order.
        self.left = [*behind, *steps[used:]]

    def _joining(self, step: Any) -> RowStep | None:
        """The step as a member, if it depends on each member through the same row only."""
        for member in as_rows(step, self.extent):
            if all(_in_step(earlier, member) for earlier in self.members):
                return member
        return None

    def kernel(self, done: list[Any]) -> Kernel | None:
        """The kernel that runs all members tile by tile; None where that does not pay."""
        shared = self._shared()
        if not shared:
            return None
        rows, row = self._tile(shared)
        rate = current().bytes_a_cycle(self.extent * row)
        alone = [m for m, s in self._products() if _is_mostly_added(m.way, s, rows, rate)]
        if alone:  # its operands are in memory by then, and no member reads the sum
            self.members = [m for m in self.members if m not in alone]
            self.left = [*(m.step for m in alone), *self.left]
            shared = self._shared()
            rows, row = self._tile(shared) if shared else (1, 0)
        products = self._products()
        if not shared or not products:
            return None
        if rows * row > _near(LARGEST) or self.extent < LEAST_TILES * rows:
            return None
        if not _is_faster([(m.way, s) for m, s in products], rows, row, rate):
            return None
        others = {a.memory for s in (*done, *self.ahead, *self.left) for a in touched(s)}
        own = {
            b: (Buffer(f"{b}_tile", b.dtype, step * rows, "temp"), step)
            for b, step in shared.items()
            if b not in others and self._is_own(b, step)
        }
        return _Writer(self, own, rows).kernel()

    def _products(self) -> list[tuple[RowStep, MatrixProduct]]:
        return [(m, m.step) for m in self.members if isinstance(m.step, MatrixProduct)]

    def _tile(self, shared: dict[Buffer, int]) -> tuple[int, int]:
        """How many rows a tile has, and the bytes of a row."""
        row = sum(step * itemsize(buffer.dtype) for buffer, step in shared.items())
        return _rows(self.extent, row), row

    def _shared(self) -> dict[Buffer, int]:
        """Large matrices that one member writes and another reads, with their row strides."""
        found: dict[Buffer, int] = {}
        written: dict[Buffer, int] = {}
        for member in self.members:
            for access in member.inside:
                if not access.writes and access.memory in written:
                    found[access.memory] = written[access.memory]
            for access in member.inside:
                if access.writes and access.row and _is_large(access, self.extent):
                    written[access.memory] = access.row
        return found

    def _is_own(self, buffer: Buffer, row: int) -> bool:
        """Whether members access a temporary by their own rows only.  Then memory for one tile is
        enough."""
        accesses = [a for m in self.members for a in m.accesses if a.memory is buffer]
        is_whole = buffer.kind == "temp" and buffer.size == row * self.extent
        return is_whole and all(a.row == row for a in accesses)


def _in_step(earlier: RowStep, later: RowStep) -> bool:
    """Whether the later step depends on the earlier one through the same row only, so that the two
    may alternate tile by tile."""
    if conflict(earlier.outside, later.accesses) or conflict(earlier.accesses, later.outside):
        return False
    for one in earlier.inside:
        for other in later.inside:
            together = one.memory is other.memory and (one.writes or other.writes)
            if together and (one.row is None or one.row != other.row):
                return False
    return True


def _near(part: float) -> int:
    """The size in bytes of a part of the second-level cache."""
    return current().cache(L2, part)


def _is_mostly_added(way: str, product: MatrixProduct, rows: int, rate: float) -> bool:
    """Whether adding each tile's product to the sum takes longer than loading the operands from
    memory."""
    m, n = product.m, product.n
    return way == "sum" and 4 * m * n * rate > 2 * rows * (m + n) * current().costs.second_level


def _is_faster(products: list[tuple[str, MatrixProduct]], rows: int, row: int, rate: float) -> bool:
    """Whether tiles of so many rows save clearly more traffic than their products cause by reading
    operands again for each tile, and whether the cache holds everything together."""
    again = sums = 0
    for way, s in products:
        if way == "rows":
            again += s.k * s.n * itemsize(s.dtype)
        elif way == "sum":
            sums += s.m * s.n * itemsize(s.dtype)
    if not again and not sums:
        return True
    near = current().costs.second_level
    saved = 2 * row * (1 / rate - 1 / near)
    lost = (again + 4 * sums) / (rows * near)
    return rows >= FEW and 2 * lost < saved and rows * row + again + 2 * sums < _near(ROOM)


def _rows(extent: int, row: int) -> int:
    """How many rows a tile has, given the bytes of a row."""
    most = max(1, min(extent, max(_near(TILE) // row, min(ENOUGH, _near(LARGEST) // row))))
    choices = range(most, most // 2, -1)
    return min(choices, key=lambda n: (extent % n != 0, n % 8 != 0, -n))


# -- writing ------------------------------------------------------------------------


class _Writer:
    """Writes the members of a group tile by tile."""

    def __init__(self, group: _Group, own: dict[Buffer, tuple[Buffer, int]], rows: int) -> None:
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
                body.append(self._added(product.c, member.step.c))
        return body

    def _loop(self, loop: Loop, first: Affine, rows: int) -> list[Any]:
        """The loop over the rows of a tile; a single row needs no loop."""
        if rows == 1:
            return self._in_tile([substituted(s, loop.var, first) for s in loop.body], first)
        inner = Var(rows)
        row = first + affine.of(inner)
        body = self._in_tile([substituted(s, loop.var, row) for s in loop.body], first)
        made = Kernel("", [Loop(inner, 0, rows, body, loop.role)], [])
        return strip_mined(coalesced(made), rows if rows < 2 * BLOCK else None).body

    def _in_tile(self, body: list[Any], first: Affine) -> list[Any]:
        """The statements, accessing the tile's memory in place of the whole matrix."""
        result = []
        for s in body:
            if isinstance(s, Loop):
                s = replace(s, body=self._in_tile(s.body, first))
            elif (buffer := getattr(s, "buffer", None)) is not None:
                tile, row = self.own.get(memory(buffer), (None, 0))
                if tile is not None:
                    where = "start" if isinstance(s, Fill) else "index"
                    index = getattr(s, where) - first * row
                    s = replace(s, buffer=tile, **{where: index})
            result.append(s)
        return result

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
        is_small = again * itemsize(s.dtype) <= _near(AGAIN)
        return made if made.tiled and not made.blocked and is_small else None

    def _added(self, part: Buffer, total: Buffer) -> Loop:
        """The loop that adds a tile's partial sum to the total."""
        place = Var(total.size)
        value = Scalar(next(self.numbers), total.dtype, 2, None)
        body = [
            Load(value, part, affine.of(place), None),
            AccumulateInto(total, affine.of(place), "add", value),
        ]
        return Loop(place, 0, total.size, body, "map")

    def _moved(self, o: Operand, step: int, first: Affine) -> Operand:
        """The operand from the first row of a tile on."""
        tile, _ = self.own.get(memory(o.buffer), (None, 0))
        if tile is not None:
            return replace(o, buffer=tile)
        return replace(o, offset=o.offset + first * step)
