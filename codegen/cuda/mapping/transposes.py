"""Arrays that are read across their rows are staged in tiles in shared memory.

    share i, j from …:                  block over tiles of 32 x 32 (i0, j0):
      y[n*i + j] = x[m*j + i]     ->      tile[33*b + a] = x[m*(j0 + b) + i0 + a]    # a: neighbours
                                          barrier
                                          y[n*(i0 + a) + j0 + b] = tile[33*b + a]    # b: neighbours

Neighbouring threads then read and write neighbours: 32 elements (float64) take 8 sectors of 32
bytes instead of 32.  Rows of tiles have one element more than there are banks, so columns are read
without conflicts.

Legal where iterations are independent, with only scalars, loads and stores, and where the arrays
read in tiles are not written.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Barrier, Let, When
from autojit.codegen.cuda.mapping.nests.structure import Nest, Parts, is_pure, live
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import changed_buffers
from autojit.codegen.loop_ir.nodes import Load, Loop, Store
from autojit.codegen.loop_ir.traversal import memory, substituted
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import positions
from .launches import Launches


class Transposes(Launches):
    """Writes elementwise kernels in tiles."""

    def in_tiles_of(self, found: Parts, nest: Nest) -> bool:
        """Add a launch in tiles if a nest reads across rows; return whether it was added."""
        if found.atomic or not all(is_pure(s) or isinstance(s, Store) for s in nest.body):
            return False
        across = self._across(nest)
        if across is None:
            return False
        turned = _turned(nest, across)
        tile = self.machine.warp * (self.machine.warp + 1)
        if sum(tile * itemsize(s.buffer.dtype) for s in turned) > self.machine.shared // 2:
            return False
        _Tiles(self, found, nest, across, turned).write()
        return True

    def _across(self, nest: Nest) -> Loop | None:
        """The outer loop along which loads are contiguous, if it and the last loop are long."""
        least = self.machine.warp // 2
        if nest.loops[-1].stop - nest.loops[-1].start < least:
            return None
        for loop in nest.loops[:-1]:
            if loop.stop - loop.start >= least and _turned(nest, loop):
                return loop
        return None


def _turned(nest: Nest, across: Loop) -> list[Load]:
    """The loads that are contiguous along an outer loop, but not along the last one."""
    last, written = nest.loops[-1].var, {memory(b) for s in nest.body for b in changed_buffers(s)}

    def is_turned(s: Any) -> bool:
        if not isinstance(s, Load) or s.guard is not None or memory(s.buffer) in written:
            return False
        far = s.index.stride(last)
        return s.index.stride(across.var) == 1 and far is not None and abs(far) > 1

    return [s for s in nest.body if is_turned(s)]


class _Tiles:
    """Writes the kernel, with one block per tile."""

    def __init__(
        self, launches: Launches, found: Parts, nest: Nest, across: Loop, turned: list[Load]
    ) -> None:
        machine = launches.machine
        self.launches, self.found, self.nest = launches, found, nest
        self.side, self.threads = machine.warp, max(machine.warp, machine.threads)
        self.across, self.along = across, nest.loops[-1]
        size = self.side * (self.side + 1)
        self.tiles = [
            (s, Buffer(f"tile{n or ''}", s.buffer.dtype, size, "shared"))
            for n, s in enumerate(turned)
        ]
        self.counts = {
            loop.var: -(-(loop.stop - loop.start) // self.side) for loop in (across, self.along)
        }

    def write(self) -> None:
        """Add the launch."""
        kernel, extents = self.launches.kernel, [n.stop - n.start for n in self._outer()]
        doc = f"A block for each of {prod(extents)} tiles of {self.side} x {self.side} elements."
        shared = [tile for _, tile in self.tiles]
        self.launches.add(kernel.name, doc, prod(extents), self.threads, self._body, shared)

    def _outer(self) -> list[Loop]:
        """The loops of a nest, of which the two loops of a tile run over tiles."""
        return [
            Loop(Var(self.counts[n.var]), 0, self.counts[n.var], [], "map")
            if n.var in self.counts
            else n
            for n in self.nest.loops
        ]

    def _body(self, block: Var, thread: Var) -> list[Any]:
        outer = self._outer()
        places = positions(Nest(outer, [], []), affine.of(block))
        at = {n.var: affine.of(o.var) for n, o in zip(self.nest.loops, outer, strict=True)}
        down, lane = affine.divide(affine.of(thread), self.side, {})
        step = Var(self.side * self.side // self.threads)
        row = affine.of(step) * (self.threads // self.side) + down
        first = self._element(at, lane, row, self._filled(lane, row))
        second = self._element(at, row, lane, self._used(row, lane))
        loops = [Loop(step, 0, step.extent, body, "map") for body in (first, second)]
        return [*places, loops[0], Barrier(self.threads), loops[1]]

    def _element(
        self, at: dict[Var, Affine], a: Affine, b: Affine, body: list[Any]
    ) -> list[Any]:  # fmt: skip
        """Statements about element (a, b) of the tile, which run only if it exists."""
        made, lets = body, []
        inside: list[tuple[Affine, Loop]] = []
        for loop, place in ((self.across, a), (self.along, b)):
            here = Var(self.counts[loop.var] * self.side)
            lets.append(Let(here, at[loop.var] * self.side + place))
            made = [substituted(s, loop.var, affine.of(here) + loop.start) for s in made]
            inside.append((affine.of(here), loop))
        for index, loop in inside:
            made = [When(index, 0, loop.stop - loop.start, made)]
        return [*lets, *made]

    def _filled(self, a: Affine, b: Affine) -> list[Any]:
        made: list[Any] = []
        for load, tile in self.tiles:
            made += [load, Store(tile, b * (self.side + 1) + a, load.result)]
        return made

    def _used(self, a: Affine, b: Affine) -> list[Any]:
        moved = {id(load): tile for load, tile in self.tiles}
        body = [
            replace(s, buffer=moved[id(s)], index=b * (self.side + 1) + a) if id(s) in moved else s
            for s in self.nest.body
        ]
        before = [*self.found.scalars, *self.nest.between]
        return [*live(before, body), *body]
