"""The reason why Python asks for a traced value's truth although ``if`` and loops are captured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from autojit.capture.rewriting.callees import is_users_file
from autojit.capture.rewriting.twins import is_twin_code, known_reason
from autojit.session.frames import is_internal
from autojit.tracing.hooks import hooks
from autojit.tracing.recording import beginnings

_CAPTURED = "`if`, loops and the like are captured from the source of the function"
_NO_TWIN = (
    _CAPTURED + ", but not in {}: {}. Write that as an ordinary function, in a file or a cell of a "
    "notebook."
)
_BY_OTHERS = (
    _CAPTURED
    + ", but {} is called by a library or by C code, where nothing is captured. Call it from "
    "your own Python code."
)
_ASKED_BY_C = (
    _CAPTURED
    + ", but here a library or C code tests the value. Test it with `if` in your own code."
)


def _why_not_captured() -> str:
    """A sentence about the function whose line asks for the truth."""
    first: CodeType | None = None
    for code in _asking():
        if is_twin_code(code):
            break
        first = first or code
        reason = known_reason(code)
        if reason is not None:
            return _NO_TWIN.format(_name(code), reason)
    return _ASKED_BY_C if first is None else _BY_OTHERS.format(_name(first))


def _asking() -> Iterator[CodeType]:
    """The code of the user's functions on the stack, the innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code not in beginnings:
        file = frame.f_code.co_filename
        if not is_internal(file) and is_users_file(file):
            yield frame.f_code
        frame = frame.f_back


def _name(code: CodeType) -> str:
    return f"`{code.co_name}` (line {code.co_firstlineno})"


hooks.why_not_captured = _why_not_captured
