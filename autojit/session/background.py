"""Background work: one thread, while there is something to do."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from autojit.ir.core.locks import Lock

_lock = Lock()
_waiting: deque[Job] = deque()
_busy = False


class Job:
    """Work that is done once, in the background."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._process = os.getpid()
        self._done = threading.Event()
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised for whoever waits
            self._error = error
        finally:
            self._done.set()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def lost(self) -> bool:
        """Whether it was started in the parent process, before a fork."""
        return not self.done and self._process != os.getpid()

    def wait(self) -> None:
        """Wait until it is done, and raise its error if it has failed."""
        self._done.wait()
        if self._error is not None:
            raise self._error


def start(work: Callable[[], None]) -> Job:
    """Run a job in the background, after all earlier jobs."""
    global _busy
    job = Job(work)
    with _lock:
        _waiting.append(job)
        idle, _busy = not _busy, True
    if idle:
        # Not a daemon: the process may not end while LLVM is at work.
        threading.Thread(target=_run, name="autojit compiler").start()
    return job


def _forget() -> None:
    global _busy
    _waiting.clear()
    _busy = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _run() -> None:
    global _busy
    while True:
        with _lock:
            # When the process ends, jobs that have not begun are dropped.
            if not _waiting or not threading.main_thread().is_alive():
                _waiting.clear()
                _busy = False
                return
            job = _waiting.popleft()
        job.run()
