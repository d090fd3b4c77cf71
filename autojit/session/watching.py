"""The one place where the work of this process tells that it begins and ends.

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
    """Is told of spans, in the thread where they are."""

    def begin(self, span: span) -> None:
        """A span is about to begin."""

    def end(self, span: span) -> None:
        """A span that the watcher was told of has ended."""


class _State:
    def __init__(self) -> None:
        #: Who watches now.
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
               ``interpreting``, ``operation``, ``backward``, ``annotation``; ``watching`` is what
               would not be done if nobody watched
    ``name``   of the function, or of the operation
    ``data``   more about it: a ``Record`` of passes, a :class:`Run`, :class:`Ops`, or operands
    ``begun``  and ``ended``: seconds of ``time.perf_counter``, without the watchers' own; a block
               may set both to the part of it that counts
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
    """A span that has the record of the passes in it, if somebody watches."""
    if not state.watchers:
        yield
        return
    with span(kind, name) as made, recording() as record:
        made.data = record
        yield


class Run(NamedTuple):
    """A run of compiled code; ``program`` is as the user has written it."""

    program: Program
    code: TimedExecutable
    run: TimedRun


class Ops(NamedTuple):
    """What the interpreter did: the seconds of each op of a program."""

    program: Program
    seconds: list[float]


def results_of(program: Program, code: Any, arrays: Sequence[Any]) -> list[Any]:
    """The results of a program's code; the times of its parts are taken if somebody watches."""
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
    """The code that takes times, made now if need be; none on a GPU, or without a clock."""
    from autojit.codegen.driver.executable import Executable

    if not isinstance(code, Executable):
        return None
    from autojit.codegen.driver.timed import timed_form

    with span("watching", "timed code"):
        return timed_form(code)


def timed_ops(program: Program, interpret: Callable[..., list[Any]], *args: Any) -> list[Any]:
    """The outputs of a program by the interpreter, with the time of each op if somebody watches."""
    if not state.watchers:
        return interpret(program, *args)
    with span("interpreting", program.name) as made, timing_ops() as seconds:
        made.data = Ops(program, seconds)
        return interpret(program, *args)


__all__ = [
    "Ops", "Record", "Run", "Watcher", "passes_recorded", "results_of", "span", "state",
    "timed_ops", "watching",
]  # fmt: skip
