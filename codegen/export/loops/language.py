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
    """Raise TargetError for a dtype of 16 bits, which the languages lack or have in parts."""
    if dtype in HALVES:
        name = "float16" if dtype == "f16" else "bfloat16"
        raise TargetError(
            f"{name} cannot be written {language}. "
            'target="numpy" writes float16; for others convert first: x.astype(np.float32)'
        )


class Language:
    """How lines look in a language."""

    #: The margin of a block, the end of a statement, and operators.
    margin, end, also, divided = "  ", ";", " && ", "/"
    #: What error messages say of the language.
    language = "in C"

    def block(self, header: str) -> AbstractContextManager[None]:
        """Lines below a header."""
        raise NotImplementedError

    def counted(self, name: str, stop: Any, start: Any = 0) -> AbstractContextManager[None]:
        """The lines of a loop."""
        raise NotImplementedError

    def expression(
        self, name: str, args: list[Expression], operand: str, result: str
    ) -> Expression:
        """A word of the scalar vocabulary."""
        raise NotImplementedError

    def number(self, value: Any, dtype: str) -> Expression:
        raise NotImplementedError

    def choice(self, condition: str, yes: str, dtype: str) -> Expression:
        """A value where a condition holds, and 0 where not."""
        raise NotImplementedError

    def bounded(self, place: str, extent: int) -> str:
        """A computed place, which fails where it is out of bounds."""
        raise NotImplementedError

    def check(self, condition: str, word: str) -> None:
        """A failure where a condition does not hold."""
        raise NotImplementedError

    def defined(self, name: str, dtype: str, text: str) -> str:
        """The line that sets a scalar."""
        raise NotImplementedError

    def started(self, name: str, dtype: str, text: str) -> str:
        """The line that starts an accumulator."""
        raise NotImplementedError

    def at(self, place: str, dtype: str) -> str:
        """A name for an element of a buffer whose place is computed."""
        raise NotImplementedError

    def product(self, s: MatrixProduct) -> None:
        raise NotImplementedError

    def arguments(self, s: Factorization) -> str | None:
        """What the function of a factorization takes: sizes, matrices (with where they begin; with
        a plus, their strides, too), parameters and the status.  None where there is none."""
        raise NotImplementedError

    def matrix(self, buffer: str, terms: list[str]) -> list[str]:
        """The arguments for a matrix that begins at a sum of terms."""
        raise NotImplementedError

    def setting(self, name: str, value: Any) -> str:
        """A parameter of a factorization."""
        raise NotImplementedError

    def call(self, s: Factorization, arguments: str) -> str:
        """The call of a helper for one matrix."""
        raise NotImplementedError

    def swap(self, s: Swap) -> None:
        raise NotImplementedError

    def repeat(self, s: Repeat) -> None:
        raise NotImplementedError

    def backwards(self, name: str, stop: str) -> AbstractContextManager[None]:
        """The lines of a loop from the last number to 0."""
        raise NotImplementedError

    def case(self, condition: str | None, *, first: bool) -> AbstractContextManager[None]:
        """The lines of one of several cases; that of all others has no condition."""
        raise NotImplementedError

    def release(self, s: Release) -> None:
        raise NotImplementedError

    def keep(self, s: Keep) -> None:
        raise NotImplementedError

    def recall(self, s: Recall) -> None:
        raise NotImplementedError
