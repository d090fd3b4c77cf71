"""What a profile keeps: a tree of spans for each thread, and the first of them one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.program import Program
from autojit.ir.pass_manager.records import Record
from autojit.ir.pass_manager.records import Run as PassRun
from autojit.session.watching import Ops, Run, span
from autojit.tracing.source import user_source

#: The most spans that are kept one by one, for a timeline; all are in the trees.
MOST_EVENTS = 200_000


@dataclass(eq=False)
class Sums:
    """What all runs of one program took together."""

    program: Program
    #: The code that takes times, and its sums by part.
    code: Any
    counts: np.ndarray
    ticks: np.ndarray

    def add(self, counts: np.ndarray, ticks: np.ndarray) -> None:
        """One more run."""
        self.counts = self.counts + counts
        self.ticks = self.ticks + ticks


@dataclass(eq=False)
class Node:
    """All spans of one kind and name that were opened at one place of the tree."""

    kind: str
    name: str
    count: int = 0
    #: Seconds, and those of them that would not have passed without the profile.
    seconds: float = 0.0
    own: float = 0.0
    children: dict[tuple[str, str], Node] = field(default_factory=dict)
    #: Runs of compiled code, by program, and the seconds of ops in the interpreter.
    sums: dict[int, Sums] = field(default_factory=dict)
    ops: dict[int, Ops] = field(default_factory=dict)

    @property
    def net(self) -> float:
        """Seconds without the profile's own."""
        return max(0.0, self.seconds - self.own)

    def child(self, kind: str, name: str) -> Node:
        """The node of spans that are opened in this one."""
        found = self.children.get((kind, name))
        if found is None:
            found = self.children[kind, name] = Node(kind, name)
        return found

    def walk(self) -> Iterator[Node]:
        """This node and all below."""
        yield self
        for child in list(self.children.values()):
            yield from child.walk()

    def take(self, other: Node) -> None:
        """Add another node's times, and all below it."""
        self.count += other.count
        self.seconds += other.seconds
        self.own += other.own
        for key, theirs in other.sums.items():
            if (mine := self.sums.get(key)) is None:
                self.sums[key] = Sums(theirs.program, theirs.code, theirs.counts, theirs.ticks)
            else:
                mine.add(theirs.counts, theirs.ticks)
        for key, ops in other.ops.items():
            _add_ops(self.ops, key, ops)
        for child in other.children.values():
            self.child(child.kind, child.name).take(child)


class Event(NamedTuple):
    """One span, in a thread, by ``time.perf_counter``."""

    thread: int
    kind: str
    name: str
    begun: float
    ended: float
    data: Any


class _Thread:
    """The tree of a thread, and what is open in it."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.ident = threading.get_ident()
        self.root = Node("thread", self.thread.name)
        self.open: list[Node] = [self.root]


class Recorder:
    """A watcher that keeps the times of spans until it is closed."""

    def __init__(self) -> None:
        self.threads: list[_Thread] = []
        self.events: list[Event] = []
        #: How many spans there is no event of.
        self.dropped = 0
        self.closed = False
        self._local = threading.local()

    def _thread(self) -> _Thread:
        found: _Thread | None = getattr(self._local, "thread", None)
        if found is None:
            found = self._local.thread = _Thread()
            self.threads.append(found)
        return found

    def begin(self, span: span) -> None:
        """A span is about to begin in this thread."""
        open_ = self._thread().open
        above = open_[-1]
        if (above.kind, above.name) == (span.kind, span.name):
            open_.append(above)  # two floors speak of the same
            return
        if span.kind in _EAGER:
            place = user_source()
            name = f"{span.name} ({place})" if place is not None else span.name
            open_.append(above.child(span.kind, name))
            return
        open_.append(above.child(span.kind, span.name))

    def end(self, span: span) -> None:
        """A span has ended in this thread."""
        thread = self._thread()
        node = thread.open.pop()
        if self.closed:
            return
        seconds = span.ended - span.begun
        if node is not thread.open[-1]:
            node.count += 1
            node.seconds += seconds
        if span.kind == "watching":
            for each in {id(n): n for n in (node, *thread.open)}.values():
                each.own += seconds
        self._keep(thread, node, span)
        if len(self.events) < MOST_EVENTS:
            event = Event(thread.ident, span.kind, node.name, span.begun, span.ended, span.data)
            self.events.append(event)
        else:
            self.dropped += 1

    def _keep(self, thread: _Thread, node: Node, span: span) -> None:
        data = span.data
        if isinstance(data, Run):
            _add_run(node, data)
        elif isinstance(data, Ops):
            _add_ops(node.ops, id(data.program), data)
        elif isinstance(data, Record):
            for each in {id(n): n for n in (node, *thread.open)}.values():
                each.own += data.overhead
            for run in data.runs:
                _add_pass(node, run)

    def whole(self) -> Node:
        """The trees of all threads in one."""
        made = Node("profile", "")
        for thread in self.threads:
            for child in thread.root.children.values():
                made.child(child.kind, child.name).take(child)
            made.own += thread.root.own
        return made


#: Spans of operations that run one by one, which are named after the user's line as well.
_EAGER = frozenset({"operation", "backward"})


def _add_run(node: Node, data: Run) -> None:
    found = node.sums.get(id(data.program))
    if found is None:
        made = Sums(data.program, data.code, data.run.counts, data.run.ticks)
        node.sums[id(data.program)] = made
    else:
        found.add(data.run.counts, data.run.ticks)


def _add_ops(found: dict[int, Ops], key: int, more: Ops) -> None:
    known = found.get(key)
    before = known.seconds if known is not None else [0.0] * len(more.seconds)
    total = [a + b for a, b in zip(before, more.seconds, strict=True)]
    found[key] = Ops(more.program, total)


def _add_pass(node: Node, run: PassRun) -> None:
    child = node.child("pass" if run.level else "phase", run.name)
    child.count += 1
    child.seconds += run.seconds
    for inner in run.runs:
        _add_pass(child, inner)
