"""`autojit source`: its output and its errors."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from autojit.cli.app import app
from tests.codegen.export.running import defined

FUNCTIONS = """\
import numpy as np
import autojit

def loss(w, x):
    y = np.tanh(x @ w)
    return np.mean(y**2)

def called(x):
    return autojit.pure_callback(np.sin, x, x)
"""
LOSS = ("functions.py:loss", "f64[3]", "f64[40,3]")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "functions", raising=False)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["source", *words])
    return result.exit_code, result.output


def test_a_gradient_in_numpy() -> None:
    code, text = run(*LOSS, "--grad", "--argnums", "0,1")
    assert code == 0
    assert "# line 5: y = np.tanh(x @ w)\n    y = np.tanh(x @ w)\n" in text
    d_w, d_x = defined(text)["loss_grad"](np.ones(3), np.ones((40, 3)))
    assert d_w.shape == (3,)
    assert d_x.shape == (40, 3)


def test_a_file_in_c(tmp_path: Path) -> None:
    code, _ = run(*LOSS, "--transform", "value_and_grad", "--target", "c", "-o", "loss.c")
    assert code == 0
    text = (tmp_path / "loss.c").read_text(encoding="utf-8")
    assert "void loss_value_and_grad(const double *w, const double *x, double *value," in text


def test_a_name_and_numba() -> None:
    code, text = run(*LOSS, "--target", "numba", "--name", "mean_of_squares")
    assert code == 0
    assert "def mean_of_squares(w, x):" in text
    assert "@njit" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*LOSS, "--target", "numby"), "no target 'numby'. Did you mean numpy?"),
        ((*LOSS, "--name", "a b"), "--name is the name of a function"),
        (("functions.py:called", "f64[3]"), "callback cannot be written in NumPy"),
        (("functions.py:loss", "f64[3]"), "takes (w, x); 1 was given"),
    ],
)
def test_mistakes(words: tuple[str, ...], message: str) -> None:
    code, text = run(*words)
    assert code != 0
    assert message in " ".join(text.split())
