"""Matrix products are computed in tiles that a block keeps in shared memory.

Tiles work for every layout, but are several times slower than cuBLAS on large matrices; products
can use cuBLAS without a change to the loop program.

The product's threads also run an elementwise kernel that follows it.

    t0 = in0 @ in1                           block over tiles of the product:
    for i in 0..300:                           a0 += …    # the sum of element (i, j)
      for j in 0..200:                   ->    s0 = a0
        s0 = t0[200*i + j]                     s1 = in2[j]
        s1 = in2[j]                            out0[200*i + j] = max(s0 + s1, 0)
        out0[200*i + j] = max(s0 + s1, 0)

The product is not written to memory and read again, and there is one launch instead of two.

Legal where each iteration reads one element of the product, each a different one, and iterations
are independent, with only scalars, loads and stores.  Other blocks still read the operands while a
block stores, so no stored buffer may be an operand.  Temporaries are placed again, since a stored
temporary may share memory with an operand that was dead in the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Barrier, DeviceKernel, Let, When
from autojit.codegen.cuda.device_program.numbers import computed, loaded, within
from autojit.codegen.cuda.mapping.nests.structure import Nest, Whole, is_pure, nests, parts
from autojit.codegen.cuda.mapping.nests.vectors import MOST_FUNCTIONS, MOST_SCALARS
from autojit.codegen.cuda.matrices.products import PARTS, ProductSum, element, place_in
from autojit.codegen.loop_ir.cost import is_function
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Compute, Finish, Gather, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import positions
from .machine import Machine


class Finishing:
    """The elementwise statements for each element of a product."""

    def __init__(self, product: MatrixProduct, nest: Nest, scalars: list[Any], keeps: bool) -> None:
        self.product, self.nest = product, nest
        self.body = [*scalars, *nest.between, *nest.body]
        #: Whether the product itself is also stored, because later steps read it.
        self.keeps = keeps

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers that are read and written besides the product."""
        found = [memory(s.buffer) for s in self.body if isinstance(s, Load | Gather | Store)]
        return [b for b in dict.fromkeys(found) if b is not self.product.c]

    def statements(self, totals: list[Accumulator], place: list[Affine]) -> list[Any]:
        """The statements of the thread that has the sums of an element.

        Args:
            totals: an accumulator for each part of the element.
            place: its position in the batch, its row and its column.
        """
        product, number = self.product, Affine(0)
        extents = [*product.batch, product.m, product.n]
        for index, extent in zip(place, extents, strict=True):
            number = number * extent + index
        loops = self.nest.loops
        if [loop.stop - loop.start for loop in loops] == extents:
            lets = [Let(n.var, p + n.start) for n, p in zip(loops, place, strict=True)]
        else:
            lets = positions(self.nest, number)
        return [*lets, *(self._moved(s, totals) for s in self.body)]

    def _moved(self, s: Any, totals: list[Accumulator]) -> Any:
        if not isinstance(s, Load) or memory(s.buffer) is not self.product.c:
            return s
        part = _part_of(s, self.nest, self.product)
        assert part is not None
        return Finish(s.result, totals[part])


def finishing(
    product: MatrixProduct, after: Any, loops: LoopProgram, uses: Mapping[Buffer, int]
) -> Finishing | None:
    """The elementwise statements of the step after a product; None if it has another form.

    ``uses`` has the number of steps that touch each buffer.
    """
    nest, scalars = _one_nest(after)
    if nest is None or product.c_offset.variables():
        return None
    c, body = product.c, [*scalars, *nest.between, *nest.body]
    if not _is_plain(body) or not _reads_own(body, nest, product):
        return None
    keeps = c not in loops.temps or uses[c] > 2
    stored = {memory(s.buffer) for s in body if isinstance(s, Store)}
    if stored & {memory(b) for b in (product.a.buffer, product.b.buffer, c)}:
        return None
    return Finishing(product, nest, scalars, keeps)


def _one_nest(after: Any) -> tuple[Nest | None, list[Any]]:
    """The only nest of a kernel whose iterations are independent, and the scalars before it."""
    found = parts(after) if isinstance(after, Kernel) and after.body else None
    if found is None or found.fills or found.begins or found.after or found.atomic:
        return None, []
    every = [nest for loop in found.loops for nest in nests(loop)]
    if len(every) != 1 or any(not _is_whole(loop) for loop in every[0].loops):
        return None, []
    return every[0], found.scalars


def _is_whole(loop: Any) -> bool:
    return bool(loop.role == "map" and loop.share is None and loop.only is None)


def _is_plain(body: list[Any]) -> bool:
    """Whether a body is short, has only scalars and stores, and no local buffers."""
    for s in body:
        local = hasattr(s, "buffer") and memory(s.buffer).kind == "local"
        if local or not (is_pure(s) or type(s) is Store):
            return False
    scalars = sum(isinstance(s, Compute | Load | Gather) for s in body)
    return sum(map(is_function, body)) <= MOST_FUNCTIONS and scalars <= MOST_SCALARS


def _reads_own(body: list[Any], nest: Nest, product: MatrixProduct) -> bool:
    """Whether each iteration reads an element of the product, and only its own."""
    reads = [s for s in body if isinstance(s, Load | Gather) and memory(s.buffer) is product.c]
    count = prod(product.batch) * product.m * product.n
    own = (isinstance(s, Load) and _part_of(s, nest, product) is not None for s in reads)
    return bool(reads) and nest.count == count and all(own)


def _part_of(s: Load, nest: Nest, product: MatrixProduct) -> int | None:
    """The part of its own element that an iteration reads; None if it reads another element."""
    n, count = Var(nest.count), product.parts
    first = (affine.of(n) + product.c_offset) * count
    part = Whole(nest, n)(s.index) - first
    is_one = s.guard is None and not part.terms and 0 <= part.constant < count
    same = s.buffer.dtype == PARTS.get(product.dtype, product.dtype)
    return part.constant if is_one and same else None


def in_tiles(
    product: MatrixProduct, name: str, machine: Machine, then: Finishing | None = None
) -> list[DeviceKernel]:
    """The launch of one product, with the elementwise statements ``then``; none if the result is
    empty."""
    m, n, k, tile = product.m, product.n, product.k, machine.tile
    across, down = -(-n // tile), -(-m // tile)
    grid = across * down * prod(product.batch)
    if not grid:
        return []
    writer = _Tiled(product, machine, across, down, grid, then)
    stored = [product.c] if then is None or then.keeps else []
    more = [] if then is None else then.buffers
    buffers = list(dict.fromkeys((product.a.buffer, product.b.buffer, *stored, *more)))
    batch = f"{prod(product.batch)} of " if product.batch else ""
    doc = f"{batch}[{m}, {k}] @ [{k}, {n}], a block for each tile of the result."
    doc += "" if then is None else " What follows is done with each element."
    return [
        DeviceKernel(
            name, doc, grid, tile * tile, writer.block, writer.thread, writer.body(), buffers,
            shared=[*writer.left, *writer.right],
        )
    ]  # fmt: skip


class _Tiled:
    """Writes the kernel of a tiled product: one thread per element, operand tiles in shared
    memory."""

    def __init__(
        self, product: MatrixProduct, machine: Machine, across: int, down: int, grid: int,
        then: Finishing | None,
    ) -> None:  # fmt: skip
        self.product, self.then = product, then
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
        loop = [Loop(tiles, 0, tiles.extent, step, "sequence")] if tiles.extent else []
        inside = When(i, 0, m, [When(j, 0, n, self._stored(total, [*here, i, j]))])
        return [*self._lets(), *total.begin(), *loop, inside]

    def _stored(self, total: ProductSum, place: list[Affine]) -> list[Any]:
        """The statements that store an element, or use it otherwise."""
        product, then = self.product, self.then
        made: list[Any] = []
        if then is None or then.keeps:
            result = Operand(product.c, product.c_offset, product.strides_of_results)
            made += total.store(product.c, place_in(result, place[:-2], *place[-2:]))
        return made if then is None else [*made, *then.statements(total.accumulators, place)]

    def _lets(self) -> list[Any]:
        """The definitions of a thread's place in its tile, in the result, and in the batch."""
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
        """Statements by which each thread loads one element of a tile, or 0 outside of the
        matrix."""
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
