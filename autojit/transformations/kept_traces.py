"""Traces that a later call without ``jit`` uses again.

Without ``jit`` a function is traced at each call, because its values are at hand: Python may branch
on them, and read whatever it likes. The trace of a long loop takes far longer than its code. A
trace is kept if the next one would certainly be the same.

Legal where `outer_values` knows all that the function reads, and finds the same values before the
trace, after it and before the later call; where the trace asked for no value of an argument; and
where the arguments that are traced have the same types and containers. NumPy's error state is the
same, no other trace is open, and nobody watches the work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from autojit.ir.core.locks import Lock
from autojit.session.watching import state
from autojit.staging.trace_function import Traced
from autojit.tracing.context import current_trace

from .outer_values import Leaf, are_same, is_plain, outer_values

#: The most traces of one function that are kept, and the most calls in a row that find none.
MOST, MISSES = 4, 16


class _Kept(NamedTuple):
    key: Hashable
    values: list[Leaf]
    traced: Traced


class _Traces:
    """The traces of one function, the latest first."""

    def __init__(self) -> None:
        self.kept: tuple[_Kept, ...] = ()
        self.misses = 0

    def find(self, key: Hashable, values: list[Leaf]) -> Traced | None:
        for each in self.kept:
            if each.key == key and are_same(each.values, values):
                self.misses = 0
                return each.traced
        self.misses += 1
        return None


_traces: WeakKeyDictionary[Any, _Traces] = WeakKeyDictionary()
_lock = Lock()


def kept_trace(
    function: Callable[..., Any],
    key: Hashable,
    moving: Any,
    given: Any,
    trace: Callable[[list[bool]], Traced],
) -> Traced:
    """The trace of a function for arguments: an earlier one, or ``trace(asked)``, which adds an
    element to ``asked`` if a value was asked for.

    Args:
        key: the types of the traced arguments, their containers and their places.
        moving: the traced arguments. Nothing is kept unless they are plain trees.
        given: the other arguments.
    """
    before = _values_now(function, moving, given)
    if before is None:
        return trace([])
    with _lock:
        traces = _traces.setdefault(function, _Traces())
    if traces.misses > MISSES:
        return trace([])
    key = key, tuple(np.geterr().items())
    found = traces.find(key, before)
    if found is not None:
        return found
    asked: list[bool] = []
    made = trace(asked)
    if not asked and are_same(before, outer_values(function, given)):
        traces.kept = (_Kept(key, before, made), *traces.kept[: MOST - 1])
    return made


def _values_now(function: Callable[..., Any], moving: Any, given: Any) -> list[Leaf] | None:
    """The outer values; None if they are not known, if a trace is open, or if a profiler or
    debugger sees what runs."""
    if current_trace() is not None or state.watchers or sys.gettrace() or sys.getprofile():
        return None
    return outer_values(function, given) if is_plain(moving) else None
