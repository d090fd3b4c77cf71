"""Drawings of loop programs: kernels and loops as boxes around their operations; library calls."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import accesses, changed_buffers, effects_of
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.nodes import Compute, Constant, Loop
from autojit.codegen.loop_ir.origins import sources_of
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import bodies_of, loop_count, memory, product_of
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.codegen.loop_text.printer import lines_of
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program
from autojit.ir.tools.units import in_bytes, plural

from .grouping import Grouping
from .model import Drawing, Edge, Group, Item, Node

#: The statements that call a library or a function.
_CALLS = (MatrixProduct, Factorization, Callback, Sheet)
#: The most of the user's lines that a kernel names.
_LINES = 4


def lowered(program: Program) -> LoopProgram:
    """Lower a program to loops."""
    executable = Executable(program)
    loops = lower(executable.optimized)
    loops.captured = len(executable.optimized.captured)
    return loops


def draw_loops(program: LoopProgram) -> Drawing:
    """The drawing of a loop program."""
    return _Loops(program).drawing()


class _Loops:
    def __init__(self, program: LoopProgram) -> None:
        self.program = program
        self.grouping = Grouping("line", "g")
        self.names = BufferNames()
        self.edges: list[Edge] = []
        #: The nodes that have written to each memory; the node of the latest step is the last.
        self.writers: dict[Buffer, list[str]] = defaultdict(list)
        self.inputs = [self._input(i, b) for i, b in enumerate(program.inputs)]
        for b in program.outputs:
            self.names(b)
        self.steps = [self._step(k, step) for k, step in enumerate(program.steps)]
        self.outputs = [self._output(i, b) for i, b in enumerate(program.outputs)]

    def drawing(self) -> Drawing:
        """The whole drawing."""
        program, blocks = self.program, self.grouping.in_blocks
        members = [
            *self.grouping.gathered(self.inputs, "inputs"), *blocks(self.steps),
            *self.grouping.gathered(self.outputs, "results"),
        ]  # fmt: skip
        column = self.grouping.group("all", program.name, members)
        calls = sum(n.kind == "call" for n in column.nodes())
        loops = loop_count(program)
        words = f"{plural(loops, 'loop')}, {plural(calls, 'library call')}"
        caption = f"{program.name}: {words}, {in_bytes(program.arena)} of temporaries"
        return Drawing("loops", program.name, caption, [column], self.edges)

    # -- memory -----------------------------------------------------------

    def _buffer(self, own: str, kind: str, buffer: Buffer, title: str) -> Node:
        about = {"type": str(buffer.type), "bytes": _bytes(buffer), "buffer": self.names(buffer)}
        text = f"{kind} {self.names(buffer)}: {buffer.type}"
        return Node(own, kind, title, [], text, about=about)

    def _input(self, i: int, buffer: Buffer) -> Node:
        own, bound = f"in{i}", i >= len(self.program.inputs) - self.program.captured
        self.writers[memory(buffer)].append(own)
        title = f"{self.names(buffer)}{' from outside' if bound else ''}"
        return self._buffer(own, "input", buffer, title)

    def _output(self, i: int, buffer: Buffer) -> Node:
        own = f"out{i}"
        self._read(buffer, own)
        return self._buffer(own, "output", buffer, self.names(buffer))

    def _read(self, buffer: Buffer, node: str) -> None:
        """Add edges to a node that reads a buffer, from all nodes that have written to its
        memory."""
        for writer in dict.fromkeys(self.writers[memory(buffer)]):
            if writer != node:
                name, size = self.names(buffer), _bytes(buffer)
                self.edges.append(Edge(writer, node, name, str(buffer.type), size, "memory"))

    # -- steps ------------------------------------------------------------

    def _step(self, k: int, step: Any) -> Item:
        sources = sources_of(step)
        found = list(dict.fromkeys(map(str, sources)))
        is_kernel = isinstance(step, Kernel)
        body = _Body(self, f"s{k}", step.body if is_kernel else [step], {})
        if not is_kernel or (product_of(step) is not None and len(body.items) == 1):
            item = body.items[0]
        else:
            members = self.grouping.in_blocks(body.items)
            item = self.grouping.group("kernel", f"kernel {step.name}", members)
            item.lines.append(_inside(body))
            item.text = item.title
        lines = [os.path.basename(line) for line in found[:_LINES]]
        more = len(found) - _LINES
        lines += [f"and {more} line{'s' * (more > 1)} more"] if more > 0 else []
        item.lines = [*lines, *item.lines]
        item.source = sources[0] if sources else None
        item.text = "\n".join([item.text, *found])
        item.about["lines_of_user"] = found
        if isinstance(item, Group):
            item.head = ", ".join(lines)
        return item


def _inside(body: _Body) -> str:
    return f"{plural(body.loops, 'loop')}, {plural(body.computations, 'operation')}"


class _Body:
    """The items of a list of statements."""

    def __init__(self, loops: _Loops, prefix: str, body: list[Any], made: dict[Any, str]) -> None:
        self.whole, self.prefix = loops, prefix
        self.texts = lines_of(body, loops.names)
        #: The nodes that define scalars or add to accumulators, by their numbers; and constants.
        self.made = made
        self.folded: dict[Scalar, str] = {}
        self.count = self.loops = self.computations = 0
        self.items = self._items(body)

    def _items(self, body: list[Any]) -> list[Item]:
        return [item for s in body if (item := self._item(s)) is not None]

    def _item(self, s: Any) -> Item | None:
        e = effects_of(s)
        finished = e.finishes(s)
        if isinstance(s, Constant):
            self.folded[s.result] = f"{s.value:.4g}" if isinstance(s.value, float) else str(s.value)
            return None
        if e.begins(s) is not None:
            return None
        if finished is not None:
            maker = self.made.get(finished.number)
            if maker is not None:
                self.made[s.result] = maker
            return None
        if bodies_of(s):
            return self._block(s)
        return self._node(s)

    def _node(self, s: Any) -> Node:
        self.count += 1
        own, e = f"{self.prefix}.{self.count}", effects_of(s)
        for scalar in dict.fromkeys(e.uses(s)):
            self._use(scalar, own)
        touched = [] if isinstance(s, Compute) else accesses(s)
        for buffer in dict.fromkeys(a.buffer for a in touched):
            if any(a.buffer is buffer for a in (*e.reads(s), *e.updates(s))):
                self.whole._read(buffer, own)
        for buffer in dict.fromkeys(changed_buffers(s)):
            self._wrote(buffer, own, is_update=bool(e.updates(s)))
        if e.defines(s) is not None:
            self.made[e.defines(s)] = own
        accumulator = e.adds_to(s)
        if accumulator is not None:
            self.made[accumulator.number] = own
        text = self.texts[id(s)]
        kind = self._kind(s)
        self.computations += kind in ("op", "reduce", "call")
        return Node(own, kind, self._title(s, kind, text), self._words(s), text)

    def _wrote(self, buffer: Buffer, own: str, *, is_update: bool) -> None:
        writers = self.whole.writers[memory(buffer)]
        step = self.prefix
        if is_update:
            writers.clear()
        if not writers or not _is_of(writers[-1], step):
            writers.append(own)
        else:
            writers[-1] = own  # the last node of a step stands for all

    def _use(self, scalar: Scalar, own: str) -> None:
        maker = self.made.get(scalar)
        if maker is not None and maker != own:
            size = itemsize(scalar.dtype)
            name = f"s{scalar.number}"
            self.whole.edges.append(Edge(maker, own, name, f"{scalar.dtype}[]", size, "scalar"))

    def _kind(self, s: Any) -> str:
        e = effects_of(s)
        if isinstance(s, _CALLS):
            return "call"
        if e.adds_to(s) is not None:
            return "reduce"
        if changed_buffers(s):
            return "store"
        return "load" if e.reads(s) else "op"

    def _title(self, s: Any, kind: str, text: str) -> str:
        if isinstance(s, Compute):
            return str(s.name.partition(":")[0])
        if kind == "reduce":
            return str(s.accumulator.combine)
        if kind == "load":
            return text.partition(" = ")[2].partition(" if ")[0]
        if kind == "store":
            return text.rpartition(" = ")[0] + " =" if " = " in text else text
        if isinstance(s, MatrixProduct):
            return f"[{s.m},{s.k}] @ [{s.k},{s.n}]"
        if isinstance(s, Factorization):
            return str(s.name)
        if isinstance(s, Sheet):
            return "table of small operations"
        return text if len(text) < 40 else f"{text[:38]} …"

    def _words(self, s: Any) -> list[str]:
        """The lines of a label below the name."""
        if isinstance(s, MatrixProduct):
            how = "blocks" if s.blocked else "tiles" if s.tiled else "BLAS"
            batch = f"{list(s.batch)} times, " if s.batch else ""
            return [f"{batch}matrix product in {how}"]
        if isinstance(s, Factorization):
            return [f"{list(s.batch)} x [{s.m},{s.n}]" if s.batch else f"[{s.m},{s.n}]"]
        if isinstance(s, Sheet):
            return [f"{len(s.table):,} rows"]
        if isinstance(s, Callback):
            return ["call of a function of the process"]
        args = [self.folded[a] for a in effects_of(s).uses(s) if a in self.folded]
        return [f"with {', '.join(args)}"] if args else []

    def _block(self, s: Any) -> Item:
        """The group of a statement that contains others."""
        self.count += 1
        own, text = f"{self.prefix}.{self.count}", self.texts[id(s)]
        for scalar in dict.fromkeys(effects_of(s).uses(s)):
            self._use(scalar, own)
        bodies = bodies_of(s)
        self.loops += isinstance(s, Loop)
        members: list[Item] = []
        for n, body in enumerate(bodies):
            inner = self._items(body)
            is_one = len(bodies) == 1
            blocks = self.whole.grouping.in_blocks(inner)
            members += (
                blocks if is_one else [self.whole.grouping.group("body", f"body {n}", blocks)]
            )
        head, _, remarks = text.partition(":  # ")
        lines = [", ".join(remarks.split("  # "))] if remarks else []
        lead = ", ".join(lines)
        lines.append(_count(members))
        about = {"extent": s.stop - s.start, "role": s.role} if isinstance(s, Loop) else {}
        kind = "loop" if isinstance(s, Loop) else "body"
        return Group(own, kind, head.rstrip(":"), lines, lead, members, text, about=about)


def _count(members: Sequence[Item]) -> str:
    return f"{plural(len(members), 'item')} inside"


def _is_of(node: str, step: str) -> bool:
    return node.startswith(f"{step}.")


def _bytes(buffer: Buffer) -> int:
    return int(buffer.size * itemsize(buffer.dtype))
