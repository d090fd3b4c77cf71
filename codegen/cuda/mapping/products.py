"""Matrix products: in tiles that a block keeps in shared memory, or as plain loops.

Tiles are right for every layout, and several times slower than cuBLAS on large matrices, to which
these products can go without a change to the loop program.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Barrier, DeviceKernel, Let, When
from autojit.codegen.loop_ir.matrices import MatrixProduct, parts_of
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Compute, Finish, Loop, Store
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .machine import Machine
from .numbers import accumulator, computed, loaded, scalar, within

_PARTS = {"c64": "f32", "c128": "f64"}


def _place(operand: Operand, batch: list[Affine], row: Affine, column: Affine) -> Affine:
    """The index of an element, in elements."""
    total = operand.offset
    for index, stride in zip([*batch, row, column], operand.strides, strict=True):
        total = total + index * stride
    return total


def _multiplied(a: list[Scalar], b: list[Scalar]) -> tuple[list[Any], list[Scalar]]:
    """The product of two numbers, in parts."""
    if len(a) == 1:
        made = computed("mul", a[0], b[0])
        return [made], [made.result]
    products = [computed("mul", x, y) for x in a for y in b]
    (rr, ri, ir, ii) = (p.result for p in products)
    real, imaginary = computed("sub", rr, ii), computed("add", ri, ir)
    return [*products, real, imaginary], [real.result, imaginary.result]


@dataclass
class _Sum:
    """The accumulators of one element of the result, a part each."""

    accumulators: list[Accumulator]

    @staticmethod
    def of(product: MatrixProduct) -> _Sum:
        dtype = _PARTS.get(product.dtype, product.dtype)
        zero = False if dtype == "bool" else 0 if dtype[0] in "iu" else 0.0
        count = parts_of(product.dtype)
        return _Sum([accumulator(dtype, "add", zero) for _ in range(count)])

    def begin(self) -> list[Any]:
        return [Begin(a) for a in self.accumulators]

    def add(self, a: list[Scalar], b: list[Scalar]) -> list[Any]:
        statements, values = _multiplied(a, b)
        pairs = zip(self.accumulators, values, strict=True)
        return [*statements, *(Accumulate(total, v) for total, v in pairs)]

    def store(self, target: Buffer, index: Affine) -> list[Any]:
        made: list[Any] = []
        for part, a in enumerate(self.accumulators):
            total = scalar(a.dtype)
            made += [Finish(total, a), Store(target, index * len(self.accumulators) + part, total)]
        return made


def _loads(
    buffer: Buffer, index: Affine, parts: int, guard: Scalar | None = None
) -> tuple[list[Any], list[Scalar]]:
    """An element of a buffer, in parts."""
    made = [loaded(buffer, index * parts + part, guard) for part in range(parts)]
    return list(made), [load.result for load in made]


def as_loops(product: MatrixProduct) -> list[Any]:
    """A product as loops over batch, rows and columns, with a sum in each."""
    batch = [Var(extent) for extent in product.batch]
    i, j, k = Var(product.m), Var(product.n), Var(product.k)
    here = [affine.of(v) for v in batch]
    row, column, inner = affine.of(i), affine.of(j), affine.of(k)
    total, parts = _Sum.of(product), product.parts
    load_a, a = _loads(product.a.buffer, _place(product.a, here, row, inner), parts)
    load_b, b = _loads(product.b.buffer, _place(product.b, here, inner, column), parts)
    result = Operand(product.c, product.c_offset, product.strides_of_results)
    body = total.begin()
    if product.k:
        body.append(Loop(k, 0, product.k, [*load_a, *load_b, *total.add(a, b)], "reduce"))
    body += total.store(product.c, _place(result, here, row, column))
    for var in (j, i, *reversed(batch)):
        body = [Loop(var, 0, var.extent, body, "map")] if var.extent else []
    return body


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
    """The kernel of a tiled product: a thread an element, tiles of both operands in shared memory."""

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
        dtype, size = _PARTS.get(product.dtype, product.dtype), self.tile**2
        parts = range(product.parts)
        self.left = [Buffer(f"left{p or ''}", dtype, size, "shared") for p in parts]
        self.right = [Buffer(f"right{p or ''}", dtype, size, "shared") for p in parts]

    def body(self) -> list[Any]:
        product, tile = self.product, self.tile
        total = _Sum.of(product)
        x, y, i, j = (affine.of(v) for v in (self.x, self.y, self.i, self.j))
        tiles, q = Var(-(-product.k // tile)), Var(tile)
        start, at = affine.of(tiles) * tile, affine.of(q)
        here = [affine.of(v) for v in self.batch]
        left = _place(product.a, here, i, start + x)
        right = _place(product.b, here, start + y, j)
        load_a, a = self._shared(self.left, y * tile + at)
        load_b, b = self._shared(self.right, at * tile + x)
        step = [
            *self._fetch(product.a.buffer, left, self.left, (i, product.m), (start + x, product.k)),
            *self._fetch(product.b.buffer, right, self.right, (start + y, product.k), (j, product.n)),
            Barrier(tile * tile),
            Loop(q, 0, tile, [*load_a, *load_b, *total.add(a, b)], "reduce"),
            Barrier(tile * tile),
        ]  # fmt: skip
        result = Operand(product.c, product.c_offset, product.strides_of_results)
        store = total.store(product.c, _place(result, here, i, j))
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
        loads, parts = _loads(buffer, index, len(target), both.result)
        stores = [
            Store(t, affine.of(self.y) * self.tile + affine.of(self.x), part)
            for t, part in zip(target, parts, strict=True)
        ]
        return [*tests, both, *loads, *stores]

    def _shared(self, tiles: list[Buffer], index: Affine) -> tuple[list[Any], list[Scalar]]:
        made = [loaded(t, index) for t in tiles]
        return list(made), [load.result for load in made]


