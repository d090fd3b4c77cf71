"""Loop nests: the target-neutral program that every backend prints.

A :class:`LoopProgram` is a list of steps: kernels (loop nests over scalars) and
library calls.  Scalars are assigned once.  Index expressions are affine in loop
variables (see ``affine``); buffers are flat, in elements.  Complex numbers are
pairs of real scalars; a complex buffer holds real and imaginary parts in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .affine import Affine, Var


class Buffer:
    """A flat array of scalars.

    ``kind`` is ``input``, ``output``, ``temp`` (in the arena of the call) or
    ``local`` (a few scalars, private to one iteration of the loops around it).
    """

    __slots__ = ("dtype", "kind", "name", "size")

    def __init__(self, name: str, dtype: str, size: int, kind: str) -> None:
        self.name = name
        self.dtype = dtype
        self.size = size
        self.kind = kind

    def __repr__(self) -> str:
        return self.name


class Scalar:
    """A scalar assigned once.  Operators compute in the lowering that made it."""

    __slots__ = ("depth", "dtype", "kernel", "number")

    def __init__(self, number: int, dtype: str, depth: int, kernel: Any) -> None:
        self.number = number
        self.dtype = dtype
        self.depth = depth
        self.kernel = kernel

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
class Compute:
    """``result = name(args)`` in the scalar vocabulary."""

    result: Scalar
    name: str
    args: tuple[Scalar, ...]


@dataclass(slots=True)
class Constant:
    result: Scalar
    value: Any


@dataclass(slots=True)
class IndexValue:
    """The value of an index expression as a number."""

    result: Scalar
    index: Affine


@dataclass(slots=True)
class InRange:
    """``low <= index < high`` (and ``index - low`` a multiple of ``step``) as a bool."""

    result: Scalar
    index: Affine
    low: int
    high: int
    step: int = 1


@dataclass(slots=True)
class Load:
    """``result = buffer[index]``; where the guard is false nothing is read and it is 0."""

    result: Scalar
    buffer: Buffer
    index: Affine
    guard: Scalar | None


@dataclass(slots=True)
class Gather:
    """``result = buffer[index + sum(stride * place)]``, the places being computed scalars.

    A place outside of ``range(extent)`` reads element 0 and marks the call as failed
    (only where the guard holds).
    """

    result: Scalar
    buffer: Buffer
    index: Affine
    places: tuple[Place, ...]
    guard: Scalar | None


@dataclass(slots=True)
class Place:
    """One computed index: ``stride * scalar``, within ``range(extent)``."""

    scalar: Scalar
    stride: int
    extent: int


@dataclass(slots=True)
class ScatterAdd:
    """``buffer[index + sum(stride * place)] += value``; places may repeat."""

    buffer: Buffer
    index: Affine
    places: tuple[Place, ...]
    value: Scalar


@dataclass(slots=True)
class Store:
    buffer: Buffer
    index: Affine
    value: Scalar


@dataclass(slots=True)
class AccumulateInto:
    """``buffer[index] = combine(buffer[index], value)``."""

    buffer: Buffer
    index: Affine
    combine: str
    value: Scalar


@dataclass(slots=True)
class Fill:
    """``count`` elements of a buffer from ``start`` on are set to a value."""

    buffer: Buffer
    start: Affine
    count: int
    value: Any


@dataclass(slots=True)
class Accumulator:
    """A scalar that a loop combines values into; sums of float32 are kept in float64."""

    number: int
    dtype: str
    combine: str
    identity: Any


@dataclass(slots=True)
class Begin:
    """The accumulator starts from its neutral element."""

    accumulator: Accumulator


@dataclass(slots=True)
class Accumulate:
    accumulator: Accumulator
    value: Scalar


@dataclass(slots=True)
class Finish:
    """``result`` is the accumulated value."""

    result: Scalar
    accumulator: Accumulator


@dataclass(slots=True)
class Loop:
    """``for var in range(start, stop): body``.

    ``role`` says how iterations depend on each other: ``map`` (not at all),
    ``reduce`` (only through accumulators and AccumulateInto).
    """

    var: Var
    start: int
    stop: int
    body: list[Any]
    role: str
    unroll: bool = False
    #: Where given, only the task's share of the range is run over.
    share: Var | None = None


@dataclass(slots=True)
class Tasks:
    """``count`` independent runs of a body, which may use the task's number ``var``."""

    var: Var
    count: int
    body: list[Any]
    buffers: list[Buffer]


@dataclass(slots=True)
class RunTasks:
    """All tasks are run, in any order or at the same time."""

    tasks: Tasks


@dataclass(slots=True)
class Kernel:
    """A loop nest with what comes before and after it."""

    name: str
    body: list[Any]
    buffers: list[Buffer]
    values: int = 0


@dataclass(slots=True)
class Operand:
    """A matrix in a buffer: offset, and strides in elements of (batch…, rows, columns)."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]


@dataclass(slots=True)
class MatrixProduct:
    """``c[batch] = a[batch] @ b[batch]`` by the BLAS; c is row-major and contiguous."""

    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    c: Buffer


@dataclass(slots=True)
class Factorization:
    """A linear algebra op on every matrix of a batch.

    A matrix has ``m`` rows and ``n`` columns; ``k`` is the number of right-hand sides. The results
    are row-major and contiguous, ``shapes`` those for one element of the batch; so are the
    matrices of all inputs but the last, whose strides are free.
    """

    name: str
    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    outputs: tuple[Buffer, ...]
    shapes: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class LoopProgram:
    """Everything that one call runs."""

    name: str
    inputs: list[Buffer]
    outputs: list[Buffer]
    steps: list[Kernel | MatrixProduct | Factorization]
    temps: dict[Buffer, int] = field(default_factory=dict)
    arena: int = 0
    flops: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        from .loop_text import print_loops

        return print_loops(self)

    @property
    def loop_count(self) -> int:
        """How many outermost loops the program runs (library calls not counted)."""
        return sum(
            isinstance(s, (Loop, RunTasks))
            for k in self.steps
            if isinstance(k, Kernel)
            for s in k.body
        )


def walk(body: list[Any]) -> Iterator[Any]:
    """Every statement, loops before their bodies."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from walk(statement.body)
        elif isinstance(statement, RunTasks):
            yield from walk(statement.tasks.body)


def used(statement: Any) -> list[Scalar]:
    """The scalars that a statement reads."""
    found = list(getattr(statement, "args", ()))
    for name in ("value", "guard"):
        scalar = getattr(statement, name, None)
        if isinstance(scalar, Scalar):
            found.append(scalar)
    found += [place.scalar for place in getattr(statement, "places", ())]
    return found


def buffers_of(body: list[Any]) -> list[Buffer]:
    """The buffers that statements name, in order."""
    found: dict[Buffer, None] = {}
    for statement in walk(body):
        buffer = getattr(statement, "buffer", None)
        if buffer is not None:
            found[buffer] = None
    return list(found)
