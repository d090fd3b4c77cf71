"""The function that runs in a form that can be left and continued (see `rewriting.self_calls`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from autojit.capture.rewriting.context import Site
from autojit.errors import CaptureError, with_place
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source

from .messages import CALLED_WITHIN
from .versions import refused, same


class _Local(threading.local):
    def __init__(self) -> None:
        self.runs: list[ActiveRun] = []


_local = _Local()


def active_run() -> ActiveRun | None:
    """The run of a function, if one is being traced."""
    return _local.runs[-1] if _local.runs else None


def runs() -> Iterable[ActiveRun]:
    """The runs that are being traced, the innermost last."""
    return _local.runs


def is_running(f: Any) -> None:
    """Raise CaptureError if a function that runs calls itself where it cannot be left."""
    if any(same(function, f) for run in _local.runs for function in run.functions()):
        raise refused(f, CALLED_WITHIN)


#: The most blocks, ways of branches and steps of loops, of the functions that run in such a form.
#: A hundred take about a second to trace and compile.
MOST_BLOCKS = 3_000


def count_block() -> None:
    """Raise CaptureError if the code of functions in such a form has become too long."""
    run, trace = active_run(), current_trace()
    if run is None or trace is None:
        return
    trace.resumed[0] += 1
    if trace.resumed[0] > MOST_BLOCKS:
        raise CaptureError(with_place(run.is_long(MOST_BLOCKS), user_source()))


hooks.count_block = count_block


class ActiveRun:
    """A run of a function, from where it begins to the place where it is left, or to its end."""

    def __init__(self, function: Any) -> None:
        self.function = function
        #: The number of the place at which it continues, until it comes there; else None.
        self.skips: int | None = None
        #: Whether the function has just been left.
        self.has_left = False
        #: Of the function's frame: its runtime and number, and how to read its names.
        self.frame: Any = None
        self.get: Callable[[], tuple[Any, ...]] = tuple
        #: The loops around the present place: the iterable of each, and the number of steps.
        self.loops: list[list[Any]] = []

    @property
    def is_left(self) -> Any:
        """Whether the function has been left, which may be traced."""
        raise NotImplementedError

    def functions(self) -> Iterable[Any]:
        """The functions that must not be called while they run."""
        return ()

    def entered(self, twin: Callable[[], Any]) -> Any:
        """The result of the function's twin."""
        _local.runs.append(self)
        try:
            return twin()
        finally:
            _local.runs.pop()

    def begin(self, frame: Any, get: Any, put: Any) -> None:
        """Note the frame of the function, and set its names."""
        if self.frame is None:
            self.frame, self.get = frame, get
            self.restore(put)

    def restore(self, put: Callable[[tuple[Any, ...]], None]) -> None:
        """Set the names with which the function continues."""
        raise NotImplementedError

    def answer(self) -> Any:
        """The value of the expression at which the function continues."""
        raise NotImplementedError

    def is_long(self, count: int) -> str:
        """The message for a run that has that many branches and loops."""
        raise NotImplementedError

    def site(self, kind: str, number: int = -1) -> Site:
        """A site of the function."""
        runtime, function = self.frame
        sites: tuple[Site, ...] = runtime.sites
        return next(s for s in sites
                    if (s.kind, s.function, s.number) == (kind, function, number))  # fmt: skip
