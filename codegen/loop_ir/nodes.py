"""Statements of loops: what a kernel computes, element by element, and the loops around it.

Scalars are assigned once.  Index expressions are affine in loop variables; buffers are flat, in
elements.  Complex numbers are pairs of real scalars; a complex buffer holds real and imaginary
parts in turn.

``source`` is the user's line that a memory change belongs to; it does not count in comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.values import Source

from .effects import Access, declare
from .values import Accumulator, Buffer, Place, Scalar


def _guards(s: Any) -> tuple[Scalar, ...]:
    return () if s.guard is None else (s.guard,)


def _at_places(s: Any, **more: Any) -> Access:
    """An access anywhere within the range of computed indices."""
    ends = [p.stride * (p.extent - 1) for p in s.places]
    low, high = sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)
    return Access(s.buffer, s.index, low, high, is_exact=False, **more)


def _lines(s: Any) -> tuple[Affine, ...]:
    """The known affine forms of computed indices."""
    return tuple(p.line for p in s.places if p.line is not None)


@declare(defines=lambda s: s.result, uses=lambda s: s.args)
@dataclass(slots=True)
class Compute:
    """``result = name(args)`` in the scalar vocabulary (``vocabulary.WORDS``)."""

    result: Scalar
    name: str
    args: tuple[Scalar, ...]

    @property
    def operand_dtype(self) -> str:
        """The dtype of all operands except the condition of ``select`` and ``ensure_…``."""
        return self.args[-1].dtype


@declare(defines=lambda s: s.result)
@dataclass(slots=True)
class Constant:
    result: Scalar
    value: Any


@declare(defines=lambda s: s.result, indices=lambda s: (s.index,))
@dataclass(slots=True)
class IndexValue:
    """The value of an index expression as a number."""

    result: Scalar
    index: Affine


@declare(defines=lambda s: s.result, indices=lambda s: (s.index,))
@dataclass(slots=True)
class InRange:
    """``low <= index < high`` (and ``index - low`` a multiple of ``step``) as a bool."""

    result: Scalar
    index: Affine
    low: int
    high: int
    step: int = 1


@declare(
    defines=lambda s: s.result,
    uses=_guards,
    reads=lambda s: (Access(s.buffer, s.index, guard=s.guard),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class Load:
    """``result = buffer[index]``; if the guard is false, nothing is read and the result is 0."""

    result: Scalar
    buffer: Buffer
    index: Affine
    guard: Scalar | None


@declare(
    defines=lambda s: s.result,
    uses=lambda s: (*_guards(s), *(p.scalar for p in s.places)),
    indices=_lines,
    reads=lambda s: (_at_places(s, guard=s.guard),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class Gather:
    """``result = buffer[index + sum(stride * place)]``; the places are computed scalars.

    A place outside of ``range(extent)`` reads element 0 and marks the call as failed
    (only where the guard holds).
    """

    result: Scalar
    buffer: Buffer
    index: Affine
    places: tuple[Place, ...]
    guard: Scalar | None


@declare(
    uses=lambda s: (s.value, *(p.scalar for p in s.places)),
    indices=_lines,
    updates=lambda s: (_at_places(s, combine=s.combine),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class ScatterInto:
    """``buffer[index + sum(stride * place)] = combine(buffer[…], value)``; places may repeat.

    "set" keeps the value of the last iteration.
    """

    buffer: Buffer
    index: Affine
    places: tuple[Place, ...]
    combine: str
    value: Scalar
    source: Source | None = field(default=None, compare=False, repr=False)


@declare(
    uses=lambda s: (s.value,),
    writes=lambda s: (Access(s.buffer, s.index),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class Store:
    buffer: Buffer
    index: Affine
    value: Scalar
    source: Source | None = field(default=None, compare=False, repr=False)


@declare(
    uses=lambda s: (s.value,),
    updates=lambda s: (Access(s.buffer, s.index, combine=s.combine),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class AccumulateInto:
    """``buffer[index] = combine(buffer[index], value)``."""

    buffer: Buffer
    index: Affine
    combine: str
    value: Scalar
    source: Source | None = field(default=None, compare=False, repr=False)


@declare(
    writes=lambda s: (Access(s.buffer, s.start, 0, s.count - 1),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class Fill:
    """``count`` elements of a buffer from ``start`` on are set to a value."""

    buffer: Buffer
    start: Affine
    count: int
    value: Any
    source: Source | None = field(default=None, compare=False, repr=False)


@declare(begins=lambda s: s.accumulator)
@dataclass(slots=True)
class Begin:
    """The accumulator starts from its neutral element."""

    accumulator: Accumulator


@declare(uses=lambda s: (s.value,), adds_to=lambda s: s.accumulator)
@dataclass(slots=True)
class Accumulate:
    accumulator: Accumulator
    value: Scalar


@declare(defines=lambda s: s.result, finishes=lambda s: s.accumulator)
@dataclass(slots=True)
class Finish:
    """``result`` is the accumulated value."""

    result: Scalar
    accumulator: Accumulator


@declare(
    uses=lambda s: tuple(x for x in (s.only, s.lower, s.upper) if x is not None),
    bodies=lambda s: [s.body],
    variables=lambda s: {s.var: (s.start, s.stop - 1)},
    share=lambda s: s.share,
    in_turn=lambda s: s.role == "sequence",
)
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
    #: If given, only the task's share of the range is run. A target divides the range among the
    #: ``share.extent`` tasks in any way.
    share: Var | None = None
    #: Whether it is compiled as a separate function.
    outlined: bool = False
    #: If given and not negative, the only iteration that has an effect, and the only one run.
    only: Scalar | None = None
    #: If given, iterations below ``lower``, and from ``upper`` on, are not run, because they would
    #: have no effect.
    lower: Scalar | None = None
    upper: Scalar | None = None

    @property
    def is_partial(self) -> bool:
        """Whether it may run over less than its range."""
        return not (self.only is self.lower is self.upper is None)

    @property
    def expanded(self) -> int:
        """The number of statements when fully unrolled."""
        inner = sum(s.expanded if isinstance(s, Loop) else 1 for s in self.body)
        return (self.stop - self.start) * inner


@dataclass(slots=True)
class Tasks:
    """``count`` independent runs of a body, which may use the task's number ``var``.

    A task has its own scalars, accumulators and local buffers. Their numbers may repeat outside
    ones, which it cannot see. ``measured``: there is so little work that run-time measurement
    decides whether to use threads.
    """

    var: Var
    count: int
    body: list[Any]
    buffers: list[Buffer]
    measured: bool = False


@declare(
    bodies=lambda s: [s.tasks.body],
    variables=lambda s: {s.tasks.var: (0, s.tasks.count - 1)},
)
@dataclass(slots=True)
class RunTasks:
    """Runs all tasks, in any order or concurrently."""

    tasks: Tasks
