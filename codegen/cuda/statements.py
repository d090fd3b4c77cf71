"""Statements of loop nests as lines of Python, run one after another by one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autojit.codegen.loop_ir.errors import ENSURED, TargetError, is_check, raised
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
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core.affine import Affine, Var

from .helpers import numpy_type
from .words import Words, constant

_LETTERS = "ijklmpqr"


class Statements:
    """The lines of one kernel, and the names of its scalars and loop variables."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.lines: list[str] = []
        self._indent = 1
        self._scalars: dict[int, str] = {}
        self._count = 0
        self._vars: dict[Var, str] = {}
        self._accumulators: dict[int, str] = {}
        #: Whether other threads combine into the same buffers at the same time.
        self.atomic = False
        #: Whether something can go wrong as it runs, which is noted in the array `status`.
        self.can_fail = False

    # -- lines and names ----------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines under a header."""
        self.line(header)
        self._indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:  # constants take no line
            self.line("pass")
        self._indent -= 1

    def scalar(self, s: Scalar) -> str:
        return self._scalars[s.number]

    def define(self, s: Scalar, text: str) -> None:
        """``s0 = text``"""
        name = self._scalars[s.number] = f"s{self._count}"
        self._count += 1
        self.line(f"{name} = {text}")

    def var(self, v: Var) -> str:
        number = len(self._vars)
        letter = _LETTERS[number] if number < len(_LETTERS) else f"i{number}"
        return self._vars.setdefault(v, letter)

    def accumulator(self, a: Accumulator) -> str:
        return self._accumulators.setdefault(a.number, f"a{len(self._accumulators)}")

    def index(self, index: Affine) -> str:
        """An index expression."""
        return index.text(self.var, " * ")

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
        if is_check(s.name):
            raise _no_check(s.name)
        operand = s.operand_dtype
        args = [self.scalar(a) for a in s.args]
        if s.name == "pow" and operand[0] in "iu":
            args.append("status")
            self.can_fail = True
        self.define(s.result, self.words.expression(s.name, args, operand, s.result.dtype))

    def constant(self, s: Constant) -> None:
        self._scalars[s.result.number] = constant(s.value, s.result.dtype)

    def index_value(self, s: IndexValue) -> None:
        index = self.index(s.index)
        if s.result.dtype[0] in "iu":  # through int64: NumPy refuses a Python int out of range
            index = f"np.int64({index})"
        text = index if s.result.dtype == "i64" else f"{numpy_type(s.result.dtype)}({index})"
        self.define(s.result, text)

    def in_range(self, s: InRange) -> None:
        text = f"{s.low} <= {self.index(s.index)} < {s.high}"
        if s.step > 1:
            text += f" and ({self.index(s.index + -s.low)}) % {s.step} == 0"
        self.define(s.result, text)

    def load(self, s: Load) -> None:
        text = f"{s.buffer}[{self.index(s.index)}]"
        if s.guard is not None:
            text += f" if {self.scalar(s.guard)} else {constant(0, s.buffer.dtype)}"
        self.define(s.result, text)

    def place(self, s: Gather | ScatterInto) -> str:
        """The index of a computed place, with every part of it checked."""
        self.can_fail = True
        bounded = self.words.helpers.bounded()
        parts = [] if s.index == Affine(0) else [self.index(s.index)]
        for p in s.places:
            part = f"{bounded}({self.scalar(p.scalar)}, {p.extent}, status)"
            parts.append(part if p.stride == 1 else f"{p.stride} * {part}")
        return " + ".join(parts)

    def gather(self, s: Gather) -> None:
        text = f"{s.buffer}[{self.place(s)}]"
        if s.guard is not None:
            text += f" if {self.scalar(s.guard)} else {constant(0, s.buffer.dtype)}"
        self.define(s.result, text)

    def scatter_into(self, s: ScatterInto) -> None:
        self.combine_into(s.buffer, self.place(s), s.combine, self.scalar(s.value))

    def store(self, s: Store) -> None:
        self.line(f"{s.buffer}[{self.index(s.index)}] = {self.scalar(s.value)}")

    def accumulate_into(self, s: AccumulateInto) -> None:
        self.combine_into(s.buffer, self.index(s.index), s.combine, self.scalar(s.value))

    def combine_into(self, buffer: Buffer, index: str, combine: str, value: str) -> None:
        if self.atomic:
            self.line(f"cuda.atomic.add({buffer}, {index}, {value})")
            return
        place, dtype = f"{buffer}[{index}]", buffer.dtype
        if combine == "set":
            self.line(f"{place} = {value}")
            return
        self.line(f"{place} = {self.words.expression(combine, [place, value], dtype, dtype)}")

    def fill(self, s: Fill) -> None:
        with self.block(f"for n in range({s.count}):"):
            index = self.index(s.start)
            place = "n" if index == "0" else f"{index} + n"
            self.line(f"{s.buffer}[{place}] = {constant(s.value, s.buffer.dtype)}")

    def begin(self, s: Begin) -> None:
        a = s.accumulator
        self.line(f"{self.accumulator(a)} = {constant(a.identity, a.dtype)}")

    def accumulate(self, s: Accumulate) -> None:
        a = s.accumulator
        name = self.accumulator(a)
        args = [name, self.scalar(s.value)]
        self.line(f"{name} = {self.words.expression(a.combine, args, a.dtype, a.dtype)}")

    def finish(self, s: Finish) -> None:
        self._scalars[s.result.number] = self.accumulator(s.accumulator)

    def loop(self, s: Loop) -> None:
        with self.block(f"for {self.var(s.var)} in range({s.start}, {s.stop}):"):
            self.body(s.body)

    # -- accumulators of several threads --------------------------------------

    def combine_block(self, a: Accumulator) -> None:
        """The accumulators of a block's threads become one value, the same in each of them."""
        name = self.accumulator(a)
        self.line(f"{name} = {self.words.block(a.combine, a.dtype)}({name})")

    def local(self, buffer: Buffer) -> None:
        self.line(f"{buffer} = cuda.local.array({buffer.size}, {numpy_type(buffer.dtype)})")


def _no_check(word: str) -> TargetError:
    if word in ENSURED:
        return TargetError(
            "ensure cannot be compiled for CUDA yet: it checks arithmetic between Python "
            "integers. Make the arguments NumPy's: np.int64(n)"
        )
    name, words = raised(word)
    return TargetError(
        f"{name}({words!r}) cannot be raised on a GPU yet: raise it before the compiled "
        "function is called, or use device='cpu'"
    )


_PRINTERS: dict[type, Callable[[Statements, Any], None]] = {
    Compute: Statements.compute,
    Constant: Statements.constant,
    IndexValue: Statements.index_value,
    InRange: Statements.in_range,
    Load: Statements.load,
    Gather: Statements.gather,
    ScatterInto: Statements.scatter_into,
    Store: Statements.store,
    AccumulateInto: Statements.accumulate_into,
    Fill: Statements.fill,
    Begin: Statements.begin,
    Accumulate: Statements.accumulate,
    Finish: Statements.finish,
    Loop: Statements.loop,
}
