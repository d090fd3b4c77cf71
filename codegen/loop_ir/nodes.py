"""Loop nests: the target-neutral program that every backend prints.

A :class:`LoopProgram` is a list of steps: kernels (loop nests over scalars) and
library calls.  Scalars are assigned once.  Index expressions are affine in loop
variables (see ``affine``); buffers are flat, in elements.  Complex numbers are
pairs of real scalars; a complex buffer holds real and imaginary parts in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides


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
class ScatterInto:
    """``buffer[index + sum(stride * place)] = combine(buffer[…], value)``; places may repeat.

    To "set" is to leave the value of the last iteration.
    """

    buffer: Buffer
    index: Affine
    places: tuple[Place, ...]
    combine: str
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
    """A scalar that a loop combines values into; long sums of float32 are kept in float64."""

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
    ``reduce`` (only through accumulators and AccumulateInto), ``sequence`` (they run in turn).
    """

    var: Var
    start: int
    stop: int
    body: list[Any]
    role: str
    unroll: bool = False
    #: Where given, only the task's share of the range is run over.
    share: Var | None = None
    #: Whether it is compiled as a function of its own.
    apart: bool = False
    #: Where given, and not negative, the only iteration that has an effect: it alone is run.
    only: Scalar | None = None

    @property
    def expanded(self) -> int:
        """How many statements it is without loops."""
        inner = sum(s.expanded if isinstance(s, Loop) else 1 for s in self.body)
        return (self.stop - self.start) * inner


@dataclass(slots=True)
class Tasks:
    """``count`` independent runs of a body, which may use the task's number ``var``.

    ``measured``: so little work that whether threads are faster is found out as the code runs.
    """

    var: Var
    count: int
    body: list[Any]
    buffers: list[Buffer]
    measured: bool = False


@dataclass(slots=True)
class RunTasks:
    """All tasks are run, in any order or at the same time."""

    tasks: Tasks


@dataclass(slots=True)
class Repeat:
    """``body`` as long as the scalar ``test``, which ``condition`` computes, is true.

    ``step`` counts the iterations, and ``trips`` are how many there were in the end.
    ``tapes`` have room for one more step before each.
    """

    step: Var
    condition: list[Any]
    test: Scalar
    body: list[Any]
    tapes: list[Buffer]
    trips: Trips


class Trips:
    """How often a loop ran, known when it has."""


@dataclass(slots=True)
class Steps:
    """``body`` for each step of a loop that ran, in its order or the other way round."""

    step: Var
    trips: Trips
    backward: bool
    body: list[Any]


@dataclass(slots=True)
class Release:
    """The memory of tapes is given back."""

    tapes: list[Buffer]


@dataclass(slots=True)
class Keep:
    """What a loop has pushed is left for sweeps elsewhere: ``note`` says where it lies, and how
    many steps there were."""

    tapes: list[Buffer]
    trips: Trips
    note: Buffer


@dataclass(slots=True)
class Recall:
    """The tapes and the number of steps that a note tells of."""

    tapes: list[Buffer]
    trips: Trips
    note: Buffer


#: How many integers a note has.
NOTE = 3


@dataclass(slots=True)
class Branch:
    """One of several bodies: that with the number ``index`` (clipped to the range)."""

    index: Scalar
    bodies: list[list[Any]]


@dataclass(slots=True)
class Swap:
    """Two buffers of one size change places."""

    first: Buffer
    second: Buffer


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
    offset: Affine
    strides: tuple[int, ...]


@dataclass(slots=True)
class MatrixProduct:
    """``c[batch] = a[batch] @ b[batch]``; c is row-major and contiguous.

    A step of the program, or a statement in the body of a loop.  It is the BLAS's, or computed in
    tiles (see ``products``), with a panel for columns of b that have to be copied; where a share is
    given, only the task's part of the tiles.
    """

    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    c: Buffer
    c_offset: Affine
    tiled: bool = False
    #: In tiles of blocks that are copied for the caches; the panel has the task's.
    blocked: bool = False
    panel: Operand | None = None
    share: Var | None = None

    @property
    def parts(self) -> int:
        """How many scalars make up an element; offsets and strides count elements."""
        return 2 if self.dtype[0] == "c" else 1

    @property
    def strides_of_results(self) -> tuple[int, ...]:
        """Strides of c, as those of an operand."""
        return row_major_strides((*self.batch, self.m, self.n))


@dataclass(slots=True)
class Factorization:
    """A linear algebra op on every matrix of a batch.

    A matrix has ``m`` rows and ``n`` columns; ``k`` is the number of right-hand sides.  The
    results are row-major and contiguous, and so are the matrices of all inputs but the last,
    whose strides are free.  A step of the program, or a statement in the body of a loop.
    """

    name: str
    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def buffers(self) -> list[Buffer]:
        """Inputs, then results."""
        return [o.buffer for o in (*self.inputs, *self.outputs)]


@dataclass(slots=True)
class LoopProgram:
    """Everything that one call runs."""

    name: str
    inputs: list[Buffer]
    outputs: list[Buffer]
    steps: list[Kernel | MatrixProduct | Factorization]
    temps: dict[Buffer, int] = field(default_factory=dict)
    #: Temporaries in the memory of a buffer that is written when they are read last.
    taken: dict[Buffer, Buffer] = field(default_factory=dict)
    arena: int = 0
    flops: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        from .text import print_loops

        return print_loops(self)

    @property
    def loop_count(self) -> int:
        """How many outermost loops the program runs (products and library calls not counted)."""
        from .traversal import product_of

        return sum(
            isinstance(s, (Loop, RunTasks))
            for k in self.steps
            if isinstance(k, Kernel) and product_of(k) is None
            for s in k.body
        )
