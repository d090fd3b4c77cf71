"""Limits for the memory of a process and for the processor time of a block.

Code that exceeds the memory limit gets a MemoryError, code that exceeds the time limit
:class:`TooSlow`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Limits belong to the process, so only one thread sets them at a time.
_lock = threading.Lock()


def limit_memory(more: int) -> None:
    """Let the process take this many bytes in addition to its present memory."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        bytes_ = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """The same limit, for a block."""
    if sys.platform != "linux":
        yield
        return
    import resource

    with _lock:
        before = resource.getrlimit(resource.RLIMIT_AS)
        limit_memory(more)
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


class TooSlow(Exception):
    """A block has used all its processor time."""


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the block when the process has used this much processor time in it.

    Only Python code is interrupted, and only in the main thread. There is no limit in other threads
    and on Windows. A block within another one keeps the outer limit.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main or signal.getitimer(signal.ITIMER_PROF)[0]:
        yield
        return

    def late(_number: int, _frame: object) -> None:
        raise TooSlow(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def processor_time(pid: int) -> float | None:
    """Seconds of processor time used by a process; None if the system does not provide it."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
