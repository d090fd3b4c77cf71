"""Matrix products in tiles that a block keeps in shared memory.

Tiles are right for every layout, and several times slower than cuBLAS on large matrices, to which
these products can go without a change to the loop program.
"""

from __future__ import annotations

from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Barrier, DeviceKernel, Let, When
from autojit.codegen.cuda.device_program.numbers import computed, loaded, within
from autojit.codegen.cuda.matrices.products import PARTS, ProductSum, element, place_in
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Compute, Loop, Store
from autojit.codegen.loop_ir.values import Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .machine import Machine


def in_tiles(product: MatrixProduct, name: str, machine: Machine) -> list[DeviceKernel]:
    """The launch of one product, or none if the result is empty."""
    m, n, k, tile = product.m, product.n, product.k, machine.tile
    across, down = -(-n // tile), -(-m // tile)
    grid = across * down * prod(product.batch)
    if not grid:
        return []
    writer = _Tiled(product, machine, across, down, grid)
    buffers = list(dict.fromkeys((product.a.buffer, product.b.buffer, product.c)))
    batch = f"{prod(product.batch)} of " if product.batch else ""
    doc = f"{batch}[{m}, {k}] @ [{k}, {n}], a block for each tile of the result."
    return [
        DeviceKernel(
            name, doc, grid, tile * tile, writer.block, writer.thread, writer.body(), buffers,
            shared=[*writer.left, *writer.right],
        )
    ]  # fmt: skip


class _Tiled:
    """The kernel of a tiled product: a thread an element, tiles of operands in shared memory."""

    def __init__(
        self, product: MatrixProduct, machine: Machine, across: int, down: int, grid: int
    ) -> None:
        self.product = product
        self.tile = machine.tile
        self.block, self.thread = Var(grid), Var(self.tile**2)
        self.x, self.y = Var(self.tile), Var(self.tile)
        self.i, self.j = Var(down * self.tile), Var(across * self.tile)
        self.batch = [Var(extent) for extent in product.batch]
        self.across, self.down = across, down
        dtype, size = PARTS.get(product.dtype, product.dtype), self.tile**2
        parts = range(product.parts)
        self.left = [Buffer(f"left{p or ''}", dtype, size, "shared") for p in parts]
        self.right = [Buffer(f"right{p or ''}", dtype, size, "shared") for p in parts]

    def body(self) -> list[Any]:
        product, tile = self.product, self.tile
        m, n, k = product.m, product.n, product.k
        total = ProductSum.of(product)
        x, y, i, j = (affine.of(v) for v in (self.x, self.y, self.i, self.j))
        tiles, q = Var(-(-product.k // tile)), Var(tile)
        start, at = affine.of(tiles) * tile, affine.of(q)
        here = [affine.of(v) for v in self.batch]
        left = place_in(product.a, here, i, start + x)
        right = place_in(product.b, here, start + y, j)
        load_a, a = self._shared(self.left, y * tile + at)
        load_b, b = self._shared(self.right, at * tile + x)
        step = [
            *self._fetch(product.a.buffer, left, self.left, (i, m), (start + x, k)),
            *self._fetch(product.b.buffer, right, self.right, (start + y, k), (j, n)),
            Barrier(tile * tile),
            Loop(q, 0, tile, [*load_a, *load_b, *total.add(a, b)], "reduce"),
            Barrier(tile * tile),
        ]  # fmt: skip
        result = Operand(product.c, product.c_offset, product.strides_of_results)
        store = total.store(product.c, place_in(result, here, i, j))
        loop = [Loop(tiles, 0, tiles.extent, step, "sequence")] if tiles.extent else []
        inside = When(i, 0, product.m, [When(j, 0, product.n, store)])
        return [*self._lets(), *total.begin(), *loop, inside]

    def _lets(self) -> list[Any]:
        """Where a thread is: in its tile, in the result, and in the batch."""
        tile, block = self.tile, affine.of(self.block)
        y, x = affine.divide(affine.of(self.thread), tile, {})
        matrix, number = affine.divide(block, self.across * self.down, {})
        down, across = affine.divide(number, self.across, {})
        lets = [Let(self.x, x), Let(self.y, y)]
        lets += [Let(self.i, down * tile + affine.of(self.y))]
        lets += [Let(self.j, across * tile + affine.of(self.x))]
        below = prod(self.product.batch)
        for var in self.batch:
            below //= var.extent
            here = affine.divide(matrix, below, {})[0]
            lets.append(Let(var, affine.divide(here, var.extent, {})[1]))
        return lets

    def _fetch(
        self, buffer: Buffer, index: Affine, target: list[Buffer], *limits: tuple[Affine, int]
    ) -> list[Any]:
        """One element of a tile for each thread, or zero outside of the matrix."""
        tests = [within(value, 0, limit) for value, limit in limits]
        both: Compute = computed("and", *(t.result for t in tests))
        loads, parts = element(buffer, index, len(target), both.result)
        stores = [
            Store(t, affine.of(self.y) * self.tile + affine.of(self.x), part)
            for t, part in zip(target, parts, strict=True)
        ]
        return [*tests, both, *loads, *stores]

    def _shared(self, tiles: list[Buffer], index: Affine) -> tuple[list[Any], list[Scalar]]:
        made = [loaded(t, index) for t in tiles]
        return list(made), [load.result for load in made]
