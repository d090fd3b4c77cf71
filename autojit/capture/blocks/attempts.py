"""Code that is run to see whether it can be captured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autojit.capture.state.heap import Spent
from autojit.errors import AutojitError, raised
from autojit.session.frames import is_defect


class Attempt:
    """An attempt to capture something."""

    def __init__(self) -> None:
        #: The reason for the failure.
        self.reason = ""
        self._mark = len(raised.errors or ())

    def forget(self) -> None:
        """Discard the errors raised so far, since something else is tried."""
        del (raised.errors or [])[self._mark :]


@contextmanager
def attempted() -> Iterator[Attempt]:
    """A context in which an error means that something cannot be captured.

    So does an exception of the user's code, which has a traced index where Python has a number. The
    loop itself raises it if Python does.
    """
    result = Attempt()
    try:
        yield result
    except Spent:
        raise
    except AutojitError as error:
        result.forget()
        result.reason = _words(error)
    except Exception as error:
        if is_defect(error):
            raise
        result.reason = _words(error)


def _words(error: Exception) -> str:
    first, *_ = str(error).splitlines() or [""]
    return f"its body cannot be captured: {type(error).__name__}: {first}"
