"""stdout and stderr: their encodings and colours, and who writes to which of them.

Results go to stdout. Everything that the user's code prints goes to stderr, so that a program's
text or JSON stays intact.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autojit.session import progress

#: The values of ``--color``.
CHOICES = ("auto", "always", "never")

#: Special characters that autojit prints, and replacements for encodings that lack them.
_PLAIN = {
    "✓": "ok", "✗": "FAIL", "–": "-", "−": "-", "…": "...", "×": "x", "→": "->", "≤": "<=",
    "≥": ">=", "µ": "u", "·": "*", "≈": "~", "²": "2", "█": "#", "│": "|", "─": "-",
}  # fmt: skip


class _State:
    choice = "auto"
    results: Any = None


def choose(color: str) -> None:
    """Apply ``--color`` to the rest of the command."""
    _State.choice = color


def coloured(stream: Any, environment: Mapping[str, str] | None = None) -> bool:
    """Whether a stream gets colours.

    ``--color`` decides first, then the environment, then whether the stream is a terminal.
    """
    if _State.choice != "auto":
        return _State.choice == "always"
    has = os.environ if environment is None else environment
    if has.get("NO_COLOR"):
        return False
    if any(has.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if has.get("CLICOLOR") == "0" or has.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; lines are then folded to its width."""
    with contextlib.suppress(AttributeError, ValueError):  # no stream, or a closed one
        return bool(stream.isatty())
    return False


def results() -> Any:
    """The stream for results: stdout, even while the user's code prints elsewhere."""
    return Paper(sys.stdout if _State.results is None else _State.results)


class Paper:
    """A stream that clears the progress line before it writes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with progress.cleared():
            return int(self._stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def prints_aside() -> Iterator[None]:
    """A context in which ``print`` writes to stderr."""
    if _State.results is not None:
        yield
        return
    _State.results = sys.stdout
    try:
        with contextlib.redirect_stdout(Paper(sys.stderr)):
            yield
    finally:
        _State.results = None


# -- encodings -----------------------------------------------------------------------


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, "?") for sign in signs), error.end


codecs.register_error("autojit.plain", _replace)


def fit_encodings() -> None:
    """Let both streams replace characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            if not (stream.encoding or "").lower().startswith("utf"):
                stream.reconfigure(errors="autojit.plain")  # type: ignore[union-attr]


def printable(text: str, encoding: str) -> str:
    """The text with replacements for characters that the encoding lacks.

    >>> printable("3 × 4 → ✓", "ascii")
    '3 x 4 -> ok'
    """
    return text.encode(encoding, "autojit.plain").decode(encoding)
