"""Calls of the command in this process, for its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from autojit.cli.app import app

#: The file that the examples of the help pages name, with more functions for `test_slips`.
FUNCTIONS = """\
import numpy as np
import autojit


def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)


def train(w, x, kind="adam", *, rate=0.1):
    step = np.sum(w * x) if kind == "adam" else np.sum(w)
    return step * rate


def chatty(x):
    print("x is here")
    return np.sum(x * x)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def energy(self, x):
        return self.scale * np.sum(x**2)

    @staticmethod
    def static(x):
        return np.sum(np.exp(x))


model = Model(2.0)
"""

#: The script that is profiled.
SCRIPT = """\
import numpy as np
from autojit import grad, jit
from functions import loss

jit(grad(loss))(np.ones(3), np.ones((10, 3)))
"""


def write_functions(folder: Path) -> None:
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")


def call(*words: str, stdin: str | None = None, **environment: str) -> Any:
    """The result of a command, with `exit_code`, `stdout` and `stderr`."""
    return CliRunner(env=environment).invoke(app, list(words), input=stdin)


def printed(*words: str, stdin: str | None = None, **environment: str) -> str:
    result = call(*words, stdin=stdin, **environment)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def complaint(*words: str, code: int) -> str:
    """Return the error text of a command that exits with ``code`` and prints no stdout."""
    result = call(*words)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert result.stderr.startswith("error: ")
    return str(result.stderr)


def all_commands() -> dict[str, Any]:
    """Return every command, keyed by the words that call it."""

    def below(group: Any, words: tuple[str, ...]) -> dict[str, Any]:
        found = {}
        for name, command in group.commands.items():
            inner = (*words, name)
            if hasattr(command, "commands"):
                found.update(below(command, inner))
            else:
                found[" ".join(inner)] = command
        return found

    return below(get_command(app), ())
