"""``autojit profile``: runs a script as Python would, and shows where the time went."""

from __future__ import annotations

import builtins
import json
import os
import shlex
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, TracebackType

from autojit.cli.common.failures import FAULT, Failure
from autojit.cli.common.terminal import (
    PROFILE,
    check_output,
    colour,
    console,
    fold,
    replace_file,
)
from autojit.profiling.profile import Profile, profile

#: The exit code of a program that was ended by Ctrl-C.
_INTERRUPTED = 130


def profile_script(
    script: str, args: Sequence[str], output: Path | None, trace: Path | None, *, source: bool
) -> int:
    """Run a script with its arguments, and report the times; return the script's exit code.

    The table goes to stderr, or into a file whose name determines the format.
    """
    for file in (output, trace):
        if file is not None:
            check_output(file)
    code = _code_of(script)
    if not (output or trace or source):
        _note_options(script, args)
    with profile() as found:
        status = _run(code, script, args)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    text = f"{found}\n{found.source()}" if source else str(found)
    if output is None:
        to = console(stderr=True)
        if to.is_terminal:
            text = "\n".join(_cut(line, to.width) for line in text.split("\n"))
        colour(text, PROFILE, to)
    else:
        replace_file(output, _in_form(found, output, text))
    if trace is not None:
        found.trace(trace)
    return status


def _cut(line: str, width: int) -> str:
    """A line of a table, cut at the width of the terminal."""
    return line if len(line) <= width else line[: width - 1] + "…"


def _in_form(found: Profile, output: Path, text: str) -> str:
    ending = output.suffix.lower()
    if ending in (".html", ".htm", ".svg"):
        return found.flame_graph(page=ending != ".svg")
    return json.dumps(found.json(), indent=1) if ending == ".json" else text


def _note_options(script: str, args: Sequence[str]) -> None:
    """Print a note if options of the command follow the script, which takes them as its own."""
    found = [a for a in args if a.split("=")[0] in ("-o", "--output", "--trace", "--source")]
    if found:
        to = console(stderr=True)
        words = (
            f"note: {found[0]} follows {script}, so it is passed to the script. To pass it to "
            "profile:"
        )
        command = f"    autojit profile {shlex.join(args)} {shlex.quote(script)}"
        to.file.write(f"{fold(words, to.width) if to.is_terminal else words}\n{command}\n")


def _code_of(script: str) -> CodeType:
    if ".py:" in script:
        file, _, name = script.rpartition(":")
        raise Failure(
            f"{script} is a function, but profile runs scripts: autojit profile {file}. To "
            f"explain {name}: autojit explain {script}"
        )
    if script.endswith(".ipynb"):
        raise Failure(
            f"{script} is a notebook, but profile runs scripts. In a cell of the notebook: with "
            "autojit.profile() as p: …, and p in the last line shows it"
        )
    try:
        text = Path(script).read_bytes()
    except OSError as error:
        raise Failure(f"cannot read {script}: {error.strerror}") from None
    try:
        return compile(text, os.path.abspath(script), "exec")
    except (SyntaxError, ValueError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        raise Failure(f"{script} is not a Python program", FAULT) from None


def _run(code: CodeType, script: str, args: Sequence[str]) -> int:
    """Run code as the main module; print exceptions as Python does."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=code.co_filename, __builtins__=builtins, __cached__=None)
    before = sys.modules["__main__"], sys.argv, sys.path[0]
    sys.modules["__main__"] = main
    sys.argv = [script, *args]
    sys.path[0] = os.path.dirname(code.co_filename)
    try:
        exec(code, main.__dict__)
    except SystemExit as end:
        return _status(end)
    except BaseException as error:
        shown = error.with_traceback(_within(error.__traceback__, code))
        sys.excepthook(type(error), shown, shown.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAULT
    finally:
        sys.modules["__main__"], sys.argv, sys.path[0] = before
    return 0


def _within(traceback: TracebackType | None, code: CodeType) -> TracebackType | None:
    """The traceback from the script's own frame on."""
    found = traceback
    while found is not None and found.tb_frame.f_code is not code:
        found = found.tb_next
    return found or traceback


def _status(end: SystemExit) -> int:
    """The exit code that Python would use."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return FAULT
