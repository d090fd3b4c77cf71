"""Failures of a command: the message and the exit code."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .streams import prints_aside

#: The most frames of the user's code that are shown below an error.
_SHOWN = 5

#: Exit codes: the command was misused; the user's function, or the checked property, is wrong.
MISUSE, FAULT = 2, 1

_PACKAGE = Path(__file__).resolve().parents[2]
_OURS = [_PACKAGE, *((_PACKAGE / part).resolve() for part in ("ir", "codegen"))]
_LIBRARIES = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")]


class Failure(Exception):
    """Ends the command with a message on stderr and an exit code."""

    def __init__(self, message: str, code: int = MISUSE) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def running(what: str) -> Iterator[None]:
    """Turn errors of the user's code, or of autojit about it, into failures.

    Everything that the code prints goes to stderr.
    """
    from autojit.session.tracebacks import unfolded

    try:
        with prints_aside(), unfolded():
            yield
    except (Failure, BrokenPipeError):  # the reader of the output has gone
        raise
    except SystemExit as error:
        raise Failure(f"{what} called sys.exit({error.code!r})", FAULT) from None
    except Exception as error:
        from autojit.errors import AutojitError

        if isinstance(error, AutojitError):
            raise Failure(str(error), FAULT) from None
        raise Failure(_describe(what, error), FAULT) from None


def _describe(what: str, error: Exception) -> str:
    """The error with the user's lines that it comes from, or a note that autojit is to blame."""
    from autojit.session.tracebacks import frames_of_user

    if isinstance(error, SyntaxError) and error.filename:
        at = "".join(traceback.format_exception_only(error)[:-1]).rstrip()
        return f"{what} raised {type(error).__name__}: {error.msg}\n{at}"
    frames = traceback.extract_tb(error.__traceback__)
    message = f"{what} raised {type(error).__name__}: {error}"
    known = _OURS + _LIBRARIES
    users = [f for f in frames_of_user(error) if f.filename[0] != "<"]
    theirs = [f for f in users if not _within(f.filename, known)]
    if theirs:
        return f"{message}\n{''.join(traceback.format_list(theirs[-_SHOWN:])).rstrip()}"
    if not _within(frames[-1].filename, _OURS):
        return message
    at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    return f"{message}\n  This is a bug in autojit ({at}), not in your code. Please report it."


def _within(filename: str, folders: Iterable[Path]) -> bool:
    path = Path(filename).resolve()
    return any(path.is_relative_to(folder) for folder in folders)
