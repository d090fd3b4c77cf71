"""Records of passes: their order, changes and times.

A record contains the passes that this thread runs while :func:`recording`. Transformations are
phases in it (:func:`phase`), with the passes that they run nested below them. Without a record, the
only cost is a check for one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter as clock
from typing import Any, NamedTuple, ParamSpec, TypeVar

from autojit.ir.core.locks import Lock

U = TypeVar("U")
P = ParamSpec("P")

__all__ = ["Printed", "Record", "Run", "clock", "current", "phase", "recording"]


@dataclass
class Run:
    """A pass that ran, or a phase (of no level), with what ran in it."""

    name: str
    level: str = ""
    #: The name of the unit.
    unit: str = ""
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    changed: bool = False
    #: Without the time that the record took.
    seconds: float = 0.0
    #: When it began and ended, by the clock; in between the record took its time, too.
    begun: float = 0.0
    ended: float = 0.0
    runs: list[Run] = field(default_factory=list)

    def walk(self) -> Iterator[Run]:
        """This one, then all that ran in it."""
        yield self
        for inner in self.runs:
            yield from inner.walk()


class Printed(NamedTuple):
    """The text of the unit that a pass has just changed."""

    run: Run
    text: str


class Record:
    """The passes that ran; ``print_after`` names passes whose results are kept as text."""

    def __init__(self, print_after: Collection[str] = ()) -> None:
        self.runs: list[Run] = []
        self.printed: list[Printed] = []
        #: Seconds that the record itself took.
        self.overhead = 0.0
        self._print_after = print_after
        self._open: list[Run] = []

    def walk(self) -> Iterator[Run]:
        """Every run and phase in order."""
        for run in self.runs:
            yield from run.walk()

    def run(self, made_by: Any, unit: U, call: Callable[[], U]) -> U:
        """Record a call of a pass."""
        begun = clock()
        level = made_by.level
        run = Run(made_by.name, level.name, level.title(unit), level.sizes(unit))
        before = level.state(unit)
        self.took(begun)
        made = self._timed(run, call)
        begun = clock()
        run.after, run.changed = level.sizes(made), before != level.state(made)
        if run.changed and run.name in self._print_after:
            self.printed.append(Printed(run, level.text(made)))
        self.took(begun)
        return made

    def phase(self, name: str, call: Callable[..., U], *args: Any, **named: Any) -> U:
        """Record a call of something that runs passes."""
        return self._timed(Run(name), lambda: call(*args, **named))

    def took(self, begun: float) -> None:
        """Count the time since then as the record's own."""
        self.overhead += clock() - begun

    def _timed(self, run: Run, call: Callable[[], U]) -> U:
        (self._open[-1].runs if self._open else self.runs).append(run)
        self._open.append(run)
        begun, overhead = clock(), self.overhead
        run.begun = begun
        try:
            return call()
        finally:
            run.ended = clock()
            run.seconds = run.ended - begun - (self.overhead - overhead)
            self._open.pop()


class _Recording(threading.local):
    record: Record | None = None


_recording = _Recording()
#: How many records there are, on all threads; while there is none, no pass looks for one.
open_records = 0
_counting = Lock()


def current() -> Record | None:
    """The record of this thread."""
    return _recording.record


@contextmanager
def recording(print_after: Collection[str] = ()) -> Iterator[Record]:
    """A context in which the passes of this thread are recorded."""
    global open_records
    before, _recording.record = _recording.record, Record(print_after)
    with _counting:
        open_records += 1
    try:
        yield _recording.record
    finally:
        _recording.record = before
        with _counting:
            open_records -= 1


def phase(name: str) -> Callable[[Callable[P, U]], Callable[P, U]]:
    """A decorator: the passes that the function runs are recorded under this name."""

    def decorate(function: Callable[P, U]) -> Callable[P, U]:
        @wraps(function)
        def run(*args: P.args, **named: P.kwargs) -> U:
            record = _recording.record if open_records else None
            if record is None:
                return function(*args, **named)
            return record.phase(name, function, *args, **named)

        return run

    return decorate
