"""Remarks: what a pass has not done, where and why, and a remedy if there is one.

They are collected while :func:`collecting`; otherwise nobody looks for a reason.  Who has one asks
:func:`current` first, since to put it into words takes time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Remark(NamedTuple):
    """``by`` the pass; ``place`` the user's line where it is known, or a text of the loop."""

    by: str
    place: str
    reason: str
    way_out: str = ""


class Remarks:
    """Remarks in the order in which they came, each once."""

    def __init__(self) -> None:
        self._found: dict[Remark, None] = {}
        #: The ops and loops that each is about, as the pass has them.
        self.about: dict[Remark, list[tuple[Any, ...]]] = {}

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self, by: str, place: str, reason: str, way_out: str = "", about: tuple[Any, ...] = ()
    ) -> None:
        """Note a remark, and the ops and loops that it is about."""
        remark = Remark(by, place, reason, way_out)
        self._found.setdefault(remark)
        self.about.setdefault(remark, []).append(about)

    def forget(self, by: str, since: int) -> None:
        """Drop the remarks of a pass from that number on: it has found a way after all."""
        for remark in list(self._found)[since:]:
            if remark.by == by:
                del self._found[remark]


class _Collecting(threading.local):
    remarks: Remarks | None = None


_collecting = _Collecting()


def current() -> Remarks | None:
    """The collection of this thread's remarks; None if nobody has requested them."""
    return _collecting.remarks


@contextmanager
def collecting() -> Iterator[Remarks]:
    """A context in which the remarks of this thread are collected."""
    before, _collecting.remarks = _collecting.remarks, Remarks()
    try:
        yield _collecting.remarks
    finally:
        _collecting.remarks = before
