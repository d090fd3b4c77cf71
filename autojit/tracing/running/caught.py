"""Errors of tracing that the traced function has caught: they are raised again.

Plain arrays raise no such error, so a result computed after the function's ``except`` would be
meaningless, with derivative 0. Libraries that probe a value (``hasattr``, a ``try`` in NumPy or the
standard library) may catch such errors, and so may code that turns a value into text. So may a
handler that names classes of `autojit.errors`, because it knows of tracing.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from autojit.errors import AutojitError, TracingError, raised
from autojit.ir.core.values import shown_file
from autojit.session.frames import is_internal, is_of_python
from autojit.tracing.handlers import handler_line

#: Methods whose result is read by people or debuggers.
_DISPLAY = frozenset({"__repr__", "__str__", "__format__", "_repr_html_", "_repr_pretty_",
                      "_repr_mimebundle_"})  # fmt: skip


class RaisedAgain:
    """A context in which a traced function runs: at its end, what it has caught is raised."""

    __slots__ = ("before", "first", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before = raised.errors
        if self.before is None:
            raised.errors = []
        self.first = len(raised.errors or ())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        found = (raised.errors or [])[self.first :]
        if self.before is None:
            raised.errors = None
        if not found or error in found or (error is not None and not isinstance(error, Exception)):
            return  # none, or one is on its way, which an outer function may catch
        if raised.errors is not None:
            del raised.errors[self.first :]
        for each in found:
            place = _caught_at(each)
            if place is not None:
                each.add_note(_NOTE.format(self.name, place))
                raise each from None


#: Our own files, which catch none of these errors.
_OURS = f"{Path(__file__).parents[2]}{os.sep}"

_NOTE = (
    "This error was caught by {1} while {0} was traced. It is raised again because it comes from "
    "tracing: with arrays there is no such error, so the result of that handler would be wrong, "
    "and its derivative 0."
)


def _caught_at(error: TracingError) -> str | None:
    """Where the user's code caught an error, if it did: the traceback begins there."""
    trail = error.__traceback__
    if trail is None:
        return None
    if trail.tb_frame.f_code.co_filename.startswith(_OURS):  # C code, which leaves no trail
        return None if error.asked else "`except` around an assignment or another call of C code"
    if _is_library(trail):
        return None
    if any(map(_is_display, _steps(trail))):
        return None
    frame, at = trail.tb_frame, trail.tb_lasti
    line = handler_line(frame, at, type(error))
    if line is not None and handler_line(frame, at, _pythons(error)) != line:
        return None  # it catches errors of autojit by their name
    return f"`except` at {shown_file(frame.f_code.co_filename)}:{line or trail.tb_lineno}"


def _is_display(step: TracebackType) -> bool:
    """Whether a step of a traceback is in such a method of the user's or a library's."""
    code = step.tb_frame.f_code
    return code.co_name in _DISPLAY and not code.co_filename.startswith(_OURS)


def _pythons(error: TracingError) -> type[BaseException]:
    """Python's own class of an error."""
    kinds = (k for k in type(error).__mro__ if not issubclass(k, AutojitError))
    return next(k for k in kinds if issubclass(k, BaseException))


def _steps(trail: TracebackType | None) -> list[TracebackType]:
    found = []
    while trail is not None:
        found.append(trail)
        trail = trail.tb_next
    return found


def _is_library(trail: TracebackType) -> bool:
    name = trail.tb_frame.f_code.co_filename
    return is_internal(name) or is_of_python(name)
