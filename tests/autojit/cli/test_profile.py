"""``autojit profile``: a script runs as Python runs it, and is timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import numpy as np
import autojit

@autojit.jit
def f(x):
    return np.exp(x).sum()

print(__name__, sys.argv[1:], sys.argv[0] == sys.modules["__main__"].__file__, helper.NAME)
f(np.ones(1000))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n", encoding="utf-8")
    (tmp_path / "script.py").write_text("import helper\n" + SCRIPT, encoding="utf-8")
    return tmp_path


def command(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autojit.cli", "profile", *args],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )  # fmt: skip


@pytest.mark.slow
def test_the_script_is_the_main_module_and_the_table_is_on_stderr(folder: Path) -> None:
    done = command(folder, "--source", "--trace", "t.json", str(folder / "script.py"), "-o", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "__main__ ['-o', 'x'] True helper\n"
    assert "jit f" in done.stderr
    assert "return np.exp(x).sum()" in done.stderr
    assert max(map(len, done.stderr.partition("\n\n/")[0].splitlines())) <= 60
    assert json.loads((folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]


@pytest.mark.parametrize(
    ("name", "begins"), [("p.txt", "profile of"), ("p.json", "{"), ("p.svg", "<svg"),
                         ("p.html", "<!DOCTYPE html>")],
)  # fmt: skip
def test_the_name_of_the_file_says_in_which_form(
    folder: Path, name: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from autojit.cli.running.profile import profile_script

    (folder / "quick.py").write_text("x = 1\n", encoding="utf-8")
    assert profile_script(str(folder / "quick.py"), [], folder / name, None, source=False) == 0
    assert (folder / name).read_text(encoding="utf-8").startswith(begins)
    assert capsys.readouterr().err == ""


def test_what_the_script_raises_looks_as_python_shows_it(folder: Path) -> None:
    script = folder / "bad.py"
    script.write_text("def f():\n    raise ValueError('no')\n\nf()\n", encoding="utf-8")
    done = command(folder, "bad.py")
    plain = subprocess.run(
        [sys.executable, "bad.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == plain.returncode == 1
    assert done.stderr.startswith(plain.stderr)
    assert "profile of" in done.stderr


def test_what_stands_behind_the_script_is_its_own(folder: Path) -> None:
    (folder / "own.py").write_text("import sys\nprint(sys.argv[1:])\n", encoding="utf-8")
    words = ["--steps", "3", "-v", "--color", "red", "--help"]
    done = command(folder, "--color", "never", "own.py", *words)
    assert (done.returncode, done.stdout) == (0, f"{words}\n"), done.stderr
    assert done.stderr.endswith("\nautojit traced, compiled and ran nothing in this block\n")


@pytest.mark.parametrize(("end", "code"), [("3", 3), ("None", 0), ("'bye'", 1)])
def test_the_exit_code_is_the_scripts(
    folder: Path, end: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from autojit.cli.running.profile import profile_script

    (folder / "ends.py").write_text(f"raise SystemExit({end})\n", encoding="utf-8")
    assert profile_script(str(folder / "ends.py"), [], None, None, source=False) == code
    assert ("bye" in capsys.readouterr().err) == (code == 1)


@pytest.mark.slow
def test_mistakes_are_told_before_anything_runs(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n", encoding="utf-8")
    for args, words, code in (
        (["none.py"], "cannot read none.py", 2),
        (["-o", "no/where/x", "script.py"], "mkdir -p no/where", 2),
        (["-o", str(folder), "script.py"], "is a folder", 2),
        (["broken.py"], "SyntaxError", 1),
    ):
        done = command(folder, *args)
        assert done.returncode == code, args
        assert words in done.stderr
        assert done.stdout == ""
