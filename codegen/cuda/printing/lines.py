"""The lines of one kernel, and the names in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from autojit.codegen.cuda.device_program.nodes import (
    DeviceKernel,
)
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar, Trips
from autojit.ir.core.affine import Affine, Quotient, Var

from .words import Words

_LETTERS = "ijklmpqr"


class Lines:
    """The lines of one kernel, and the names of its scalars and loop variables."""

    def __init__(
        self, kernel: DeviceKernel, words: Words, buffer: Callable[[Buffer], str],
        places: dict[str, int], small: bool,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.is_elastic = kernel.is_elastic
        self.words = words
        self.name = buffer
        #: The place of each failure in the status.
        self.places = places
        #: The type of loop variables, and of indices.
        self.integer, self.unsigned = (
            ("np.int32", "np.uint32") if small else ("np.int64", "np.uint64")
        )
        self.lines: list[str] = []
        self._indent = 1
        self._scalars: dict[int, str] = {}
        self._count = 0
        #: The number of variables for the first index of neighbours so far.
        self._firsts = 0
        #: The number of shares of loops around the statement that is printed.
        self._shares = 0
        self._vars = {kernel.block: "cuda.blockIdx.x", kernel.thread: "cuda.threadIdx.x"}
        #: The ranges of variables.
        self._bounds = {kernel.block: (0, kernel.grid - 1), kernel.thread: (0, kernel.threads - 1)}
        self._accumulators: dict[int, str] = {}
        self._trips: dict[Trips, str] = {}
        #: Whether the kernel may fail, in which case it sets a flag in the array `status`.
        self.can_fail = False

    # -- lines and names ----------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Indent lines under a header."""
        self.line(header)
        self._indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:  # constants take no line
            self.line("pass")
        self._indent -= 1

    def first_thread(self) -> AbstractContextManager[None]:
        """Let only the first thread of a block run the lines."""
        alone = self.kernel.threads == 1
        return nullcontext() if alone else self.block("if cuda.threadIdx.x == 0:")

    def scalar(self, s: Scalar) -> str:
        return self._scalars[s.number]

    def define(self, s: Scalar, text: str) -> None:
        """Add the line ``s0 = text``."""
        name = self._scalars.get(s.number)
        if name is None or not name.startswith("s"):
            name = self._scalars[s.number] = f"s{self._count}"
            self._count += 1
        self.line(f"{name} = {text}")

    def buffer(self, buffer: Buffer) -> str:
        """The name of the memory of a buffer."""
        return self.name(memory(buffer))

    def var(self, v: Var) -> str:
        number = len(self._vars) - 2
        letter = _LETTERS[number] if number < len(_LETTERS) else f"i{number}"
        return self._vars.setdefault(v, letter)

    def accumulator(self, a: Accumulator) -> str:
        return self._accumulators.setdefault(a.number, f"a{len(self._accumulators)}")

    def trips(self, t: Trips) -> str:
        return self._trips.setdefault(t, f"trips{len(self._trips)}")

    def value(self, index: Affine) -> str:
        """The source of an index expression."""
        parts = []
        for atom, c in index.terms:
            word = self.var(atom) if isinstance(atom, Var) else self.quotient(atom)
            parts.append({1: word, -1: f"-{word}"}.get(c, f"{c} * {word}"))
        if index.constant or not parts:
            parts.append(str(index.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def quotient(self, q: Quotient) -> str:
        """The source of a division of a number that is not negative."""
        return f"{self.integer}({self.divided(q)})"

    def divided(self, q: Quotient) -> str:
        """The same as an unsigned number."""
        sign, operand = "%" if q.remainder else "//", self.value(q.operand)
        match q.operand:
            case Affine(0, ((Quotient() as inner, 1),)):
                return f"{self.divided(inner)} {sign} {self.unsigned}({q.divisor})"
        return f"{self.unsigned}({operand}) {sign} {self.unsigned}({q.divisor})"

    def cast(self, index: Affine) -> str:
        """The source of an index expression in the type of loop variables."""
        match index:
            case Affine(0, ((Quotient() as only, 1),)):
                return self.quotient(only)
        return f"{self.integer}({self.value(index)})"

    def index(self, index: Affine) -> str:
        """The source of the index of an element.

        The index of a part of a complex number is written as 2 times the complex index, in 64 bits.
        So LLVM sees that the parts are neighbours, and that the first index is a multiple of 2,
        whatever it knows about variables.
        """
        if not index.terms:
            return self.value(index)
        if index.constant in (0, 1) and all(c % 2 == 0 for _, c in index.terms):
            half = Affine(0, tuple((atom, c // 2) for atom, c in index.terms))
            if half.range(self._bounds)[0] >= 0:
                first = self.multiple(2, half)
                return f"{first} + np.uint64(1)" if index.constant else first
        return f"{self.unsigned}({self.value(index)})"

    def multiple(self, count: int, index: Affine) -> str:
        """The source of a multiple of an index that is not negative, in 64 bits.

        It is extended as a signed number, as the translation extends an index
        (``Expressions.place``).
        """
        return f"np.uint64({count}) * np.uint64({self.cast(index)})"
