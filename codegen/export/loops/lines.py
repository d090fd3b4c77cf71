"""The common part of printers of loop nests: names, inlined scalars, and loops.

The printer of a language adds its syntax (`Language`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from autojit.codegen.export.text.expressions import ATOM, CHOICE, Expression
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.effects import effects_of
from autojit.codegen.loop_ir.errors import ENSURED, TargetError, is_check
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
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import memory, substituted, walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar, Trips
from autojit.codegen.loop_ir.vocabulary import SYMBOLS
from autojit.ir.core.affine import Affine, Var

from .folding import folded
from .language import Language

_LETTERS = "ijklmpqr"
#: Arguments of factorizations that are parameters.
_SETTINGS = {"length", "kind", "scale", "rtol", "lower", "transpose", "unit", "full"}


class Lines(Language):
    """The lines of one function, and the names in it."""

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
        #: The ids of the statements whose scalars are inlined; and the bodies of loops of one
        #: iteration.
        self._folded: set[int] = set()
        self._once: list[list[Any]] = []
        #: The trip counts that are needed.
        self.counted_trips: set[Trips] = set()
        self._count = 0
        self._vars: dict[Var, str] = {}
        self._accumulators: dict[int, str] = {}
        self._trips: dict[Trips, str] = {}

    # -- lines and names ------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(self.margin * self._indent + text)

    def index(self, index: Affine) -> str:
        text = index.text(self.var, times=" * ", divided=self.divided)
        backward = re.fullmatch(r"-(\w+) \+ (\d+)", text)
        return f"{backward[2]} - {backward[1]}" if backward else text

    def buffer(self, b: Buffer) -> str:
        return self._buffers(memory(b))

    def scalar(self, s: Scalar, level: int = CHOICE) -> str:
        return self._scalars[s.number].at(level)

    def define(self, statement: Any, made: Expression) -> None:
        """Write a line that defines a scalar, or inline it."""
        s = statement.result
        if id(statement) in self._folded:
            self._scalars[s.number] = made
            return
        self._scalars[s.number] = Expression(f"s{self._count}")
        self.line(self.defined(f"s{self._count}", s.dtype, made.text))
        self._count += 1

    def var(self, v: Var) -> str:
        """Return the name of a loop's variable: the first letter that no enclosing loop uses."""
        if v not in self._vars:
            taken = set(self._vars.values())
            free = (x for x in _LETTERS if x not in taken and x not in self._buffers.taken)
            self._vars[v] = next(free, f"i{len(taken)}")
        return self._vars[v]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Limit the names of loop variables to a body."""
        before = dict(self._vars)
        yield
        self._vars = before

    def kernel(self, body: list[Any]) -> None:
        """Write the statements of a kernel."""
        self._folded = folded(body)
        self.counted_trips = {n for s in walk(body) if (n := effects_of(s).needs_count(s))}
        self._scalars, self._accumulators = {}, {}
        with self.scope():
            self.body(body)

    def trips(self, t: Trips) -> str:
        """Return a name for the trip count of a loop."""
        return self._trips.setdefault(t, f"trips{len(self._trips)}")

    def body(self, statements: list[Any]) -> None:
        for s in statements:
            getattr(self, PRINTERS[type(s)])(s)

    # -- statements -------------------------------------------------------------------

    def compute(self, s: Compute) -> None:
        args = [self._scalars[a.number] for a in s.args]
        if is_check(s.name):
            self.check(args[0].at(ATOM), s.name)
            self._scalars[s.result.number] = args[1]
            return
        self.define(s, self.expression(s.name, args, s.operand_dtype, s.result.dtype))

    def in_range(self, s: InRange) -> None:
        index = self.index(s.index)
        text = f"{s.low} <= {index}{self.also}{index} < {s.high}"
        if s.step > 1:
            text += f"{self.also}({self.index(s.index + -s.low)}) % {s.step} == 0"
        self.define(s, Expression(text, CHOICE))

    def load(self, s: Load | Gather) -> None:
        made = Expression(self.place(s))
        if s.guard is not None:
            made = self.choice(self.scalar(s.guard, ATOM), made.text, s.result.dtype)
        self.define(s, made)

    def place(self, s: Any) -> str:
        """Return an element of a buffer; computed places are checked."""
        computed = getattr(s, "places", ())
        parts = [] if computed and s.index == Affine(0) else [self.index(s.index)]
        for p in computed:
            part = self.bounded(self.scalar(p.scalar), p.extent)
            parts.append(part if p.stride == 1 else f"{p.stride} * {part}")
        return f"{self.buffer(s.buffer)}[{' + '.join(parts)}]"

    def store(self, s: Store | AccumulateInto | ScatterInto) -> None:
        place, value, dtype = self.place(s), self.scalar(s.value), s.buffer.dtype
        combine = getattr(s, "combine", "set")
        if combine == "set":
            self.line(f"{place} = {value}{self.end}")
            return
        if not isinstance(s, AccumulateInto):  # each place is checked once
            place, self._count = self.at(place, dtype), self._count + 1
        self.combined(place, combine, self._scalars[s.value.number], dtype)

    def combined(self, place: str, combine: str, value: Expression, dtype: str) -> None:
        """Write ``a += x;``."""
        if dtype[0] == "f" and combine in ("add", "mul"):
            self.line(f"{place} {SYMBOLS[combine]}= {value.text}{self.end}")
            return
        made = self.expression(combine, [Expression(place), value], dtype, dtype)
        self.line(f"{place} = {made.text}{self.end}")

    def fill(self, s: Fill) -> None:
        if s.count == 1:
            value = self.number(s.value, s.buffer.dtype).text
            self.line(f"{self.buffer(s.buffer)}[{self.index(s.start)}] = {value}{self.end}")
            return
        with self.counted("n", s.count):
            value, start = self.number(s.value, s.buffer.dtype).text, self.index(s.start)
            place = "n" if start == "0" else f"{start} + n"
            self.line(f"{self.buffer(s.buffer)}[{place}] = {value}{self.end}")

    def begin(self, s: Begin) -> None:
        a = s.accumulator
        word = {"add": "sum", "mul": "product"}.get(a.combine, "found")
        name = self._accumulators[a.number] = f"{word}{self._count}"
        self._count += 1
        self.line(self.started(name, a.dtype, self.number(a.identity, a.dtype).text))

    def constant(self, s: Constant) -> None:
        self._scalars[s.result.number] = self.number(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        self.define(s, Expression(self.index(s.index), CHOICE))

    def accumulator(self, a: Accumulator) -> str:
        return self._accumulators[a.number]

    def accumulate(self, s: Accumulate) -> None:
        a = s.accumulator
        self.combined(self.accumulator(a), a.combine, self._scalars[s.value.number], a.dtype)

    def finish(self, s: Finish) -> None:
        self.define(s, Expression(self.accumulator(s.accumulator)))

    def loop(self, s: Loop) -> None:
        if s.stop - s.start == 1 and s.share is s.only is None:
            made = [substituted(statement, s.var, Affine(s.start)) for statement in s.body]
            self._once.append(made)  # keeps its statements alive, so that ids stay unique
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

    def steps(self, s: Steps) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        loop = self.backwards(step, trips) if s.backward else self.counted(step, trips)
        with loop, self.scope():
            self.body(s.body)

    def branch(self, s: Branch) -> None:
        index, last = self.scalar(s.index, ATOM), len(s.bodies) - 1
        for k, body in enumerate(s.bodies):
            condition = f"{index} {'==' if k else '<='} {k}" if k < last else None
            with self.case(condition, first=k == 0):
                self.body(body)

    def factorization(self, s: Factorization) -> None:
        """Write a call for each matrix of the batch."""
        arguments = self.arguments(s)
        if arguments is None:
            raise TargetError(
                f"{s.name} of {s.dtype} matrices cannot be written {self.language}: it needs a "
                'library. target="numpy" calls NumPy and SciPy'
            )
        if not s.is_some:
            return
        with ExitStack() as loops:
            index = [f"b{axis}" for axis in range(len(s.batch))]
            for name, extent in zip(index, s.batch, strict=True):
                loops.enter_context(self.counted(name, extent))
            self.line(self.factorized(s, index, arguments))

    def factorized(self, s: Factorization, index: list[str], arguments: str) -> str:
        """Return the call for one matrix, given the indices of the batch."""
        operands = iter((*s.inputs, *s.outputs))
        found: list[str] = []
        for word in arguments.split():
            if word in ("m", "n", "k"):
                found.append(str(getattr(s, word)))
            elif word == "status":
                found.append(word)
            elif word in _SETTINGS:
                found.append(self.setting(word, s.params.get(word)))
            else:
                o = next(operands)
                terms = [f"{i} * {stride}" for i, stride in zip(index, o.strides, strict=False)]
                found += self.matrix(self.buffer(o.buffer), [self.index(o.offset), *terms])
                found += map(str, o.strides[len(index) :] if word[-1] == "+" else ())
        return self.call(s, ", ".join(found))

    def callback(self, s: Callback) -> None:
        raise TargetError(
            f"{s.call} cannot be written {self.language}: it is a function of Python's process"
        )

    def sheet(self, s: Sheet) -> None:
        raise TargetError(
            f"a sheet cannot be written {self.language}: lower the program without sheets"
        )

    def run_tasks(self, s: RunTasks) -> None:
        outside = self._scalars, self._accumulators, self._folded
        self._scalars, self._accumulators = {}, {}  # a task has its own ones
        self._folded = folded(s.tasks.body)
        with self.scope(), self.counted(self.var(s.tasks.var), s.tasks.count):
            self.body(s.tasks.body)
        self._scalars, self._accumulators, self._folded = outside

    def share(self, task: Var, count: int, start: int = 0) -> tuple[str, str]:
        """Return the ends of a task's part of a range."""
        name = self.var(task)
        first, last = (
            f"{n} * {count} {self.divided} {task.extent}" for n in (name, f"({name} + 1)")
        )
        return (f"{start} + {first}", f"{start} + {last}") if start else (first, last)


#: The method that writes each class of statements.
PRINTERS: dict[type, str] = {
    Compute: "compute",
    Constant: "constant",
    IndexValue: "index_value",
    InRange: "in_range",
    Load: "load",
    Gather: "load",
    ScatterInto: "store",
    Store: "store",
    AccumulateInto: "store",
    Fill: "fill",
    Begin: "begin",
    Accumulate: "accumulate",
    Finish: "finish",
    Loop: "loop",
    RunTasks: "run_tasks",
    Repeat: "repeat",
    Steps: "steps",
    Branch: "branch",
    Release: "release",
    Keep: "keep",
    Recall: "recall",
    Swap: "swap",
    MatrixProduct: "product",
    Factorization: "factorization",
    Callback: "callback",
    Sheet: "sheet",
}
