"""A progress line for first calls that take more than a second.

    autojit: tracing loss (12,000 operations, 4 s) …

The line appears only on a terminal and in a notebook, and is erased at the end. In a notebook it is
an output of its own, because text on stderr is red there. ``AUTOJIT_PROGRESS=0`` switches it off. A
thread writes the line, because neither the user's function nor LLVM would look at a clock; the
thread ends with the work.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

#: Seconds before the line is shown, and between its updates.
DELAY = 1.0
REFRESH = 0.5


class _Stage(NamedTuple):
    what: str
    name: str
    operations: Callable[[], int]

    def words(self, seconds: float) -> str:
        if not self.what:
            return ""
        count = self.operations()
        known = f"{count:,} operations, " if count else ""
        return f"autojit: {self.what} {self.name} ({known}{seconds:.0f} s) …"


class _Stages(threading.local):
    def __init__(self) -> None:
        self.open: list[_Stage] = []


_stages = _Stages()
_watchers: list[_Watcher] = []


@contextmanager
def stage(what: str, name: str, operations: Callable[[], int]) -> Iterator[None]:
    """A block that may take long, and does ``what`` to the named function, to so many
    ``operations`` so far. Of nested blocks the innermost is shown. Watchers are notified of each.
    """
    from .watching import passes_recorded  # loads NumPy, which the command's pages do not need

    with shown(what, name, operations), passes_recorded(what, name):
        yield


@contextmanager
def shown(what: str, name: str, operations: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """A block like those of :func:`stage`, but not a stage of a compilation: watchers are not
    notified. If ``what`` is empty, there is no line during the block."""
    is_first = not _stages.open
    _stages.open.append(_Stage(what, name, operations))
    watcher = _Watcher(sys.stderr, _stages.open) if is_first and is_shown(sys.stderr) else None
    try:
        yield
    finally:
        if watcher is not None:
            watcher.stop()
        _stages.open.pop()


def is_shown(stream: Any) -> bool:
    """Whether a stream is interactive and the line is not switched off."""
    if os.environ.get("AUTOJIT_PROGRESS", "1") == "0":
        return False
    if _is_notebook(stream):
        return True
    with contextlib.suppress(AttributeError, ValueError):  # no stream, or a closed one
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    return False


def _is_notebook(stream: Any) -> bool:
    return type(stream).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def cleared() -> Iterator[None]:
    """A block that prints something else: the line is erased before it, and comes back after it."""
    with contextlib.ExitStack() as held:
        for watcher in tuple(_watchers):
            held.enter_context(watcher.cleared())
        yield


class _Watcher:
    """Writes the line from another thread until it is stopped."""

    def __init__(self, stream: Any, stages: list[_Stage]) -> None:
        self._stream = stream
        self._cell = _Cell() if _is_notebook(stream) else None
        self._stages = stages
        self._started = time.monotonic()
        self._over = threading.Event()
        self._width = 0
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="autojit progress", daemon=True)
        self._thread.start()
        _watchers.append(self)

    def stop(self) -> None:
        """Erase the line and end the thread."""
        _watchers.remove(self)
        self._over.set()
        self._thread.join()

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """A block before which the line is erased, and during which it is not written."""
        with self._lock:
            with contextlib.suppress(OSError, ValueError):
                self._put("")
            yield

    def _run(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the stream may be closed meanwhile
            over = self._over.wait(DELAY)
            while not over:
                self._write(self._words())
                over = self._over.wait(REFRESH)
            self._write("")

    def _words(self) -> str:
        current = self._stages[-1]  # the first is there as long as this runs
        return current.words(time.monotonic() - self._started)

    def _write(self, words: str) -> None:
        with self._lock:
            self._put(words)

    def _put(self, words: str) -> None:
        if not words and not self._width:
            return
        if self._cell is not None:
            self._cell.put(words)
            self._width = len(words)
            return
        words = words[: _columns(self._stream) - 1]
        self._stream.write("\r" + words.ljust(self._width) + ("" if words else "\r"))
        self._stream.flush()
        self._width = len(words)


class _Cell:
    """An output of a notebook cell, whose text changes."""

    def __init__(self) -> None:
        display = importlib.import_module("IPython.display")
        self._handle = display.DisplayHandle()
        self._is_there = False

    def put(self, words: str) -> None:
        show = self._handle.update if self._is_there else self._handle.display
        show({"text/plain": words}, raw=True)
        self._is_there = True


def _columns(stream: Any) -> int:
    """The maximum width of the line; a wider one could not be erased."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80
