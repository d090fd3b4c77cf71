"""Tracebacks end at the user's line: our frames, and those of libraries that we call, are left out.

Public functions raise errors through :func:`fold`. It removes our frames from the traceback of the
error, and of chained and grouped errors, and adds a note with their number. The class, message and
attributes of the error are unchanged. With ``AUTOJIT_TRACEBACK=full`` in the environment, or in
``os.environ`` at any time, nothing is removed.

Python adds a frame to a traceback when an error enters it. A bare ``raise`` keeps the error's
present traceback, so the frame that folds is left out as well.
"""

from __future__ import annotations

import functools
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from autojit.errors import AutojitError

from .advice import said_of_python
from .calls_of_ours import refused_call
from .frames import is_internal, is_ours
from .mistakes import pages_of

P = ParamSpec("P")
R = TypeVar("R")

SETTING = "AUTOJIT_TRACEBACK"
FULL, FOLDED = "full", "folded"

_NOTE = re.compile(r"\((\d+) frames? of autojit (?:is|are) hidden: AUTOJIT_TRACEBACK=full shows")


_unfolded: ContextVar[bool] = ContextVar("unfolded", default=False)


@contextmanager
def unfolded() -> Iterator[None]:
    """A context in which all frames are kept, for finding a fault of autojit."""
    token = _unfolded.set(True)
    try:
        yield
    finally:
        _unfolded.reset(token)


def fold(error: BaseException) -> None:
    """Remove our frames from the traceback of an error on its way to the user; then ``raise``."""
    mode = os.environ.get(SETTING, FOLDED)
    if mode == FULL or _unfolded.get():
        return
    hidden = 0
    for each in _chain(error):
        steps = list(_steps(each.__traceback__))
        kept = _theirs(steps)
        if len(kept) < len(steps):
            hidden += len(steps) - len(kept)
            BaseException.with_traceback(each, _linked(kept))
    if type(error) is TypeError and (said := said_of_python(str(error))):
        notes: list[str] = vars(error).setdefault("__notes__", [])
        if said not in notes:
            notes.insert(0, said)
    if hidden:
        _note(error, hidden, mode)


def folded(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors are folded; for functions that trace, which take longer than a call.

    It belongs to the module of the function, where doctest looks for its examples.
    """
    return explained(function, lambda error, args, kwargs: refused_call(function, error, kwargs))


def explained(
    function: Callable[P, R],
    explain: Callable[[Exception, tuple[Any, ...], dict[str, Any]], Exception | None],
) -> Callable[P, R]:
    """A function whose errors are folded, or replaced by those that ``explain`` makes of the error,
    ``args`` and ``kwargs``."""
    fold_it = fold

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if said := explain(error, args, kwargs):
                    raise said from None
                raise
        except Exception as error:
            fold_it(error)
            raise

    return in_place_of(function, call)


def in_place_of(function: Callable[P, R], call: Callable[P, R]) -> Callable[P, R]:
    """``call`` as a wrapper of a function, in the function's module."""
    assert isinstance(call, FunctionType)
    assert isinstance(function, FunctionType)
    space: dict[str, Any] = function.__globals__
    made = FunctionType(call.__code__, space, call.__name__, None, call.__closure__)
    return functools.wraps(function)(made)


def is_from_user(error: BaseException) -> bool:
    """Whether an error that has come up to us passed through the user's code."""
    return bool(_theirs(list(_steps(error.__traceback__))))


def frames_of_user(error: BaseException) -> traceback.StackSummary:
    """The user's frames on the way of an error. A branch, or the body of a loop, is one frame with
    the function around it."""
    return traceback.extract_tb(_linked(_theirs(list(_steps(error.__traceback__)))))


def _chain(error: BaseException) -> list[BaseException]:
    """The error, its causes and contexts, and the members of groups."""
    found: dict[int, BaseException] = {}
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in found:
            continue
        found[id(each)] = each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
    return list(found.values())


def _steps(trail: TracebackType | None) -> Iterator[TracebackType]:
    while trail is not None:
        yield trail
        trail = trail.tb_next


def _theirs(steps: list[TracebackType]) -> list[TracebackType]:
    """The frames of the user, and of libraries that the user's code has called itself.

    Libraries that we call for our own work are hidden with us: NumPy, SciPy, the standard library.
    So is NumPy on the way from the user's line to us.
    """
    kept: list[TracebackType] = []
    by_us = on_the_way = False
    sure = 0
    for step in steps:
        name = step.tb_frame.f_code.co_filename
        if is_ours(name):
            by_us = True
            if on_the_way:
                del kept[sure:]
        elif is_internal(name):
            if not by_us:
                kept.append(step)
                on_the_way = True
            continue
        elif not (by_us and _is_tool(name)):
            if kept and _is_block_of(step.tb_frame.f_code, kept[-1].tb_frame.f_code):
                kept.pop()  # the line of the `if` or the loop around it
            kept.append(step)
            by_us = False
        sure, on_the_way = len(kept), False
    return kept


def _is_block_of(inner: CodeType, outer: CodeType) -> bool:
    """Whether code is a branch or a loop's body of a captured function, which is a function of its
    own. A function that the user has nested is named after the function around it."""
    return inner.co_qualname == outer.co_qualname and any(c is inner for c in outer.co_consts)


#: Libraries that autojit is built on, apart from NumPy and SciPy.
_TOOLS = frozenset({"numba", "llvmlite", "optree", "networkx", "platformdirs"})


@functools.cache
def _is_tool(filename: str) -> bool:
    """Whether a file is Python's own, or belongs to a library that does our work."""
    import sysconfig

    path = Path(filename)
    for installed in ("site-packages", "dist-packages"):
        if installed in path.parts:
            return path.parts[path.parts.index(installed) + 1] in _TOOLS
    paths = sysconfig.get_paths()
    return any(path.is_relative_to(paths[key]) for key in ("stdlib", "platstdlib"))


def _linked(steps: list[TracebackType]) -> TracebackType | None:
    found: TracebackType | None = None
    for step in reversed(steps):
        found = TracebackType(found, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return found


def _note(error: BaseException, hidden: int, mode: str) -> None:
    """Add one line that says how many frames are hidden, whichever of our functions has hidden
    them.

    The notes are set in the error's own dict, because classes may refuse to have attributes set.
    """
    notes: list[str] = vars(error).setdefault("__notes__", [])
    for at, note in enumerate(notes):
        if earlier := _NOTE.match(note):
            hidden += int(earlier[1])
            del notes[at]
            break
    many = "1 frame of autojit is" if hidden == 1 else f"{hidden} frames of autojit are"
    words = f"({many} hidden: {SETTING}={FULL} shows them"
    if mode != FOLDED:
        words += f"; it is {mode!r} now, which is neither {FULL!r} nor {FOLDED!r}"
    notes.append(words + _more(error) + ")")


def _more(error: BaseException) -> str:
    """Words about the page that explains one of our errors."""
    name = type(error).__name__
    if not isinstance(error, AutojitError) or not pages_of(name):
        return ""
    return f"; `autojit mistakes {name}` explains the error"
