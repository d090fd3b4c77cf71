"""What statements of loops name: buffers, scalars, accumulators, computed places, matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.ir.core.affine import Affine
from autojit.ir.core.types import Type, dtype_from_name
from autojit.ir.core.values import Source


class Buffer:
    """A flat array of scalars.

    ``kind`` is ``input``, ``output``, ``temp`` (in the arena of the call), ``local`` (a few
    scalars, private to one iteration of the loops around it) or ``tape`` (``size`` scalars for
    each step of a loop whose number of steps is not known).  ``over`` is the buffer whose
    memory it takes over, where the old value is not needed any more.
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
        """The type of an array that is just this memory."""
        return Type(dtype_from_name(self.dtype), (self.size,))

    def __repr__(self) -> str:
        return self.name


class Scalar:
    """A scalar assigned once.  Operators compute in the lowering that made it.

    ``source`` is the user's line that it was first made for, if that is known; it is no part of
    what the scalar is.
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
    #: Where known, the scalar as a form of the loops' variables, which is within the range.
    line: Affine | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Accumulator:
    """A scalar that a loop combines values into; long sums of float32 are kept in float64."""

    number: int
    dtype: str
    combine: str
    identity: Any
    #: The user's line whose value it becomes.
    source: Source | None = field(default=None, compare=False, repr=False)


class Trips:
    """How often a loop ran, known when it has."""


@dataclass(slots=True)
class Operand:
    """A matrix in a buffer: offset, and strides in elements of (batch…, rows, columns)."""

    buffer: Buffer
    offset: Affine
    strides: tuple[int, ...]
