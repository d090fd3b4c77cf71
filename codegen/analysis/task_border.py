"""The border of tasks: memory and scalars that a loop shares with the statements around it.

A task is a separate function that may run concurrently with the others. From outside it sees only
inputs, results and temporaries. So in a loop that is divided into tasks, each buffer is one of::

    read only      nothing in the loop writes it
    own            each iteration writes its own elements
    added to       iterations only add to it: tasks have copies, which are combined afterwards
    scratch        each iteration writes it before reading it, and nothing reads it afterwards:
                   tasks have copies

A local buffer that is not scratch becomes a temporary. A scalar from before the loop is recomputed
in the task if that is cheap and gives the same value; else it is stored before and loaded inside.

Legal where every buffer is one of these, and a task may contain every statement: otherwise there
are no tasks (``Border.of`` gives the reason).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from autojit.codegen.loop_ir.effects import effects_of, is_read_only
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.traversal import bodies_of, defined, memory, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar

from .dependences import is_at_one_place, surely_meet, touches, written
from .exposed import exposed

#: The statements that tasks may contain.
_KNOWN = (
    Accumulate, AccumulateInto, Begin, Compute, Constant, Fill, Finish, Gather, IndexValue, InRange,
    Load, Loop, MatrixProduct, ScatterInto, Store,
)  # fmt: skip


@dataclass
class Border:
    """The memory and scalars that a loop's tasks need, in addition to its body."""

    #: Buffers of which each task has a copy, and how copies are combined (None for scratch).
    copied: dict[Buffer, str | None]
    #: Local buffers that must become temporaries.
    shared: list[Buffer]
    #: Statements that are repeated in the task, and scalars that are passed to it.
    again: list[Any]
    handed: list[Scalar]

    @staticmethod
    def of(
        before: list[Any], main: Loop, after: list[Any], outside: Collection[Buffer]
    ) -> Border | str:
        """Return the border of a loop between other statements of a kernel, or why it has none.

        ``outside`` is memory that is touched elsewhere in the program.
        """
        if main.role == "sequence" or main.is_partial or main.share is not None:
            return "its iterations have to run in their order"
        if not all(map(_may_be_in_task, walk(main.body))):
            return "it holds a loop with steps, a branch or a call of a library"
        if buffer := surely_meet(main):
            return f"iterations read or write elements of {buffer} that others write"
        found = Border({}, [], [], [])
        uses = _Uses(main)
        later = {*exposed(after), *outside}
        for buffer in uses.touched:
            if not found._place(buffer, uses, later):
                return f"iterations together write elements of {buffer} that are also read"
        if not found._scalars(before, main, uses.written):
            return "it takes numbers from a loop that is not complete"
        return found

    def _place(self, buffer: Buffer, uses: _Uses, later: Collection[Buffer]) -> bool:
        """Classify a buffer as one of the four kinds; False if it is none."""
        is_read_later = buffer in later or buffer.kind == "output"
        is_scratch = buffer not in uses.exposed and not is_read_later
        is_together = buffer in uses.together
        if is_together and buffer in uses.adds:
            self.copied[buffer] = uses.adds[buffer]
        elif is_together and not is_scratch:
            return False
        elif is_together and buffer.kind != "local":
            self.copied[buffer] = None
        if buffer.kind == "local" and not is_scratch:
            self.shared.append(buffer)
        return True

    def _scalars(self, before: list[Any], main: Loop, written: Collection[Buffer]) -> bool:
        """Classify the scalars the loop takes from outside; False if one is not known there."""
        made = {x.number: s for s in before if (x := defined(s)) is not None}
        repeatable = _repeatable(before, written)
        needed = from_outside(main.body, set())
        if not needed.keys() <= made.keys():
            return False
        self.handed = [scalar for number, scalar in needed.items() if number not in repeatable]
        wanted = {number for number in needed if number in repeatable}
        for s in reversed(before):
            if (x := defined(s)) is not None and x.number in wanted:
                self.again.append(s)
                wanted |= {a.number for a in used(s)}
        self.again.reverse()
        return True


def _may_be_in_task(s: Any) -> bool:
    return isinstance(s, _KNOWN) and (not isinstance(s, MatrixProduct) or s.tiled)


class _Uses:
    """The uses of memory in a loop; buffers are in the order of their first touch."""

    def __init__(self, main: Loop) -> None:
        found = touches(main.body)
        changes = [t for t in found if t.changes]
        self.touched = dict.fromkeys(t.memory for t in found)
        self.written = dict.fromkeys(t.memory for t in changes)
        #: The memory that several iterations write.
        self.together = {
            t.memory for t in changes if t.access is None or is_at_one_place(t.access, main.var)
        }
        #: How buffers that are only added to are combined.
        self.adds: dict[Buffer, str] = {}
        ways: dict[Buffer, set[str]] = defaultdict(set)
        for t in found:
            ways[t.memory].add(t.combine)
        for buffer, (way, *others) in ways.items():
            if way and not others:
                self.adds[buffer] = way
        self.exposed = exposed(main.body, {main.var: (main.start, main.stop - 1)})


def _repeatable(before: list[Any], changed: Collection[Buffer]) -> set[int]:
    """Return the scalars that a task may recompute, by number.

    The memory that they depend on must not change: no later statement writes to it, and neither
    does the loop.
    """
    later = set(changed)
    readable = set()
    for s in reversed(before):
        if is_read_only(s):
            read = {memory(access.buffer) for access in effects_of(s).reads(s)}
            if later.isdisjoint(read) and all(b.kind != "local" for b in read):
                readable.add(id(s))
        else:
            later |= written([s])
    found: set[int] = set()
    for s in before:
        result = defined(s)
        if result is not None and id(s) in readable and all(a.number in found for a in used(s)):
            found.add(result.number)
    return found


def from_outside(body: list[Any], known: set[int]) -> dict[int, Scalar]:
    """Return the scalars that statements use but neither they nor surrounding ones compute.

    A scalar that is computed in a loop, or recomputed in a task, is known only there.
    """
    known = set(known)
    found: dict[int, Scalar] = {}
    for s in body:
        for inner in bodies_of(s):
            found.update(from_outside(inner, known))
        found.update({a.number: a for a in used(s) if a.number not in known})
        if (result := defined(s)) is not None:
            known.add(result.number)
    return found
