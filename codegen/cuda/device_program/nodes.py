"""Statements about threads; what each thread computes is said in statements of the loop IR.

A kernel is run by ``grid`` blocks of ``threads`` threads.  All threads run the body, and the
variables ``kernel.block`` and ``kernel.thread`` tell them apart.  A *team* is a number of threads
of one block that share an iteration of a loop: a block, or neighbours within a warp.
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
    """``for var in range(first, stop, step): body``: a thread's share of a loop's iterations.

    ``first`` differs from thread to thread, and all shares together are the whole loop.
    """

    var: Var
    first: Affine
    stop: int
    step: int
    body: list[Any]


@declare(bodies=lambda s: [s.body])
@dataclass(slots=True)
class Together:
    """Loads, or stores, of neighbours in a buffer, which a thread does at once.

    The first place is a multiple of their number.
    """

    body: list[Any]


@declare(indices=lambda s: (s.value,))
@dataclass(slots=True)
class Let:
    """``var = value``, for the statements behind it in the same body."""

    var: Var
    value: Affine


@declare(indices=lambda s: (s.index,), bodies=lambda s: [s.body])
@dataclass(slots=True)
class When:
    """The body where ``low <= index < high``."""

    index: Affine
    low: int
    high: int
    body: list[Any]


@declare(in_turn=lambda s: True)
@dataclass(slots=True)
class Barrier:
    """The threads of a team of ``width`` wait for each other, and see what the others stored."""

    width: int


@declare(adds_to=lambda s: s.accumulator)
@dataclass(slots=True)
class Combine:
    """The accumulators of a team become one value, the same in each of its threads.

    The threads of a team are ``stride`` apart.  They are combined in a fixed order.
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
    """A ``ScatterInto`` that several threads may do at the same place, in any order: ``add`` or
    ``maximum``, of numbers that are not NaN."""

    #: Whether hardly any iteration comes to it.
    is_rare: bool = False


@declare(uses=lambda s: (s.condition,))
@dataclass(slots=True)
class Fail:
    """The call fails where the condition holds; it goes on, so that no thread waits for another."""

    condition: Scalar
    words: str


@dataclass(slots=True)
class DeviceKernel:
    """A function of the device, and how many threads run it."""

    name: str
    doc: str
    grid: int
    threads: int
    block: Var
    thread: Var
    body: list[Any]
    #: The buffers that it is given, in the order of its parameters.
    buffers: list[Buffer]
    #: Memory of a block, and of a thread.
    shared: list[Buffer] = field(default_factory=list)
    locals: list[Buffer] = field(default_factory=list)
    #: Threads that exchange registers; wider teams combine through shared memory.
    warp: int = 32

    @property
    def lanes(self) -> int:
        """How many threads there are in all."""
        return self.grid * self.threads

    def stride(self, s: Share) -> int | None:
        """How many iterations of a loop the threads of a block begin with, where the blocks share
        it evenly: the next ones are the next block's, and the step is that times the blocks."""
        found = s.first.stride(self.block)
        return found if found and found * self.grid == s.step else None

    @property
    def is_elastic(self) -> bool:
        """Whether fewer blocks do the same, if each takes more steps: blocks tell apart only where
        the shares of loops begin, and there is more than one step."""
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
    """The launches of a loop program in their order."""

    loops: LoopProgram
    launches: list[DeviceKernel | LibraryCall]
    #: Memory besides that of the loop program: partial results.
    partials: list[Buffer]
    #: Buffers with a number of scalars for each step of a loop: as long as memory is given to them.
    tapes: list[Buffer]
    #: What can go wrong, by the words that say so; their numbers are places of the status.
    failures: list[str]
