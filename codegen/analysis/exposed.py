"""Exposed reads: memory that statements read without having written it before.

    for i in 0..100:
      t[0] = x[i]
      y[i] = t[0] + u[0]        # exposed: u and x, which are not written; not t

A body whose reads of a buffer are all covered by its own writes may run anywhere with a copy of the
buffer: in a task, in another order, concurrently with other iterations. The exposed values must
come from outside.

Elements are distinguished by affine forms. A write counts from its position on: within its loop
only for the current iteration, after the loop for all iterations if they leave no gaps. Uncertain
elements count as not written, so memory that is not found to be exposed surely is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.effects import EFFECTS, Access
from autojit.codegen.loop_ir.nodes import Loop, RunTasks
from autojit.codegen.loop_ir.sequences import Branch, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine, Bounds, Quotient, Var

#: The terms that open loops add to an index.
Terms = frozenset[tuple[Any, int]]


def exposed(body: Iterable[Any], bounds: Bounds | None = None) -> dict[Buffer, Any]:
    """Return the memory that statements may read before they write it, and the first reader.

    ``bounds`` are the ranges of surrounding loops.
    """
    found = Reads(bounds or {})
    found.follow(body)
    return found.exposed


class Step(NamedTuple):
    """Places at a distance of ``size``, of a loop that has run from ``start`` to ``last``."""

    size: int
    start: int
    last: int


class Written:
    """Written elements of one buffer: intervals, by the terms that open loops and steps add."""

    def __init__(self) -> None:
        self.intervals: dict[Terms, list[tuple[int, int]]] = {}

    def add(self, terms: Terms, low: int, high: int) -> None:
        """Mark the elements from ``low`` to ``high``, inclusive, as written."""
        known = self.intervals.setdefault(terms, [])
        for position in range(len(known) - 1, -1, -1):
            first, last = known[position]
            if low <= last + 1 and first <= high + 1:
                del known[position]
                low, high = min(low, first), max(high, last)
        known.append((low, high))
        for term in terms:
            step = term[0]
            if isinstance(step, Step) and abs(step.size) <= high - low + 1:  # no gaps are left
                ends = step.start * step.size, step.last * step.size
                self.add(terms - {term}, low + min(ends), high + max(ends))
                return

    def covers(self, index: Affine, count: int, bounds: Bounds) -> bool:
        """Whether all elements from an index on are written, at all iterations of open loops."""
        for terms, known in self.intervals.items():
            rest = _without(index, terms, bounds)
            if rest is not None:
                low, high = rest.range(bounds)
                if any(first <= low and high + count - 1 <= last for first, last in known):
                    return True
        return False

    def is_whole(self, size: int) -> bool:
        """Whether all elements of a buffer are written."""
        known = self.intervals.get(frozenset(), [])
        return any(first <= 0 and size - 1 <= last for first, last in known)

    def close(self, var: Var, start: int, stop: int) -> None:
        """Note that a loop has run over its range."""
        for terms in [t for t in self.intervals if any(_depends(a, var) for a, _ in t)]:
            known = self.intervals.pop(terms)
            step = next((c for a, c in terms if a is var), 0)
            rest = frozenset(t for t in terms if t[0] is not var)
            if any(_depends(a, var) for a, _ in rest):
                continue  # a quotient contains the variable
            for low, high in known:
                if abs(step) <= high - low + 1 or stop - start == 1:
                    ends = start * step, (stop - 1) * step
                    self.add(rest, low + min(ends), high + max(ends))
                else:
                    self.add(rest | {(Step(step, start, stop - 1), 1)}, low, high)


def _without(index: Affine, terms: Terms, bounds: Bounds) -> Affine | None:
    """Return the rest of an index without the terms of written elements; None if the index has no
    loop that corresponds to one that has run."""
    left = dict(index.terms)
    for atom, coefficient in terms:
        if isinstance(atom, Step):
            found = next(
                (a for a, c in left.items() if c == atom.size and _within(a, atom, bounds)), None
            )
            if found is None:
                return None
            del left[found]
        else:
            left[atom] = left.get(atom, 0) - coefficient
    return Affine(index.constant, tuple((a, c) for a, c in left.items() if c))


def _within(atom: Any, step: Step, bounds: Bounds) -> bool:
    low, high = Affine(0, ((atom, 1),)).range(bounds)
    return step.start <= low and high <= step.last


def _depends(atom: Any, var: Var) -> bool:
    return atom is var or (isinstance(atom, Quotient) and var in atom.operand.variables())


_NOTHING = Written()


class Reads:
    """Follows statements in their order."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = dict(bounds)
        self.exposed: dict[Buffer, Any] = {}
        self.written: dict[Buffer, Written] = {}
        #: The memory that some statement writes, even if it may not run.
        self.changed: set[Buffer] = set()
        #: The elements that all tasks together have written when they are done.
        self._together: list[tuple[Buffer, Terms, int, int]] = []

    def follow(self, body: Iterable[Any]) -> None:
        for s in body:
            handler = _HANDLERS.get(type(s))
            if handler is not None:
                handler(self, s)
            else:
                self.touch(s)

    def touch(self, s: Any) -> None:
        """Handle reads first; an update leaves unwritten elements unwritten."""
        e = EFFECTS[type(s)]
        for access in (*e.reads(s), *e.updates(s)):
            self.read(s, access)
        for access in e.writes(s):
            self.write(access)

    def read(self, s: Any, access: Access) -> None:
        buffer = memory(access.buffer)
        if buffer.kind in ("input", "tape") or not buffer.size or self.is_settled(buffer):
            return
        written = self.written.get(buffer, _NOTHING)
        if written.is_whole(buffer.size):
            return
        index = access.index + access.low if access.low else access.index
        if not written.covers(index, access.size, self.bounds):
            self.exposed[buffer] = s

    def is_settled(self, buffer: Buffer) -> bool:
        """Whether no other reader of a buffer needs to be examined."""
        return buffer in self.exposed

    def write(self, access: Access) -> None:
        buffer, index = memory(access.buffer), access.index
        if access.size > 0 and buffer.size:
            first = index.constant + access.low
            known = self.written.setdefault(buffer, Written())
            known.add(frozenset(index.terms), first, first + access.size - 1)
            self.changed.add(buffer)

    # -- statements that contain others, and moves of memory ------------------------

    def loop(self, s: Loop) -> None:
        if s.stop <= s.start:
            return  # it never runs
        self.bounds[s.var] = (s.start, s.stop - 1)
        self.follow(s.body)
        for buffer, written in self.written.items():
            if s.share is None and not s.is_partial:
                written.close(s.var, s.start, s.stop)
            else:
                self._close_in_part(buffer, written, s)
        del self.bounds[s.var]

    def _close_in_part(self, buffer: Buffer, written: Written, s: Loop) -> None:
        """Note that a part of a loop has run: its writes count when all parts have run."""
        whole = Written()
        mine = [t for t in written.intervals if any(_depends(a, s.var) for a, _ in t)]
        whole.intervals = {t: written.intervals.pop(t) for t in mine}
        whole.close(s.var, s.start, s.stop)
        if s.share is not None:
            self._together += [
                (buffer, terms, low, high)
                for terms, known in whole.intervals.items()
                for low, high in known
            ]

    def tasks(self, s: RunTasks) -> None:
        """Follow tasks: each has its own locals; writes of others are visible after all ended."""
        locals_ = {b: w for b, w in self.written.items() if b.kind == "local"}
        for buffer in locals_:
            del self.written[buffer]
        var = s.tasks.var
        self.bounds[var] = (0, s.tasks.count - 1)
        self.follow(s.tasks.body)
        self.written = {b: w for b, w in self.written.items() if b.kind != "local"} | locals_
        for buffer, terms, low, high in self._together:
            if buffer.kind != "local":
                self.written.setdefault(buffer, Written()).add(terms, low, high)
        self._together.clear()
        for written in self.written.values():
            written.close(var, 0, s.tasks.count)
        del self.bounds[var]

    def branch(self, s: Branch) -> None:
        """Mark elements as written if all bodies have written them."""
        before = self.written
        after = []
        for body in s.bodies:
            self.written = _copied(before)
            self.follow(body)
            after.append(self.written)
        self.written = _in_all(after) if after else before

    def repeat(self, s: Repeat) -> None:
        """Follow a loop whose condition runs at least once, and whose body may never run."""
        self.follow(s.condition)
        self._perhaps(s.body)

    def steps(self, s: Steps) -> None:
        self._perhaps(s.body)

    def _perhaps(self, body: list[Any]) -> None:
        before = _copied(self.written)
        self.follow(body)
        self.written = before

    def swap(self, s: Swap) -> None:
        first, second = memory(s.first), memory(s.second)
        one, other = self.written.get(first, Written()), self.written.get(second, Written())
        self.written[first], self.written[second] = other, one
        if first in self.changed or second in self.changed:
            self.changed |= {first, second}


def _copied(written: dict[Buffer, Written]) -> dict[Buffer, Written]:
    found = {}
    for buffer, w in written.items():
        found[buffer] = Written()
        found[buffer].intervals = {t: list(known) for t, known in w.intervals.items()}
    return found


def _in_all(states: list[dict[Buffer, Written]]) -> dict[Buffer, Written]:
    """Return the elements that are written in each of several states with the same terms."""
    found, *others = states
    for state in others:
        shared = [buffer for buffer in found if buffer in state]
        found = {b: _in_both(found[b], state[b], b.size) for b in shared}
    return found


def _in_both(one: Written, other: Written, size: int) -> Written:
    if one.is_whole(size):
        return other
    if other.is_whole(size):
        return one
    both = Written()
    for terms, known in one.intervals.items():
        for low, high in known:
            for first, last in other.intervals.get(terms, ()):
                if max(low, first) <= min(high, last):
                    both.add(terms, max(low, first), min(high, last))
    return both


#: Statements that do more than touch memory.
_HANDLERS: dict[type, Any] = {
    Loop: Reads.loop,
    RunTasks: Reads.tasks,
    Branch: Reads.branch,
    Repeat: Reads.repeat,
    Steps: Reads.steps,
    Swap: Reads.swap,
}
