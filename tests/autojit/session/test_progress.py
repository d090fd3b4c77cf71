"""The line that is shown while a first call takes long."""

from __future__ import annotations

import io
import sys
import threading
import time
import types
from contextlib import redirect_stderr
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.session import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which the line is shown soon."""
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("AUTOJIT_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "REFRESH", 0.01)
    return made


def wait_for(stream: io.StringIO, words: str) -> None:
    end = time.monotonic() + 10
    while words not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.005)
    assert words in stream.getvalue()


def shown(stream: io.StringIO) -> str:
    """What is left of the last line, as a terminal shows it."""
    cells: list[str] = []
    column = 0
    for letter in stream.getvalue():
        if letter == "\r":
            column = 0
            continue
        cells[column : column + 1] = [letter]
        column += 1
    return "".join(cells).rstrip()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "progress" in thread.name]


def test_a_trace_that_takes_long_is_shown_with_its_operations(terminal: Terminal) -> None:
    def loss(x: Any) -> Any:
        y = np.sin(np.cos(x))
        wait_for(terminal, "autojit: tracing loss (2 operations, ")
        assert threads() == ["autojit progress"]
        return np.sum(y)

    with redirect_stderr(terminal):
        jit(grad(loss))(np.ones(3))
    assert shown(terminal) == ""
    assert threads() == []


def test_stages_in_stages_share_a_line(terminal: Terminal) -> None:
    with redirect_stderr(terminal), progress.stage("tracing", "f", lambda: 0):
        wait_for(terminal, "autojit: tracing f (0 s) …")
        with progress.stage("transforming", "g", lambda: 12_000):
            wait_for(terminal, "autojit: transforming g (12,000 operations, ")
            assert len(threads()) == 1
        assert shown(terminal) != ""
    assert shown(terminal) == ""


def test_the_line_goes_where_the_function_raises(terminal: Terminal) -> None:
    def broken(x: Any) -> Any:
        wait_for(terminal, "autojit: tracing broken")
        raise ValueError("of the user's")

    with redirect_stderr(terminal), pytest.raises(ValueError, match="of the user's"):
        jit(broken)(1.0)
    assert shown(terminal) == ""
    assert threads() == []


def test_nothing_is_written_where_nothing_takes_long(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with redirect_stderr(terminal):
        jit(np.sin)(1.0)
    assert terminal.getvalue() == ""


def test_a_stream_that_is_closed_meanwhile(terminal: Terminal) -> None:
    with redirect_stderr(terminal), progress.stage("tracing", "f", lambda: 0):
        wait_for(terminal, "tracing f")
        terminal.close()
    assert threads() == []


def test_who_sees_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.is_shown(terminal)
    assert not progress.is_shown(io.StringIO())
    assert not progress.is_shown(None)
    monkeypatch.setenv("TERM", "dumb")
    assert not progress.is_shown(terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("AUTOJIT_PROGRESS", "0")
    assert not progress.is_shown(terminal)


def test_a_notebook_sees_it() -> None:
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert progress.is_shown(stream)


def test_a_notebook_has_an_output_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook the line is not written to stderr, which is shown in red."""
    outputs: list[tuple[str, str]] = []

    class DisplayHandle:
        def display(self, data: dict[str, str], *, raw: bool) -> None:
            outputs.append(("made", data["text/plain"]))

        def update(self, data: dict[str, str], *, raw: bool) -> None:
            outputs.append(("changed", data["text/plain"]))

    display = types.ModuleType("IPython.display")
    display.DisplayHandle = DisplayHandle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.delenv("AUTOJIT_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    with redirect_stderr(stream), progress.stage("tracing", "f", lambda: 0):
        end = time.monotonic() + 10
        while not outputs and time.monotonic() < end:
            time.sleep(0.005)
    assert outputs[0] == ("made", "autojit: tracing f (0 s) …")
    assert outputs[-1] == ("changed", "")
    assert stream.getvalue() == ""
