"""Code that is compiled ahead, by a thread beside the one that writes the rest of a program.

While a program is written nothing else happens, and the functions that it takes from the library
are known long before its end.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Hashable

Work = Callable[[], bytes]


class Job:
    """Something that is compiled ahead."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._done = threading.Event()
        self._code = b""
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._code = self._work()
        except BaseException as error:  # for whoever asks for the code
            self._error = error
        finally:
            self._done.set()

    def code(self) -> bytes:
        """What came of it, as soon as there is something."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._code


_jobs: dict[Hashable, Job] = {}
#: Those that nobody has begun.
_waiting: deque[Job] = deque()
#: Held while a job is done: a fork waits for it.
working = threading.Lock()
_has_thread = False


def begin(key: Hashable, work: Work) -> None:
    """Have something done by the thread, unless it was asked for before."""
    global _has_thread
    job = Job(work)
    if _jobs.setdefault(key, job) is not job:
        return
    _waiting.append(job)
    if not _has_thread:
        _has_thread = True
        try:
            # Not a daemon: the process may not end while LLVM is at work.
            threading.Thread(target=_run, name="autojit LLVM, ahead").start()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            _has_thread = False


def begun(key: Hashable) -> Job | None:
    """The job of that key, which is forgotten; None where nobody has begun it, or will."""
    job = _jobs.pop(key, None)
    try:
        _waiting.remove(job)  # type: ignore[arg-type]
    except ValueError:
        return job
    return None


def _run() -> None:
    global _has_thread
    while True:
        with working:
            # One that comes too late for this thread is done by whoever needs it.
            if not _waiting or not threading.main_thread().is_alive():
                _has_thread = False
                return
            try:
                job = _waiting.popleft()
            except IndexError:
                continue
            job.run()


def _without_thread() -> None:
    global _has_thread
    _has_thread = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_thread)
