"""Errors about missing derivatives, with the user's line."""

from __future__ import annotations

from .program import Source, current_builder
from .values import has_place, place_text


class AutojitError(Exception):
    """Base of all errors that autojit raises about a user's program."""


class DerivativeError(AutojitError, TypeError):
    """A derivative that a custom rule does not provide, or not in this mode."""


def with_place(message: str, source: Source | None) -> str:
    """The message with the user's line under it.

    >>> print(with_place("x is traced.", None))
    x is traced.
    """
    if source is None:
        return message
    return f"{message}\n\n{place_text(source.file, source.line, source.function)}"


def name_line(error: BaseException, source: Source | None) -> None:
    """Add the user's line to a raised error, unless it has one."""
    if source is not None and not has_place(error):
        error.add_note(with_place("", source).strip("\n"))


def no_derivative(message: str, source: Source | None = None) -> DerivativeError:
    """The error, with the line of an op or of the op that is being differentiated."""
    return DerivativeError(with_place(message, source or current_builder().source))
