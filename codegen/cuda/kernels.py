"""Kernels as CUDA functions: a thread an element, a block a row, or a tree over the grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autojit.codegen.loop_ir.nodes import Begin, Finish, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer

from .statements import Statements
from .structure import (
    Machine,
    Nest,
    Parts,
    is_pure,
    live,
    nests,
    parts,
    shared_by_block,
    used_buffers,
)
from .words import Words, constant

#: What went wrong: an index out of bounds, an integer to a negative power.
STATUS = Buffer("status", "i32", 2, "temp")


@dataclass
class Launch:
    """One function, its arguments, and how many blocks of which shape run it."""

    name: str
    buffers: list[Buffer]
    blocks: int
    block: str
    text: str


class KernelWriter:
    """Writes one kernel of the loop program as CUDA functions."""

    def __init__(self, kernel: Kernel, machine: Machine, words: Words, first_partial: int) -> None:
        self.kernel = kernel
        self.machine = machine
        self.words = words
        self.launches: list[Launch] = []
        #: Buffers with one combined value a block.
        self.partials: list[Buffer] = []
        self._first_partial = first_partial

    def write(self) -> list[Launch]:
        """The launches that together do what the kernel says."""
        if not self.kernel.body:
            return []
        found = parts(self.kernel)
        if found is None:
            self._serial(self.kernel.name, self.kernel.body)
        elif found.begins:
            self._fill(found)
            self._reduction(found)
        else:
            self._fill(found)
            self._map(found)
        return self.launches

    # -- the functions ------------------------------------------------------

    def _function(
        self,
        name: str,
        doc: str,
        statements: list[Any],
        blocks: int,
        write: Callable[[Statements], None],
        *,
        threads: int = 0,
        partials: list[Buffer] | None = None,
    ) -> None:
        """A function whose arguments are the buffers of the statements and the partials."""
        lines = Statements(self.words)
        used = used_buffers(statements)
        lines.line(f'"""{doc}"""')
        for buffer in used:
            if buffer.kind == "local":
                lines.local(buffer)
        write(lines)
        arguments = [b for b in used if b.kind != "local"] + (partials or [])
        arguments += [STATUS] if lines.can_fail else []
        signature = ", ".join(map(str, arguments))
        text = "\n".join([f"@cuda.jit\ndef {name}({signature}):", *lines.lines]) + "\n"
        block = str(threads) if threads else "THREADS"
        self.launches.append(Launch(name, arguments, blocks, block, text))

    def _serial(self, name: str, body: list[Any]) -> None:
        doc = "One thread does everything."
        self._function(name, doc, body, 1, lambda lines: lines.body(body), threads=1)

    def _fill(self, found: Parts) -> None:
        for number, fill in enumerate(found.fills):

            def write(lines: Statements, fill: Any = fill) -> None:
                with lines.block(f"for n in range(cuda.grid(1), {fill.count}, cuda.gridsize(1)):"):
                    start = lines.index(fill.start)
                    value = constant(fill.value, fill.buffer.dtype)
                    place = "n" if start == "0" else f"{start} + n"
                    lines.line(f"{fill.buffer}[{place}] = {value}")

            name = f"{self.kernel.name}_fill{number}"
            doc = f"A thread for each of {fill.count} elements."
            self._function(name, doc, [fill], self._blocks(fill.count), write)

    def _map(self, found: Parts) -> None:
        name, after = self.kernel.name, found.after
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        by_block = [not found.atomic and shared_by_block(n, self.machine) for n in every]
        blocks = max(
            min(n.count, self.machine.most_blocks) if shared else self._blocks(n.count)
            for n, shared in zip(every, by_block, strict=True)
        )
        scalars = live(found.scalars, list(found.loops))

        def write(lines: Statements) -> None:
            lines.atomic = found.atomic
            lines.body(scalars)
            for nest, shared in zip(every, by_block, strict=True):
                if shared:
                    self._rows(lines, nest)
                else:
                    self._elements(lines, nest, "cuda.grid(1)", "cuda.gridsize(1)")

        doc = _doc(every, by_block)
        threads = self._threads_of_rows(every) if all(by_block) else 0
        statements = [*scalars, *found.loops]
        self._function(name, doc, statements, blocks, write, threads=threads)
        if any(not is_pure(s) for s in after):
            self._serial(f"{name}_after", [*live(found.scalars, after), *after])

    def _reduction(self, found: Parts) -> None:
        every = [n for loop in found.loops for n in nests(loop, atomic=found.atomic)]
        if max(n.count for n in every) <= self.machine.few:
            self._one_block(found, every)
        else:
            self._two_stages(found, every)

    def _one_block(self, found: Parts, every: list[Nest]) -> None:
        scalars = live(found.scalars, [*found.loops, *found.after])

        def write(lines: Statements) -> None:
            lines.atomic = found.atomic
            lines.body([*scalars, *found.begins])
            for nest in every:
                self._elements(lines, nest, "cuda.threadIdx.x", "cuda.blockDim.x")
            for begin in found.begins:
                lines.combine_block(begin.accumulator)
            if any(isinstance(s, Store) for s in walk(list(found.loops))):
                lines.line("cuda.syncthreads()")  # for what the loops have stored
            self._finish(lines, found.after)

        statements = [*scalars, *found.loops, *found.after]
        self._function(self.kernel.name, "One block reduces.", statements, 1, write)

    def _two_stages(self, found: Parts, every: list[Nest]) -> None:
        name = self.kernel.name
        accumulators = [b.accumulator for b in found.begins]
        blocks = self._blocks(max(n.count for n in every))
        partials = [self._partial(a, blocks) for a in accumulators]
        scalars = live(found.scalars, list(found.loops))

        def first(lines: Statements) -> None:
            lines.atomic = found.atomic
            lines.body([*scalars, *found.begins])
            for nest in every:
                self._elements(lines, nest, "cuda.grid(1)", "cuda.gridsize(1)")
            for a in accumulators:
                lines.combine_block(a)
            with lines.block("if cuda.threadIdx.x == 0:"):
                for a, partial in zip(accumulators, partials, strict=True):
                    lines.line(f"{partial}[cuda.blockIdx.x] = {lines.accumulator(a)}")

        doc = "Each block reduces its share."
        statements = [*scalars, *found.loops]
        self._function(f"{name}_blocks", doc, statements, blocks, first, partials=partials)
        rest = [*live(found.scalars, found.after), *found.after]

        def second(lines: Statements) -> None:
            lines.body(list(found.begins))
            with lines.block(f"for n in range(cuda.threadIdx.x, {blocks}, cuda.blockDim.x):"):
                for a, partial in zip(accumulators, partials, strict=True):
                    value = f"{partial}[n]"
                    combined = self.words.expression(
                        a.combine, [lines.accumulator(a), value], a.dtype, a.dtype
                    )
                    lines.line(f"{lines.accumulator(a)} = {combined}")
            for a in accumulators:
                lines.combine_block(a)
            self._finish(lines, rest)

        doc = "One block reduces what the blocks have left."
        self._function(name, doc, rest, 1, second, partials=partials)

    def _partial(self, a: Accumulator, blocks: int) -> Buffer:
        number = self._first_partial + len(self.partials)
        made = Buffer(f"p{number}", a.dtype, blocks, "temp")
        self.partials.append(made)
        return made

    def _finish(self, lines: Statements, after: list[Any]) -> None:
        """What comes after the reduction, by one thread."""
        if not any(isinstance(s, Finish) or not is_pure(s) for s in after):
            return
        with lines.block("if cuda.threadIdx.x == 0:"):
            lines.body(after)

    # -- loops over threads -------------------------------------------------

    def _blocks(self, count: int) -> int:
        needed = -(-count // self.machine.threads)
        return max(1, min(needed, self.machine.most_blocks))

    def _threads_of_rows(self, rows: list[Nest]) -> int:
        """As many threads in a block as the longest loop in a row has use for."""
        inner = [n for row in rows for s in row.body if isinstance(s, Loop) for n in nests(s)]
        longest = max(n.count for n in inner)
        return min(self.machine.threads, 1 << (longest - 1).bit_length())

    def _elements(self, lines: Statements, nest: Nest, first: str, step: str) -> None:
        """An iteration of the nest for each thread in turn."""
        with self._counted(lines, nest, "n", first, step):
            lines.body(live(nest.between, nest.body))
            lines.body(nest.body)

    def _rows(self, lines: Statements, nest: Nest) -> None:
        """An iteration of the nest for each block in turn, its loops over the threads."""
        with self._counted(lines, nest, "row", "cuda.blockIdx.x", "cuda.gridDim.x"):
            lines.body(live(nest.between, nest.body))
            for s in nest.body:
                if isinstance(s, Loop):
                    for inner in nests(s):
                        self._elements(lines, inner, "cuda.threadIdx.x", "cuda.blockDim.x")
                elif isinstance(s, Finish):
                    lines.combine_block(s.accumulator)
                    lines.statement(s)
                elif isinstance(s, Begin) or is_pure(s):
                    lines.statement(s)
                else:
                    with lines.block("if cuda.threadIdx.x == 0:"):
                        lines.statement(s)
                if any(isinstance(inner, Store) for inner in walk([s])):
                    lines.line("cuda.syncthreads()")

    def _counted(self, lines: Statements, nest: Nest, name: str, first: str, step: str) -> Any:
        """The loop over a nest's iterations; the variables of its loops from their number."""
        if len(nest.loops) == 1:
            (loop,) = nest.loops
            first = f"{loop.start} + {first}" if loop.start else first
            return lines.block(f"for {lines.var(loop.var)} in range({first}, {loop.stop}, {step}):")
        return _Flat(lines, nest, f"for {name} in range({first}, {nest.count}, {step}):", name)


class _Flat:
    """Several loops as one over the number of the iteration."""

    def __init__(self, lines: Statements, nest: Nest, header: str, name: str) -> None:
        self.block = lines.block(header)
        self.lines = lines
        self.nest = nest
        self.name = name

    def __enter__(self) -> None:
        self.block.__enter__()
        below = self.nest.count
        for position, loop in enumerate(self.nest.loops):
            extent = loop.stop - loop.start
            below //= extent
            text = f"{self.name} // {below}" if below > 1 else self.name
            if position:
                text += f" % {extent}"
            start = f"{loop.start} + " if loop.start else ""
            text = start + text if extent > 1 else str(loop.start)
            self.lines.line(f"{self.lines.var(loop.var)} = {text}")

    def __exit__(self, *exception: Any) -> None:
        self.block.__exit__(*exception)


def _doc(every: list[Nest], by_block: list[bool]) -> str:
    rows = sum(n.count for n, shared in zip(every, by_block, strict=True) if shared)
    elements = sum(n.count for n in every) - rows
    texts = [f"A block for each of {rows} rows."] if rows else []
    return " ".join(texts + ([f"A thread for each of {elements} elements."] if elements else []))
