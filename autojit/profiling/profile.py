"""``autojit.profile``: a context that measures the time of everything that autojit does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autojit.errors import ProfileError
from autojit.session.files import write_whole
from autojit.session.tracebacks import explained
from autojit.session.watching import watching
from autojit.staging.execute import settings
from autojit.staging.shown import Text

from .recorder import Recorder


class Profile:
    """The times of the work in a ``with`` block; see :func:`profile`."""

    def __init__(self) -> None:
        self._found: Recorder | None = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Profile:
        if self._found is not None:
            raise ProfileError(
                "this profile has already been used. Create another one:\n"
                "    with autojit.profile() as p:\n"
                "        f(x)"
            )
        self._found = Recorder()
        self._open.enter_context(watching(self._found))
        settings.add("profiles", 1)
        self._open.callback(settings.add, "profiles", -1)
        return self

    def __exit__(self, *error: object) -> None:
        self.recorder.close()
        self._open.close()

    # -- results --------------------------------------------------------------

    @property
    def recorder(self) -> Recorder:
        """The recorded spans."""
        if self._found is None:
            raise ProfileError(
                "this profile has not started. Run code inside it:\n"
                "    with autojit.profile() as p:\n"
                "        f(x)"
            )
        return self._found

    @property
    def seconds(self) -> float:
        """The duration of the block."""
        return self.recorder.seconds

    def __str__(self) -> str:
        from .table import table

        return table(self.recorder)

    def __repr__(self) -> str:
        if self._found is None:
            return "<profile, not begun>"
        return f"<profile of {self.seconds:.3g} s>"

    def _repr_html_(self) -> str:
        from .as_html import html

        return html(self.recorder)

    def source(self, files: Sequence[str] | None = None) -> str:
        """The user's lines, annotated with their times and shares.

        ``files`` are names, or ends of names, of the files to show; None for all.
        """
        from .annotated import annotated

        return Text(annotated(self.recorder, files))

    def json(self) -> dict[str, Any]:
        """All data as numbers and strings; times are in seconds."""
        from .data import data

        return data(self.recorder)

    def flame(self, file: str | os.PathLike[str]) -> None:
        """Write a flame graph: an HTML page if the file's name says so, else SVG."""
        write_whole(file, self.flame_graph(page=Path(file).suffix.lower() in (".html", ".htm")))

    def flame_graph(self, *, page: bool = False) -> str:
        """The flame graph as SVG, or as a page of HTML with the table and the lines."""
        from .flame import flame_html, flame_svg

        return flame_html(self.recorder) if page else flame_svg(self.recorder)

    def trace(self, file: str | os.PathLike[str]) -> None:
        """Write the timeline for https://ui.perfetto.dev and ``chrome://tracing``."""
        from .timeline import timeline_text

        write_whole(file, timeline_text(self.recorder))


def _called(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """The error if ``profile`` is called with arguments, such as a function."""
    if not (args or kwargs):
        return None
    return ProfileError(
        "profile takes no arguments. It is a context manager around the code to profile:\n"
        "    with autojit.profile() as p:\n        f(x)\n    print(p)"
    )


def _explained(function: Callable[[], Profile]) -> Callable[[], Profile]:
    return explained(function, _called)


@_explained
def profile() -> Profile:
    """A context that measures the work that autojit does in it, on all threads.

    For each compiled function, it measures tracing, transformations, passes and compilation. When
    the function runs, it measures every loop nest and library call, forward and backward, and
    attributes them to the user's lines.  For that, instrumented code is compiled besides the plain
    code, even for functions that were compiled before; results have the same bits.  Operations
    without ``jit`` are listed one by one.

    Calls are slower while a profile is open, by about ten microseconds each.  The profile's own
    time is not counted.  Profiles may be nested; after the block nothing is slower.

    Returns a :class:`Profile`: ``print(p)`` shows a table, ``p.source()`` returns the lines with
    times, ``p.flame(FILE)`` and ``p.trace(FILE)`` write pictures, ``p.json()`` returns all numbers.

    Raises:
        ProfileError: if a profile is used twice, or read before it has begun.

    >>> import numpy as np
    >>> f = autojit.jit(lambda x: np.sum(np.exp(x)))
    >>> with autojit.profile() as p:
    ...     for _ in range(3):
    ...         _ = f(np.ones(1000))
    >>> [(part["name"], part["count"]) for part in p.json()["functions"][0]["parts"]]
    [('k0', 3)]
    """
    return Profile()
