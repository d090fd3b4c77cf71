"""The user's line: the innermost one on the stack that is neither ours nor a library's.

It is looked up at each operation. Warnings about endless traces are issued there too.
"""

from __future__ import annotations

import ast
import linecache
import sys
from types import CodeType, FrameType

from autojit.errors import UnrolledLoopWarning, warn_at
from autojit.ir.core.program import Source
from autojit.session.frames import INNER, USERS, is_installed, is_ours, kind_of, kinds

#: The number of ops above which tracing itself takes seconds (20 to 40 us each), before rolling up.
TRACE_BUDGET = 100_000

LOOP_AS_ONE_OPERATION = (
    "A loop that is one operation:\n"
    "    x = fori_loop(0, n, lambda i, x: step(x, w[i]), x)  "
    "# for i in range(n): x = step(x, w[i])\n"
    "    x, ys = scan(lambda x, row: (step(x, row), x), x, w)  "
    "# for row in w: ys.append(x); x = step(x, row)"
)


def user_source() -> Source | None:
    """The innermost line on the stack that is neither ours nor NumPy's nor SciPy's."""
    frame = _user_frame()
    if frame is None:
        return None
    return Source(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def source_of(file: str, line: int, name: str) -> Source:
    """A line; for one of ours, which stands for a function of a library's, that of the user."""
    found = user_source() if is_ours(file) else None
    return found or Source(file, line, name)


def user_instruction() -> str:
    """What the user's line is about to do, by the name of the instruction ("STORE_SUBSCR")."""
    import dis

    frame = _user_frame()
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame is not None else ""


def user_frame(*, libraries: bool = True) -> FrameType | None:
    """The innermost frame outside autojit, NumPy and SciPy; without ``libraries``, outside all
    installed packages."""
    frame = _user_frame()
    while frame is not None and not libraries and is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_statement() -> ast.stmt | None:
    """The user's statement, if it is on one line."""
    frame = _user_frame()
    if frame is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    try:
        (found,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return None
    return found


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        filename = frame.f_code.co_filename
        kind = kinds.get(filename)
        if kind is None:
            kind = kind_of(filename)
        if kind == USERS:
            return frame
        frame = frame.f_back if kind == INNER else None
    return None


def warn_while_tracing(source: Source | None) -> None:
    """Warn of a trace that is not over yet."""
    warn_at(
        source,
        UnrolledLoopWarning,
        f"The trace has {TRACE_BUDGET} operations so far, and goes on: Python's loops, "
        "comprehensions and recursion are unrolled while a function is traced. "
        + LOOP_AS_ONE_OPERATION,
    )


class Lines:
    """The user's line, needed at every operation: each position in the code is looked up once."""

    def __init__(self) -> None:
        #: Includes the code, so that its id is not reused.
        self._known: dict[tuple[int, int], tuple[CodeType, Source]] = {}
        self._left = TRACE_BUDGET

    def __call__(self) -> Source | None:
        self._left -= 1
        if not self._left:
            warn_while_tracing(user_source())
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
