"""Several blocks share a reduction: rows and columns are reduced in two passes.

If there are few long rows, the work after a reduction becomes a second kernel for all blocks.

    for i in 0..4:                       for i in 0..4:
      m = max of row i                     m = max of row i
      for j in 0..1000000:          ->     saved[i] = m
        y[i, j] = x[i, j] - m            for i in 0..4, j in 0..1000000:
                                           y[i, j] = x[i, j] - saved[i]

Legal where iterations of the nest are independent, since all first halves then may run before all
second halves; and where the values that blocks and the second half compute again do not depend on
memory that the first half writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.codegen.analysis.dependences import touches, written
from autojit.codegen.cuda.device_program.nodes import (
    Combine,
    Let,
    Share,
    When,
)
from autojit.codegen.cuda.device_program.numbers import loaded, scalar
from autojit.codegen.cuda.mapping.nests.structure import Nest, Parts, live, nests
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import Cooperation, alone, iterations, positions
from .launches import Launches, left_by_block
from .teams import (
    Reduced,
    block_for,
    first_reduction,
    longest,
    split_of_columns,
    split_of_rows,
    team_of,
)


class Passes(Launches):
    """Writes reductions of rows and columns in two passes."""

    # -- reductions of rows and columns in two passes -----------------------------

    def in_passes(self, found: Parts, nest: Nest) -> bool:
        """Add launches in which several blocks share each first reduction of a nest, if it pays.

        Return whether they were added.
        """
        first = None if found.atomic or found.after else first_reduction(nest)
        if first is None or not first.count or not _may_repeat(found, nest, first):
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
        """Add launches in which ``split`` blocks reduce each row, and leave one value each."""
        threads, totals = self.machine.threads, [b.accumulator for b in first.begins]
        partials = [self.partial(a, nest.count * split) for a in totals]
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
                body += left_by_block(a, partial, block, thread)
            return [*positions(nest, where), *body]

        doc = f"{split} blocks for each of {nest.count} rows."
        self.add(f"{self.kernel.name}_parts", doc, grid, threads, write)

        def place(unit: Affine, s: Affine) -> Affine:
            return unit * split + s

        self._second_pass(found, nest, first, partials, split, place, along=True)

    def _reduce(self, first: Reduced, lane: Affine, step: int) -> list[Any]:
        """The loops of a reduction, shared by threads."""
        return [
            iterations(inner, lane, step, [*live(inner.between, inner.body), *alone(inner.body)])
            for loop in first.loops
            for inner in nests(loop)
        ]

    def _columns(self, found: Parts, nest: Nest, first: Reduced, split: int) -> None:
        """Add launches whose blocks reduce groups of columns: a thread has a part of a column."""
        machine, totals = self.machine, [b.accumulator for b in first.begins]
        slots, high = machine.warp, machine.threads // machine.warp
        groups = -(-nest.count // slots)
        partials = [self.partial(a, nest.count * split) for a in totals]

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
        """Add a launch that combines the blocks' values in order, and does the rest of each row."""
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
        threads = self.threads([width])

        def write(block: Var, thread: Var) -> list[Any]:
            begin, step = self.units(block, thread, width)
            made = Cooperation(team_of(thread, width), threads, machine.warp).body(body)
            return [Share(u, begin, nest.count, step, made)]

        doc = f"What the blocks have left for each of {nest.count} is combined."
        self.add(self.kernel.name, doc, self.blocks(nest.count * width), threads, write)


def _may_repeat(found: Parts, nest: Nest, first: Reduced) -> bool:
    """Whether iterations are independent, and the values that precede the first reduction stay the
    same while it runs."""
    before = [*found.scalars, *nest.between, *first.before]
    changed = {t.memory for t in touches(before)} & written(first.loops)
    return not changed and all(loop.role == "map" for loop in nest.loops)


def halves(kernel: Kernel, nest: Nest, first: Reduced, scalars: list[Any]) -> list[Kernel]:
    """The kernel as two, the first of which ends with the first reduction; or an empty list."""
    ends = [k for k, s in enumerate(first.rest) if isinstance(s, Loop | Begin)]
    if not ends or any(loop.start or loop.role != "map" for loop in nest.loops):
        return []
    now, later = first.rest[: ends[0]], first.rest[ends[0] :]
    row, below = Affine(0), 1
    for loop in reversed(nest.loops):
        row = row + affine.of(loop.var) * below
        below *= loop.stop
    saving: list[Any] = []
    definitions: list[Any] = [*scalars, *nest.between, *first.before]
    for s in now:
        if isinstance(s, Finish):
            saved = Buffer("saved", s.result.dtype, nest.count, "temp")
            saving.append(Store(saved, row, s.result))
            definitions.append(Load(s.result, saved, row, None))
        elif not isinstance(s, Store):
            definitions.append(s)
    again = live(definitions, later)
    head = [*first.begins, *first.loops, *now]
    if {t.memory for t in touches(again)} & written(head):
        return []
    needed = {s.result.number for s in again if isinstance(s, Load)}
    saving = [s for s in saving if s.value.number in needed]
    outside = live([*scalars, *nest.between, *first.before], [*head, *saving])
    return [
        _kernel(kernel.name, nest, [*outside, *head, *saving]),
        _kernel(f"{kernel.name}_then", nest, [*again, *later]),
    ]


def _kernel(name: str, nest: Nest, body: list[Any]) -> Kernel:
    for loop in reversed(nest.loops):
        body = [Loop(loop.var, 0, loop.stop, body, "map")]
    return Kernel(name, body, buffers_of(body))
