"""Parses matrix products and factorizations."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.ir.core.affine import Affine
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.core.types import DTYPE_NAMES, dtype_from_name

from .parse_scalars import Scalars
from .tokens import Tokens

_DTYPES = set(DTYPE_NAMES.values())
_WORDS = {"True": True, "False": False, "None": None}


class Calls:
    """Parses products and factorizations; indices are those of the surrounding kernel."""

    def __init__(self, tokens: Tokens, buffer: Callable[[], Buffer], scalars: Scalars) -> None:
        self.tokens = tokens
        self.buffer = buffer
        self.scalars = scalars

    def call(self) -> MatrixProduct | Factorization:
        t = self.tokens
        results = self.operands()
        t.mark("=")
        return self.factorization(results) if t.is_at("(", 1) else self.product(results)

    def operands(self) -> list[tuple[Operand, bool]]:
        found = [self.operand()]
        while self.tokens.has(","):
            found.append(self.operand())
        return found

    def operand(self) -> tuple[Operand, bool]:
        """Parse a matrix in memory. Return it, and whether its strides are written."""
        t = self.tokens
        buffer, offset = self.buffer(), Affine(0)
        if t.has("["):
            offset = self.scalars.index()
            t.mark(":", "]")
        written = t.has("by")
        return Operand(buffer, offset, self.integers() if written else ()), written

    def integers(self) -> tuple[int, ...]:
        t = self.tokens
        found = []
        t.mark("(")
        while not t.has(")"):
            found.append(t.integer())
            if not t.has(","):
                t.mark(")")
                break
        return tuple(found)

    def batch(self) -> tuple[int, ...]:
        """Parse the batch before the sizes of one matrix."""
        if not self.tokens.is_at("("):
            return ()
        found = self.integers()
        self.tokens.word("x")
        return found

    def sizes(self) -> tuple[int, int]:
        t = self.tokens
        t.mark("[")
        rows = t.integer("a number of rows")
        t.mark(",")
        columns = t.integer("a number of columns")
        t.mark("]")
        return rows, columns

    # -- products -----------------------------------------------------------------

    def product(self, results: list[tuple[Operand, bool]]) -> MatrixProduct:
        t = self.tokens
        a, a_written = self.operand()
        t.mark("@")
        b, b_written = self.operand()
        t.mark("{")
        batch, first = self.batch(), t.next
        m, k = self.sizes()
        t.mark("@")
        rows, n = self.sizes()
        if rows != k or len(results) != 1:
            t.fail("the sizes of the matrices do not fit", first)
        if not a_written:
            a.strides = row_major_strides((*batch, m, k))
        if not b_written:
            b.strides = row_major_strides((*batch, k, n))
        ((c, _),) = results
        made = MatrixProduct(c.buffer.dtype, batch, m, n, k, a, b, c.buffer, c.offset)
        self.way(made)
        t.mark("}")
        return made

    def way(self, made: MatrixProduct) -> None:
        t = self.tokens
        while t.has(","):
            token = t.next
            if t.has("panel"):
                made.panel, _ = self.operand()
            elif t.has("share"):
                made.share = self.scalars.known_variable()
            elif t.has("tiles"):
                made.tiled = True
            elif t.has("blocks"):
                made.tiled = made.blocked = True
            elif token.text in _DTYPES:
                t.at += 1
                made.dtype = token.text
            elif not t.has("BLAS"):
                t.fail("expected BLAS, tiles, blocks, panel …, share … or a dtype, got "
                       f"{token.text}")  # fmt: skip

    # -- factorizations -----------------------------------------------------------

    def factorization(self, results: list[tuple[Operand, bool]]) -> Factorization:
        t = self.tokens
        name = t.take("word", "the name of a factorization").text
        t.mark("(")
        inputs = self.operands()
        t.mark(")", "{")
        batch = self.batch()
        m, n = self.sizes()
        dtype, k, params = inputs[0][0].buffer.dtype, 0, dict[str, Any]()
        gives: list[str] = []
        while t.has(","):
            token = t.next
            if token.kind == "number":
                k = t.integer()
                t.word("right")
                t.mark("-")
                t.word("hand", "sides")
            elif token.text in _DTYPES and not t.is_at("=", 1):
                t.at += 1
                dtype = token.text
            elif t.has("gives"):
                while t.next.text in _DTYPES:
                    gives.append(t.take("word", "a dtype").text)
            else:
                word = t.take("word", "the name of a parameter").text
                t.mark("=")
                params[word] = self.static()
        t.mark("}")
        taken, made = (tuple(o for o, _ in found) for found in (inputs, results))
        return Factorization(name, dtype, batch, m, n, k, params, taken, made, tuple(gives))

    def static(self) -> Any:
        """Parse a parameter."""
        t = self.tokens
        token = t.next
        if t.has("("):
            found = []
            while not t.has(")"):
                found.append(self.static())
                if not t.has(","):
                    t.mark(")")
                    break
            return tuple(found)
        if token.kind == "string":
            t.at += 1
            return ast.literal_eval(token.text)
        if token.text in _WORDS:
            t.at += 1
            return _WORDS[token.text]
        if token.text in _DTYPES:
            t.at += 1
            return dtype_from_name(token.text)
        return self.scalars.literal()
