"""Completion: what may follow, and the scripts in the shells that are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autojit.cli.completing import candidates, pass_names, split
from autojit.cli.coverage.catalogue import NAMESPACES
from autojit.cli.looking.passes import LOOPS, SSA
from autojit.staging.inspection import STAGES
from tests.autojit.cli.commands import all_commands, complaint, printed

pytestmark = pytest.mark.usefixtures("folder")

ROOT = Path(__file__).resolve().parents[3]


def following(line: str) -> list[str]:
    return [word for word, _ in candidates(split(line)[0])]


def test_commands_and_options() -> None:
    assert following("autojit d") == ["dump", "diff", "doctor"]
    assert {name.split()[0] for name in all_commands()} == set(following("autojit "))
    assert following("autojit cache ") == ["path", "ls", "clear", "why"]
    assert following("autojit dump functions.py:loss --st") == ["--stage"]
    assert {"--color", "--help", "-o", "--output"} <= set(following("autojit dump x -"))
    assert following("autojit --v") == ["--version"]


def test_values_of_options() -> None:
    assert following("autojit dump f:g --stage ") == [*STAGES, "all"]
    assert following("autojit dump f:g --stage=op") == ["--stage=optimized"]
    assert following("autojit coverage --format ") == ["text", "json", "markdown"]
    assert following("autojit doctor --color n") == ["never"]
    assert following("autojit dump f:g --transform value") == ["value_and_grad"]
    assert following("autojit opt p.ir --passes simplify,dc") == ["simplify,dce"]
    assert following("autojit opt p.ir --passes opti") == ["optimize"]
    assert following("autojit dump f:g --print-after strip") == ["strip_mine"]
    assert following("autojit completion ") == ["bash", "zsh", "fish"]
    assert following("autojit check f:g --order ") == []
    assert following("autojit check f:g --modes ") == ["fwd", "rev"]
    assert following("autojit dump f:g --by ") == ["line", "loop", "call", "none"]
    assert following("autojit source f:g --target ") == ["numpy", "numba", "c"]


def test_names_of_pages_namespaces_and_scripts() -> None:
    assert following("autojit mistakes shapes-o") == ["shapes-of-a-product"]
    assert following("autojit mistakes ShapeE") == ["ShapeError"]
    assert following("autojit coverage scipy.sp") == [n for n in NAMESPACES if "scipy.sp" in n]
    assert set(following("autojit coverage ")) == {*NAMESPACES}
    assert following("autojit profile scr") == ["script.py"]
    assert "functions.py:loss" in following("autojit diff functions.py:loss functions.py:")


def test_every_format_is_completed() -> None:
    for name, command in all_commands().items():
        if any("--format" in option.opts for option in command.params):
            assert {"text", "json"} <= set(following(f"autojit {name} x --format ")), name


def test_passes_are_found_without_loading_them() -> None:
    assert pass_names() == sorted({*SSA.passes, *LOOPS.passes})


def test_files_and_functions(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "x.npy").touch()
    (folder / "inner" / "p.ir").touch()
    (folder / "inner" / "more.py").write_text("def hidden(", encoding="utf-8")
    assert following("autojit dump ") == ["functions.py:", "inner/", "script.py:"]
    assert following("autojit dump functions.py:") == [
        "functions.py:loss",
        "functions.py:train",
        "functions.py:chatty",
        "functions.py:Model.static",
        "functions.py:model",
    ]
    assert following("autojit dump functions:lo") == ["functions:loss"]
    assert following("autojit dump inner/more.py:") == []
    assert following("autojit dump inner/") == ["inner/more.py:"]
    assert following("autojit run inner/p") == ["inner/p.ir"]
    assert following("autojit dump f:g -o inner/p") == ["inner/p.ir"]
    assert following("autojit dump functions.py:loss @inner/") == ["@inner/x.npy"]
    assert candidates(["dump", "functions.py:train"])[0][1] == "w, x, kind='adam', *, rate=0.1"


def test_unknown_shells() -> None:
    assert "there is completion for bash, zsh, fish" in complaint("completion", "tcsh", code=2)


# -- in shells ----------------------------------------------------------------------------


@pytest.fixture
def shell(folder: Path) -> dict[str, str]:
    """The environment of a shell that finds this tree's command."""
    command = folder / "bin" / "autojit"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m autojit "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    for name in ("bash", "zsh", "fish"):
        (folder / name).write_text(printed("completion", name), encoding="utf-8")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "HOME": str(folder)}


def output(shell: dict[str, str], *words: str) -> list[str]:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, env=shell, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


BASH = """
source ./bash
compopt() { echo compopt "$@"; }
try() { COMP_LINE="$1"; COMP_POINT=${#1}; COMP_WORDS=(autojit); _autojit; echo "${COMPREPLY[*]}"; }
try "autojit cache l"
try "autojit dump functions.py:lo"
try "autojit dump 'functions.py:lo"
try "autojit dump func"
try "autojit dump functions.py:loss --stage=as"
try "autojit nothing "
"""


def test_bash(shell: dict[str, str]) -> None:
    assert output(shell, "bash", "--norc", "-c", BASH) == [
        "ls",
        "loss",  # bash takes the word apart at the colon
        "functions.py:loss",  # but not in quotes
        "compopt -o nospace",
        "functions.py:",
        "asm",
        "",
    ]


FISH = """
source ./fish
complete -C "autojit dump functions.py:l"
complete -C "autojit opt p.ir --passes cse,dc"
"""


def test_fish(shell: dict[str, str]) -> None:
    assert output(shell, "fish", "--no-config", "-c", FISH) == [
        "functions.py:loss\tw, x",
        "cse,dce",
    ]


ZSH = """
compdef() { : }
source ./zsh
compadd() { print -r -- "${(j: :)@} = $found $open" }
words=(autojit dump functions.py:l); CURRENT=3; _autojit
words=(autojit dump func); CURRENT=3; _autojit
"""


def test_zsh(shell: dict[str, str]) -> None:
    assert output(shell, "zsh", "-f", "-c", ZSH) == [
        "-l -d shown -a found = functions.py:loss ",
        "-S  -d open_shown -a open =  functions.py:",
    ]
