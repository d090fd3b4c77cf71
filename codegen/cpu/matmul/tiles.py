"""Medium-sized matrix products in vector code of our own.

A tile of the result, eight rows of two or three vectors, stays in registers while the sums over
``k`` are formed: each step loads a few vectors of B, and multiplies each by the elements of a
column of A. Matrices that fit the caches are read in place; the BLAS would copy them first, which
takes a fifth of the time or more for such sizes. (The terms are those of F. Van Zee and R.
van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS 41, 2015.)

The last tile of a row or a column overlaps the one before it, and the last vector of a tile may
overlap the one before that. They compute the same elements again, so there is one inner loop and no
case for a remainder.

``autojit.codegen.loop_passes.products`` chooses the products that are computed this way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from llvmlite import ir

from autojit.codegen.cpu.llvm.constants import constant_array
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.machine import current
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_passes.products import (
    BLOCK_ROWS,
    MOST_VECTORS,
    block_of,
    merged,
    steps_of,
)
from autojit.ir.core.affine import Affine

from . import blocked_products, tile_functions
from .tile_functions import FIELDS, Tile

I64 = ir.IntType(64)

#: The most rows of a tile.
MOST_ROWS = 8
#: Accumulating a product in parts needs tiles that do not overlap. They may take at most this much
#: longer.
MOST_SLOWER = 1.1
#: The most tiles in a column that are computed before those of the next column.
GROUP = 4

Address = Callable[[Buffer, Affine], ir.Value]


def tile_for(m: int, n: int, bytes_of_scalar: int, width: int, registers: int) -> Tile:
    """Return the tile that takes the least time for a result of m rows and n columns.

    ``width`` is the size of a vector register in bytes, ``registers`` the number of registers.

    >>> tile_for(64, 256, 4, 64, 32)
    Tile(rows=8, vectors=2, lanes=16, columns=32)
    >>> tile_for(64, 48, 8, 64, 32)
    Tile(rows=8, vectors=3, lanes=8, columns=24)
    >>> tile_for(64, 20, 8, 64, 32)
    Tile(rows=8, vectors=3, lanes=8, columns=20)
    >>> tile_for(3, 10, 8, 32, 16)
    Tile(rows=3, vectors=3, lanes=4, columns=10)
    """
    return min(_tiles(m, n, bytes_of_scalar, width, registers), key=partial(_time, m, n))


def _tiles(m: int, n: int, bytes_of_scalar: int, width: int, registers: int) -> list[Tile]:
    """Return all tiles that fit the registers."""
    lanes = width // bytes_of_scalar
    while lanes > n:
        lanes //= 2
    return [
        Tile(rows, vectors, lanes, min(n, vectors * lanes))
        for rows in range(min(m, MOST_ROWS), 0, -1)
        for vectors in range(MOST_VECTORS, 0, -1)
        if (vectors - 1) * lanes < n and (rows + 1) * vectors < registers
    ]


def _apart(m: int, n: int, bytes_of_scalar: int, width: int, registers: int) -> Tile | None:
    """Return the best tile that divides the result without overlaps, perhaps with a few columns
    less; None if it takes much longer than the best tile."""
    found = []
    tiles = _tiles(m, n, bytes_of_scalar, width, registers)
    for tile in tiles:
        least = tile.columns - tile.lanes
        columns = next((c for c in range(tile.columns, least, -1) if n % c == 0), 0)
        if m % tile.rows == 0 and columns >= tile.lanes:
            found.append(tile._replace(columns=columns))
    time = partial(_time, m, n)
    best = min(found, key=time, default=None)
    is_good = best is not None and time(best) <= MOST_SLOWER * min(map(time, tiles))
    return best if is_good else None


def _time(m: int, n: int, tile: Tile) -> float:
    """Estimate the time of one step of all tiles, in multiplications of vectors.

    A load takes about as long as a multiplication, and runs in parallel with it. In small tiles
    multiplications wait for each other.
    """
    count = -(-m // tile.rows) * -(-n // tile.columns)
    multiplications = tile.rows * tile.vectors
    loads = tile.rows + tile.vectors
    time = count * (max(multiplications, loads, 8) + 0.1 * loads)
    # The usual tile may already have been compiled for another product.
    return time if tile.rows == MOST_ROWS else 1.05 * time


def emit(
    module: ir.Module,
    builder: ir.IRBuilder,
    product: MatrixProduct,
    address: Address,
    share: Callable[[int], tuple[ir.Value, ir.Value]] | None = None,
) -> None:
    """Write the call of one product, or of a task's share of it.

    ``share`` returns a task's range of this many items.
    """
    if 0 in (*product.batch, product.m, product.n):
        return
    machine = current()
    width, registers = machine.vector_bytes, machine.vector_registers
    of = product.m, product.n, itemsize(product.dtype), width, registers
    steps = steps_of(product)
    tile = _apart(*of) if steps < product.k and not product.blocked else None
    if tile is None:
        tile, steps = tile_for(*of), product.k
    numbers = _numbers(product, tile, steps)
    items = numbers["matrices"] * numbers["across"] * numbers["groups"]
    first, last = (_number(0), _number(items)) if share is None else share(items)
    a, b = (address(o.buffer, o.offset) for o in (product.a, product.b))
    c = address(product.c, product.c_offset)
    inner = tile_functions.inner(module, product.dtype, tile)
    packing = partial(tile_functions.packing, module, product.dtype, k=product.k)
    if product.blocked:
        assert product.panel is not None
        panel = address(product.panel.buffer, product.panel.offset)
        told = constant_array(module, [numbers[field] for field in blocked_products.FIELDS])
        lanes = width // numbers["size"]
        pack_a = packing(tile.rows, lanes, contiguous=numbers["a_row"] == 1)
        pack_b = packing(tile.columns, lanes, contiguous=numbers["b_column"] == 1)
        multiply = blocked_products.multiply(module, product.dtype, tile)
        builder.call(multiply, [first, last, told, a, b, c, panel, inner, pack_a, pack_b])
        return
    pack, panel = tile_functions.NO_PACKING, b
    if product.panel is not None:
        pack = packing(tile.columns, tile.lanes, contiguous=numbers["b_column"] == 1)
        panel = address(product.panel.buffer, product.panel.offset)
    told = constant_array(module, [numbers[field] for field in FIELDS])
    multiply = tile_functions.multiply(module)
    builder.call(multiply, [first, last, told, a, b, c, panel, inner, pack])


def _numbers(product: MatrixProduct, tile: Tile, steps: int) -> dict[str, int]:
    """Return the fields of a product that takes ``steps`` of k at a time. Its items are numbered by
    matrix of the batch, then by groups of rows of tiles, then by columns of tiles."""
    down, across = -(-product.m // tile.rows), -(-product.n // tile.columns)
    group = down if product.panel else GROUP
    if product.blocked:
        group = BLOCK_ROWS // tile.rows
    batch, (a, b) = merged(product)
    block = block_of(product) if product.blocked else steps
    return {
        "matrices": prod(product.batch),
        "inner": batch[1],
        "down": down,
        "across": across,
        "group": group,
        "groups": -(-down // group),
        "m": product.m,
        "n": product.n,
        "k": product.k,
        "rows": tile.rows,
        "columns": tile.columns,
        "size": itemsize(product.dtype),
        "a_outer": a[0], "a_inner": a[1], "a_row": a[2], "a_step": a[3],
        "b_outer": b[0], "b_inner": b[1], "b_step": b[2], "b_column": b[3],
        "block": block,
        "a_stride": a[3] if a[2] == 1 else a[2],
        "b_stride": b[2] if b[3] == 1 else b[3],
        "b_panel": BLOCK_ROWS * block,
        "last_vector": tile.columns - tile.lanes,
    }  # fmt: skip


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
