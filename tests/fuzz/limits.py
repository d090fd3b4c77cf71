"""A bound for the memory of a process: what asks for more gets a MemoryError."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Limits are those of the process, so one thread sets them at a time.
_lock = threading.Lock()


def limit_memory(more: int) -> None:
    """Let the process take so many bytes beside what it has."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        bytes_ = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """The same for a block."""
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
