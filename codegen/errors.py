"""What goes wrong below the public interface, which adds the user's line and the fix."""

from __future__ import annotations

from autojit.ir.program import Source


class TargetError(Exception):
    """A program, or a machine, that a target does not support."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        super().__init__(message)
        self.source = source
