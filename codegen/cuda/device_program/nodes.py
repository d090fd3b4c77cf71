"""Statements about threads; statements of the loop IR describe the computation of each thread.

``grid`` blocks of ``threads`` threads run a kernel.  All threads run the body; they differ in the
variables ``kernel.block`` and ``kernel.thread``.  A *team* is a set of threads of one block that
share an iteration of a loop: a whole block, or neighbours within a warp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autojit.codegen.loop_ir.effects import Access, declare, indices_of
from autojit.codegen.loop_ir.nodes import ScatterInto
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core.affine import Affine, Var

from .calls import LibraryCall


@declare(
    indices=lambda s: (s.first,),
    bodies=lambda s: [s.body],
    variables=lambda s: {s.var: (0, s.stop - 1)},
)
@dataclass(slots=True)
class Share:
    """A thread's share of a loop's iterations: ``for var in range(first, stop, step): body``.

    ``first`` differs from thread to thread, and all shares together are the whole loop.
    """

    var: Var
    first: Affine
    stop: int
    step: int
    body: list[Any]


#: The most bytes that one instruction loads or stores (PTX ISA, "ld": ``.v4.b32``).
WIDEST = 16


@declare(bodies=lambda s: [s.body])
@dataclass(slots=True)
class Together:
    """Loads, or stores, of neighbours in a buffer, which a thread makes as one access.

    The index of the first is a multiple of their number.
    """

    body: list[Any]


@declare(indices=lambda s: (s.value,))
@dataclass(slots=True)
class Let:
    """``var = value``, for the later statements of the same body."""

    var: Var
    value: Affine


@declare(indices=lambda s: (s.index,), bodies=lambda s: [s.body])
@dataclass(slots=True)
class When:
    """The body is run if ``low <= index < high``."""

    index: Affine
    low: int
    high: int
    body: list[Any]


@declare(in_turn=lambda s: True)
@dataclass(slots=True)
class Barrier:
    """The threads of a team of ``width`` wait for each other; then each sees the others' stores."""

    width: int


@declare(
    updates=lambda s: (Access(s.arrived, Affine(0), combine="add"),),
    buffers=lambda s: (s.arrived,),
    in_turn=lambda s: True,
)
@dataclass(slots=True)
class Meeting:
    """All blocks of the launch wait for each other; then each thread sees all stores before.

    Blocks count themselves in ``arrived[0]``, an ``i64`` that is 0 before the launch.
    """

    arrived: Buffer


@declare(defines=lambda s: s.result, in_turn=lambda s: True)
@dataclass(slots=True)
class Failed:
    """``result`` is 1 if a statement of this launch has failed in a thread of this block, else 0.

    The threads of the block wait for each other, so that all get the same number.
    """

    result: Scalar


@declare(adds_to=lambda s: s.accumulator)
@dataclass(slots=True)
class Combine:
    """The accumulators of a team are combined; each of its threads gets the result.

    The threads of a team are ``stride`` apart.  The order of the combination is fixed.
    """

    accumulator: Accumulator
    width: int
    stride: int = 1


def _reach(s: Any) -> Access:
    low = sum(min(0, p.stride * (p.extent - 1)) for p in s.places)
    high = sum(max(0, p.stride * (p.extent - 1)) for p in s.places)
    exact = not s.places
    return Access(s.buffer, s.index, low, high, is_exact=exact, combine=s.combine)


@declare(
    uses=lambda s: (s.value, *(p.scalar for p in s.places)),
    updates=lambda s: (_reach(s),),
    buffers=lambda s: (s.buffer,),
)
@dataclass(slots=True)
class Atomic(ScatterInto):
    """An atomic ``ScatterInto``: several threads may update the same place, in any order.

    It is ``add``, or ``maximum`` of numbers that are not NaN.
    """

    #: Whether hardly any iteration reaches it.
    is_rare: bool = False


@declare(uses=lambda s: (s.value, s.shift), defines=lambda s: s.result)
@dataclass(slots=True)
class Digit:
    """``result`` is the digit of a number: eight bits of its key, from bit ``shift`` on.

    Keys are unsigned, as wide as the numbers, and in their order; a key of booleans has eight bits.
    Both zeros have one key, and so have all NaN, whose key is the largest.
    """

    result: Scalar
    value: Scalar
    shift: Scalar


@declare(uses=lambda s: (s.condition,))
@dataclass(slots=True)
class Fail:
    """The call fails if the condition holds; the thread runs on, so that no other waits for it."""

    condition: Scalar
    words: str


@dataclass(slots=True)
class DeviceKernel:
    """A function of the device, with the number of threads that run it."""

    name: str
    doc: str
    grid: int
    threads: int
    block: Var
    thread: Var
    body: list[Any]
    #: The buffers that are passed, in the order of the parameters.
    buffers: list[Buffer]
    #: The buffers of each block, and of each thread.
    shared: list[Buffer] = field(default_factory=list)
    locals: list[Buffer] = field(default_factory=list)
    #: The number of threads that can exchange registers; wider teams combine through shared memory.
    warp: int = 32

    @property
    def lanes(self) -> int:
        """The number of threads in all blocks."""
        return self.grid * self.threads

    def stride(self, s: Share) -> int | None:
        """The number of iterations with which the threads of a block begin, if the blocks share a
        loop evenly; else None.

        The next iterations are those of the next block, and the step is this number times the
        number of blocks.
        """
        found = s.first.stride(self.block)
        return found if found and found * self.grid == s.step else None

    @property
    def meets(self) -> bool:
        """Whether blocks wait for each other, and so must all run at the same time."""
        return any(isinstance(s, Meeting) for s in walk(self.body))

    @property
    def is_elastic(self) -> bool:
        """Whether fewer blocks can do the same work, if each takes more steps.

        This holds if blocks differ only in the first iterations of their shares of loops, do not
        wait for each other, and if there is more than one step.
        """
        if self.meets:
            return False
        several = False
        for s in walk(self.body):
            if not any(self.block in index.variables() for index in indices_of(s)):
                continue
            if not isinstance(s, Share) or self.stride(s) is None:
                return False
            several |= s.stop - s.first.constant > s.step
        return several and self.grid > 1


@dataclass(slots=True)
class DeviceProgram:
    """The launches of a loop program, in order."""

    loops: LoopProgram
    launches: list[DeviceKernel | LibraryCall]
    #: Buffers of partial results, in addition to those of the loop program.
    partials: list[Buffer]
    #: Buffers with some scalars for each step of a loop; the caller chooses the number of steps.
    tapes: list[Buffer]
    #: The names of the possible failures; their indices are their places in the status.
    failures: list[str]
