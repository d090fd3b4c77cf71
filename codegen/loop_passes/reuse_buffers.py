"""Reuse the buffer of an operand for the result that is computed from it.

If a kernel is the last to read an array and writes another one of the same size, both can share one
buffer, provided that each iteration reads an element before it overwrites it: `weights / total`
goes where the weights were.  Less memory is touched, and the result's memory is in the cache
already, whereas fresh memory would be fetched first.

The pass runs on finished loops, after tiling and parallelization, since it depends on the order in
which memory is read and written.

Legal where the kernel is the last step that names the old array and the first that names the new
one, both own their memory, and every iteration reads its elements of the old array before it writes
there (``_Check``).
"""

from __future__ import annotations

from itertools import product
from typing import Any

from autojit.codegen.analysis.dependences import Touch, distance, touches
from autojit.codegen.analysis.loop_level import NESTS, NO_TASKS, NOT_PLACED, OWN_MEMORY, loop_pass
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.nodes import Load, Loop, RunTasks, Store
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.traversal import (
    buffers_named,
    buffers_of,
    in_sequence,
    statements,
    walk,
)
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.machine import L1, current

#: Arrays that are smaller than this part of the first-level cache keep their own memory.
LEAST = 1


@loop_pass(
    "Puts results into the buffers of operands that are read for the last time.",
    needs=[OWN_MEMORY, NOT_PLACED],
    keeps=[NESTS, NO_TASKS, NOT_PLACED],
)
def reuse_buffers(program: LoopProgram) -> None:
    """Let results of kernels reuse the memory of temporaries that nothing reads later."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for position, step in enumerate(program.steps):
        for buffer in _named(step):
            first.setdefault(buffer, position)
            last[buffer] = position
    kept = _kept(program)
    for position, step in enumerate(program.steps):
        if not isinstance(step, Kernel) or in_sequence(step.body):
            continue
        named = dict.fromkeys(_named(step))
        new = [b for b in named if first[b] == position and b.kind in ("temp", "output")]
        old = [b for b in named if first[b] < position == last[b] and b.kind == "temp"]
        for target in new:
            for source in old:
                if source in kept or not _fits(source, target):
                    continue
                if _Check(source, target).holds(step.body):
                    program.taken[source] = source.over = target
                    kept.add(source)
                    break
    if program.taken:
        _name_again(program)


def _kept(program: LoopProgram) -> set[Buffer | None]:
    """Buffers that share memory with others, or are identified by their address."""
    kept: set[Buffer | None] = set()
    for s in statements(program):
        kept.update(buffer.over for buffer in buffers_named(s))
        if isinstance(s, Swap):
            kept.update(buffers_named(s))
    return kept


def _name_again(program: LoopProgram) -> None:
    """List the buffers of kernels and tasks anew."""
    for step in program.steps:
        if isinstance(step, Kernel):
            step.buffers = buffers_of(step.body)
            for s in walk(step.body):
                if isinstance(s, RunTasks):
                    s.tasks.buffers = buffers_of(s.tasks.body)


def _named(step: Any) -> list[Buffer]:
    body = step.body if isinstance(step, Kernel) else [step]
    return [b for s in walk(body) for b in buffers_named(s)]


def _fits(source: Buffer, target: Buffer) -> bool:
    return (
        source.over is None
        and target.over is None
        and source.dtype == target.dtype
        and source.size == target.size
        and source.size * itemsize(source.dtype) >= current().cache(L1, LEAST)
    )


class _Wrong(Exception):
    """An element might be read after it was overwritten."""


class _Check:
    """Whether all of the source that is read is read before the target is written there.

    In a loop that reads and writes, each iteration has its own elements, and reads them before it
    writes.
    """

    def __init__(self, source: Buffer, target: Buffer) -> None:
        self.source = source
        self.target = target

    def holds(self, body: list[Any]) -> bool:
        try:
            self._follow(body)
        except _Wrong:
            return False
        return True

    def _follow(self, body: list[Any]) -> None:
        """Check consecutive statements: none may read after one has written."""
        written = False
        for s in body:
            reads, writes = self._accesses([s])
            if reads and written:
                raise _Wrong
            if reads and writes:
                self._both(s, reads, writes)
            written = written or bool(writes)

    def _accesses(self, body: list[Any]) -> tuple[list[Touch], list[Touch]]:
        """The reads of the source, and the writes of the target."""
        reads, writes = [], []
        for t in touches(body):
            if t.memory is self.source:
                if not isinstance(t.statement, Load):
                    raise _Wrong
                reads.append(t)
            elif t.memory is self.target:
                if not isinstance(t.statement, Store):
                    raise _Wrong
                writes.append(t)
        return reads, writes

    def _both(self, s: Any, reads: list[Touch], writes: list[Touch]) -> None:
        if isinstance(s, RunTasks):
            self._tasks(s)
            return
        assert isinstance(s, Loop)  # nothing else has reads and writes inside
        places = {t.statement.index for t in (*reads, *writes)}
        if not any(isinstance(x, Loop) for x in s.body) and len(places) > 1:
            # Correct, but LLVM would have to prove it.
            raise _Wrong
        inside = self._accesses(s.body)
        if any(distance(s, *pair) not in (None, (0, 0)) for pair in product(*inside)):
            raise _Wrong
        self._follow(s.body)

    def _tasks(self, s: RunTasks) -> None:
        """Check tasks, which run concurrently: only one loop, divided among them, may do both."""
        concerned = [x for x in s.tasks.body if any(self._accesses([x]))]
        if len(concerned) != 1 or not isinstance(concerned[0], Loop) or not concerned[0].share:
            raise _Wrong
        self._follow(s.tasks.body)
