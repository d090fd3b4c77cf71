"""The user's line: the innermost on the stack that is neither ours nor NumPy's nor SciPy's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

from autojit.ir.core.program import Source
from autojit.staging import unrolled

_HERE = Path(__file__).resolve().parent
_INTERNAL = tuple(
    f"{folder}{os.sep}"
    for folder in (
        _HERE,
        _HERE.parent / "ir",
        _HERE.parent / "codegen",
        Path(np.__file__).resolve().parent,
        Path(np.__file__).resolve().parents[1] / "scipy",
        Path(np.__file__).resolve().parents[1] / "pandas",
    )
)
#: What `is_internal` has found.
_internal: dict[str, bool] = {}


def user_source() -> Source | None:
    """The innermost line on the stack that is neither ours nor NumPy's nor SciPy's."""
    frame = _user_frame()
    if frame is None:
        return None
    return Source(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def user_instruction() -> str:
    """What the user's line is about to do, by the name of the instruction ("STORE_SUBSCR")."""
    import dis

    frame = _user_frame()
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame is not None else ""


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        filename = frame.f_code.co_filename
        internal = _internal.get(filename)
        if internal is None:
            internal = is_internal(filename)
        if not internal:
            return frame
        frame = frame.f_back
    return None


class Lines:
    """The user's line, asked for at every operation: each place in the code is looked up once."""

    def __init__(self) -> None:
        #: With the code, so that its id stays its own.
        self._known: dict[tuple[int, int], tuple[CodeType, Source]] = {}
        self._left = unrolled.TRACE_BUDGET

    def __call__(self) -> Source | None:
        self._left -= 1
        if not self._left:
            unrolled.warn_while_tracing(user_source())
        frame = _user_frame()
        if frame is None:
            return None
        code = frame.f_code
        place = (id(code), frame.f_lasti)
        found = self._known.get(place)
        if found is None:
            source = Source(code.co_filename, frame.f_lineno, code.co_name)
            found = self._known[place] = code, source
        return found[1]


def is_internal(filename: str) -> bool:
    """Whether a file is ours, NumPy's or SciPy's, by its name."""
    found = _internal.get(filename)
    if found is None:
        found = _internal[filename] = _is_internal(filename)
    return found


def _is_internal(filename: str) -> bool:
    if filename.startswith("<"):  # exec and notebook cells are the user's; so are lambdas in them
        return filename.startswith("<frozen") or filename == "<__array_function__ internals>"
    return str(Path(filename).resolve()).startswith(_INTERNAL)
