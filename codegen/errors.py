"""What goes wrong below the public interface, which adds the user's line and the fix."""

from __future__ import annotations

from autojit.ir.program import Source

#: What can go wrong as a kernel runs, as bits of the status: Python's exception and its words.
OUT_OF_BOUNDS, NEGATIVE_POWER = 1, 2
FAILURES = {
    OUT_OF_BOUNDS: ("IndexError", "an index is out of bounds"),
    NEGATIVE_POWER: ("ValueError", "Integers to negative integer powers are not allowed."),
}


class TargetError(Exception):
    """A program, or a machine, that a target does not support."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        super().__init__(message)
        self.source = source


class CacheWarning(UserWarning):
    """Compiled code cannot be kept on disk, or not be taken from there; it is compiled anew."""


class CorruptCacheWarning(CacheWarning):
    """A file of the cache is not what was written; it was removed."""
