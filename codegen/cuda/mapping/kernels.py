"""Kernels of the loop program as kernels of the device."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import (
    Barrier,
    Combine,
    DeviceKernel,
    Let,
    Share,
    When,
)
from autojit.codegen.analysis.dependences import written
from autojit.codegen.loop_ir.nodes import Accumulate, Fill, Finish, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .atomics import made_atomic
from .cooperation import Cooperation, alone, iterations, positions, require_known
from .lanes import by_lanes
from .machine import Machine
from autojit.codegen.cuda.device_program.numbers import constant_scalar, loaded, scalar
from .staging import MOST_BYTES, bytes_of, in_shared_memory, rows_of
from .structure import Nest, Parts, innermost, is_pure, live, nests, parts
from .teams import (
    Reduced,
    block_for,
    first_reduction,
    longest,
    split_of_columns,
    split_of_rows,
    team_of,
    width_of,
)


class KernelMapper:
    """Decides who runs what of one kernel of the loop program."""

    def __init__(self, kernel: Kernel, machine: Machine, private: Collection[Buffer] = ()) -> None:
        self.kernel = kernel
        self.machine = machine
        #: The temporaries that no other kernel touches.
        self.private = private
        self.launches: list[DeviceKernel] = []

    def launch(self) -> list[DeviceKernel]:
        """The launches that together do what the kernel says."""
        if not self.kernel.body:
            return []
        require_known(self.kernel.body)
        found = parts(self.kernel)
        if found is None:
            self.one_block(self.kernel.name, self.kernel.body)
        else:
            for number, fill in enumerate(found.fills):
                self._fill(f"{self.kernel.name}_fill{number}", fill)
            if found.begins:
                self._reduction(found)
            else:
                self._map(found)
        return self.launches

    # -- the functions ------------------------------------------------------

    def add(
        self, name: str, doc: str, grid: int, threads: int,
        write: Callable[[Var, Var], list[Any]],
        of_block: Collection[Buffer] = (),
    ) -> None:  # fmt: skip
        """A kernel; ``write`` is given the variables of the block and of the thread, and puts local
        buffers that all threads of a block use into ``of_block``."""
        block, thread = Var(grid), Var(threads)
        body = write(block, thread)
        used = dict.fromkeys(memory(b) for s in walk(body) for b in buffers_named(s))
        shared = [b for b in used if b in of_block]
        local = [b for b in used if b.kind == "local" and b not in of_block]
        given = [b for b in used if b.kind != "local" and b not in of_block]
        warp = self.machine.warp
        self.launches.append(
            DeviceKernel(name, doc, grid, threads, block, thread, body, given, shared, local, warp)
        )

    def one_block(self, name: str, body: list[Any]) -> None:
        """A kernel that runs in turn: by one thread, or by a block if its loops are long."""
        found = by_lanes(body)
        if found is not None and found[0].extent >= max(self.machine.row, self._inside(found[1])):
            self._lanes(name, *found)
            return
        body = alone(body)
        length = self._inside(body)
        if length < self.machine.row:
            self.add(name, "One thread does everything.", 1, 1, lambda block, thread: body)
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
        """The iterations of the longest loop of a body whose iterations do not run in turn."""
        loops = (s for s in walk(body) if isinstance(s, Loop) and s.role != "sequence")
        return max((s.stop - s.start for s in loops), default=0)

    def _lanes(self, name: str, lane: Var, body: list[Any]) -> None:
        """A kernel whose threads each run all steps for one element."""

        def write(block: Var, thread: Var) -> list[Any]:
            first, step = self._units(block, thread, 1)
            return [Share(lane, first, lane.extent, step, body)]

        doc = f"A thread for each of {lane.extent} elements, with steps in turn."
        threads = block_for(-(-lane.extent // self.machine.processors), self.machine)
        self.add(name, doc, -(-lane.extent // threads), threads, write)

    def matrices(self, batch: list[Var], body: list[Any]) -> list[DeviceKernel]:
        """The work on each matrix of a batch: by a thread if they are small and many, or a block."""
        if not body:
            return []
        body = alone(body)
        length, n = self._inside(body), Var(prod(v.extent for v in batch))
        loops = [Loop(v, 0, v.extent, [], "map") for v in batch]
        lets = positions(Nest(loops, [], []), affine.of(n))
        many = n.extent >= self.machine.most_threads // self.machine.warp
        width = 1 if length < self.machine.row or many else block_for(length, self.machine)
        threads = self._threads([width])
        grid = self._blocks(n.extent * width, threads)
        of_block: set[Buffer] = set()

        def write(block: Var, thread: Var) -> list[Any]:
            cooperation = Cooperation(team_of(thread, width), threads, self.machine.warp)
            made = cooperation.body(body)
            of_block.update(cooperation.shared_locals())
            first, step = self._units(block, thread, width)
            waiting = [Barrier(width)] if width > 1 else []
            return [Share(n, first, n.extent, step, [*lets, *made, *waiting])]

        doc = f"{'A thread' if width == 1 else 'A block'} for each of {n.extent} matrices."
        self.add(self.kernel.name, doc, grid, threads, write, of_block)
        return self.launches

    def _fill(self, name: str, fill: Fill) -> None:
        if not fill.count:
            return
        n, blocks = Var(fill.count), self._blocks(fill.count)

        def write(block: Var, thread: Var) -> list[Any]:
            value = constant_scalar(fill.value, fill.buffer.dtype)
            store = Store(fill.buffer, fill.start + affine.of(n), value.result)
            first, step = self._units(block, thread, 1)
            return [value, Share(n, first, fill.count, step, [store])]

        doc = f"A thread for each of {fill.count} elements."
        self.add(name, doc, blocks, self.machine.threads, write)

    # -- maps -----------------------------------------------------------------

    def _map(self, found: Parts) -> None:
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        if len(every) == 1 and self._in_passes(found, every[0]):
            return
        widths = [1 if found.atomic else width_of(n, self.machine) for n in every]
        scalars, of_block = live(found.scalars, list(found.loops)), set[Buffer]()
        rows = rows_of(every[0], self.private) if len(every) == 1 and widths[0] > 1 else {}
        widths = [self._width_with(rows, every[0], widths[0])] if rows else widths
        threads = self._threads(widths)
        blocks = max(self._blocks(n.count * w, threads) for n, w in zip(every, widths, strict=True))

        def write(block: Var, thread: Var) -> list[Any]:
            here, slots = every, threads // widths[0]
            if rows and bytes_of(rows) * slots <= MOST_BYTES:
                slot = affine.divide(affine.of(thread), widths[0], {})[0]
                nest, shared = in_shared_memory(every[0], rows, slots, slot)
                here = [nest]
                of_block.update(shared)
            return [*scalars, *self._shares(here, widths, block, thread, found.atomic)]

        self.add(self.kernel.name, _doc(every, widths), blocks, threads, write, of_block)
        self._after(found)

    def _after(self, found: Parts) -> None:
        if any(not is_pure(s) for s in found.after):
            name = f"{self.kernel.name}_after"
            self.one_block(name, [*live(found.scalars, found.after), *found.after])

    def _threads(self, widths: list[int]) -> int:
        """The threads of a block: those of a team that is a block, or as many as usual."""
        widest = max(widths)
        return widest if widest > self.machine.warp else self.machine.threads

    def _shares(
        self, every: list[Nest], widths: list[int], block: Var, thread: Var, atomic: bool
    ) -> list[Any]:
        made = []
        for nest, width in zip(every, widths, strict=True):
            # A team that is narrower than the block is one of several in it.
            team = team_of(thread, width)
            first, step = self._units(block, thread, width)
            body = [*live(nest.between, nest.body), *nest.body]
            body = Cooperation(team, thread.extent, self.machine.warp).body(body)
            body = made_atomic(body) if atomic else body
            if width > 1 and any(b.kind == "shared" for b in written(body)):
                body.append(Barrier(width))  # the next iteration may touch the same
            made.append(iterations(nest, first, step, body))
        return made

    def _units(self, block: Var, thread: Var, width: int) -> tuple[Affine, int]:
        """The first iteration of a thread's team, and the number of teams."""
        slots = max(1, thread.extent // width)
        slot = affine.divide(affine.of(thread), width, {})[0]
        return affine.of(block) * slots + slot, block.extent * slots

    def _width_with(self, rows: dict[Buffer, int], nest: Nest, width: int) -> int:
        """How many threads share an iteration whose rows are to lie in shared memory: a block, if
        the rows of several teams would be too much."""
        slots, wide = self._threads([width]) // width, block_for(longest(nest.body), self.machine)
        fits = bytes_of(rows) * slots <= MOST_BYTES
        return width if fits or bytes_of(rows) > MOST_BYTES else max(width, wide)

    def _blocks(self, count: int, threads: int = 0) -> int:
        """Blocks for so many threads, at most as many as run at the same time."""
        threads = threads or self.machine.threads
        needed = -(-count // threads)
        return max(1, min(needed, self.machine.most_threads // threads))

    # -- reductions of rows and columns in two passes -----------------------------

    def _in_passes(self, found: Parts, nest: Nest) -> bool:
        """Whether several blocks share each of the first reductions of a nest, and write so."""
        first = None if found.atomic or found.after else first_reduction(nest)
        if first is None or not first.count:
            return False
        columns = split_of_columns(nest, first, self.machine)
        if columns:
            self._columns(found, nest, first, columns)
            return True
        rows = split_of_rows(nest, first, self.machine)
        if rows > 1:
            self._split_rows(found, nest, first, rows)
        return rows > 1

    def _split_rows(self, found: Parts, nest: Nest, first: Reduced, split: int) -> None:
        """``split`` blocks reduce a row, and leave a value each."""
        threads, totals = self.machine.threads, [b.accumulator for b in first.begins]
        partials = [self._partial(a, nest.count * split) for a in totals]
        grid = nest.count * split
        n = Var(grid)
        row, part = affine.divide(affine.of(n), split, {})

        def write(block: Var, thread: Var) -> list[Any]:
            lane = part.substitute(n, affine.of(block)) * threads + affine.of(thread)
            where = row.substitute(n, affine.of(block))
            inner = self._reduce(first, lane, split * threads)
            body = [*live([*found.scalars, *nest.between, *first.before], inner),
                    *first.begins, *inner]  # fmt: skip
            for a, partial in zip(totals, partials, strict=True):
                total = scalar(a.dtype)
                store = Store(partial, affine.of(block), total)
                body += [
                    Combine(a, threads),
                    Finish(total, a),
                    When(affine.of(thread), 0, 1, [store]),
                ]
            return [*positions(nest, where), *body]

        doc = f"{split} blocks for each of {nest.count} rows."
        self.add(f"{self.kernel.name}_parts", doc, grid, threads, write)

        def place(unit: Affine, s: Affine) -> Affine:
            return unit * split + s

        self._second_pass(found, nest, first, partials, split, place, along=True)

    def _reduce(self, first: Reduced, lane: Affine, step: int) -> list[Any]:
        """The loops of a reduction, shared."""
        return [
            iterations(inner, lane, step, [*live(inner.between, inner.body), *alone(inner.body)])
            for loop in first.loops
            for inner in nests(loop)
        ]

    def _columns(self, found: Parts, nest: Nest, first: Reduced, split: int) -> None:
        """Blocks of warps side by side: a thread has a column, and a part of its rows."""
        machine, totals = self.machine, [b.accumulator for b in first.begins]
        slots, high = machine.warp, machine.threads // machine.warp
        groups = -(-nest.count // slots)
        partials = [self._partial(a, nest.count * split) for a in totals]

        def write(block: Var, thread: Var) -> list[Any]:
            part, group = affine.divide(affine.of(block), groups, {})
            down, slot = affine.divide(affine.of(thread), slots, {})
            u = Var(groups * slots)
            unit = affine.of(u)
            inner = self._reduce(first, part * high + down, split * high)
            sums = [*positions(nest, unit), *live([*nest.between, *first.before], inner), *inner]
            body: list[Any] = [Let(u, group * slots + slot), *live(found.scalars, sums)]
            body += [*first.begins, When(unit, 0, nest.count, sums)]
            for a, partial in zip(totals, partials, strict=True):
                total = scalar(a.dtype)
                store = When(unit, 0, nest.count, [Store(partial, part * nest.count + unit, total)])
                body += [Combine(a, high, slots), Finish(total, a), When(down, 0, 1, [store])]
            return body

        doc = f"{split} blocks for each {slots} of {nest.count} columns."
        self.add(f"{self.kernel.name}_parts", doc, groups * split, machine.threads, write)

        def place(unit: Affine, s: Affine) -> Affine:
            return s * nest.count + unit

        self._second_pass(found, nest, first, partials, split, place, along=False)

    def _second_pass(
        self, found: Parts, nest: Nest, first: Reduced, partials: list[Buffer], split: int,
        place: Callable[[Affine, Affine], Affine], *, along: bool,
    ) -> None:  # fmt: skip
        """What the blocks have left is combined in its order, and the rest of each row follows."""
        machine, s = self.machine, Var(split)
        u = Var(nest.count)
        adding: list[Any] = []
        for begin, partial in zip(first.begins, partials, strict=True):
            load = loaded(partial, place(affine.of(u), affine.of(s)))
            adding += [load, Accumulate(begin.accumulator, load.result)]
        again = [*first.begins, Loop(s, 0, split, adding, "reduce"), *first.rest]
        rest = [*live([*found.scalars, *nest.between, *first.before], first.rest)]
        body = [*positions(nest, affine.of(u)), *rest, *again]
        width = 1
        if longest(first.rest) >= machine.row or split >= machine.row * machine.warp:
            width = block_for(max(longest(first.rest), split), machine)
        elif split >= machine.row and (along or nest.count < machine.warp):
            width = machine.warp  # side by side, threads of other columns read neighbours
        threads = self._threads([width])

        def write(block: Var, thread: Var) -> list[Any]:
            begin, step = self._units(block, thread, width)
            made = Cooperation(team_of(thread, width), threads, machine.warp).body(body)
            return [Share(u, begin, nest.count, step, made)]

        doc = f"What the blocks have left for each of {nest.count} is combined."
        self.add(self.kernel.name, doc, self._blocks(nest.count * width), threads, write)

    # -- reductions to one value ----------------------------------------------------

    def _reduction(self, found: Parts) -> None:
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        work = sum(n.count * innermost(n.body) for n in every)
        widths = [1 if found.atomic else width_of(n, self.machine) for n in every]
        threads = self._threads(widths)
        blocks = max(self._blocks(n.count * w) for n, w in zip(every, widths, strict=True))
        if work <= self.machine.few:
            blocks = 1
        totals = [b.accumulator for b in found.begins]
        partials = [] if blocks == 1 else [self._partial(a, blocks) for a in totals]
        self._all(found, every, widths, blocks, threads, partials)
        if blocks > 1:
            self._last(found, blocks, partials)

    def _all(
        self, found: Parts, every: list[Nest], widths: list[int], blocks: int, threads: int,
        partials: list[Buffer],
    ) -> None:  # fmt: skip
        """Each block reduces its share; if there is one block, it finishes."""
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
                total = scalar(a.dtype)
                store = Store(partial, affine.of(block), total)
                body += [
                    Combine(a, threads),
                    Finish(total, a),
                    When(affine.of(thread), 0, 1, [store]),
                ]
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

    def _partial(self, a: Accumulator, size: int) -> Buffer:
        """A buffer of values that blocks leave to a later launch."""
        return Buffer("partial", a.dtype, size, "temp")


def _doc(every: list[Nest], widths: list[int]) -> str:
    texts = []
    for nest, width in zip(every, widths, strict=True):
        if width == 1:
            texts.append(f"A thread for each of {nest.count} elements.")
        else:
            texts.append(f"{width} threads for each of {nest.count} rows.")
    return " ".join(dict.fromkeys(texts))
