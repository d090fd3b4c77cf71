"""Errors about derivatives that a user's program does not have, with the user's line."""

from __future__ import annotations

import linecache

from .program import Source, current_builder


class AutojitError(Exception):
    """Base of all errors that autojit raises about a user's program."""


class DerivativeError(AutojitError, TypeError):
    """A derivative that a custom rule does not give, or not in this mode."""


def with_place(message: str, source: Source | None) -> str:
    """The message with the user's line under it.

    >>> print(with_place("x is traced.", None))
    x is traced.
    """
    if source is None:
        return message
    line = linecache.getline(source.file, source.line).strip()
    where = f'\n\n  File "{source.file}", line {source.line}, in {source.function}'
    return message + where + (f"\n    {line}" if line else "")


def name_line(error: BaseException, source: Source | None) -> None:
    """Add the user's line to an error that is on its way, unless it has one."""
    notes: list[str] = getattr(error, "__notes__", [])
    if source is not None and not any('  File "' in note for note in notes):
        error.add_note(with_place("", source).strip("\n"))


def no_derivative(message: str, source: Source | None = None) -> DerivativeError:
    """The error, with the line of an op or of the op that is being differentiated."""
    return DerivativeError(with_place(message, source or current_builder().source))
