"""The one place where this process reports that its work begins and ends.

A :class:`Watcher` is notified, while :func:`watching`, of work in all threads. Work that takes time
is enclosed in a :class:`span`. Without watchers, a span costs only a check for them; code that
takes a microsecond makes this check itself (``if state.watchers``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter as clock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from autojit.ir.core.locks import Lock
from autojit.ir.pass_manager.records import Record, recording
from autojit.ir.tools.interpreter import timing_ops

if TYPE_CHECKING:
    from autojit.codegen.driver.timed import TimedExecutable, TimedRun
    from autojit.ir.core.program import Program


class Watcher(Protocol):
    """Is notified of spans, in the thread in which they run."""

    def begin(self, span: span) -> None:
        """A span is about to begin."""

    def end(self, span: span) -> None:
        """A span has ended; the watcher was notified of its beginning."""


class _State:
    def __init__(self) -> None:
        #: The present watchers.
        self.watchers: tuple[Watcher, ...] = ()


state = _State()
_lock = Lock()


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """A context in which a watcher is notified of spans."""
    with _lock:
        state.watchers = (*state.watchers, watcher)
    try:
        yield
    finally:
        with _lock:
            state.watchers = tuple(w for w in state.watchers if w is not watcher)


class span:
    """A block that takes time.

    ``kind``   ``call``, ``tracing``, ``transforming``, ``compiling``, ``arguments``, ``run``,
               ``interpreting``, ``operation``, ``backward``, ``annotation``; ``watching`` is work
               that would not be done if nobody watched
    ``name``   of the function, or of the operation
    ``data``   more about it: a ``Record`` of passes, a :class:`Run`, :class:`Ops`, or operands
    ``begun``  and ``ended``: seconds of ``time.perf_counter``, without those of the watchers; a
               block may set both to the part of it that counts
    """

    __slots__ = ("_told", "begun", "data", "ended", "kind", "name")

    def __init__(self, kind: str, name: str, data: Any = None) -> None:
        self.kind: str = kind
        self.name: str = name
        self.data: Any = data
        self.begun: float
        self.ended: float

    def __enter__(self) -> span:
        self._told = state.watchers
        for watcher in self._told:
            watcher.begin(self)
        self.begun = self.ended = clock()
        return self

    def __exit__(self, *error: object) -> None:
        if self.ended == self.begun:
            self.ended = clock()
        for watcher in self._told:
            watcher.end(self)


@contextmanager
def passes_recorded(kind: str, name: str) -> Iterator[None]:
    """A span that contains the record of the passes, if somebody watches."""
    if not state.watchers:
        yield
        return
    with span(kind, name) as made, recording() as record:
        made.data = record
        yield


class Run(NamedTuple):
    """A run of compiled code; ``program`` is the one that the user has written."""

    program: Program
    code: TimedExecutable
    run: TimedRun


class Ops(NamedTuple):
    """The work of the interpreter: the seconds of each op of a program."""

    program: Program
    seconds: list[float]


def results_of(program: Program, code: Any, arrays: Sequence[Any]) -> list[Any]:
    """The results of a program's code; the times of its parts are measured if somebody watches."""
    if not state.watchers:
        results: list[Any] = code.call(arrays)
        return results
    timed = _timed(code)
    if timed is None:
        with span("run", program.name):
            results = code.call(arrays)
            return results
    with span("run", program.name) as made:
        run = timed.run(arrays)
        made.begun, made.ended = run.begun, run.ended
        made.data = Run(program, timed, run)
        return run.results


def _timed(code: Any) -> TimedExecutable | None:
    """The code that measures times, made now if needed; None on a GPU, or without a clock."""
    from autojit.codegen.driver.executable import Executable

    if not isinstance(code, Executable):
        return None
    from autojit.codegen.driver.timed import timed_form

    with span("watching", "timed code"):
        return timed_form(code)


def timed_ops(program: Program, interpret: Callable[..., list[Any]], *args: Any) -> list[Any]:
    """The outputs of a program from the interpreter; ops are timed if somebody watches."""
    if not state.watchers:
        return interpret(program, *args)
    with span("interpreting", program.name) as made, timing_ops() as seconds:
        made.data = Ops(program, seconds)
        return interpret(program, *args)


__all__ = [
    "Ops", "Record", "Run", "Watcher", "passes_recorded", "results_of", "span", "state",
    "timed_ops", "watching",
]  # fmt: skip
