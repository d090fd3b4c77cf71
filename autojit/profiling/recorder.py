"""The data of a profile: a tree of spans for each thread, and a list of the first spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter as clock
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.program import Program, Source
from autojit.ir.pass_manager.records import Record
from autojit.ir.pass_manager.records import Run as PassRun
from autojit.session.watching import Ops, Run, span
from autojit.tracing.source import user_source

#: The most spans that are kept individually, for a timeline; the trees contain all spans.
MOST_EVENTS = 200_000


@dataclass(eq=False)
class Sums:
    """The total times of all runs of one program."""

    program: Program
    #: The instrumented code, and its sums by part.
    code: Any
    counts: np.ndarray
    ticks: np.ndarray
    #: The number of runs, and their total seconds.
    runs: int
    seconds: float

    def add(self, more: Sums) -> Sums:
        """The sum of both."""
        return replace(
            self,
            counts=self.counts + more.counts,
            ticks=self.ticks + more.ticks,
            runs=self.runs + more.runs,
            seconds=self.seconds + more.seconds,
        )


@dataclass(eq=False)
class Node:
    """All spans of one kind and name that were opened at one place in the tree."""

    kind: str
    name: str
    count: int = 0
    #: Seconds, and how many of them the profile itself took.
    seconds: float = 0.0
    own: float = 0.0
    #: The user's line, for operations that run one by one.
    source: Source | None = None
    children: dict[tuple[Any, ...], Node] = field(default_factory=dict)
    #: Runs of compiled code by program, and seconds of ops in the interpreter.
    sums: dict[int, Sums] = field(default_factory=dict)
    ops: dict[int, Ops] = field(default_factory=dict)

    @property
    def net(self) -> float:
        """The seconds without those of the profile itself."""
        return max(0.0, self.seconds - self.own)

    def child(self, kind: str, name: str, source: Source | None = None) -> Node:
        """The node of the spans that are opened inside this one."""
        key = kind, name, source
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Node(kind, name, source=source)
        return found

    def walk(self) -> Iterator[Node]:
        """This node and all nodes below it."""
        yield self
        for child in list(self.children.values()):
            yield from child.walk()

    def take(self, other: Node) -> None:
        """Add the times of another node and of all nodes below it."""
        self.count += other.count
        self.seconds += other.seconds
        self.own += other.own
        for key, theirs in other.sums.items():
            mine = self.sums.get(key)
            self.sums[key] = theirs if mine is None else mine.add(theirs)
        for key, ops in other.ops.items():
            _add_ops(self.ops, key, ops)
        for child in other.children.values():
            self.child(child.kind, child.name, child.source).take(child)


def lines_of(program: Program) -> tuple[Any, ...]:
    """The lines of all ops of a program, including those in bodies."""
    return tuple([(op.source, *map(lines_of, op.programs)) for op in program.ops])


class Event(NamedTuple):
    """A span in a thread, timed by ``time.perf_counter``."""

    thread: int
    kind: str
    name: str
    begun: float
    ended: float
    data: Any


class _Thread:
    """The tree of a thread, and the stack of its open spans."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.ident: int = threading.get_ident()
        self.root = Node("thread", self.thread.name)
        #: Seconds that the profile itself took.
        self.overhead = 0.0
        #: The nodes of open spans, each with the overhead at the time when it was opened.
        self.open: list[tuple[Node, float]] = [(self.root, 0.0)]

    def is_tracing(self, span: span) -> bool:
        """Whether an operation is recorded into a program instead of being run."""
        return span.kind in _EAGER and any(node.kind == "tracing" for node, _ in self.open)


class Recorder:
    """A watcher that collects the times of spans until it is closed."""

    def __init__(self) -> None:
        self.threads: list[_Thread] = []
        self.events: list[Event] = []
        #: The number of spans without an event.
        self.dropped: int = 0
        self.closed: bool = False
        #: The times of beginning and end, and the thread.
        self.begun: float = clock()
        self.ended: float | None = None
        self.ident: int = threading.get_ident()
        self._programs: dict[Any, Program] = {}
        #: The last program, and the first program like it.
        self._latest: tuple[Program, Program] | None = None
        self._local = threading.local()

    def close(self) -> None:
        """Stop recording."""
        self.ended = clock()
        self.closed = True

    @property
    def seconds(self) -> float:
        """The time during which it was open, up to now if it still is."""
        return (clock() if self.ended is None else self.ended) - self.begun

    def _thread(self) -> _Thread:
        found: _Thread | None = getattr(self._local, "thread", None)
        if found is None:
            found = self._local.thread = _Thread()
            self.threads.append(found)
        return found

    def begin(self, span: span) -> None:
        """Open a span in this thread."""
        begun = clock()
        thread = self._thread()
        above, _ = thread.open[-1]
        if (above.kind, above.name) == (span.kind, span.name) or thread.is_tracing(span):
            node = above  # two layers report the same, or it is traced
        else:
            source = user_source() if span.kind in _EAGER else None
            if source is not None and span.kind == "backward":
                source = source.reversed()
            node = above.child(span.kind, span.name, source)
        thread.overhead += clock() - begun
        thread.open.append((node, thread.overhead))

    def end(self, span: span) -> None:
        """Close a span in this thread."""
        begun = clock()
        thread = self._thread()
        node, before = thread.open.pop()
        if self.closed:
            return
        if span.kind == "watching":
            thread.overhead += span.ended - span.begun
        data = self._keep(thread, node, span)
        if node is not thread.open[-1][0]:
            node.count += 1
            node.seconds += span.ended - span.begun
            node.own += thread.overhead - before
        self._list(thread, node, span, data)
        thread.overhead += clock() - begun

    def _list(self, thread: _Thread, node: Node, span: span, data: Any) -> None:
        if len(self.events) < MOST_EVENTS:
            event = Event(thread.ident, span.kind, node.name, span.begun, span.ended, data)
            self.events.append(event)
        else:
            self.dropped += 1

    def _keep(self, thread: _Thread, node: Node, span: span) -> Any:
        """Add a span's data to its node; return the part that is kept."""
        data = span.data
        if isinstance(data, Run):
            data = data._replace(program=self._first_like(data.program))
            _add_run(node, data)
        elif isinstance(data, Ops):
            data = data._replace(program=self._first_like(data.program))
            _add_ops(node.ops, id(data.program), data)
        elif isinstance(data, Record):
            thread.overhead += data.overhead
            for run in data.runs:
                _add_pass(node, run)
        else:
            return None
        return data

    def _first_like(self, program: Program) -> Program:
        """The first program of the same structure and lines.

        Without ``jit``, each call makes another program.
        """
        latest = self._latest
        if latest is None or latest[0] is not program:
            known = self._programs.setdefault((program, lines_of(program)), program)
            latest = self._latest = program, known
        return latest[1]

    def of_thread(self, ident: int) -> Node:
        """The tree of one thread."""
        made = Node("profile", "")
        for thread in self.threads:
            if thread.ident == ident:
                made.take(thread.root)
                made.own += thread.overhead
        return made

    def whole(self) -> Node:
        """The trees of all threads, merged."""
        made = Node("profile", "")
        for thread in self.threads:
            made.take(thread.root)
            made.own += thread.overhead
        return made


#: Kinds of spans for operations that run one by one, at a user's line.
_EAGER = frozenset({"operation", "backward"})


def _add_run(node: Node, data: Run) -> None:
    program, code, run = data
    made = Sums(program, code, run.counts, run.ticks, 1, run.ended - run.begun)
    found = node.sums.get(id(program))
    node.sums[id(program)] = made if found is None else found.add(made)


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
