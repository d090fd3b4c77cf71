"""``autojit run`` of loop programs, as ``autojit dump --stage loops`` prints them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autojit.cli.app import app

FUNCTIONS = """
import numpy as np
TABLE = np.arange(3.0)
def loss(x, y):
    return np.mean((np.tanh(x @ y) - 1) ** 2)
def looked_up(x):
    return np.sum(x * TABLE)
def turned(z):
    return z * 1j
"""
X = "[[1, 2, 3], [4, 5, 6]]"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(FUNCTIONS, encoding="utf-8")
    return tmp_path


def call(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, words)
    return result.exit_code, result.stdout, result.stderr


def dumped(name: str, *words: str) -> str:
    code, text, _ = call("dump", f"f.py:{name}", *words, "--stage", "loops")
    assert code == 0
    Path("f.loops").write_text(text, encoding="utf-8")
    return text


def test_run_gives_what_the_program_gives() -> None:
    dumped("loss", "f64[2,3]", "f64[3]", "--grad", "--argnums", "1")
    call("dump", "f.py:loss", "f64[2,3]", "f64[3]", "--grad", "--argnums", "1", "-o", "f.ir")
    words = [X, "[0.1, -0.2, 0.3]"]
    want = call("run", "f.ir", *words)
    assert want[0] == 0
    assert call("run", "f.loops", *words) == want
    assert call("run", "f.loops", *words, "--interpret") == want
    one, other = call("run", "f.loops"), call("run", "f.loops", "--seed", "1")
    assert one == call("run", "f.loops") != other


def test_complex_numbers_are_pairs() -> None:
    dumped("turned", "c128[2]")
    assert call("run", "f.loops", "[1+2j, 3]")[1] == "result 0: f64[4] = [-2.,  1.,  0.,  3.]\n"


def test_arrays_from_outside_have_to_be_given() -> None:
    assert "input in1: f64[3] from outside" in dumped("looked_up", "f64[3]")
    assert call("run", "f.loops", "[1, 2, 3]") == (
        2,
        "",
        "error: input in1 (f64[3]) is an array that the function closed over. Its values are not "
        "in the text: pass them as argument 1\n",
    )
    code, text, _ = call("run", "f.loops", "[1, 2, 3]", "[0, 1, 2]")
    assert (code, text) == (0, "result 0: f64[1] = [8.]\n")


WRONG = [
    (["[1, 2]"], "argument 0 must have 6 numbers (f64[6]); got array([1, 2])"),
    (["'abc'"], "argument 0 must have 6 numbers (f64[6]); got 'abc'"),
    ([X, "[1, 2, 3]", "4"], "program loss takes 2 arguments, 3 were given"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_other_arguments_are_refused(words: list[str], message: str) -> None:
    dumped("loss", "f64[2,3]", "f64[3]")
    assert call("run", "f.loops", *words) == (2, "", f"error: {message}\n")


def test_mistakes_are_shown() -> None:
    text = dumped("loss", "f64[2,3]", "f64[3]")
    Path("f.loops").write_text(text.replace("in1[", "in7[", 1), encoding="utf-8")
    code, _, error = call("run", "f.loops")
    assert code == 2
    assert error.startswith("error: f.loops: line ")
    assert "in7 is not declared before this line" in error
    Path("f.loops").write_text(text.replace("in1[j]", "in1[j + 1]", 1), encoding="utf-8")
    code, _, error = call("run", "f.loops")
    assert code == 2
    assert error.startswith("error: f.loops is not a valid program: 1 to 3 of in1[3]:\n")
