"""Code that may run again: to find out whether a condition becomes unknown, or until the carries of
a loop settle. Only the run that is kept prints.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .table import When, answers


class Rehearsal:
    """A run of code that may not be the last."""

    def __init__(self) -> None:
        #: What it prints: texts, and the files and flags that `print` was given.
        self.printed: list[tuple[str, dict[str, Any]]] = []
        self._is_kept = False

    def keep(self) -> None:
        """Let the code have run."""
        self._is_kept = True

    def end(self, *, failed: bool) -> None:
        """Print what the code printed if it is kept, or if an error ends it."""
        if self._is_kept or failed:
            for text, given in self.printed:
                print_(text, end="", **given)


class _Local(threading.local):
    def __init__(self) -> None:
        self.rehearsals: list[Rehearsal] = []


_local = _Local()


@contextmanager
def rehearsed() -> Iterator[Rehearsal]:
    """A context in which code runs that may run again."""
    made = Rehearsal()
    _local.rehearsals.append(made)
    failed = True
    try:
        yield made
        failed = False
    finally:
        _local.rehearsals.pop()
        made.end(failed=failed)


@answers(print, when=When.ALWAYS)
def print_(*values: Any, sep: str | None = " ", end: str | None = "\n", **given: Any) -> None:
    """``print``."""
    if not _local.rehearsals:
        print(*values, sep=sep, end=end, **given)
        return
    text = io.StringIO()
    print(*values, sep=sep, end=end, file=text)
    _local.rehearsals[-1].printed.append((text.getvalue(), given))
