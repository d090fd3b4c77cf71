"""Kernels of the loop program become kernels of the device."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Any

from autojit.codegen.analysis.dependences import written
from autojit.codegen.cuda.device_program.nodes import (
    Barrier,
    DeviceKernel,
    Share,
)
from autojit.codegen.cuda.device_program.numbers import loaded
from autojit.codegen.cuda.mapping.nests.staging import bytes_of, in_shared_memory, rows_of
from autojit.codegen.cuda.mapping.nests.structure import (
    Nest,
    Parts,
    innermost,
    is_pure,
    live,
    made_atomic,
    nests,
    parts,
)
from autojit.codegen.cuda.mapping.nests.tapes import in_parts
from autojit.codegen.cuda.mapping.nests.vectors import in_vectors
from autojit.codegen.loop_ir.nodes import Accumulate, Fill, Loop
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Var

from .apart import Apart, apart
from .cooperation import Cooperation, alone, iterations, positions
from .lanes import by_lanes
from .launches import left_by_block
from .meetings import Meetings
from .passes import Passes, halves
from .prefix import PrefixSums, prefix_of
from .scatters import Scatters, is_simple
from .teams import (
    block_for,
    first_reduction,
    longest,
    power_below,
    split_of_rows,
    team_of,
    width_of,
)
from .transposes import Transposes


class KernelMapper(Meetings, Passes, PrefixSums, Scatters, Transposes):
    """Maps the work of one kernel of the loop program to threads."""

    def launch(self) -> list[DeviceKernel]:
        """The launches that together do the work of the kernel."""
        if not self.kernel.body:
            return []
        found = parts(self.kernel)
        if found is None or (found.sets and not self._can_set(found)):
            self.one_block(self.kernel.name, self.kernel.body)
        else:
            for number, fill in enumerate(found.fills):
                self.fill(f"{self.kernel.name}_fill{number}", fill)
            if found.begins:
                self._reduction(found)
            else:
                self._map(found)
        return self.launches

    # -- the functions ------------------------------------------------------

    def one_block(self, name: str, body: list[Any]) -> None:
        """Add a kernel that runs sequentially: by one thread, or by a block if its loops are long.

        Loops over many elements, and prefix sums, are shared by more threads.
        """
        found = by_lanes(body)
        if found is not None and found[0].extent >= max(self.machine.row, self._inside(found[1])):
            self._lanes(name, *found)
            return
        separate = apart(body)
        if separate is not None and separate.loop.stop >= max(
            self.machine.row, self._inside(separate.loop.body)
        ):
            self._apart(name, separate)
            return
        body = alone(body)
        steps = prefix_of(body)
        if steps is not None and steps.loop.stop > self.machine.few:
            self.prefix(name, steps)
            return
        length = self._inside(body)
        if length < self.machine.row:
            self.add(name, "One thread does everything.", 1, 1, lambda block, thread: body)
            return
        if self.all_blocks(name, body):
            return
        width = block_for(length, self.machine)
        of_block: set[Buffer] = set()

        def write(block: Var, thread: Var) -> list[Any]:
            cooperation = Cooperation(team_of(thread, width), width, self.machine.warp)
            made = cooperation.body(body)
            of_block.update(cooperation.shared_locals())
            return made

        self.add(name, "One block does everything.", 1, width, write, of_block)

    def _inside(self, body: list[Any]) -> int:
        """The iterations of the longest loop of a body that is not sequential."""
        loops = (s for s in walk(body) if isinstance(s, Loop) and s.role != "sequence")
        return max((s.stop - s.start for s in loops), default=0)

    def _lanes(
        self, name: str, lane: Var, body: list[Any], tapes: Collection[Buffer] = ()
    ) -> None:  # fmt: skip
        """Add a kernel whose threads each run all steps for one element, with tapes of its own."""

        def write(block: Var, thread: Var) -> list[Any]:
            first, step = self.units(block, thread, 1)
            inside = in_parts(body, tapes, first, step) if tapes else body
            return [Share(lane, first, lane.extent, step, inside)]

        doc = f"A thread for each of {lane.extent} elements, with steps in turn."
        threads = block_for(-(-lane.extent // self.machine.processors), self.machine)
        every = -(-lane.extent // threads)
        self.add(name, doc, self.blocks(lane.extent, threads) if tapes else every, threads, write)

    def _apart(self, name: str, found: Apart) -> None:
        """Add the launches of a loop with a thread for each iteration, and of what is around it."""
        for number, s in enumerate(found.before):
            if isinstance(s, Fill):
                self.fill(f"{name}_fill{number}", s)
            else:
                self._launch(f"{name}_before{number}", [*live(found.scalars, [s]), s])
        body = [*live(found.scalars, found.loop.body), *found.loop.body]
        self._lanes(name, found.loop.var, body, found.tapes)
        self._launch(f"{name}_sums", found.sums)
        if found.after:
            self._launch(f"{name}_after", [*live(found.scalars, found.after), *found.after])

    def _launch(self, name: str, body: list[Any]) -> None:
        self.launches += KernelMapper(Kernel(name, body, []), self.machine).launch()

    def width_of_matrix(self, count: int, body: list[Any]) -> int:
        """The number of threads for each of ``count`` matrices.

        It is 1 if they are small, or many and no longer than a warp; otherwise that of a block.
        """
        length, machine = self._inside(body), self.machine
        many = count >= machine.most_threads // machine.warp and length <= machine.warp
        return 1 if length < machine.row or many else block_for(length, machine)

    def matrices(
        self, batch: list[Var], body: list[Any], in_block: Collection[Buffer] = ()
    ) -> list[DeviceKernel]:
        """The launches for each matrix of a batch; ``in_block`` has buffers in shared memory."""
        if not body:
            return []
        body = alone(body)
        n = Var(prod(v.extent for v in batch))
        loops = [Loop(v, 0, v.extent, [], "map") for v in batch]
        lets = positions(Nest(loops, [], []), affine.of(n))
        width = self.width_of_matrix(n.extent, body)
        threads = self.threads([width])
        grid = self.blocks(n.extent * width, threads)
        of_block = set(in_block)

        def write(block: Var, thread: Var) -> list[Any]:
            cooperation = Cooperation(team_of(thread, width), threads, self.machine.warp)
            made = cooperation.body(body)
            of_block.update(cooperation.shared_locals())
            first, step = self.units(block, thread, width)
            waiting = [Barrier(width)] if width > 1 else []
            return [Share(n, first, n.extent, step, [*lets, *made, *waiting])]

        doc = f"{'A thread' if width == 1 else 'A block'} for each of {n.extent} matrices."
        self.add(self.kernel.name, doc, grid, threads, write, of_block)
        return self.launches

    # -- maps -----------------------------------------------------------------

    def _can_set(self, found: Parts) -> bool:
        """Whether threads may set numbers at computed places, and there are many updates."""
        every = [n for loop in found.loops for n in nests(loop, atomic=True)]
        many = sum(n.count for n in every) > self.machine.warp
        return many and not found.begins and is_simple(found, every)

    def _map(self, found: Parts) -> None:
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        if found.atomic and self.in_order(found, every):
            self._after(found)
            return
        if len(every) == 1 and (self._split(found, every[0]) or self.in_passes(found, every[0])):
            return
        widths = [1 if found.atomic else width_of(n, self.machine) for n in every]
        if widths == [1] and self.in_tiles_of(found, every[0]):
            self._after(found)
            return
        scalars, of_block = live(found.scalars, list(found.loops)), set[Buffer]()
        rows = rows_of(every[0], self.private) if len(every) == 1 and widths[0] > 1 else {}
        widths = [self._width_with(rows, every[0], widths[0])] if rows else widths
        every, widths = (every, widths) if found.atomic else self._in_vectors(every, widths)
        threads = self.threads(widths)
        if rows and bytes_of(rows) <= self.most:  # as many teams as fit
            threads = min(threads, widths[0] * power_below(self.most // bytes_of(rows)))
        blocks = max(self.blocks(n.count * w, threads) for n, w in zip(every, widths, strict=True))

        def write(block: Var, thread: Var) -> list[Any]:
            here, slots = every, threads // widths[0]
            if rows and bytes_of(rows) * slots <= self.most:
                slot = affine.divide(affine.of(thread), widths[0], {})[0]
                nest, shared = in_shared_memory(every[0], rows, slots, slot)
                here = [nest]
                of_block.update(shared)
            return [*scalars, *self._shares(here, widths, block, thread, found.atomic)]

        self.add(self.kernel.name, _doc(every, widths), blocks, threads, write, of_block)
        self._after(found)

    def _in_vectors(self, every: list[Nest], widths: list[int]) -> tuple[list[Nest], list[int]]:
        """The nests and their widths, with several iterations as one where the width is 1."""
        made: list[Nest] = []
        wide: list[int] = []
        for nest, width in zip(every, widths, strict=True):
            body, parts = [*live(nest.between, nest.body), *nest.body], [nest]
            if width == 1:
                parts = in_vectors(nest, body, self.machine.most_threads)
            made += parts
            wide += [width] * len(parts)
        return made, wide

    def _split(self, found: Parts, nest: Nest) -> bool:
        """Split a kernel of few long rows into two, if it is one; return whether it was split.

        All blocks then share the work that follows the reductions.
        """
        first = None if found.atomic or found.after else first_reduction(nest)
        if first is None or longest(first.rest) <= self.machine.threads:
            return False
        if split_of_rows(nest, first, self.machine) == 1:
            return False
        made = halves(self.kernel, nest, first, found.scalars)
        for half in made:
            self.launches += KernelMapper(half, self.machine).launch()
        return bool(made)

    def _after(self, found: Parts) -> None:
        if any(not is_pure(s) for s in found.after):
            name = f"{self.kernel.name}_after"
            self.one_block(name, [*live(found.scalars, found.after), *found.after])

    def _shares(
        self, every: list[Nest], widths: list[int], block: Var, thread: Var, atomic: bool
    ) -> list[Any]:
        made = []
        for nest, width in zip(every, widths, strict=True):
            team = team_of(thread, width)
            first, step = self.units(block, thread, width)
            body = [*live(nest.between, nest.body), *nest.body]
            body = Cooperation(team, thread.extent, self.machine.warp).body(body)
            body = made_atomic(body) if atomic else body
            if width > 1 and any(b.kind == "shared" for b in written(body)):
                body.append(Barrier(width))  # the next iteration may touch the same memory
            made.append(iterations(nest, first, step, body))
        return made

    def _width_with(self, rows: dict[Buffer, int], nest: Nest, width: int) -> int:
        """The number of threads that share an iteration with rows in shared memory.

        It is a whole block if the rows of several teams would not fit.
        """
        slots, wide = self.threads([width]) // width, block_for(longest(nest.body), self.machine)
        fits = bytes_of(rows) * slots <= self.most
        return width if fits or bytes_of(rows) > self.most else max(width, wide)

    # -- reductions to one value ----------------------------------------------------

    def _reduction(self, found: Parts) -> None:
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        work = sum(n.count * innermost(n.body) for n in every)
        widths = [1 if found.atomic else width_of(n, self.machine) for n in every]
        every, widths = (every, widths) if found.atomic else self._in_vectors(every, widths)
        threads = self.threads(widths)
        blocks = max(self.blocks(n.count * w) for n, w in zip(every, widths, strict=True))
        if work <= self.machine.few:
            blocks = 1
        totals = [b.accumulator for b in found.begins]
        partials = [] if blocks == 1 else [self.partial(a, blocks) for a in totals]
        self._all(found, every, widths, blocks, threads, partials)
        if blocks > 1:
            self._last(found, blocks, partials)

    def _all(
        self, found: Parts, every: list[Nest], widths: list[int], blocks: int, threads: int,
        partials: list[Buffer],
    ) -> None:  # fmt: skip
        """Add a launch in which each block reduces its share; a single block also finishes."""
        totals = [b.accumulator for b in found.begins]
        last = [] if partials else found.after
        scalars = live(found.scalars, [*found.loops, *last])

        def write(block: Var, thread: Var) -> list[Any]:
            body = [*scalars, *found.begins]
            body += self._shares(every, widths, block, thread, found.atomic)
            cooperation = Cooperation(team_of(thread, threads), threads, self.machine.warp)
            if not partials:
                cooperation.wrote(found.loops)
                return [*body, *cooperation.body(alone(found.after))]
            for a, partial in zip(totals, partials, strict=True):
                body += left_by_block(a, partial, block, thread)
            return body

        doc = "Each block reduces its share." if partials else "One block reduces."
        name = f"{self.kernel.name}_blocks" if partials else self.kernel.name
        self.add(name, doc, blocks, threads, write)

    def _last(self, found: Parts, blocks: int, partials: list[Buffer]) -> None:
        n = Var(blocks)
        threads = block_for(blocks, self.machine)
        adding: list[Any] = []
        for begin, partial in zip(found.begins, partials, strict=True):
            load = loaded(partial, affine.of(n))
            adding += [load, Accumulate(begin.accumulator, load.result)]
        body = [*live(found.scalars, found.after), *found.begins,
                Loop(n, 0, blocks, adding, "reduce"), *alone(found.after)]  # fmt: skip

        def write(block: Var, thread: Var) -> list[Any]:
            return Cooperation(team_of(thread, threads), threads, self.machine.warp).body(body)

        doc = "One block reduces what the blocks have left."
        self.add(self.kernel.name, doc, 1, threads, write)


def _doc(every: list[Nest], widths: list[int]) -> str:
    texts = []
    for nest, width in zip(every, widths, strict=True):
        if width == 1:
            few = f" {nest.at_once}" if nest.at_once > 1 else ""
            texts.append(f"A thread for each{few} of {nest.count * nest.at_once} elements.")
        else:
            texts.append(f"{width} threads for each of {nest.count} rows.")
    return " ".join(dict.fromkeys(texts))
