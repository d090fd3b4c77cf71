"""Recursions that are traced level by level, since known values may end them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from autojit.tracing.context import Trace, current_trace

from .active import is_running
from .versions import same

#: The most recursive calls in branches that are traced one by one; each level may double them.
MOST_CALLS = 100
#: The deepest nesting of a branch inside itself. A recursion that known values end, as over the
#: levels of a tree, is not deeper, since each level traces the levels below it twice.
DEEPEST = 24


class TooDeep(BaseException):
    """A recursion is not ended by known values, or it takes many ways; in that case known values
    may still end it. No `except Exception` of the user's stops this exception."""

    def __init__(self, *, has_no_end: bool) -> None:
        self.has_no_end = has_no_end
        self.attempt = max(_local.attempts, key=lambda a: a.depth, default=None)


class _Calls:
    """The calls of one function in an attempt."""

    def __init__(self, function: Any) -> None:
        self.function = function
        #: The number of calls that have not ended, and of all calls that lie in branches.
        self.depth = self.chosen = 0


class Attempt:
    """A recursion that is traced level by level."""

    def __init__(self, function: Any, trace: Trace | None) -> None:
        self.function = function
        #: The trace around the recursion.
        self.trace = trace
        #: The calls of each function that the recursion has come to.
        self.calls = [_Calls(function)]

    @property
    def depth(self) -> int:
        return max(each.depth for each in self.calls)

    def has(self, f: Any) -> bool:
        """Whether the recursion has come to a function."""
        return any(same(each.function, f) for each in self.calls)

    def _calls_of(self, f: Any) -> _Calls:
        found = next((each for each in self.calls if same(each.function, f)), None)
        if found is None:
            found = _Calls(f)
            self.calls.append(found)
        return found

    def called(self, f: Any, go: Callable[[], Any]) -> Any:
        """Call one of the functions of the recursion from another one."""
        calls = self._calls_of(f)
        calls.depth += 1
        if current_trace() is not self.trace:
            calls.chosen += 1
            if calls.depth > DEEPEST or calls.chosen > MOST_CALLS:
                raise TooDeep(has_no_end=calls.depth > DEEPEST)
        try:
            with _entered(self):
                return go()
        finally:
            calls.depth -= 1


class _Entry:
    """A call of a function that can be left, and the attempt that it belongs to."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        #: The runtime and the number of the function, once it has begun.
        self.frame: Any = None


class _Local(threading.local):
    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.entries: list[_Entry] = []


_local = _Local()


@contextlib.contextmanager
def _entered(attempt: Attempt) -> Iterator[None]:
    _local.entries.append(_Entry(attempt))
    try:
        yield
    finally:
        _local.entries.pop()


@contextlib.contextmanager
def attempting(attempt: Attempt) -> Iterator[None]:
    """A context in which a recursion begins."""
    _local.attempts.append(attempt)
    try:
        with _entered(attempt):
            yield
    finally:
        _local.attempts.pop()


def note_frame(frame: Any) -> None:
    """Note that a function that can be left has begun."""
    entry = _local.entries[-1] if _local.entries else None
    if entry is not None and entry.frame is None:
        entry.frame = frame


def is_attempted(f: Any = None) -> bool:
    """Whether a recursion, or that of a function, is traced level by level; it may become a
    loop."""
    return bool(_local.attempts) if f is None else any(a.has(f) for a in _local.attempts)


def called_by_itself(f: Any, frame: Any, go: Callable[[], Any]) -> Any:
    """Call a function in its own body, or in that of another function of its group, which is
    running in ``frame``; ``go`` traces the call like any other."""
    is_running(f)
    entry = _local.entries[-1] if _local.entries else None
    if entry is None or entry.frame != frame:
        return go()
    return entry.attempt.called(f, go)
