"""Parses the text of loop programs (see GRAMMAR.md): declarations of memory, kernels and steps.

>>> print(parse_loops('''
... loops double:
...   input x: f64[3]
...   output y: f64[3]
...   kernel k0:
...     for i in 0..3:
...       s0 = x[i]         # a comment
...       s1 = s0 + s0
...       y[i] = s1
... '''), end="")
loops double:
  input x: f64[3]
  output y: f64[3]
  kernel k0:
    for i in 0..3:
      s0 = x[i]
      s1 = s0 + s0
      y[i] = s1
"""

from __future__ import annotations

import ast
from itertools import count
from typing import Any

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.program import ALIGNMENT, Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.types import DTYPE_NAMES

from .parse_statements import Statements
from .sheets import parse_sheet
from .tokens import ParseError, Token, Tokens

__all__ = ["ParseError", "parse_loops"]

#: The dtypes of scalars; a complex number is a pair of them.
_DTYPES = {name for name in DTYPE_NAMES.values() if name[0] != "c"}
_KINDS = ("input", "output", "temp", "tape", "local")


def parse_loops(text: str) -> LoopProgram:
    """Return the loop program that a text describes; raise ParseError with the line if it is wrong.

    It is not verified: see ``codegen.analysis.verifier.verify``.
    """
    return _Parser(Tokens(text)).program()


class _Parser:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.buffers: dict[str, Buffer] = {}
        self.numbers = count()
        self.temps: dict[Buffer, int] = {}
        self.taken: dict[Buffer, Buffer] = {}
        self.captured = 0

    def program(self) -> LoopProgram:
        t = self.tokens
        t.word("loops")
        name = self.name()
        t.mark(":")
        t.end_line()
        t.take("indent", "inputs, outputs and steps, which are indented")
        while t.next.text in _KINDS and t.next.kind == "word":
            self.buffer(_KINDS[:-1])
        steps: list[Any] = []
        while t.next.kind != "dedent":
            steps.append(self.kernel() if t.has("kernel") else self.step())
        t.take("dedent", "the end of the program")
        t.take("end", "the end of the text")
        every = self.buffers.values()
        values = next(self.numbers)
        for step in steps:
            if isinstance(step, Kernel):
                step.values = values
        own = [b for b in every if b.over is None]
        inputs, outputs = ([b for b in own if b.kind == k] for k in ("input", "output"))
        return LoopProgram(
            name, inputs, outputs, steps, self.temps, self.taken, self.arena(), self.captured
        )

    def name(self) -> str:
        if self.tokens.next.kind == "string":
            return str(ast.literal_eval(self.tokens.take("string", "a name").text))
        return self.tokens.take("word", "the name of the program").text

    def arena(self) -> int:
        """Return the bytes that temporaries take together."""
        ends = [
            offset - (-b.size * itemsize(b.dtype) // ALIGNMENT) * ALIGNMENT
            for b, offset in self.temps.items()
        ]
        return max(ends, default=0)

    # -- memory -----------------------------------------------------------------

    def buffer(self, kinds: tuple[str, ...]) -> Buffer:
        t = self.tokens
        first = t.next
        kind = t.take("word", f"one of {', '.join(kinds)}").text
        if kind not in kinds:
            t.fail(f"expected one of {', '.join(kinds)}, got {kind}", first)
        name = t.take("word", "the name of a buffer")
        t.mark(":")
        made = Buffer(name.text, self.dtype(), self.size(), kind)
        if t.has("over"):
            made.over = self.known()
        elif t.has("in"):
            made.over = self.taken[made] = self.known()
        elif kind == "input" and t.has_words("from", "outside"):
            self.captured += 1
        elif self.captured and kind == "input":
            t.fail("inputs from outside are the last ones", name)
        elif t.has_words("at", "byte"):
            self.temps[made] = t.integer("a number of bytes")
        t.end_line()
        return self.define(name, made)

    def define(self, name: Token, made: Buffer) -> Buffer:
        known = self.buffers.get(name.text)
        if known is None:
            self.buffers[name.text] = made
            return made
        same = made.kind == known.kind == "local" and made.over is known.over
        if not same or (made.dtype, made.size) != (known.dtype, known.size):
            self.tokens.fail(f"{name.text} is declared twice", name)
        return known

    def dtype(self) -> str:
        token = self.tokens.take("word", "a dtype like f64")
        if token.text not in _DTYPES:
            self.tokens.fail(f"there is no dtype {token.text} of scalars", token)
        return token.text

    def size(self) -> int:
        self.tokens.mark("[")
        size = self.tokens.integer("a number of scalars")
        self.tokens.mark("]")
        return size

    def known(self) -> Buffer:
        token = self.tokens.take("word", "the name of a buffer")
        if token.text not in self.buffers:
            self.tokens.fail(f"{token.text} is not declared before this line", token)
        return self.buffers[token.text]

    # -- steps ------------------------------------------------------------------

    def kernel(self) -> Kernel:
        t = self.tokens
        name = t.take("word", "the name of the kernel").text
        t.mark(":")
        t.end_line()
        if t.next.kind != "indent":
            return Kernel(name, [], [])
        t.take("indent", "the statements of the kernel")
        while t.is_at("local"):
            self.buffer(("local",))
        statements = Statements(t, self.known, self.numbers)
        body = statements.body()
        statements.finish()
        t.take("dedent", "the end of the kernel")
        return Kernel(name, body, buffers_of(body))

    def step(self) -> Any:
        """Parse a sheet, product or factorization outside of kernels."""
        if self.tokens.has("sheet"):
            return parse_sheet(self.tokens, self.known)
        return Statements(self.tokens, self.known, self.numbers).library_call()
