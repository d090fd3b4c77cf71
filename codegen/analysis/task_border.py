"""What crosses the border of tasks: memory and scalars that a loop shares with what is around it.

A task is a function of its own, which may run beside the others.  It sees inputs, results and
temporaries, and nothing else of what surrounds it.  So for a loop that is cut into tasks, each
buffer is one of these:

    read only      nothing in the loop writes it
    own            each iteration writes its own elements
    added to       iterations only add to it: tasks have copies, which are combined afterwards
    scratch        each iteration writes it before reading it, and nothing reads it afterwards:
                   tasks have copies

A local buffer that is not scratch becomes a temporary.  A scalar from before the loop is computed
again in the task, if that is cheap and gives the same, or stored before and loaded inside.

Legal where every buffer is one of these, and every statement one that a task may hold: otherwise
there are no tasks (``Border.of`` is None).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Buffer,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    MatrixProduct,
    Scalar,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_named, memory, used, walk
from autojit.ir.core.affine import Affine

from .exposed import exposed
from .iterations import meet

#: What tasks may hold.
_KNOWN = (
    Accumulate, AccumulateInto, Begin, Compute, Constant, Fill, Finish, Gather, IndexValue, InRange,
    Load, Loop, MatrixProduct, ScatterInto, Store,
)  # fmt: skip
_ADDS = (AccumulateInto, ScatterInto)
_WRITES = (*_ADDS, Fill, Store)


@dataclass
class Border:
    """What a loop's tasks need beside its body."""

    #: Buffers that each task has a copy of, and how copies are combined; of scratch not at all.
    copied: dict[Buffer, str | None]
    #: Local buffers that have to be temporaries.
    shared: list[Buffer]
    #: Statements that are carried out in the task again, and scalars that are handed over.
    again: list[Any]
    handed: list[Scalar]

    @staticmethod
    def of(
        before: list[Any], main: Loop, after: list[Any], outside: Collection[Buffer]
    ) -> Border | None:
        """The border of a loop between other statements of a kernel, if it may be cut.

        ``outside`` is memory that is touched elsewhere in the program.
        """
        inner = list(walk(main.body))
        if main.role == "sequence" or main.only is not None or main.share is not None:
            return None
        if not all(map(_may_be_in_task, inner)) or meet(main):
            return None
        found = Border({}, [], [], [])
        uses = _Uses(main, inner)
        later = {*exposed(after), *outside}
        for buffer in uses.touched:
            if not found._place(buffer, uses, later):
                return None
        return found if found._scalars(before, main, uses.written) else None

    def _place(self, buffer: Buffer, uses: _Uses, later: Collection[Buffer]) -> bool:
        """Find out which of the four a buffer is; False if none."""
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
        """Sort the scalars that the loop takes from outside; False if one is not known there."""
        made = {s.result.number: s for s in before if hasattr(s, "result")}
        repeatable = _repeatable(before, written)
        needed = from_outside(main.body, set())
        if not needed.keys() <= made.keys():
            return False
        self.handed = [scalar for number, scalar in needed.items() if number not in repeatable]
        wanted = {number for number in needed if number in repeatable}
        for s in reversed(before):
            if hasattr(s, "result") and s.result.number in wanted:
                self.again.append(s)
                wanted |= {a.number for a in used(s)}
        self.again.reverse()
        return True


def _may_be_in_task(s: Any) -> bool:
    return isinstance(s, _KNOWN) and (not isinstance(s, MatrixProduct) or s.tiled)


class _Uses:
    """What a loop does with memory."""

    def __init__(self, main: Loop, inner: list[Any]) -> None:
        self.var = main.var
        self.touched: dict[Buffer, None] = {}
        self.written: dict[Buffer, None] = {}
        #: What several iterations write to.
        self.together: dict[Buffer, None] = {}
        #: Of what is only added to: how.
        self.adds: dict[Buffer, str] = {}
        others: set[Buffer] = set()
        for s in inner:
            self.touched.update(dict.fromkeys(map(memory, buffers_named(s))))
            if isinstance(s, MatrixProduct):
                self._product(s)
                others |= {memory(b) for b in buffers_named(s)}
            elif isinstance(s, _WRITES):
                self._write(s, others)
            elif isinstance(s, (Load, Gather)):
                others.add(memory(s.buffer))
        for buffer in others:
            self.adds.pop(buffer, None)
        # What is touched first comes first.
        self.exposed = exposed(main.body, {main.var: (main.start, main.stop - 1)})

    def _product(self, s: MatrixProduct) -> None:
        places = [(s.c, s.c_offset)]
        if s.panel is not None:
            places.append((s.panel.buffer, s.panel.offset))
        for buffer, offset in places:
            self._note(memory(buffer), offset)

    def _write(self, s: Any, others: set[Buffer]) -> None:
        buffer = memory(s.buffer)
        index = s.start if isinstance(s, Fill) else s.index
        self._note(buffer, index, anywhere=isinstance(s, ScatterInto))
        if not isinstance(s, _ADDS) or self.adds.setdefault(buffer, s.combine) != s.combine:
            others.add(buffer)

    def _note(self, buffer: Buffer, index: Affine, *, anywhere: bool = False) -> None:
        self.written[buffer] = None
        if anywhere or self.var not in index.variables():
            self.together[buffer] = None


def _repeatable(before: list[Any], written: Collection[Buffer]) -> set[int]:
    """The scalars that a task may compute again, by number.

    What is read has to be there still: nothing that follows writes to it, the loop neither.
    """
    later = set(written)
    readable = set()
    for s in reversed(before):
        if isinstance(s, (Load, Gather)):
            if s.buffer.kind != "local" and memory(s.buffer) not in later:
                readable.add(id(s))
        else:
            later |= {
                memory(b) for x in walk([s]) if not isinstance(x, (Load, Gather))
                for b in buffers_named(x)
            }  # fmt: skip
    found: set[int] = set()
    for s in before:
        is_pure = isinstance(s, (Compute, Constant, IndexValue, InRange)) or id(s) in readable
        if is_pure and all(a.number in found for a in used(s)):
            found.add(s.result.number)
    return found


def from_outside(body: list[Any], known: set[int]) -> dict[int, Scalar]:
    """The scalars that statements use and that neither they nor those around them compute.

    What is computed in a loop, or again in a task, is known there only.
    """
    known = set(known)
    found: dict[int, Scalar] = {}
    for s in body:
        for inner in bodies_of(s):
            found.update(from_outside(inner, known))
        found.update({a.number: a for a in used(s) if a.number not in known})
        if isinstance(getattr(s, "result", None), Scalar):
            known.add(s.result.number)
    return found
