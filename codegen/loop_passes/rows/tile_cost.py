"""The profitability of row tiles: their cost and savings, and the rows of a tile."""

from __future__ import annotations

from typing import Any

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.machine import L2, current

from .row_groups import RowGroup
from .row_steps import touched

#: Parts of the second-level cache.  A tile takes about an eighth, and a half at most where single
#: rows are large.  An operand that each tile reads again, or a sum that each tile adds to, takes a
#: quarter; everything together, the whole.
TILE, LARGEST, AGAIN, ROOM = 1 / 8, 1 / 2, 1 / 4, 1
#: Products of fewer rows than a register tile are slow; below the second number they are slower
#: than larger ones.
FEW, ENOUGH = 8, 32
#: Fewer tiles do not pay.
LEAST_TILES = 4


def _near(part: float) -> int:
    """The size in bytes of a part of the second-level cache."""
    return current().cache(L2, part)


def tiles_of(
    group: RowGroup, done: list[Any]
) -> tuple[dict[Buffer, tuple[Buffer, int]], int] | None:
    """How a group runs tile by tile: the matrices that need memory for one tile only, with that
    memory and their row strides, and how many rows a tile has.

    None if it does not pay. ``done`` are the steps before the group's.
    """
    shared = group.shared()
    if not shared:
        return None
    rows, row = _tile(group, shared)
    rate = current().bytes_a_cycle(group.extent * row)
    alone = [m for m, s in group.products() if _is_mostly_added(m.way, s, rows, rate)]
    if alone:  # its operands are in memory by then, and no member reads the sum
        group.leave(alone)
        shared = group.shared()
        rows, row = _tile(group, shared) if shared else (1, 0)
    products = [(m.way, s) for m, s in group.products()]
    if not shared or not products:
        return None
    if rows * row > _near(LARGEST) or group.extent < LEAST_TILES * rows:
        return None
    if not _is_faster(products, rows, row, rate):
        return None
    others = {a.memory for s in (*done, *group.ahead, *group.left) for a in touched(s)}
    own = {
        b: (Buffer(f"{b}_tile", b.dtype, step * rows, "temp"), step)
        for b, step in shared.items()
        if b not in others and group.is_own(b, step)
    }
    return own, rows


def _tile(group: RowGroup, shared: dict[Buffer, int]) -> tuple[int, int]:
    """How many rows a tile has, and the bytes of a row."""
    row = sum(step * itemsize(buffer.dtype) for buffer, step in shared.items())
    return _rows(group.extent, row), row


def _rows(extent: int, row: int) -> int:
    """How many rows a tile has, given the bytes of a row."""
    most = max(1, min(extent, max(_near(TILE) // row, min(ENOUGH, _near(LARGEST) // row))))
    choices = range(most, most // 2, -1)
    return min(choices, key=lambda n: (extent % n != 0, n % 8 != 0, -n))


def _is_mostly_added(way: str, product: MatrixProduct, rows: int, rate: float) -> bool:
    """Whether adding each tile's product to the sum takes longer than loading the operands from
    memory."""
    m, n = product.m, product.n
    return way == "sum" and 4 * m * n * rate > 2 * rows * (m + n) * current().costs.second_level


def _is_faster(products: list[tuple[str, MatrixProduct]], rows: int, row: int, rate: float) -> bool:
    """Whether tiles of this many rows save clearly more traffic than their products cause by
    rereading operands for each tile; and whether the cache holds everything together."""
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


def stays_in_cache(size: int) -> bool:
    """Whether the cache still holds this many bytes when the next tile reads them."""
    return size <= _near(AGAIN)
