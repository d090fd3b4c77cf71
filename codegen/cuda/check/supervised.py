"""Items run one after another in another process, which is restarted if an item ends or hangs it.

After a kernel has accessed invalid memory, a process can no longer use its card; and threads that
wait for each other forever can only be ended with their process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

#: The seconds within which new items are begun, and the most seconds of an item.
ALTOGETHER, OF_ITEM = 380.0, 90.0
#: Lines by which the process reports its items: one begins, one has ended well, one has failed.
_MARK = "\x1e"
_BEGINS, _WELL, _BADLY = "begins", "well", "badly"

#: Shows a line.
Say = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)


class Item(NamedTuple):
    """A name, and a function that returns a line to print, or raises if something is wrong."""

    name: str
    run: Callable[[], str]


def run_items(items: Sequence[Item], is_usable: Callable[[], bool]) -> None:
    """Run items in this process, until one leaves it in an unusable state."""
    for item in items:
        print(f"{_MARK}{_BEGINS} {item.name}", flush=True)
        try:
            line, outcome = item.run(), _WELL
        except Exception as failure:
            words = (str(failure).strip() or "no words").splitlines()[0]
            line, outcome = f"FAILED: {type(failure).__name__}: {words}", _BADLY
        print(told(item.name, line), flush=True)
        print(f"{_MARK}{outcome}", flush=True)
        if outcome == _BADLY and not is_usable():
            return


def told(name: str, words: str) -> str:
    """The line that is printed for an item.

    >>> told("graphs", "20 calls")
    'graphs                  20 calls'
    """
    return f"{name:<23} {words}"


class Outcome(NamedTuple):
    """The names of items that failed, and of those that were not begun."""

    failed: list[str]
    not_begun: list[str]


def supervise(
    command: Sequence[str], names: Sequence[str], altogether: float = ALTOGETHER,
    of_item: float = OF_ITEM, say: Say = _print,
) -> Outcome:  # fmt: skip
    """Run ``command N``, which runs the items from number N on by :func:`run_items`.

    After an item that ends or hangs the process, go on with a new process.  No item begins after
    ``altogether`` seconds, and one may take ``of_item`` seconds.  ``say`` gets each line.
    """
    end = time.monotonic() + altogether
    found, first = Outcome([], []), 0
    while first < len(names):
        if time.monotonic() > end:
            found.not_begun.extend(names[first:])
            break
        first = _Watched([*command, str(first)], names, first, of_item, say).run(end, found)
    return found


class _Watched:
    """One process that runs items."""

    def __init__(
        self, command: Sequence[str], names: Sequence[str], first: int, of_item: float, say: Say
    ) -> None:
        self._names = names
        self._number = first
        self._of_item = of_item
        self._say = say
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._hung = False

    def run(self, end: float, found: Outcome) -> int:
        """Wait for the process; return the number of the first item that is left."""
        is_running = False
        timer = self._timer()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.startswith(_MARK):
                self._say(line.rstrip("\n"))
                continue
            timer.cancel()
            timer = self._timer()
            is_running = line.startswith(_MARK + _BEGINS)
            if not is_running:
                if line.startswith(_MARK + _BADLY):
                    found.failed.append(self._names[self._number])
                self._number += 1
                if time.monotonic() > end:
                    break
        timer.cancel()
        if time.monotonic() > end and not is_running:
            self._process.kill()
            self._process.communicate()
            return self._number
        self._process.communicate()
        code = self._process.returncode
        if is_running or code:
            self._lost(code, found)
        return self._number

    def _lost(self, code: int, found: Outcome) -> None:
        """Note that the process has ended within an item, or before the first."""
        if self._number >= len(self._names):
            return
        name = self._names[self._number]
        why = f"no end after {self._of_item:.0f} s" if self._hung else f"its process ended: {code}"
        self._say(told(name, f"FAILED: {why}"))
        found.failed.append(name)
        self._number += 1

    def _timer(self) -> threading.Timer:
        timer = threading.Timer(self._of_item, self._kill)
        timer.daemon = True
        timer.start()
        return timer

    def _kill(self) -> None:
        self._hung = True
        self._process.kill()


def this_module(name: str) -> list[str]:
    """The command that runs one of our modules."""
    return [sys.executable, "-m", name, "--from"]
