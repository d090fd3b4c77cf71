"""Terminals, pipes, encodings, signals: the command as a process, and the rules by themselves."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autojit.cli.common import streams
from autojit.cli.common.terminal import fold
from tests.autojit.cli.commands import call

pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "autojit"]
CHATTY = ["dump", "functions.py:chatty", "f64[3]"]


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def choice() -> Iterator[None]:
    yield
    streams.choose("auto")


COLOURS = [
    ({}, "auto", True, True),
    ({}, "auto", False, False),
    ({"NO_COLOR": "1"}, "auto", True, False),
    ({"NO_COLOR": ""}, "auto", True, True),
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, "auto", False, False),
    ({"FORCE_COLOR": "1"}, "auto", False, True),
    ({"FORCE_COLOR": "0"}, "auto", False, False),
    ({"CLICOLOR_FORCE": "1"}, "auto", False, True),
    ({"CLICOLOR": "0"}, "auto", True, False),
    ({"CLICOLOR": "1"}, "auto", False, False),
    ({"TERM": "dumb"}, "auto", True, False),
    ({"NO_COLOR": "1"}, "always", False, True),
    ({"FORCE_COLOR": "1"}, "never", True, False),
]


@pytest.mark.usefixtures("choice")
@pytest.mark.parametrize(("environment", "option", "terminal", "shown"), COLOURS)
def test_colours(environment: dict[str, str], option: str, terminal: bool, shown: bool) -> None:
    streams.choose(option)
    assert streams.coloured(Stream(terminal), environment) is shown


@pytest.mark.usefixtures("folder")
def test_color_is_an_option_of_every_command_anywhere() -> None:
    for words in (["--color", "always", *CHATTY], [*CHATTY, "--color=always"]):
        assert "\x1b[" in call(*words).stdout
    assert "\x1b" not in call(*CHATTY).stdout  # the option holds for one command only
    assert "\x1b" not in call(*CHATTY, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_long_lines_are_folded_further_in() -> None:
    line = "  %3: f64[100] = mul %1, %2  # functions.py:40"
    assert fold(line, 80) == line
    assert fold(line, 40) == "  %3: f64[100] = mul %1, %2\n      # functions.py:40"
    assert max(map(len, fold("x = " + "a + " * 40 + "b" * 90, 60).splitlines())) <= 60
    assert "/a/" + "b" * 90 in fold("in /a/" + "b" * 90, 60, whole=True)


# -- a process with pipes ---------------------------------------------------------------


def run(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=variables(**environment),
        capture_output=True,
        check=False,
    )


def variables(**environment: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), **environment}


def test_an_encoding_without_our_signs(folder: Path) -> None:
    done = run("opt", "--help", folder=folder, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"autojit opt [FILE] [OPTIONS]" in done.stdout
    done = run("--help", folder=folder, PYTHONIOENCODING="latin-1")
    assert b"autojit COMMAND ..." in done.stdout
    assert streams.printable("✓ 2 × 3 …", "ascii") == "ok 2 x 3 ..."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "errors"),
    [
        (CHATTY, b"x is here\n"),
        (["opt", "--list"], b""),
        (["mistakes"], b""),
        (["check", "functions.py:loss", "f64[3]", "f64[4,3]"], b""),  # prints while it runs f
        (["diff", "functions.py:loss", "functions.py:train", "f64[3]", "f64[3,3]"], b""),
    ],
)
def test_a_pipe_that_is_closed_is_no_failure_to_speak_of(
    folder: Path, words: list[str], errors: bytes
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=variables(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, errors)


def test_interrupt_ends_with_130_and_no_traceback(folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import sys, time\ndef f(x):\n    print('begun', flush=True)\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [*COMMAND, "dump", "slow.py:f", "f64[3]"],
        cwd=folder,
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background jobs, and their child processes, ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_help_and_version_load_nothing_that_is_heavy(folder: Path) -> None:
    for words in (["--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "autojit", *words],
            cwd=folder,
            env=variables(),
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "typer" in loaded
        assert not {"numpy", "numba", "scipy", "rich", "pydantic", "autojit.errors"} & loaded


# -- a terminal ---------------------------------------------------------------------------


def on_terminal(folder: Path, *words: str, columns: int = 60, **environment: str) -> str:
    """Return the text that the command sends to a terminal."""
    fcntl = pytest.importorskip("fcntl")
    import struct
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=variables(**{"TERM": "xterm", **environment}),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    sent = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # how Linux signals a terminal's end
            break
        if not part:
            break
        sent += part
    os.close(controller)
    process.wait(timeout=30)
    return sent.decode().replace("\r\n", "\n")


def plain(sent: str) -> str:
    """Return the text that the screen shows, without colours and overwritten parts."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", sent).split("\n")
    return "\n".join(line.split("\r")[-1] for line in lines)


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "line",
    [
        "dump functions.py:loss f64[3] f64[100,3] --grad",
        "check functions.py:loss f64[3] f64[100,3]",
        "dump functions.py:los",
        "coverage scipy.fft",
        "explain functions.py:loss f64[3] f64[100,3] --grad",
        "mistakes",
        "profile --source script.py",
        "mistakes shapes-of-a-product",
        "diff functions.py:loss functions.py:train f64[3] f64[100,3]",
        "dump --help",
    ],
)
def test_no_line_is_longer_than_the_terminal(folder: Path, line: str) -> None:
    sent = on_terminal(folder, *line.split())
    assert "\x1b[" in sent or line.startswith("coverage")
    assert max(map(len, plain(sent).split("\n"))) <= 60


@pytest.mark.slow
def test_colours_of_explanations_are_their_own(folder: Path) -> None:
    """Text after a semicolon is not coloured as a comment, and headings are bold."""
    sent = on_terminal(folder, "explain", "functions.py:loss", "f64[3]", "f64[100,3]")
    assert "\x1b[2m" not in sent
    assert re.search(r"\x1b\[1m1  loop", sent)
    assert "\x1b[36mbytes\x1b[0m" in sent


@pytest.mark.slow
def test_pages_do_not_fill_the_terminal(folder: Path) -> None:
    words = ("functions.py:loss", "f64[3]", "f64[100,3]", "--format", "html")
    for more in (("dump", *words), ("explain", *words), ("dump", *words, "--stage", "all")):
        said = " ".join(plain(on_terminal(folder, *more)).split())
        assert re.fullmatch(
            r"error: --format html writes a page; name a file for it: -o \w+\.html", said
        ), said


@pytest.mark.slow
def test_files_are_named_as_from_here(folder: Path) -> None:
    sent = on_terminal(folder, *CHATTY, NO_COLOR="1", columns=100)
    assert "\x1b" not in sent
    assert "= mul %0, %0  # functions.py:16\n" in sent


@pytest.mark.slow
def test_progress_is_shown_and_erased(folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import time\ndef f(x):\n    time.sleep(2.2)\n    print('here')\n    return x * x\n",
        encoding="utf-8",
    )
    sent = on_terminal(folder, "dump", "slow.py:f", "f64[3]", NO_COLOR="1", columns=100)
    assert "\rautojit: tracing f (1 s) …" in sent
    assert plain(sent).startswith("here\nprogram f(%0: f64[3]) {\n")
    start = time.monotonic()
    piped = run("dump", "slow.py:f", "f64[3]", folder=folder)
    assert time.monotonic() - start > 2
    assert piped.stderr == b"here\n"
