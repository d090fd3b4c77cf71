"""Printing: plain text to a pipe, colours and folded lines on a terminal; writing of files."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autojit.session.files import write_whole

from .failures import Failure
from .streams import Paper, coloured, is_terminal, printable, results

if TYPE_CHECKING:
    from rich.console import Console

#: Marks for a state, for terminals with and without Unicode.
MARKS = {"ok": ("✓", "ok"), "failed": ("✗", "FAIL"), "absent": ("–", "-")}
_STYLES = {"ok": "green", "failed": "bold red", "absent": "dim"}

_TYPES = {r"\b(?:bool|[fiuc]\d+)\[[\d,]*\]": "green"}
#: The styles of code, explanations, lists, pages and profiles.
CODE = {**_TYPES, r"%[\w.]+": "cyan", r"(?m)(?:#|(?:^| );).*$": "dim"}
EXPLANATION = {
    **_TYPES,
    r"(?m)^(?: {3}\d+\.)?\d+  .*$": "bold",
    r"(?m)^ *[A-Za-z]+(?: [a-z]+)?(?= {2,}\S)": "cyan",
    r"(?m)^ *[←↔] ": "magenta",
}
LISTING = {
    r"(?m)^(?:[A-Z].*:|  pass  .*|[A-Z]\w+: .*)$": "bold",
    r"(?m)^(?:  \w+(?: \w+)*|[a-z][\w-]*)(?=  +\S)": "cyan",
    r"(?m)^\*(?: +[\w() ]+?)(?=  )": "green",
}
PAGE = {
    r"\A.*|(?m:^Instead:)": "bold",
    r"`[^`\n]+`": "cyan",
    r"(?m)^ {4}[\w.]+(?:Error|Warning):": "red",
}
PROFILE = {
    r"(?m)^(?:phase|line|jit) .*$": "bold",
    r"(?m)^ [→←↔] ": "magenta",
    r"(?m)^(?:~ |-).*$": "dim",
}


def console(*, stderr: bool = False) -> Console:
    """A console on the current stdout or stderr, with colours if :func:`coloured` says so."""
    from rich.console import Console

    stream: Any = Paper(sys.stderr) if stderr else results()
    shows = coloured(stream)
    found = Console(
        file=stream,
        force_terminal=is_terminal(stream),
        color_system="standard" if shows else None,
        no_color=not shows,
        highlight=False,
        soft_wrap=False,
    )
    found.on_broken_pipe = _unread  # type: ignore[method-assign]
    return found


def _unread() -> None:
    """Raise if the reader has gone, as for other writes; rich would exit with code 1."""
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def complain(message: str) -> None:
    """Print ``error: …`` on stderr; lines are not folded in a pipe."""
    from rich.text import Text

    to = console(stderr=True)
    if to.is_terminal:
        first, *rest = f"error: {message}".splitlines()
        lines = [fold(first, to.width, whole=True)]
        lines += [fold(line, to.width, whole=True, further=0) for line in rest]
        message = "\n".join(lines).removeprefix("error: ")
    to.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


@contextmanager
def reporting() -> Iterator[None]:
    """Print a failure on stderr, and exit with its code.  Also usable as a decorator."""
    import typer

    try:
        yield
    except Failure as failure:
        complain(str(failure))
        raise typer.Exit(failure.code) from None


def say(words: str, style: str | None = None) -> None:
    """Print a sentence on stdout, folded on a terminal; file names stay whole."""
    from rich.text import Text

    to = console()
    if to.is_terminal:
        words = fold(printable(words, to.encoding), to.width, whole=True)
    to.print(Text(words, style or ""), soft_wrap=True)


def show(text: str, styles: Mapping[str, str] = CODE) -> None:
    """Print code on stdout: unchanged in a pipe, folded and coloured on a terminal."""
    text = text.rstrip("\n")
    to = console()
    if to.is_terminal:
        text = text.replace(os.getcwd() + os.sep, "")  # shorten paths in the current folder
        text = "\n".join(fold(line, to.width) for line in text.split("\n"))
    colour(text, styles, to)


def colour(text: str, styles: Mapping[str, str], to: Console) -> None:
    """Print a text whose lines are already folded, in colours if the stream has them."""
    if not coloured(to.file):
        to.file.write(text.rstrip("\n") + "\n")
        return
    from rich.text import Text

    shown = Text(text.rstrip("\n"))
    for pattern, style in styles.items():
        shown.highlight_regex(pattern, style)
    to.print(shown, soft_wrap=True)


def fold(line: str, width: int, *, whole: bool = False, further: int = 4) -> str:
    """Fold a line that is too long; the further lines are indented by four more columns.

    Words that are longer than a line are broken, unless ``whole`` is set.

    >>> print(fold("  %3: f64[3] = mul %1, %2  # loss.py:4", 30))
      %3: f64[3] = mul %1, %2
          # loss.py:4
    """
    if len(line) <= width:
        return line
    margin = len(line) - len(line.lstrip())
    margin = margin if margin < width // 3 else 0
    inner = " " * (margin + further)
    comment = re.search(r"  [#;] ", line)
    if comment and comment.start() <= width and len(line) - comment.end() <= width - margin - 8:
        return line[: comment.start()] + "\n" + inner + line[comment.start() + 2 :]
    lines = textwrap.wrap(
        line.strip(),
        width,
        initial_indent=" " * margin,
        subsequent_indent=inner,
        break_on_hyphens=False,
        break_long_words=not whole,
        replace_whitespace=False,
        tabsize=4,
    )
    return "\n".join(lines)


def put(text: str) -> None:
    """Print a text on stdout unchanged."""
    results().write(text + "\n")


def give(
    text: str, output: Path | None, *, is_code: bool = True, styles: Mapping[str, str] = CODE
) -> None:
    """Print a text, or write it to a file; only code is folded and coloured."""
    if output is None and is_code:
        show(text, styles)
    elif output is None:
        put(text.rstrip("\n"))
    else:
        replace_file(output, text)


def check_for_reading(format: str, output: Path | None, name: str) -> None:
    """Raise if a page or picture would fill the terminal; in a pipe it is written unchanged."""
    if format in ("html", "svg") and output is None and console().is_terminal:
        kind = "page" if format == "html" else "picture"
        raise Failure(f"--format {format} writes a {kind}; name a file for it: -o {name}.{format}")


def mark(state: str, encoding: str) -> str:
    """The mark of a state in an encoding.

    >>> mark("ok", "utf-8"), mark("failed", "ascii")
    ('✓', 'FAIL')
    """
    return MARKS[state][0 if encoding.lower().startswith("utf") else 1]


def state_line(to: Console, state: str, name: str, words: str, width: int = 12) -> None:
    """Print a line of a report: mark, name, words; on a terminal the words wrap in their column."""
    from rich.text import Text

    sign = mark(state, to.encoding)
    margin = " " * ((1 if len(sign) == 1 and sign != "-" else 4) + 1)
    lines = [printable(words, to.encoding)]
    if to.is_terminal:
        room = max(20, to.width - len(margin) - width - 1)
        lines = textwrap.wrap(lines[0], room) or [""]
    first = Text.assemble((f"{sign:<{len(margin)}}", _STYLES[state]), f"{name:<{width}} ", lines[0])
    rest = [Text(margin + " " * (width + 1) + line) for line in lines[1:]]
    to.print(*[first, *rest], sep="\n", soft_wrap=True)


def check_output(path: Path | None) -> Path | None:
    """The path, after a check that a file can be written there, before the work begins."""
    if path is None:
        return None
    if path.is_dir():
        raise Failure(f"-o {path} is a folder. Name a file in it: -o {path / 'out.txt'}")
    folder = path.parent
    if not folder.is_dir():
        made = shlex.quote(str(folder))
        raise Failure(f"-o {path}: there is no folder {folder}. Create it first: mkdir -p {made}")
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
        raise Failure(f"-o {path}: cannot write into {folder}: {reason}")
    return path


def replace_file(path: Path, text: str) -> None:
    """Write a temporary file and rename it, so that readers see the old or the new text."""
    check_output(path)
    try:
        write_whole(path, text if text.endswith("\n") else text + "\n")
    except OSError as error:
        raise Failure(f"-o {path}: {error.strerror}") from None
