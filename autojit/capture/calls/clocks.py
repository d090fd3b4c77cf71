"""Clocks in traced code.

A clock that is read during tracing would give the same time in all calls, and in all iterations of
a loop that is traced once. So autojit refuses it.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autojit.capture.values.table import When, answers
from autojit.errors import FrozenTimeError, with_place
from autojit.tracing.context import is_kept
from autojit.tracing.source import user_source


def _refuse(name: str) -> NoReturn:
    raise FrozenTimeError(
        with_place(
            f"{name} in a compiled function, or in a loop or branch that is traced once, would "
            "read the clock when the function is compiled, and every call would see that time. "
            "Read it outside, and pass it as an argument:\n"
            "    jit(f)(x, time.time())             # not: time.time() in f\n"
            "To measure a compiled function, read the clock around the call:\n"
            "    start = time.perf_counter()\n"
            "    jit(f)(x)\n"
            "    print(time.perf_counter() - start)",
            user_source(),
        )
    )


#: Functions of `time`; each reads a clock if it gets fewer arguments than this.
_READS = {
    "time": 1, "time_ns": 1, "perf_counter": 1, "perf_counter_ns": 1, "monotonic": 1,
    "monotonic_ns": 1, "process_time": 1, "process_time_ns": 1, "thread_time": 1,
    "thread_time_ns": 1, "clock_gettime": 2, "clock_gettime_ns": 2, "localtime": 1, "gmtime": 1,
    "ctime": 1, "asctime": 1, "strftime": 2,
}  # fmt: skip


def _clock(function: Callable[..., Any], name: str, most: int) -> None:
    def read(*args: Any) -> Any:
        if is_kept() and len(args) < most:
            _refuse(name)
        return function(*args)

    answers(function, when=When.ALWAYS)(read)


for _name, _most in _READS.items():
    if hasattr(time, _name):  # some systems lack some
        _clock(getattr(time, _name), f"time.{_name}", _most)
_clock(os.times, "os.times", 1)

#: Methods that read a clock if they are called on a class of `datetime`.
_METHODS = frozenset({"now", "utcnow", "today"})


def is_clock(f: Any) -> bool:
    """Whether a builtin method is one that reads a clock."""
    owner = f.__self__
    return f.__name__ in _METHODS and isinstance(owner, type) and issubclass(owner, datetime.date)


def read(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``datetime.now()`` or a similar method; refuse if the result would be kept."""
    if is_kept():
        _refuse(f"{f.__self__.__name__}.{f.__name__}")
    return f(*args, **kwargs)


@answers(np.datetime64, when=When.ALWAYS)
def _datetime64(*args: Any) -> Any:
    if is_kept() and args and args[0] in ("now", "today"):
        _refuse(f"np.datetime64({args[0]!r})")
    return np.datetime64(*args)
