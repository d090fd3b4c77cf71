"""Statements of loop nests as lines of C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.errors import ENSURED, OUT_OF_MEMORY, is_check
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch, Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar, Trips
from autojit.ir.core.affine import Affine, Var

from . import matrices
from .words import c_type, constant, expression

_LETTERS = "ijklmpqr"


class Statements:
    """The lines of one function, and the names of what is in it."""

    def __init__(self, bits: Mapping[str, int] = ENSURED) -> None:
        #: The bits of the status for the checks of the program.
        self.bits = bits
        self.lines: list[str] = []
        self._indent = 1
        self._buffers = BufferNames()
        self._scalars: dict[int, str] = {}
        self._count = 0
        self._vars: dict[Var, str] = {}
        self._accumulators: dict[int, str] = {}
        self._trips: dict[Trips, str] = {}

    # -- lines and names ----------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("  " * self._indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines in braces."""
        self.line(f"{header} {{".lstrip())
        self._indent += 1
        yield
        self._indent -= 1
        self.line("}")

    def counted(self, name: str, stop: Any, start: Any = 0) -> Any:
        """The lines of a loop."""
        return self.block(f"for (int64_t {name} = {start}; {name} < {stop}; {name}++)")

    def buffer(self, b: Buffer) -> str:
        return self._buffers(memory(b))

    def scalar(self, s: Scalar) -> str:
        return self._scalars[s.number]

    def define(self, s: Scalar, text: str) -> None:
        """``const double s0 = text;``"""
        name = self._scalars[s.number] = f"s{self._count}"
        self._count += 1
        self.line(f"const {c_type(s.dtype)} {name} = {text};")

    def var(self, v: Var) -> str:
        number = len(self._vars)
        letter = _LETTERS[number] if number < len(_LETTERS) else f"i{number}"
        return self._vars.setdefault(v, letter)

    def trips(self, t: Trips) -> str:
        """A name for how often a loop ran."""
        return self._trips.setdefault(t, f"trips{len(self._trips)}")

    def index(self, index: Affine) -> str:
        return index.text(self.var, times=" * ", divided="/")

    def fail(self, bit: int) -> str:
        word = str(bit) if bit < 1 << 31 else f"INT64_C({bit})"
        return f"*status |= {word};"

    # -- scalars --------------------------------------------------------------

    def body(self, statements: list[Any]) -> None:
        for s in statements:
            PRINTERS[type(s)](self, s)

    def compute(self, s: Compute) -> None:
        args = [self.scalar(a) for a in s.args]
        if is_check(s.name):
            self.line(f"if (!{args[0]}) {self.fail(self.bits[s.name])}")
            self._scalars[s.result.number] = args[1]
            return
        self.define(s.result, expression(s.name, args, s.operand_dtype, s.result.dtype))

    def constant(self, s: Constant) -> None:
        self._scalars[s.result.number] = constant(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        self.define(s.result, self.index(s.index))

    def in_range(self, s: InRange) -> None:
        index = self.index(s.index)
        text = f"{s.low} <= {index} && {index} < {s.high}"
        if s.step > 1:
            text += f" && ({self.index(s.index + -s.low)}) % {s.step} == 0"
        self.define(s.result, text)

    # -- memory ---------------------------------------------------------------

    def load(self, s: Load | Gather) -> None:
        text = self.place(s)
        if s.guard is not None:
            text = f"{self.scalar(s.guard)} ? {text} : 0"
        self.define(s.result, text)

    def place(self, s: Any) -> str:
        """An element of a buffer; computed places are checked."""
        computed = getattr(s, "places", ())
        parts = [] if computed and s.index == Affine(0) else [self.index(s.index)]
        for p in computed:
            part = f"bounded({self.scalar(p.scalar)}, {p.extent}, status)"
            parts.append(part if p.stride == 1 else f"{p.stride} * {part}")
        return f"{self.buffer(s.buffer)}[{' + '.join(parts)}]"

    def store(self, s: Store | AccumulateInto | ScatterInto) -> None:
        place, value, dtype = self.place(s), self.scalar(s.value), s.buffer.dtype
        combine = getattr(s, "combine", "set")
        if combine == "set":
            self.line(f"{place} = {value};")
            return
        if not isinstance(s, AccumulateInto):  # each place is checked once
            self.line(f"{c_type(dtype)} *const at{self._count} = &{place};")
            place, self._count = f"*at{self._count}", self._count + 1
        self.line(f"{place} = {expression(combine, [place, value], dtype, dtype)};")

    def fill(self, s: Fill) -> None:
        with self.counted("n", s.count):
            value, start = constant(s.value, s.buffer.dtype), self.index(s.start)
            place = "n" if start == "0" else f"{start} + n"
            self.line(f"{self.buffer(s.buffer)}[{place}] = {value};")

    def swap(self, s: Swap) -> None:
        first, second = self.buffer(s.first), self.buffer(s.second)
        with self.block(""):
            self.line(f"void *const kept = {first};")
            self.line(f"{first} = {second};")
            self.line(f"{second} = kept;")

    # -- accumulators -----------------------------------------------------------

    def accumulator(self, a: Accumulator) -> str:
        return self._accumulators[a.number]

    def begin(self, s: Begin) -> None:
        a = s.accumulator
        name = self._accumulators[a.number] = f"a{self._count}"
        self._count += 1
        self.line(f"{c_type(a.dtype)} {name} = {constant(a.identity, a.dtype)};")

    def accumulate(self, s: Accumulate) -> None:
        a = s.accumulator
        args = [self.accumulator(a), self.scalar(s.value)]
        self.line(f"{args[0]} = {expression(a.combine, args, a.dtype, a.dtype)};")

    def finish(self, s: Finish) -> None:
        self.define(s.result, self.accumulator(s.accumulator))

    # -- loops and branches -----------------------------------------------------

    def loop(self, s: Loop) -> None:
        start: Any = s.start
        stop: Any = s.stop
        if s.share is not None:
            start, stop = self.share(s.share, s.stop - s.start, s.start)
        if s.only is not None:
            only = self.scalar(s.only)
            start, stop = f"({only} < 0 ? {start} : {only})", f"({only} < 0 ? {stop} : {only} + 1)"
        with self.counted(self.var(s.var), stop, start):
            self.body(s.body)

    def share(self, task: Var, count: int, start: int = 0) -> tuple[str, str]:
        """The ends of a task's part of a range."""
        name = self.var(task)
        first, last = (f"{n} * {count} / {task.extent}" for n in (name, f"({name} + 1)"))
        return (f"{start} + {first}", f"{start} + {last}") if start else (first, last)

    def run_tasks(self, s: RunTasks) -> None:
        outside = self._scalars, self._accumulators
        self._scalars, self._accumulators = {}, {}  # a task has its own
        with self.counted(self.var(s.tasks.var), s.tasks.count):
            self.body(s.tasks.body)
        self._scalars, self._accumulators = outside

    def repeat(self, s: Repeat) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        with self.block(f"for (int64_t {step} = 0;; {step}++)"):
            self.line(f"{trips} = {step};")
            self.body(s.condition)
            self.line(f"if (!{self.scalar(s.test)} || *status) break;")
            if s.tapes:
                self.grow(s.tapes, step)
            self.body(s.body)

    def steps(self, s: Steps) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        backward = f"for (int64_t {step} = {trips} - 1; {step} >= 0; {step}--)"
        with self.block(backward) if s.backward else self.counted(step, trips):
            self.body(s.body)

    def branch(self, s: Branch) -> None:
        index, last = self.scalar(s.index), len(s.bodies) - 1
        for k, body in enumerate(s.bodies):
            relation = "<=" if k == 0 else "=="
            words = "else " if k else ""
            words += f"if ({index} {relation} {k})" if k < last else ""
            with self.block(words.rstrip()):
                self.body(body)

    # -- tapes --------------------------------------------------------------------

    def tapes(self, tapes: list[Buffer]) -> str:
        """The name of the memory of a loop's tapes, which its first one gives it."""
        return f"{self.buffer(tapes[0])}_room"

    def grow(self, tapes: list[Buffer], step: str) -> None:
        room = self.tapes(tapes)
        sizes = ", ".join(str(t.size * itemsize(t.dtype)) for t in tapes)
        with self.block(f"if (!{room} || {step} >= {room}->room)"):
            self.line(f"const int64_t sizes[] = {{{sizes}}};")
            self.line(f"const bool fits = grown(&{room}, {step} + 1, {len(tapes)}, sizes);")
            self.find(tapes)
            self.line(f"if (!fits) {{ {self.fail(OUT_OF_MEMORY)} break; }}")

    def find(self, tapes: list[Buffer]) -> None:
        """Where the tapes lie: memory that grows may have moved."""
        for k, tape in enumerate(tapes):
            room = self.tapes(tapes)
            self.line(f"{self.buffer(tape)} = {room} ? {room}->memory[{k}] : NULL;")

    def release(self, s: Release) -> None:
        self.line(f"released({self.tapes(s.tapes)}, {len(s.tapes)});")
        self.line(f"{self.tapes(s.tapes)} = NULL;")

    def keep(self, s: Keep) -> None:
        note = self.buffer(s.note)
        self.line(f"{note}[0] = {self.trips(s.trips)};")
        if s.tapes:
            self.line(f"{note}[1] = (intptr_t){self.tapes(s.tapes)};")
            self.line(f"{self.tapes(s.tapes)} = NULL;")

    def recall(self, s: Recall) -> None:
        note = self.buffer(s.note)
        self.line(f"{self.trips(s.trips)} = {note}[0];")
        if s.tapes:
            self.line(f"{self.tapes(s.tapes)} = (Tapes *)(intptr_t){note}[1];")
            self.find(s.tapes)


#: How each class of statements is written.
PRINTERS: dict[type, Callable[[Statements, Any], None]] = {
    Compute: Statements.compute,
    Constant: Statements.constant,
    IndexValue: Statements.index_value,
    InRange: Statements.in_range,
    Load: Statements.load,
    Gather: Statements.load,
    ScatterInto: Statements.store,
    Store: Statements.store,
    AccumulateInto: Statements.store,
    Fill: Statements.fill,
    Begin: Statements.begin,
    Accumulate: Statements.accumulate,
    Finish: Statements.finish,
    Loop: Statements.loop,
    RunTasks: Statements.run_tasks,
    Repeat: Statements.repeat,
    Steps: Statements.steps,
    Branch: Statements.branch,
    Release: Statements.release,
    Keep: Statements.keep,
    Recall: Statements.recall,
    Swap: Statements.swap,
    MatrixProduct: matrices.product,
    Factorization: matrices.factorization,
    Callback: matrices.callback,
}
