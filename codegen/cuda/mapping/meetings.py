"""All blocks run the steps of a loop together, and wait for each other between them.

    for l in 0..100:      # in turn       for l in 0..100:
      for j in 0..10000:                    share j from 256*block + thread, below 10000, by 2560:
        y[j] = f(x[j], x[j + 1])     ->       y[j] = f(x[j], x[j + 1])
      swap x, y                             all blocks meet
                                            swap x, y

A block alone would be one processor of many.  There is one block for each processor, so that all
run at the same time, and the driver is asked to run them so.  Blocks meet wherever the threads of
one block would wait for each other (``cooperation``).

Accumulators are combined in each block, stored, and added up in every block in the same order, so
that all threads have the same bits: they decide together whether a loop goes on.

A loop that runs until a condition also ends after a failure.  What every thread computes for
itself, such as a counter that may overflow, fails in all blocks; but what threads share fails in
some.  So each block notes its failures in memory before the blocks meet, and the test of the next
step reads them: all blocks end the loop together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from autojit.codegen.cuda.device_program.failures import failure_words
from autojit.codegen.cuda.device_program.nodes import (
    Atomic,
    Combine,
    Fail,
    Failed,
    Meeting,
    Share,
    When,
)
from autojit.codegen.cuda.device_program.numbers import computed, constant_scalar, loaded, scalar
from autojit.codegen.cuda.mapping.nests.structure import Nest, innermost, is_pure, nests
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Fill, Finish, Loop, Store
from autojit.codegen.loop_ir.sequences import Branch, Repeat, Swap
from autojit.codegen.loop_ir.traversal import bodies_of, memory, walk, with_bodies
from autojit.codegen.loop_ir.values import Accumulator, Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import Cooperation, iterations, touched
from .launches import Launches
from .machine import Machine
from .teams import Team, team_of, width_of

#: How often the iterations that one block may run (``Machine.few``) a step must have for all blocks
#: to share it: waiting for all takes about as long as a launch.
LEAST_OF_STEP = 4


def work_of(body: list[Any]) -> int:
    """The most iterations that a body has for threads to share at a time, inner loops included."""
    return max((n.count * innermost(n.body) for n in _shared(body)), default=0)


def _shared(body: list[Any]) -> Iterator[Nest]:
    """The nests that threads share, in loops in turn or outside of them."""
    for s in body:
        if isinstance(s, Loop) and s.role != "sequence":
            yield from nests(s)
            continue
        for inner in bodies_of(s):
            yield from _shared(inner)


def _may_fail_alone(body: list[Any]) -> bool:
    """Whether some blocks may fail and others not."""
    return any(_fails_alone(s) or any(map(_may_fail_alone, bodies_of(s))) for s in body)


def _fails_alone(s: Any) -> bool:
    """Whether a statement may fail in some blocks only."""
    if isinstance(s, Loop) and s.role != "sequence":
        return any(map(failure_words, walk(s.body)))
    return bool(failure_words(s)) and not (is_pure(s) or isinstance(s, Fail))


def _in_memory(body: list[Any], local: Sequence[Buffer]) -> list[Any]:
    """The statements with temporaries in the place of local buffers that threads share: blocks have
    no other memory in common."""
    moved = {b: Buffer(b.name, b.dtype, b.size, "temp") for b in local}

    def changed(value: Any) -> Any:
        if isinstance(value, Buffer):
            if value not in moved and memory(value) in moved:
                over = changed(value.over)
                moved[value] = Buffer(value.name, value.dtype, value.size, "temp", over)
            return moved.get(value, value)
        if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            return type(value)(map(changed, value))
        if type(value) not in EFFECTS:
            return value
        old = {f.name: getattr(value, f.name) for f in fields(value)}
        new = {name: changed(each) for name, each in old.items()}
        changes = {name: each for name, each in new.items() if each is not old[name]}
        return replace(value, **changes)

    return [changed(s) for s in body] if moved else body


class AllBlocks(Cooperation):
    """Rewrites a body for the threads of all blocks."""

    def __init__(self, block: Var, thread: Var, arrived: Buffer, machine: Machine) -> None:
        number = affine.of(block) * thread.extent + affine.of(thread)
        super().__init__(Team(block.extent * thread.extent, number), thread.extent, machine.warp)
        self._block, self._thread, self._machine = block, thread, machine
        self._arrived = arrived
        self._partials: dict[int, Buffer] = {}
        #: Whether blocks have failed, as read in this step and as noted for the next one.
        self._flags = Buffer("failed", "i64", 1, "temp"), Buffer("noted", "i64", 1, "temp")

    def whole(self, body: list[Any]) -> list[Any]:
        """The statements that each thread of a launch runs."""
        if _may_fail_alone(body):
            flags = [Fill(flag, Affine(0), 1, 0) for flag in self._flags]
            body = [*flags, *map(self._ended_together, body)]
        return self.body(body)

    def _ended_together(self, s: Any) -> Any:
        """The statement, whose loops end in all blocks if one of these has failed."""
        if isinstance(s, Loop) and s.role != "sequence":
            return s  # threads share it
        s = with_bodies(s, lambda body: [self._ended_together(x) for x in body])
        if not isinstance(s, Repeat) or not any(map(failure_words, walk([*s.condition, *s.body]))):
            return s
        flag, noted = self._flags
        load, zero = loaded(flag, Affine(0)), constant_scalar(0, "i64")
        well = computed("eq", load.result, zero.result, dtype="bool")
        test = computed("and", s.test, well.result)
        failed = Failed(scalar("i64"))
        note = Branch(failed.result, [[], [Atomic(noted, Affine(0), (), "add", failed.result)]])
        # Before buffers change places: all blocks meet there anyway.
        last = next((k for k, x in enumerate(s.body) if isinstance(x, Swap)), len(s.body))
        first = When(affine.of(self._thread), 0, 1, [note])
        body = [*s.body[:last], failed, first, *s.body[last:], Swap(flag, noted)]
        condition = [*s.condition, load, zero, well, test]
        return replace(s, condition=condition, test=test.result, body=body)

    def _barrier(self, made: list[Any]) -> None:
        made.append(Meeting(self._arrived))
        self.since = type(self.since)()

    def combined(self, a: Accumulator, made: list[Any]) -> None:
        """Combine the accumulators of all threads: those of each block, and then the totals."""
        blocks, threads = self._block.extent, self._thread.extent
        partial = self._partials.setdefault(a.number, Buffer("partial", a.dtype, blocks, "temp"))
        total, k = scalar(a.dtype), Var(blocks)
        store, load = Store(partial, affine.of(self._block), total), loaded(partial, affine.of(k))
        made.append(Combine(a, threads))
        self._wait_for(touched([store]), made)
        made += [Finish(total, a), When(affine.of(self._thread), 0, 1, [store])]
        self._wait_for(touched([load]), made)
        adding = [load, Accumulate(a, load.result)]
        made += [Begin(a), Share(k, affine.of(self._thread), blocks, threads, adding)]
        made.append(Combine(a, threads))

    def shared(self, nest: Nest, body: list[Any]) -> list[Share]:
        """The iterations of a nest: a thread for each, or some threads of a warp."""
        width = min(width_of(nest, self._machine), self._machine.warp)
        if width == 1:
            return super().shared(nest, body)
        inner = Cooperation(team_of(self._thread, width), self._thread.extent, self._machine.warp)
        teams = self._thread.extent // width
        slot = affine.divide(affine.of(self._thread), width, {})[0]
        first = affine.of(self._block) * teams + slot
        return [iterations(nest, first, self._block.extent * teams, inner.body(body))]


class Meetings(Launches):
    """Writes loops in turn for all blocks."""

    def all_blocks(self, name: str, body: list[Any]) -> bool:
        """Add a launch in which all blocks run a body, if that is possible and pays.

        Return whether it was added.
        """
        machine, work = self.machine, work_of(body)
        blocks = min(machine.processors, -(-work // machine.threads))
        enough = work > LEAST_OF_STEP * machine.few and blocks > 1
        if not (machine.together and enough):
            return False
        arrived = Buffer("arrived", "i64", 1, "temp")
        tried = AllBlocks(Var(blocks), Var(machine.threads), arrived, machine)
        tried.whole(body)
        body = _in_memory(body, tried.shared_locals())

        def write(block: Var, thread: Var) -> list[Any]:
            return AllBlocks(block, thread, arrived, machine).whole(body)

        self.fill(f"{name}_arrived", Fill(arrived, Affine(0), 1, 0))
        self.add(name, "All blocks do everything together.", blocks, machine.threads, write)
        return True
