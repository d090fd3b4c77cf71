"""The reason why Python asks for a traced value's truth although ``if`` and loops are captured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dis import get_instructions
from types import CodeType, FrameType

from autojit.capture.rewriting.callees import is_users_file
from autojit.capture.rewriting.twins import (
    CLOSED_GENERATOR,
    GENERATOR,
    is_twin_code,
    known_reason,
)  # fmt: skip
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


_IN_FINALLY = (
    _CAPTURED + ", but not in {}: {}, which discards an exception. Write `except Exception: pass` "
    "in place of `finally:`, and put the statement behind the `try`."
)
_ASSIGNS = (
    _CAPTURED + ", but not the condition of a comprehension that assigns a name with `:=`. Bind "
    "the name with `for`: `sum(y for v in xs for y in [2 * v] if y > 1)`."
)


def _why_not_captured() -> str:
    """A sentence about the function whose line asks for the truth."""
    first: CodeType | None = None
    for code in _asking():
        if is_twin_code(code):
            if _is_assigning(code):
                return _ASSIGNS
            if code.co_flags & GENERATOR:
                return _NO_TWIN.format(_name(code), CLOSED_GENERATOR)
            break
        first = first or code
        reason = known_reason(code)
        if reason is not None:
            words = _IN_FINALLY if reason.endswith(" in a finally") else _NO_TWIN
            return words.format(_name(code), reason)
    return _ASKED_BY_C if first is None else _BY_OTHERS.format(_name(first))


def _is_assigning(code: CodeType) -> bool:
    """Whether the code of a comprehension assigns a name of the function around it."""
    if code.co_name not in ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"):
        return False
    return any(step.opname in ("STORE_DEREF", "STORE_GLOBAL") for step in get_instructions(code))


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
