"""Statements of loop nests as lines of C."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autojit.codegen.export.text.expressions import ATOM, CHOICE, Expression
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import effects_of
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
from autojit.codegen.loop_ir.traversal import memory, substituted, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar, Trips
from autojit.codegen.loop_ir.vocabulary import SYMBOLS
from autojit.ir.core.affine import Affine, Var

from . import c_matrices as matrices
from .c_helpers import c_type
from .c_words import constant, constant_expression, expression
from .folding import folded

_LETTERS = "ijklmpqr"


class Statements:
    """The lines of one function, and the names of what is in it."""

    def __init__(
        self, bits: Mapping[str, int] = ENSURED, names: Mapping[Buffer, str] | None = None
    ) -> None:
        #: The bits of the status for the checks of the program.
        self.bits = bits
        self.lines: list[str] = []
        self._indent = 1
        self._buffers = BufferNames()
        self._buffers.names.update(names or {})
        self._buffers.taken.update(self._buffers.names.values())
        self._scalars: dict[int, Expression] = {}
        #: The ids of the statements whose scalars are parts of expressions; and the bodies of
        #: loops of one iteration.
        self._folded: set[int] = set()
        self._once: list[list[Any]] = []
        #: The counts of iterations that are needed.
        self.counted_trips: set[Trips] = set()
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

    def scalar(self, s: Scalar, level: int = CHOICE) -> str:
        return self._scalars[s.number].at(level)

    def define(self, statement: Any, made: Expression) -> None:
        """``const double s0 = text;``, or a part of an expression."""
        s = statement.result
        if id(statement) in self._folded:
            self._scalars[s.number] = made
            return
        self._scalars[s.number] = Expression(f"s{self._count}")
        self.line(f"const {c_type(s.dtype)} s{self._count} = {made.text};")
        self._count += 1

    def var(self, v: Var) -> str:
        """The name of a loop's variable: the first letter that no loop around it has."""
        if v not in self._vars:
            taken = set(self._vars.values())
            free = (x for x in _LETTERS if x not in taken and x not in self._buffers.taken)
            self._vars[v] = next(free, f"i{len(taken)}")
        return self._vars[v]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """The variables of loops in a body end with it."""
        before = dict(self._vars)
        yield
        self._vars = before

    def kernel(self, body: list[Any]) -> None:
        """The statements of a kernel."""
        self._folded = folded(body)
        self.counted_trips = {n for s in walk(body) if (n := effects_of(s).needs_count(s))}
        self._scalars, self._accumulators = {}, {}
        with self.scope():
            self.body(body)

    def trips(self, t: Trips) -> str:
        """A name for how often a loop ran."""
        return self._trips.setdefault(t, f"trips{len(self._trips)}")

    def index(self, index: Affine) -> str:
        text = index.text(self.var, times=" * ", divided="/")
        backward = re.fullmatch(r"-(\w+) \+ (\d+)", text)
        return f"{backward[2]} - {backward[1]}" if backward else text

    def fail(self, bit: int) -> str:
        word = str(bit) if bit < 1 << 31 else f"INT64_C({bit})"
        return f"*status |= {word};"

    # -- scalars --------------------------------------------------------------

    def body(self, statements: list[Any]) -> None:
        for s in statements:
            PRINTERS[type(s)](self, s)

    def compute(self, s: Compute) -> None:
        args = [self._scalars[a.number] for a in s.args]
        if is_check(s.name):
            self.line(f"if (!{args[0].at(ATOM)}) {self.fail(self.bits[s.name])}")
            self._scalars[s.result.number] = args[1]
            return
        self.define(s, expression(s.name, args, s.operand_dtype, s.result.dtype))

    def constant(self, s: Constant) -> None:
        self._scalars[s.result.number] = constant_expression(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        self.define(s, Expression(self.index(s.index), CHOICE))

    def in_range(self, s: InRange) -> None:
        index = self.index(s.index)
        text = f"{s.low} <= {index} && {index} < {s.high}"
        if s.step > 1:
            text += f" && ({self.index(s.index + -s.low)}) % {s.step} == 0"
        self.define(s, Expression(text, CHOICE))

    # -- memory ---------------------------------------------------------------

    def load(self, s: Load | Gather) -> None:
        made = Expression(self.place(s))
        if s.guard is not None:
            made = Expression(f"{self.scalar(s.guard, ATOM)} ? {made.text} : 0", CHOICE)
        self.define(s, made)

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
        self.combined(place, combine, self._scalars[s.value.number], dtype)

    def combined(self, place: str, combine: str, value: Expression, dtype: str) -> None:
        """``a += x;``"""
        if dtype[0] == "f" and combine in ("add", "mul"):
            self.line(f"{place} {SYMBOLS[combine]}= {value.text};")
            return
        made = expression(combine, [Expression(place), value], dtype, dtype)
        self.line(f"{place} = {made.text};")

    def fill(self, s: Fill) -> None:
        if s.count == 1:
            value = constant(s.value, s.buffer.dtype)
            self.line(f"{self.buffer(s.buffer)}[{self.index(s.start)}] = {value};")
            return
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
        word = {"add": "sum", "mul": "product"}.get(a.combine, "found")
        name = self._accumulators[a.number] = f"{word}{self._count}"
        self._count += 1
        self.line(f"{c_type(a.dtype)} {name} = {constant(a.identity, a.dtype)};")

    def accumulate(self, s: Accumulate) -> None:
        a = s.accumulator
        self.combined(self.accumulator(a), a.combine, self._scalars[s.value.number], a.dtype)

    def finish(self, s: Finish) -> None:
        self.define(s, Expression(self.accumulator(s.accumulator)))

    # -- loops and branches -----------------------------------------------------

    def loop(self, s: Loop) -> None:
        if s.stop - s.start == 1 and s.share is s.only is None:
            made = [substituted(statement, s.var, Affine(s.start)) for statement in s.body]
            self._once.append(made)  # ids stay those of its statements
            self._folded |= folded(made)
            self.body(made)
            return
        start: Any = s.start
        stop: Any = s.stop
        if s.share is not None:
            start, stop = self.share(s.share, s.stop - s.start, s.start)
        if s.only is not None:
            only = self.scalar(s.only, ATOM)
            start, stop = f"({only} < 0 ? {start} : {only})", f"({only} < 0 ? {stop} : {only} + 1)"
        with self.scope(), self.counted(self.var(s.var), stop, start):
            self.body(s.body)

    def share(self, task: Var, count: int, start: int = 0) -> tuple[str, str]:
        """The ends of a task's part of a range."""
        name = self.var(task)
        first, last = (f"{n} * {count} / {task.extent}" for n in (name, f"({name} + 1)"))
        return (f"{start} + {first}", f"{start} + {last}") if start else (first, last)

    def run_tasks(self, s: RunTasks) -> None:
        outside = self._scalars, self._accumulators, self._folded
        self._scalars, self._accumulators = {}, {}  # a task has its own
        self._folded = folded(s.tasks.body)
        with self.scope(), self.counted(self.var(s.tasks.var), s.tasks.count):
            self.body(s.tasks.body)
        self._scalars, self._accumulators, self._folded = outside

    def repeat(self, s: Repeat) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        with self.scope(), self.block(f"for (int64_t {step} = 0;; {step}++)"):
            if s.trips in self.counted_trips:
                self.line(f"{trips} = {step};")
            self.body(s.condition)
            self.line(f"if (!{self.scalar(s.test, ATOM)} || *status) break;")
            if s.tapes:
                self.grow(s.tapes, step)
            self.body(s.body)

    def steps(self, s: Steps) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        backward = f"for (int64_t {step} = {trips} - 1; {step} >= 0; {step}--)"
        with self.block(backward) if s.backward else self.counted(step, trips), self.scope():
            self.body(s.body)

    def branch(self, s: Branch) -> None:
        index, last = self.scalar(s.index, ATOM), len(s.bodies) - 1
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
