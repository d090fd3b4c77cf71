"""Statements of device kernels are printed as Python lines for one thread.

Loop variables are 32-bit integers if all indices of a kernel fit: Numba computes in 64 bits, and
the casts let LLVM compute in 32.  Indices are unsigned, since Numba tests the sign of signed ones,
which may count from the end of an array.  They are below 2**31, so that our own translation may
extend them as signed ones.  Loops are ``while`` loops: a loop over ``range`` first
counts its iterations, by a division in 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autojit.codegen.cuda.device_program.failures import (
    NEGATIVE_POWER,
    OUT_OF_BOUNDS,
    TAPE_IS_FULL,
    failure_words,
)
from autojit.codegen.cuda.device_program.nodes import (
    Atomic,
    Barrier,
    Combine,
    Digit,
    Fail,
    Failed,
    Let,
    Meeting,
    Share,
    Together,
    When,
)
from autojit.codegen.loop_ir.errors import TargetError, is_check
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
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch, Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine, Var

from .helpers import numpy_type
from .lines import Lines
from .words import constant


class Statements(Lines):
    """Writes the statements of one kernel."""

    # -- statements ---------------------------------------------------------

    def body(self, statements: list[Any]) -> None:
        for s in statements:
            self.statement(s)

    def statement(self, s: Any) -> None:
        printer = _PRINTERS.get(type(s))
        if printer is None:
            raise TargetError(
                f"{type(s).__name__} statements cannot be compiled for CUDA yet: {s!r:.80}"
            )
        printer(self, s)

    def compute(self, s: Compute) -> None:
        operand = s.operand_dtype
        args = [self.scalar(a) for a in s.args]
        if is_check(s.name):
            with self.block(f"if not {args[0]}:"):
                self.failed(s.name)
            self._scalars[s.result.number] = args[1]
            return
        if s.name == "pow" and operand[0] in "iu":
            args += ["status", str(self.places.get(NEGATIVE_POWER, 0))]
            self.can_fail |= operand[0] == "i"
            if operand[0] == "u":
                args = args[:2]
        try:
            text = self.words.expression(s.name, args, operand, s.result.dtype)
        except TargetError as error:
            raise TargetError(str(error), s.result.source) from None
        self.define(s.result, text)

    def digit(self, s: Digit) -> None:
        function = self.words.helpers.digit(s.value.dtype)
        self.define(s.result, f"{function}({self.scalar(s.value)}, {self.scalar(s.shift)})")

    def fail(self, s: Fail) -> None:
        with self.block(f"if {self.scalar(s.condition)}:"):
            self.failed(s.words)

    def failed(self, words: str) -> None:
        self.can_fail = True
        self.line(f"status[{self.places[words]}] = 1")

    def has_failed(self, s: Failed) -> None:
        words = (failure_words(x) for x in walk(self.kernel.body))
        failed = self._any_of({w for w in words if w and w != TAPE_IS_FULL})
        self.line("cuda.syncthreads()")
        self.define(s.result, f"np.int64(1) if {failed} else np.int64(0)")
        self.line("cuda.syncthreads()")

    def _any_of(self, words: Iterable[str]) -> str:
        """The test whether one of these failures is in the status."""
        self.can_fail = True
        places = sorted(self.places[w] for w in words)
        return " or ".join(f"status[{place}] != 0" for place in places)

    def constant(self, s: Constant) -> None:
        self._scalars[s.result.number] = constant(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        index = self.value(s.index)
        if s.result.dtype[0] in "iu":  # via int64: NumPy refuses a Python int out of range
            index = f"np.int64({index})"
        text = index if s.result.dtype == "i64" else f"{numpy_type(s.result.dtype)}({index})"
        self.define(s.result, text)

    def in_range(self, s: InRange) -> None:
        text = f"{s.low} <= {self.value(s.index)} < {s.high}"
        if s.step > 1:
            text += f" and ({self.value(s.index + -s.low)}) % {s.step} == 0"
        self.define(s.result, text)

    def load(self, s: Load | Gather) -> None:
        self.load_at(s, self.index(s.index) if isinstance(s, Load) else self.place(s))

    def load_at(self, s: Load | Gather, index: str) -> None:
        text = f"{self.buffer(s.buffer)}[{index}]"
        if s.guard is not None:
            text += f" if {self.scalar(s.guard)} else {constant(0, s.buffer.dtype)}"
        self.define(s.result, text)

    def place(self, s: Gather | ScatterInto) -> str:
        """The index of a computed place, with each part checked."""
        if not s.places:
            return self.index(s.index)
        self.can_fail = True
        bounded = self.words.helpers.bounded(self.places[OUT_OF_BOUNDS])
        parts = [] if s.index == Affine(0) else [self.value(s.index)]
        for p in s.places:
            part = f"{bounded}({self.scalar(p.scalar)}, {p.extent}, status)"
            parts.append(part if p.stride == 1 else f"{p.stride} * {part}")
        return f"{self.unsigned}({' + '.join(parts)})"

    def scatter_into(self, s: ScatterInto) -> None:
        self.combine_into(s.buffer, self.place(s), s.combine, self.scalar(s.value))

    def atomic(self, s: Atomic) -> None:
        place, value = self.place(s), self.scalar(s.value)
        function = {"add": "add", "maximum": "max"}[s.combine]
        self.line(f"cuda.atomic.{function}({self.buffer(s.buffer)}, {place}, {value})")

    def store(self, s: Store) -> None:
        self.store_at(s, self.index(s.index))

    def store_at(self, s: Store, index: str) -> None:
        self.line(f"{self.buffer(s.buffer)}[{index}] = {self.scalar(s.value)}")

    def accumulate_into(self, s: AccumulateInto) -> None:
        self.combine_into(s.buffer, self.index(s.index), s.combine, self.scalar(s.value))

    def combine_into(self, buffer: Buffer, index: str, combine: str, value: str) -> None:
        place, dtype = f"{self.buffer(buffer)}[{index}]", buffer.dtype
        if combine == "set":
            self.line(f"{place} = {value}")
            return
        self.line(f"{place} = {self.words.expression(combine, [place, value], dtype, dtype)}")

    def fill(self, s: Fill) -> None:
        with self.block(f"for n in range({s.count}):"):
            index = self.value(s.start)
            place = "n" if index == "0" else f"{index} + n"
            value = constant(s.value, s.buffer.dtype)
            self.line(f"{self.buffer(s.buffer)}[{self.unsigned}({place})] = {value}")

    def begin(self, s: Begin) -> None:
        a = s.accumulator
        self.line(f"{self.accumulator(a)} = {constant(a.identity, a.dtype)}")

    def accumulate(self, s: Accumulate) -> None:
        a = s.accumulator
        name = self.accumulator(a)
        args = [name, self.scalar(s.value)]
        self.line(f"{name} = {self.words.expression(a.combine, args, a.dtype, a.dtype)}")

    def finish(self, s: Finish) -> None:
        # This is a copy: the accumulator may be reset before the last use of its value.
        self.define(s.result, self.accumulator(s.accumulator))

    def swap(self, s: Swap) -> None:
        first, second = self.buffer(s.first), self.buffer(s.second)
        self.line(f"{first}, {second} = {second}, {first}")

    # -- loops ----------------------------------------------------------------

    def loop(self, s: Loop) -> None:
        self.counted(s.var, Affine(s.start), s.stop, 1, s.body)

    def share(self, s: Share) -> None:
        stride = self.kernel.stride(s) if self.is_elastic else None
        self._shares += 1
        self.counted(s.var, s.first, s.stop, s.step, s.body, stride)
        self._shares -= 1

    def counted(
        self, var: Var, first: Affine, stop: int, step: int, body: list[Any],
        stride: int | None = None,
    ) -> None:  # fmt: skip
        """Print a loop, or an ``if`` for at most one iteration.

        Args:
            stride: if given, the step is ``stride`` times the number of blocks at run time.
        """
        name = self.var(var)
        low, high = first.range(self._bounds)
        self._bounds[var] = (low, stop - 1)
        self.line(f"{name} = {self.cast(first)}")
        if low + (stride or step) >= stop:
            if high < stop:
                self.body(body)
                return
            with self.block(f"if {name} < {stop}:"):
                self.body(body)
            return
        with self.block(f"while {name} < {stop}:"):
            self.body(body)
            by = str(step) if stride is None else f"{stride} * cuda.gridDim.x"
            self.line(f"{name} = {self.integer}({name} + {by})")

    def together(self, s: Together) -> None:
        """Print the first index as a multiple in 64 bits, and the others as offsets from it.

        So LLVM sees that they are neighbours, and the alignment of the first.
        """
        first, count, index = f"at{self._firsts}", len(s.body), s.body[0].index
        self._firsts += 1
        terms = tuple((atom, c // count) for atom, c in index.terms)
        one = Affine(index.constant // count, terms)
        self.line(f"{first} = {self.multiple(count, one)}")
        for number, each in enumerate(s.body):
            index = f"{first} + np.uint64({number})" if number else first
            if isinstance(each, Store):
                self.store_at(each, index)
            else:
                self.load_at(each, index)

    def let(self, s: Let) -> None:
        self._bounds[s.var] = s.value.range(self._bounds)
        self.line(f"{self.var(s.var)} = {self.cast(s.value)}")

    def when(self, s: When) -> None:
        low, high = s.index.range(self._bounds)
        tests = [f"{s.low} <= "] if low < s.low else [""]
        tests.append(f" < {s.high}" if high >= s.high else "")
        if not any(tests):
            self.body(s.body)
            return
        with self.block(f"if {tests[0]}{self.value(s.index)}{tests[1]}:"):
            self.body(s.body)

    def repeat(self, s: Repeat) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        self.line(f"{step} = np.int64(0)")
        with self.block("while True:"):
            self.body(s.condition)
            with self.block(f"if not {self.scalar(s.test)}:"):
                self.line("break")
            self._stop(s, step)
            self.body(s.body)
            self.line(f"{step} = np.int64({step} + 1)")
        self.line(f"{trips} = {step}")

    def _stop(self, s: Repeat, step: str) -> None:
        """End the loop if tapes have no room for the step, or a statement in it has failed.

        Blocks that meet end it by its test: they must end it together.
        """
        for tape in s.tapes:
            with self.block(f"if {step} >= {self.buffer(tape)}.size // {max(1, tape.size)}:"):
                self.failed(TAPE_IS_FULL)
                self.line("break")
        inside = (failure_words(x) for x in walk([*s.condition, *s.body]))
        words = {w for w in inside if w}
        if not words or any(isinstance(x, Failed) for x in s.body):
            return
        # In its share of a loop, a thread waits for no other, and ends after its own failure.
        together = self.kernel.threads > 1 and not self._shares
        if together:  # so that all threads see the same status
            self.line("cuda.syncthreads()")
        self.line(f"failed = {self._any_of(words)}")
        if together:
            self.line("cuda.syncthreads()")
        with self.block("if failed:"):
            self.line("break")

    def keep(self, s: Keep) -> None:
        self.line(f"{self.buffer(s.note)}[0] = {self.trips(s.trips)}")

    def recall(self, s: Recall) -> None:
        self.line(f"{self.trips(s.trips)} = {self.buffer(s.note)}[0]")

    def steps(self, s: Steps) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        first, last, change = (
            (f"{trips} - 1", ">= 0", "-") if s.backward else ("0", f"< {trips}", "+")
        )
        self.line(f"{step} = np.int64({first})")
        with self.block(f"while {step} {last}:"):
            self.body(s.body)
            self.line(f"{step} = np.int64({step} {change} 1)")

    def branch(self, s: Branch) -> None:
        index, last = self.scalar(s.index), len(s.bodies) - 1
        for number, body in enumerate(s.bodies):
            test = f"{'if' if not number else 'elif'} {index} <= {number}:"
            with self.block(test if number < last else "else:" if number else "if True:"):
                self.body(body)

    # -- threads ----------------------------------------------------------------

    def barrier(self, s: Barrier) -> None:
        if s.width == self.kernel.threads:
            self.line("cuda.syncthreads()")
        elif s.width > 1:
            self.line(f"cuda.syncwarp({self.words.helpers.mask(s.width)}())")

    def meeting(self, s: Meeting) -> None:
        self.line(f"{self.words.helpers.meeting()}({self.buffer(s.arrived)})")

    def combine(self, s: Combine) -> None:
        """Combine the accumulators of a team's threads; each of them gets the result."""
        a = s.accumulator
        if s.width == 1:
            return
        name = self.accumulator(a)
        function = self.words.combining(a.combine, a.dtype, s, self.kernel.warp)
        self.line(f"{name} = {function}({name})")

    def nothing(self, s: Any) -> None:
        """Print nothing."""


_PRINTERS: dict[type, Callable[[Statements, Any], None]] = {
    Compute: Statements.compute,
    Constant: Statements.constant,
    Digit: Statements.digit,
    Fail: Statements.fail,
    Failed: Statements.has_failed,
    IndexValue: Statements.index_value,
    InRange: Statements.in_range,
    Load: Statements.load,
    Gather: Statements.load,
    ScatterInto: Statements.scatter_into,
    Atomic: Statements.atomic,
    Store: Statements.store,
    AccumulateInto: Statements.accumulate_into,
    Fill: Statements.fill,
    Begin: Statements.begin,
    Accumulate: Statements.accumulate,
    Finish: Statements.finish,
    Swap: Statements.swap,
    Loop: Statements.loop,
    Share: Statements.share,
    Together: Statements.together,
    Let: Statements.let,
    When: Statements.when,
    Repeat: Statements.repeat,
    Steps: Statements.steps,
    Branch: Statements.branch,
    Barrier: Statements.barrier,
    Meeting: Statements.meeting,
    Combine: Statements.combine,
    Release: Statements.nothing,
    Keep: Statements.keep,
    Recall: Statements.recall,
}
