"""Statements of loop nests as lines of Python that Numba compiles."""

from __future__ import annotations

from math import prod
from typing import Any

from autojit.codegen.export.text.expressions import ATOM, CHOICE, Expression
from autojit.codegen.export.text.python_lines import PythonLines
from autojit.codegen.loop_ir.errors import raised
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.sequences import Keep, Recall, Release, Repeat, Swap
from autojit.codegen.loop_ir.values import Operand

from .c_matrices import KINDS
from .lines import Lines
from .numba_words import constant, expression

#: The arguments of the helpers for factorizations: sizes, matrices with their offsets (and strides,
#: if marked with a plus), and parameters.
_ARGUMENTS = {
    "cholesky": "n a+ l",
    "triangular_solve": "n k t b+ lower transpose unit x",
    "lu": "n a+ packed pivots",
    "solve": "n k packed pivots b+ transpose x",
    "permutation": "n pivots+ rows",
    "argsort": "n keys+ places",
    "eigh": "n a+ values vectors",
    "qr": "m n a+ q r",
    "svd": "m n a+ full u values vh",
    "pinv": "m n a+ rtol x",
}


_TRANSFORM = "m length kind scale x+ y+"


def _setting(name: str, value: Any) -> str:
    """Return a parameter: kinds of transforms are numbered; others are numbers, or bools."""
    if name == "kind":
        return str(KINDS[value])
    return str(value) if name in ("length", "scale", "rtol") else str(bool(value))


class NumbaStatements(PythonLines, Lines):
    """The lines of a function that ``@njit`` compiles."""

    margin, end, also, divided = "    ", "", " and ", "//"
    language = "for Numba"

    # -- the forms of Python ----------------------------------------------------------

    def counted(self, name: str, stop: Any, start: Any = 0) -> Any:
        bounds = f"{start}, {stop}" if str(start) != "0" else str(stop)
        return self.block(f"for {name} in range({bounds}):")

    def expression(
        self, name: str, args: list[Expression], operand: str, result: str
    ) -> Expression:
        return expression(name, args, operand, result)

    def number(self, value: Any, dtype: str) -> Expression:
        return constant(value, dtype)

    def choice(self, condition: str, yes: str, dtype: str) -> Expression:
        zero = constant(dtype == "bool" and False, dtype).text if dtype == "bool" else ""
        return Expression(f"{yes} if {condition} else {zero or constant(0, dtype).text}", CHOICE)

    def bounded(self, place: str, extent: int) -> str:
        return f"_bounded({place}, {extent})"

    def check(self, condition: str, word: str) -> None:
        kind, words = raised(word)
        with self.block(f"if not {condition}:"):
            self.line(f"raise {kind}({words!r})" if words else f"raise {kind}()")

    def defined(self, name: str, dtype: str, text: str) -> str:
        return f"{name} = {text}"

    def started(self, name: str, dtype: str, text: str) -> str:
        return f"{name} = {text}"

    def at(self, place: str, dtype: str) -> str:
        buffer, _, index = place.partition("[")
        name = f"at{self._count}"
        self.line(f"{name} = {index[:-1]}")
        return f"{buffer}[{name}]"

    # -- loops and branches ---------------------------------------------------------

    def swap(self, s: Swap) -> None:
        first, second = self.buffer(s.first), self.buffer(s.second)
        self.line(f"{first}, {second} = {second}, {first}")

    def repeat(self, s: Repeat) -> None:
        step, trips = self.var(s.step), self.trips(s.trips)
        self.line(f"{step} = 0")
        with self.scope(), self.block("while True:"):
            self.body(s.condition)
            with self.block(f"if not {self.scalar(s.test, ATOM)}:"):
                self.line("break")
            for tape in s.tapes:
                name = self.buffer(tape)
                self.line(f"{name} = _room({name}, ({step} + 1) * {tape.size})")
            self.body(s.body)
            self.line(f"{step} += 1")
        self.line(f"{trips} = {step}")

    def backwards(self, name: str, stop: str) -> Any:
        return self.block(f"for {name} in range({stop} - 1, -1, -1):")

    def case(self, condition: str | None, *, first: bool) -> Any:
        word = "if" if first else "elif"
        other = "if True:" if first else "else:"
        return self.block(f"{word} {condition}:" if condition else other)

    # -- tapes: the tape that a sweep keeps is a variable that later sweeps read --------

    def release(self, s: Release) -> None:
        """Do nothing: memory is released when the function returns."""

    def keep(self, s: Keep) -> None:
        note = self.buffer(s.note)
        self.line(f"{note}_steps = {self.trips(s.trips)}")
        for k, tape in enumerate(s.tapes):
            self.line(f"{note}_{k} = {self.buffer(tape)}")

    def recall(self, s: Recall) -> None:
        note = self.buffer(s.note)
        self.line(f"{self.trips(s.trips)} = {note}_steps")
        for k, tape in enumerate(s.tapes):
            self.line(f"{self.buffer(tape)} = {note}_{k}")

    # -- matrices ---------------------------------------------------------------------

    def product(self, s: MatrixProduct) -> None:
        rows = prod(s.batch) * s.m
        if not rows * s.n:
            return
        start, stop = ("0", str(rows)) if s.share is None else self.share(s.share, rows)
        a, b = self._element(s, s.a, "inner"), self._element(s, s.b, "column")
        to = self.index(s.c_offset)
        place = f"row * {s.n} + column" if to == "0" else f"{to} + row * {s.n} + column"
        part = {"c64": "f32", "c128": "f64"}.get(s.dtype, s.dtype)
        with self.counted("row", stop, start), self.counted("column", s.n):
            names = ["total"] if s.parts == 1 else ["re", "im"]
            for name in names:
                self.line(f"{name} = {constant(0, part).text}")
            with self.counted("inner", s.k):
                self._term(s, a, b, part)
            for number, name in enumerate(names):
                at = place if s.parts == 1 else f"2 * ({place}) + {number}"
                self.line(f"{self.buffer(s.c)}[{at}] = {name}")

    def _term(self, s: MatrixProduct, a: str, b: str, part: str) -> None:
        of_a, of_b = self.buffer(s.a.buffer), self.buffer(s.b.buffer)
        if s.parts == 1:
            x, y = Expression(f"{of_a}[{a}]"), Expression(f"{of_b}[{b}]")
            self.combined("total", "add", expression("mul", [x, y], part, part), part)
            return
        self.line(f"left, right = 2 * ({a}), 2 * ({b})")
        self.line(f"re += {of_a}[left] * {of_b}[right] - {of_a}[left + 1] * {of_b}[right + 1]")
        self.line(f"im += {of_a}[left] * {of_b}[right + 1] + {of_a}[left + 1] * {of_b}[right]")

    def _element(self, s: MatrixProduct, o: Operand, column: str) -> str:
        """Return the index of an element; ``row`` counts the rows of all matrices of the batch."""
        terms = [] if (offset := self.index(o.offset)) == "0" else [offset]
        below = s.m * prod(s.batch)
        for extent, stride in zip(s.batch, o.strides, strict=False):
            below //= extent
            terms.append(f"row // {below} % {extent} * {stride}")
        row = "inner" if column == "column" else f"row % {s.m}" if s.batch else "row"
        terms += [f"{row} * {o.strides[-2]}", f"{column} * {o.strides[-1]}"]
        return " + ".join(terms)

    def arguments(self, s: Factorization) -> str | None:
        if s.name == "fourier":
            return _TRANSFORM
        # Numba's eigh reads the lower triangle, and its qr has no complete form.
        is_other = "complete" in s.params or (s.name == "eigh" and not s.params["lower"])
        return None if s.dtype[0] == "c" or is_other else _ARGUMENTS.get(s.name)

    def matrix(self, buffer: str, terms: list[str]) -> list[str]:
        return [buffer, " + ".join(terms)]

    def setting(self, name: str, value: Any) -> str:
        return _setting(name, value)

    def call(self, s: Factorization, arguments: str) -> str:
        return f"_{s.name}({arguments})"
