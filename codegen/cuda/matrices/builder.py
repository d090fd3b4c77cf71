"""Helpers write loop nests, statement by statement.

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
        """The array of an operand whose elements have this dtype."""
        offset = operand.offset
        for index, stride in zip(batch, operand.strides, strict=False):
            offset = offset + index * stride
        return Array(operand.buffer, offset, operand.strides[len(batch) :], parts_of(dtype))

    @property
    def transposed(self) -> Array:
        """The array with its two axes exchanged."""
        return Array(self.buffer, self.offset, self.strides[::-1], self.parts)

    def place(self, index: Sequence[Index]) -> Affine:
        """The place of the first part of an element, counted in scalars."""
        total = self.offset
        for i, stride in zip(index, self.strides, strict=True):
            total = total + _affine(i) * stride
        return total * self.parts


def _affine(i: Index) -> Affine:
    return Affine(i) if isinstance(i, int) else i


class Code:
    """A list of statements, and methods that append to it."""

    def __init__(self, matrices: int = 1, matrix: Affine = Affine(0)) -> None:  # noqa: B008
        self.body: list[Any] = []
        #: Statements that run once for all matrices, before the others.
        self.before: list[Any] = []
        #: The number of matrices worked on at the same time, and the index of this one.
        self.matrices, self.matrix = matrices, matrix
        #: The bytes that the rows of one iteration of a loop may take in shared memory, if each
        #: loop over all elements is a separate launch.
        self.shared = 0
        #: The bytes of shared memory left for the block that works on a matrix, and the buffers
        #: already placed there.
        self.near = 0
        self.in_block: list[Buffer] = []

    def workspace(self, dtype: str, parts: int, *shape: int) -> Array:
        """A workspace for this matrix, in shared memory if there is room."""
        return self.room(dtype, parts, *shape) or self._apart(dtype, parts, *shape)

    def room(self, dtype: str, parts: int, *shape: int) -> Array | None:
        """Shared memory of the block that works on this matrix; None if there is no room."""
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
        """Run the statements written inside once for all matrices."""
        outside = self.body, self.matrices, self.matrix
        self.body, self.matrices, self.matrix = [], 1, Affine(0)
        yield
        self.before += self.body
        self.body, self.matrices, self.matrix = outside

    # -- loops and conditions ---------------------------------------------------------------

    @contextmanager
    def loop(self, count: int, role: str = "map") -> Iterator[Affine]:
        """Run the statements written inside for each number below ``count``."""
        var, outside = Var(max(1, count)), self.body
        self.body = []
        yield affine.of(var)
        made, self.body = self.body, outside
        if count:
            self.body.append(Loop(var, 0, count, made, role))

    @contextmanager
    def when(self, condition: Scalar) -> Iterator[None]:
        """Run the statements written inside if the condition holds."""
        number = self.compute("convert", condition, dtype="i64")
        outside, self.body = self.body, []
        yield
        made, self.body = self.body, outside
        self.body.append(Branch(number, [[], made]))

    # -- scalars ------------------------------------------------------------------------------

    def compute(self, name: str, *args: Scalar, dtype: str = "") -> Scalar:
        """Compute a word of the vocabulary; the dtype defaults to that of the last operand."""
        result = scalar(dtype or args[-1].dtype)
        self.body.append(Compute(result, name, args))
        return result

    def constant(self, value: Any, dtype: str) -> Scalar:
        """A constant."""
        result = scalar(dtype)
        self.body.append(Constant(result, value))
        return result

    def number(self, index: Affine, dtype: str = "i64") -> Scalar:
        """The value of an index expression."""
        result = scalar(dtype)
        self.body.append(IndexValue(result, index))
        return result

    def within(self, index: Affine, low: int, high: int) -> Scalar:
        """Whether an index is in ``low..high``."""
        result = scalar("bool")
        self.body.append(InRange(result, index, low, high))
        return result

    def compare(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        """A comparison."""
        return self.compute(name, x, y, dtype="bool")

    def fail(self, condition: Scalar, words: str) -> None:
        """Make the call fail with this message if the condition holds."""
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
        """A quotient; complex divisors are scaled, so that squares do not overflow."""
        if len(x) == 1:
            return self.over(x, y[0])
        size = self.compute("maximum", *(self.compute("abs", part) for part in y))
        small = self.over(y, size)
        return self.over(self.over(self.mul(x, self.conj(small)), self.squared(small)), size)

    def select(self, condition: Scalar, x: Number, y: Number) -> Number:
        return tuple(self.compute("select", condition, a, b) for a, b in zip(x, y, strict=True))

    # -- memory -------------------------------------------------------------------------------

    def load(self, array: Array, *index: Index) -> Number:
        """Load an element."""
        place = array.place(index)
        results = tuple(scalar(array.buffer.dtype) for _ in range(array.parts))
        self.body += [Load(r, array.buffer, place + k, None) for k, r in enumerate(results)]
        return results

    def load_where(self, condition: Scalar, array: Array, *index: Index) -> Number:
        """Load an element, or 0 if the condition does not hold."""
        place = array.place(index)
        made = [loaded(array.buffer, place + k, condition) for k in range(array.parts)]
        self.body += made
        return tuple(each.result for each in made)

    def store(self, array: Array, index: Sequence[Index], value: Number) -> None:
        """Store an element."""
        place = array.place(index)
        self.body += [Store(array.buffer, place + k, part) for k, part in enumerate(value)]

    def copy(self, source: Array, target: Array, *counts: int) -> None:
        """Copy all elements of one array to another."""
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
        """Load an element in a row whose number is computed."""
        places, index = self._computed(array, row, rows, rest)
        results = tuple(scalar(array.buffer.dtype) for _ in range(array.parts))
        self.body += [
            Gather(r, array.buffer, index + k, places, None) for k, r in enumerate(results)
        ]
        return results

    def store_row(
        self, array: Array, row: Scalar, rows: int, rest: Sequence[Index], value: Number
    ) -> None:
        """Store an element in a row whose number is computed."""
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
        """Write a loop with sums, one for each part of a number."""
        made = Sums(self, [self.begin(dtype, "add", 0.0) for _ in range(parts)])
        with self.loop(count, "reduce") as i:
            yield i, made
        made.totals = tuple(self.finish(a) for a in made.accumulators)


@dataclass
class Sums:
    """Sums that a loop adds to; after the loop, ``totals`` has their values."""

    code: Code
    accumulators: list[Accumulator]
    totals: Number = ()

    def add(self, value: Number) -> None:
        for a, part in zip(self.accumulators, value, strict=True):
            self.code.accumulate(a, part)
