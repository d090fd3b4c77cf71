"""The description of a language for printers of loop nests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from autojit.codegen.export.text.expressions import Expression
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.sequences import Keep, Recall, Release, Repeat, Swap
from autojit.codegen.loop_ir.vocabulary import HALVES


def refuse_halves(dtype: str, language: str) -> None:
    """Raise TargetError for a 16-bit dtype, which the languages lack or support only in part."""
    if dtype in HALVES:
        name = "float16" if dtype == "f16" else "bfloat16"
        raise TargetError(
            f"{name} cannot be written {language}. "
            'target="numpy" writes float16; for others convert first: x.astype(np.float32)'
        )


class Language:
    """The syntax of a language."""

    #: The margin of a block, the end of a statement, and operators.
    margin, end, also, divided = "  ", ";", " && ", "/"
    #: The name of the language in error messages.
    language = "in C"

    def block(self, header: str) -> AbstractContextManager[None]:
        """Write lines below a header."""
        raise NotImplementedError

    def counted(self, name: str, stop: Any, start: Any = 0) -> AbstractContextManager[None]:
        """Write the lines of a loop."""
        raise NotImplementedError

    def expression(
        self, name: str, args: list[Expression], operand: str, result: str
    ) -> Expression:
        """Return an operation of the scalar vocabulary."""
        raise NotImplementedError

    def number(self, value: Any, dtype: str) -> Expression:
        raise NotImplementedError

    def choice(self, condition: str, yes: str, dtype: str) -> Expression:
        """Return a value if a condition holds, else 0."""
        raise NotImplementedError

    def bounded(self, place: str, extent: int) -> str:
        """Return a computed place, which fails if it is out of bounds."""
        raise NotImplementedError

    def check(self, condition: str, word: str) -> None:
        """Write a failure for the case that a condition does not hold."""
        raise NotImplementedError

    def defined(self, name: str, dtype: str, text: str) -> str:
        """Return the line that defines a scalar."""
        raise NotImplementedError

    def started(self, name: str, dtype: str, text: str) -> str:
        """Return the line that initializes an accumulator."""
        raise NotImplementedError

    def at(self, place: str, dtype: str) -> str:
        """Name an element of a buffer whose place is computed."""
        raise NotImplementedError

    def product(self, s: MatrixProduct) -> None:
        raise NotImplementedError

    def arguments(self, s: Factorization) -> str | None:
        """Return the arguments of a factorization's function: sizes, matrices with their offsets
        (and strides, if marked with a plus), parameters and the status; None if there is none."""
        raise NotImplementedError

    def matrix(self, buffer: str, terms: list[str]) -> list[str]:
        """Return the arguments for a matrix whose offset is a sum of terms."""
        raise NotImplementedError

    def setting(self, name: str, value: Any) -> str:
        """Return a parameter of a factorization."""
        raise NotImplementedError

    def call(self, s: Factorization, arguments: str) -> str:
        """Return the call of a helper for one matrix."""
        raise NotImplementedError

    def swap(self, s: Swap) -> None:
        raise NotImplementedError

    def repeat(self, s: Repeat) -> None:
        raise NotImplementedError

    def backwards(self, name: str, stop: str) -> AbstractContextManager[None]:
        """Write the lines of a loop from the last number to 0."""
        raise NotImplementedError

    def case(self, condition: str | None, *, first: bool) -> AbstractContextManager[None]:
        """Write the lines of one of several cases; the default case has no condition."""
        raise NotImplementedError

    def release(self, s: Release) -> None:
        raise NotImplementedError

    def keep(self, s: Keep) -> None:
        raise NotImplementedError

    def recall(self, s: Recall) -> None:
        raise NotImplementedError
