"""What the command says when it cannot do what was asked: words and an exit code."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autojit.errors import AutojitError

#: The command was not understood; the user's function, or what was checked, is at fault.
MISUSE, FAULT = 2, 1

_PACKAGE = Path(__file__).resolve().parents[1]


class Failure(Exception):
    """Ends the command: a message for stderr, and the exit code."""

    def __init__(self, message: str, code: int = MISUSE) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def reporting() -> Iterator[None]:
    """Print a failure on stderr and leave with its code.  Also a decorator."""
    import typer

    from .terminal import complain

    try:
        yield
    except Failure as failure:
        complain(str(failure))
        raise typer.Exit(failure.code) from None


@contextmanager
def running(what: str) -> Iterator[None]:
    """Whatever is raised by the user's code, or by autojit about it, becomes a failure."""
    try:
        yield
    except Failure:
        raise
    except AutojitError as error:
        raise Failure(str(error), FAULT) from None
    except Exception as error:
        raise Failure(_describe(what, error), FAULT) from None


def _describe(what: str, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not _is_ours(f.filename)]
    message = f"{what} raised {type(error).__name__}: {error}"
    if theirs:
        return f"{message}\n  File {theirs[-1].filename!r}, line {theirs[-1].lineno}"
    at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{message}\n  This is a fault of autojit (at {at}), not of your code: please report it."


def _is_ours(filename: str) -> bool:
    """Whether a file belongs to autojit, or to what autojit calls."""
    path = Path(filename)
    if "site-packages" in path.parts or filename.startswith("<"):
        return True
    folders = (_PACKAGE, *(p.resolve() for p in (_PACKAGE / "ir", _PACKAGE / "codegen")))
    return any(path.resolve().is_relative_to(folder) for folder in folders)


def closest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean x?"``, or nothing.

    >>> closest("loops", ["trace", "loop"])
    ' Did you mean loop?'
    """
    found = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {found[0]}?" if found else ""
