"""Statements of loop nests as lines of C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autojit.codegen.export.text.expressions import ATOM, CHOICE, Expression
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.errors import OUT_OF_MEMORY
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.sequences import Keep, Recall, Release, Repeat, Swap
from autojit.codegen.loop_ir.values import Buffer

from . import c_matrices as matrices
from .c_helpers import c_type
from .c_words import constant_expression, expression
from .lines import Lines


class Statements(Lines):
    """The lines of a function in C."""

    # -- lines and names ----------------------------------------------------

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write lines in braces."""
        self.line(f"{header} {{".lstrip())
        self._indent += 1
        yield
        self._indent -= 1
        self.line("}")

    def counted(self, name: str, stop: Any, start: Any = 0) -> Any:
        """Write the lines of a loop."""
        return self.block(f"for (int64_t {name} = {start}; {name} < {stop}; {name}++)")

    def fail(self, bit: int) -> str:
        word = str(bit) if bit < 1 << 31 else f"INT64_C({bit})"
        return f"*status |= {word};"

    def swap(self, s: Swap) -> None:
        first, second = self.buffer(s.first), self.buffer(s.second)
        with self.block(""):
            self.line(f"void *const kept = {first};")
            self.line(f"{first} = {second};")
            self.line(f"{second} = kept;")

    # -- loops and branches -----------------------------------------------------

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

    def backwards(self, name: str, stop: str) -> Any:
        return self.block(f"for (int64_t {name} = {stop} - 1; {name} >= 0; {name}--)")

    def case(self, condition: str | None, *, first: bool) -> Any:
        words = "" if first else "else "
        return self.block(f"{words}if ({condition})" if condition else words.rstrip())

    # -- tapes --------------------------------------------------------------------

    def tapes(self, tapes: list[Buffer]) -> str:
        """Return the name of the memory of a loop's tapes, derived from the first tape."""
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
        """Set the pointers of tapes again: memory that grows may have moved."""
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

    # -- the forms of C --------------------------------------------------------

    def expression(
        self, name: str, args: list[Expression], operand: str, result: str
    ) -> Expression:
        return expression(name, args, operand, result)

    def number(self, value: Any, dtype: str) -> Expression:
        return constant_expression(value, dtype)

    def choice(self, condition: str, yes: str, dtype: str) -> Expression:
        return Expression(f"{condition} ? {yes} : 0", CHOICE)

    def bounded(self, place: str, extent: int) -> str:
        return f"bounded({place}, {extent}, status)"

    def check(self, condition: str, word: str) -> None:
        self.line(f"if (!{condition}) {self.fail(self.bits[word])}")

    def defined(self, name: str, dtype: str, text: str) -> str:
        return f"const {c_type(dtype)} {name} = {text};"

    def started(self, name: str, dtype: str, text: str) -> str:
        return f"{c_type(dtype)} {name} = {text};"

    def at(self, place: str, dtype: str) -> str:
        self.line(f"{c_type(dtype)} *const at{self._count} = &{place};")
        return f"*at{self._count}"

    def product(self, s: MatrixProduct) -> None:
        matrices.product(self, s)

    def arguments(self, s: Factorization) -> str | None:
        if s.name == "fourier":
            return ""
        is_other = s.dtype[0] == "c" or "complete" in s.params
        return None if is_other else matrices.ARGUMENTS.get(s.name)

    def factorized(self, s: Factorization, index: list[str], arguments: str) -> str:
        if s.name == "fourier":
            return matrices.transform(self, s, index)
        return super().factorized(s, index, arguments)

    def matrix(self, buffer: str, terms: list[str]) -> list[str]:
        return [" + ".join([buffer, *terms])]

    def setting(self, name: str, value: Any) -> str:
        return repr(float(value)) if name == "rtol" else "true" if value else "false"

    def call(self, s: Factorization, arguments: str) -> str:
        return f"{s.name}_{s.dtype}({arguments});"
