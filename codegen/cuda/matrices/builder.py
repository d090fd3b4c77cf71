"""Loop nests written by functions.

with code.loop(n) as i:
    x = code.load(a, i, i)
    code.store(b, (i, i), code.div(x, y))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Fail
from autojit.codegen.cuda.device_program.numbers import accumulator, loaded, scalar
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import parts_of
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Begin,
    Compute,
    Constant,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Place, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides

#: A number: one scalar, or a real and an imaginary part.
Number = tuple[Scalar, ...]
Index = Affine | int


@dataclass(frozen=True)
class Array:
    """An operand at one position of the batch; its strides are those of the other axes."""

    buffer: Buffer
    offset: Affine
    strides: tuple[int, ...]
    parts: int

    @staticmethod
    def of(operand: Operand, batch: Sequence[Affine], dtype: str) -> Array:
        """An operand of elements of a dtype."""
        offset = operand.offset
        for index, stride in zip(batch, operand.strides, strict=False):
            offset = offset + index * stride
        return Array(operand.buffer, offset, operand.strides[len(batch) :], parts_of(dtype))

    @property
    def transposed(self) -> Array:
        """The array with its two axes exchanged."""
        return Array(self.buffer, self.offset, self.strides[::-1], self.parts)

    def place(self, index: Sequence[Index]) -> Affine:
        """Where the first part of an element lies."""
        total = self.offset
        for i, stride in zip(index, self.strides, strict=True):
            total = total + _affine(i) * stride
        return total * self.parts


def _affine(i: Index) -> Affine:
    return Affine(i) if isinstance(i, int) else i


class Code:
    """Statements, written one after another."""

    def __init__(self, matrices: int = 1, matrix: Affine = Affine(0)) -> None:  # noqa: B008
        self.body: list[Any] = []
        #: What is done once for all matrices, before.
        self.before: list[Any] = []
        #: How many matrices are worked on at the same time, and the number of this one.
        self.matrices, self.matrix = matrices, matrix
        #: The bytes that the rows of one iteration of a loop may take in shared memory, where loops
        #: over all elements are launches of their own.
        self.shared = 0
        #: The bytes of shared memory that are left for a matrix that a block works on, and what is
        #: there.
        self.near = 0
        self.in_block: list[Buffer] = []

    def workspace(self, dtype: str, parts: int, *shape: int) -> Array:
        """Memory to work in, for this matrix."""
        return self.room(dtype, parts, *shape) or self._apart(dtype, parts, *shape)

    def room(self, dtype: str, parts: int, *shape: int) -> Array | None:
        """Shared memory of the block that works on this matrix, if there is room."""
        size = prod(shape) * parts
        if size * itemsize(dtype) > self.near:
            return None
        self.near -= size * itemsize(dtype)
        made = Buffer("room", dtype, size, "shared")
        self.in_block.append(made)
        return Array(made, Affine(0), row_major_strides(shape), parts)

    def _apart(self, dtype: str, parts: int, *shape: int) -> Array:
        size, strides = prod(shape), row_major_strides(shape)
        made = Buffer("work", dtype, self.matrices * size * parts, "temp")
        return Array(made, self.matrix * size, strides, parts)

    @contextmanager
    def once(self) -> Iterator[None]:
        """What is written inside is done once for all matrices."""
        outside = self.body, self.matrices, self.matrix
        self.body, self.matrices, self.matrix = [], 1, Affine(0)
        yield
        self.before += self.body
        self.body, self.matrices, self.matrix = outside

    # -- loops and conditions ---------------------------------------------------------------

    @contextmanager
    def loop(self, count: int, role: str = "map") -> Iterator[Affine]:
        """What is written inside is done for each number below ``count``."""
        var, outside = Var(max(1, count)), self.body
        self.body = []
        yield affine.of(var)
        made, self.body = self.body, outside
        if count:
            self.body.append(Loop(var, 0, count, made, role))

    @contextmanager
    def when(self, condition: Scalar) -> Iterator[None]:
        """What is written inside is done where the condition holds."""
        number = self.compute("convert", condition, dtype="i64")
        outside, self.body = self.body, []
        yield
        made, self.body = self.body, outside
        self.body.append(Branch(number, [[], made]))

    # -- scalars ------------------------------------------------------------------------------

    def compute(self, name: str, *args: Scalar, dtype: str = "") -> Scalar:
        """A word of the vocabulary; the dtype is that of the operands unless given."""
        result = scalar(dtype or args[-1].dtype)
        self.body.append(Compute(result, name, args))
        return result

    def constant(self, value: Any, dtype: str) -> Scalar:
        """A number."""
        result = scalar(dtype)
        self.body.append(Constant(result, value))
        return result

    def number(self, index: Affine, dtype: str = "i64") -> Scalar:
        """The value of an index."""
        result = scalar(dtype)
        self.body.append(IndexValue(result, index))
        return result

    def within(self, index: Affine, low: int, high: int) -> Scalar:
        """Whether an index is in a range."""
        result = scalar("bool")
        self.body.append(InRange(result, index, low, high))
        return result

    def compare(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        """A comparison."""
        return self.compute(name, x, y, dtype="bool")

    def fail(self, condition: Scalar, words: str) -> None:
        """The call fails where the condition holds."""
        self.body.append(Fail(condition, words))

    # -- numbers ------------------------------------------------------------------------------

    def add(self, x: Number, y: Number) -> Number:
        return tuple(self.compute("add", a, b) for a, b in zip(x, y, strict=True))

    def sub(self, x: Number, y: Number) -> Number:
        return tuple(self.compute("sub", a, b) for a, b in zip(x, y, strict=True))

    def conj(self, x: Number) -> Number:
        return x if len(x) == 1 else (x[0], self.compute("neg", x[1]))

    def scale(self, x: Number, factor: Scalar) -> Number:
        return tuple(self.compute("mul", part, factor) for part in x)

    def over(self, x: Number, divisor: Scalar) -> Number:
        return tuple(self.compute("div", part, divisor) for part in x)

    def mul(self, x: Number, y: Number) -> Number:
        if len(x) == 1:
            return self.scale(x, y[0])
        real = self.compute("sub", self.scale(x, y[0])[0], self.compute("mul", x[1], y[1]))
        first, second = self.compute("mul", x[0], y[1]), self.compute("mul", x[1], y[0])
        return real, self.compute("add", first, second)

    def squared(self, x: Number) -> Scalar:
        """The square of the absolute value."""
        parts = [self.compute("mul", part, part) for part in x]
        return parts[0] if len(parts) == 1 else self.compute("add", *parts)

    def absolute(self, x: Number) -> Scalar:
        """The absolute value."""
        return self.compute("abs", x[0]) if len(x) == 1 else self.compute("hypot", *x)

    def div(self, x: Number, y: Number) -> Number:
        """A quotient; complex divisors are scaled, so that no square is too large."""
        if len(x) == 1:
            return self.over(x, y[0])
        size = self.compute("maximum", *(self.compute("abs", part) for part in y))
        small = self.over(y, size)
        return self.over(self.over(self.mul(x, self.conj(small)), self.squared(small)), size)

    def select(self, condition: Scalar, x: Number, y: Number) -> Number:
        return tuple(self.compute("select", condition, a, b) for a, b in zip(x, y, strict=True))

    # -- memory -------------------------------------------------------------------------------

    def load(self, array: Array, *index: Index) -> Number:
        """An element."""
        place = array.place(index)
        results = tuple(scalar(array.buffer.dtype) for _ in range(array.parts))
        self.body += [Load(r, array.buffer, place + k, None) for k, r in enumerate(results)]
        return results

    def load_where(self, condition: Scalar, array: Array, *index: Index) -> Number:
        """An element, or 0 where the condition does not hold."""
        place = array.place(index)
        made = [loaded(array.buffer, place + k, condition) for k in range(array.parts)]
        self.body += made
        return tuple(each.result for each in made)

    def store(self, array: Array, index: Sequence[Index], value: Number) -> None:
        """Set an element."""
        place = array.place(index)
        self.body += [Store(array.buffer, place + k, part) for k, part in enumerate(value)]

    def copy(self, source: Array, target: Array, *counts: int) -> None:
        """All elements of one array to another."""
        outside, loops = self.body, []
        for count in counts:
            loops.append(Var(max(1, count)))
        index = [affine.of(v) for v in loops]
        self.body = []
        self.store(target, index, self.load(source, *index))
        made, self.body = self.body, outside
        for var, count in zip(reversed(loops), reversed(counts), strict=True):
            made = [Loop(var, 0, count, made, "map")] if count else []
        self.body += made

    def load_row(self, array: Array, row: Scalar, rows: int, *rest: Index) -> Number:
        """An element in a row that is computed."""
        places, index = self._computed(array, row, rows, rest)
        results = tuple(scalar(array.buffer.dtype) for _ in range(array.parts))
        self.body += [
            Gather(r, array.buffer, index + k, places, None) for k, r in enumerate(results)
        ]
        return results

    def store_row(
        self, array: Array, row: Scalar, rows: int, rest: Sequence[Index], value: Number
    ) -> None:
        """Set an element in a row that is computed."""
        places, index = self._computed(array, row, rows, rest)
        self.body += [
            ScatterInto(array.buffer, index + k, places, "set", part)
            for k, part in enumerate(value)
        ]

    def _computed(
        self, array: Array, row: Scalar, rows: int, rest: Sequence[Index]
    ) -> tuple[tuple[Place, ...], Affine]:
        place = Place(row, array.strides[0] * array.parts, rows)
        return (place,), array.place([0, *rest])

    # -- reductions ---------------------------------------------------------------------------

    def begin(self, dtype: str, combine: str, identity: Any) -> Accumulator:
        made = accumulator(dtype, combine, identity)
        self.body.append(Begin(made))
        return made

    def accumulate(self, a: Accumulator, value: Scalar) -> None:
        self.body.append(Accumulate(a, value))

    def finish(self, a: Accumulator) -> Scalar:
        result = scalar(a.dtype)
        self.body.append(Finish(result, a))
        return result

    @contextmanager
    def sums(self, count: int, dtype: str, parts: int) -> Iterator[tuple[Affine, Sums]]:
        """Sums over a loop, one a part."""
        made = Sums(self, [self.begin(dtype, "add", 0.0) for _ in range(parts)])
        with self.loop(count, "reduce") as i:
            yield i, made
        made.totals = tuple(self.finish(a) for a in made.accumulators)


@dataclass
class Sums:
    """Sums that a loop adds to; ``totals`` has them behind the loop."""

    code: Code
    accumulators: list[Accumulator]
    totals: Number = ()

    def add(self, value: Number) -> None:
        for a, part in zip(self.accumulators, value, strict=True):
            self.code.accumulate(a, part)
