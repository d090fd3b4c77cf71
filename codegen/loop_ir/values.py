"""Operands of loop statements: buffers, scalars, accumulators, computed indices, matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.ir.core.affine import Affine
from autojit.ir.core.types import Type, dtype_from_name
from autojit.ir.core.values import Source


class Buffer:
    """A flat array of scalars.

    ``kind`` is ``input``, ``output``, ``temp`` (in the arena of the call), ``local`` (a few
    scalars, private to one iteration of the loops around it) or ``tape`` (``size`` scalars for each
    step of a loop of unknown length). ``over`` is the buffer whose memory it takes over, because
    the old value is no longer needed.
    """

    __slots__ = ("dtype", "kind", "name", "over", "size")

    def __init__(
        self, name: str, dtype: str, size: int, kind: str, over: Buffer | None = None
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.size = size
        self.kind = kind
        self.over = over

    @property
    def type(self) -> Type:
        """The type of an array that is exactly this memory."""
        return Type(dtype_from_name(self.dtype), (self.size,))

    def __repr__(self) -> str:
        return self.name


class Scalar:
    """A scalar that is assigned once. Its operators emit statements in the lowering that created
    it.

    ``source`` is the user's line that it was first created for, if known; it does not count in
    comparisons.
    """

    __slots__ = ("depth", "dtype", "kernel", "number", "source")

    def __init__(
        self, number: int, dtype: str, depth: int, kernel: Any, source: Source | None = None
    ) -> None:
        self.number = number
        self.dtype = dtype
        self.depth = depth
        self.kernel = kernel
        self.source = source

    def __repr__(self) -> str:
        return f"s{self.number}"

    def __add__(self, other: Any) -> Scalar:
        return self.kernel("add", self, other)

    def __sub__(self, other: Any) -> Scalar:
        return self.kernel("sub", self, other)

    def __mul__(self, other: Any) -> Scalar:
        return self.kernel("mul", self, other)

    def __truediv__(self, other: Any) -> Scalar:
        return self.kernel("div", self, other)

    def __neg__(self) -> Scalar:
        return self.kernel("neg", self)


@dataclass(slots=True)
class Place:
    """One computed index: ``stride * scalar``, within ``range(extent)``."""

    scalar: Scalar
    stride: int
    extent: int
    #: The scalar as an affine form of loop variables, if known; it is within the range.
    line: Affine | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Accumulator:
    """A scalar that a loop combines values into; long sums of float32 are kept in float64."""

    number: int
    dtype: str
    combine: str
    identity: Any
    #: The user's line of the value that it becomes.
    source: Source | None = field(default=None, compare=False, repr=False)


class Trips:
    """The number of iterations of a loop, known after it has run."""


@dataclass(slots=True)
class Operand:
    """A matrix in a buffer: offset, and strides in elements of (batch…, rows, columns)."""

    buffer: Buffer
    offset: Affine
    strides: tuple[int, ...]
