"""Parses scalars, loop variables and index expressions of one kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Compute,
    Constant,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
)
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Place, Scalar
from autojit.codegen.loop_ir.vocabulary import SYMBOLS, usual_dtype
from autojit.ir.core.affine import Affine, Atom, Quotient, Var
from autojit.ir.core.types import DTYPE_NAMES
from autojit.ir.ops.checks import failure_of, is_failure
from autojit.ir.special.external import external

from .tokens import Token, Tokens

_SCALAR = re.compile(r"s\d+")
_ACCUMULATOR = re.compile(r"a\d+")
_WORDS = {"True": True, "False": False, "inf": float("inf"), "nan": float("nan")}
_NAMES = {symbol: name for name, symbol in SYMBOLS.items()}
_DTYPES = set(DTYPE_NAMES.values())


class Scalars:
    """The names of a kernel, and parsers of the expressions that use them."""

    def __init__(
        self,
        tokens: Tokens,
        buffer: Callable[[], Buffer],
        numbers: Iterator[int],
        accumulator: Callable[[Token], Accumulator],
    ) -> None:
        self.tokens = tokens
        self.buffer = buffer
        self.numbers = numbers
        self.accumulator = accumulator
        self.scalars: dict[str, Scalar] = {}
        self.vars: dict[str, Var] = {}
        #: The ends of loops, for variables whose range is not written.
        self.ends: dict[str, int] = {}
        #: The variables that precede each variable in index expressions.
        self.before: dict[Var, set[Var]] = {}

    # -- scalars ----------------------------------------------------------------

    def use(self) -> Scalar:
        token = self.tokens.take("word", "a scalar (s0)")
        if token.text not in self.scalars:
            self.tokens.fail(f"{token.text} is not computed before this line", token)
        return self.scalars[token.text]

    def definition(self, name: Token, dtype: str | None) -> Any:
        """Parse the value of a scalar, and return the statement."""
        if dtype is not None and dtype not in _DTYPES:
            self.tokens.fail(f"there is no dtype {dtype}", name)
        made, usual = self.value()
        dtype = dtype or usual or usual_dtype(made)
        known = self.scalars.get(name.text)
        if known is None:
            known = self.scalars[name.text] = Scalar(next(self.numbers), dtype, 0, None)
        if known.dtype != dtype:
            self.tokens.fail(f"{name.text} is {known.dtype} elsewhere, here {dtype}", name)
        made.result = known
        return made

    def value(self) -> tuple[Any, str | None]:
        """Parse the text after ``=``. Return the statement without its result, and a dtype if the
        text names one."""
        t = self.tokens
        token = t.next
        nothing: Any = None
        if t.in_line("in"):
            return self.in_range(nothing), None
        if token.kind == "number" or t.is_at("-") or token.text in _WORDS:
            return Constant(nothing, self.literal()), None
        if t.is_at("(", 1):
            return self.called(nothing)
        if t.is_at("[", 1):
            return self.load(nothing), None
        if _ACCUMULATOR.fullmatch(token.text):
            t.at += 1
            return Finish(nothing, self.accumulator(token)), None
        a = self.use()
        name = _NAMES.get(t.next.text)
        if name is None:
            t.fail("expected one of " + " ".join(_NAMES) + f", got {_told(t.next)}")
        t.at += 1
        return Compute(nothing, name, (a, self.use())), None

    def literal(self) -> Any:
        """Parse a number."""
        t = self.tokens
        sign = -1 if t.has("-") else 1
        token = t.next
        if token.text in _WORDS:
            t.at += 1
            return -_WORDS[token.text] if sign < 0 else _WORDS[token.text]
        text = t.take("number", "a number").text
        return sign * (int(text) if text.isdigit() else float(text))

    def called(self, nothing: Any) -> tuple[Any, str | None]:
        """Parse a word of the vocabulary, or a conversion of a scalar or an index."""
        t = self.tokens
        name = t.take("word", "a word").text
        t.mark("(")
        if name in _DTYPES:
            if _SCALAR.fullmatch(t.next.text):
                made: Any = Compute(nothing, "convert", (self.use(),))
            else:
                made = IndexValue(nothing, self.index())
            t.mark(")")
            return made, name
        if t.next.kind == "string":
            name = self.named(name)
        args = [self.use()]
        while t.has(","):
            args.append(self.use())
        t.mark(")")
        return Compute(nothing, name, tuple(args)), None

    def named(self, name: str) -> str:
        """Parse a check with an error and its message, or a call with a function's name."""
        t = self.tokens
        word = f"{name}: {ast.literal_eval(t.take('string', 'a message').text)}"
        if not is_failure(failure_of(word)) and external(word) is None:
            t.fail(
                "expected ensure_ and the name of a builtin exception, or special and a function "
                f"of scipy.special, got {name}"
            )
        t.mark(",")
        return word

    def in_range(self, nothing: Any) -> InRange:
        t = self.tokens
        index = self.index()
        t.word("in")
        low = t.integer()
        t.mark("..")
        high = t.integer()
        step = t.integer() if t.has("step") else 1
        return InRange(nothing, index, low, high, step)

    def load(self, nothing: Any) -> Load | Gather:
        t = self.tokens
        buffer = self.buffer()
        t.mark("[")
        index, places = self.place()
        t.mark("]")
        guard = None
        if t.has("if"):
            guard = self.use()
            t.word("else")
            if t.integer("0") != 0:
                t.fail("what is not read is 0", t.all[t.at - 1])
        if places:
            return Gather(nothing, buffer, index, places, guard)
        return Load(nothing, buffer, index, guard)

    # -- index expressions --------------------------------------------------------

    def variable(self, token: Token, extent: int, stop: int) -> Var:
        """Return the variable of a loop, which several loops may use."""
        var = self.vars.get(token.text)
        if var is None:
            if _SCALAR.fullmatch(token.text) or _ACCUMULATOR.fullmatch(token.text):
                self.tokens.fail(f"{token.text} is not a valid name of a variable", token)
            var = self.vars[token.text] = Var(extent or stop)
        if extent:
            if token.text not in self.ends and var.extent != extent:
                self.tokens.fail(f"{token.text} has the range {var.extent} elsewhere", token)
            var.extent = extent
            self.ends.pop(token.text, None)
        else:
            self.ends[token.text] = var.extent = max(stop, self.ends.get(token.text, stop))
        return var

    def known_variable(self) -> Var:
        token = self.tokens.take("word", "a loop variable")
        if token.text not in self.vars:
            self.tokens.fail(f"no loop has the variable {token.text}", token)
        return self.vars[token.text]

    def index(self) -> Affine:
        """Parse an affine expression of loop variables."""
        index, places = self.place()
        if places:
            self.tokens.fail("a computed place cannot stand here")
        return index

    def place(self) -> tuple[Affine, tuple[Place, ...]]:
        """Parse an index, and the computed places in it."""
        t = self.tokens
        constant, terms, places = 0, list[tuple[Atom, int]](), list[Place]()
        sign = -1 if t.has("-") else 1
        while True:
            factor = sign
            if t.next.kind == "number":
                factor *= t.integer()
                atom = self.atom() if t.has("*") else None
            else:
                atom = self.atom()
            if atom is None:
                constant += factor
            elif isinstance(atom, Scalar):
                t.word("of")
                places.append(Place(atom, factor, t.integer("the range of a place")))
            else:
                terms.append((atom, factor))
            if not (t.is_at("+") or t.is_at("-")):
                self._in_order(terms)
                return Affine(constant, tuple(terms)), tuple(places)
            sign = -1 if t.has("-") else 1
            t.has("+")

    def atom(self) -> Atom | Scalar:
        t = self.tokens
        if t.has("("):
            t.mark("(")
            operand = self.index()
            t.mark(")")
            is_remainder = t.has("%")
            if not is_remainder:
                t.mark("//")
            divisor = t.integer("a divisor")
            t.mark(")")
            return Quotient(operand, divisor, is_remainder)
        if _SCALAR.fullmatch(t.next.text):
            return self.use()
        return self.known_variable()

    def _in_order(self, terms: list[tuple[Atom, int]]) -> None:
        found = [atom for atom, _ in terms if isinstance(atom, Var)]
        for first, second in pairwise(found):
            self.before.setdefault(second, set()).add(first)

    def order_variables(self) -> None:
        """Number variables so that sums of index expressions keep the written order."""
        done: dict[Var, None] = {}
        waiting: set[Var] = set()

        def visit(var: Var) -> None:
            if var not in done and var not in waiting:
                waiting.add(var)
                for first in sorted(self.before.get(var, ()), key=lambda v: v.serial):
                    visit(first)
                done[var] = None

        for var in self.vars.values():
            visit(var)
        serials = sorted(var.serial for var in done)
        for var, serial in zip(done, serials, strict=True):
            var.serial = serial


def _told(token: Token) -> str:
    return token.text or "the end of the line"
