"""Python's limit of recursion while functions are traced.

Between a captured function and one that it calls lie some frames of ours. So that a recursion may
be as deep as without a trace, the limit counts the user's frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from autojit.ir.core.locks import Lock

#: Frames of a trace for each frame of the user's. A call in a statement takes 8, one in an argument
#: of `max` within a `with` and a loop takes 12.
FRAMES = 12

#: Functions that are called when the last trace has ended.
at_end: list[Callable[[], None]] = []

_lock = Lock()
_active = 0
_limit = 0


class Deeper:
    """A context in which Python's stack may hold the frames of a trace too."""

    def __enter__(self) -> None:
        global _active, _limit
        with _lock:
            if not _active:
                _limit = sys.getrecursionlimit()
                sys.setrecursionlimit(FRAMES * _limit)
            _active += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        global _active
        with _lock:
            _active -= 1
            if _active:
                return
            for end in at_end:
                end()
            if sys.getrecursionlimit() == FRAMES * _limit:  # not set by the user
                sys.setrecursionlimit(_limit)


def most_frames() -> int:
    """The number of frames that a recursion of the user's may have."""
    return _limit if _active else sys.getrecursionlimit()
