"""``autojit explain`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autojit.cli.app import app

SOURCE = """
import numpy as np

def loss(w, x):
    e = np.exp(x @ w)
    return np.sum(e * e)
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    return f"{file}:loss"


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["explain", *words])
    assert result.exit_code == code, result.output
    return result.output


def test_text(target: str) -> None:
    text = run(target, "f64[5]", "f64[100,5]", "--grad")
    assert text.startswith("loss: f64[5], f64[100,5] -> f64[5]\nloops ")
    assert "e = np.exp(x @ w)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_json(target: str) -> None:
    found = json.loads(run(target, "f64[5]", "f64[100,5]", "--format", "json"))
    assert found["name"] == "loss"
    # five products and sums, an exponential, a product, a sum for each row
    assert found["flops"] == 100 * (2 * 5 + 1 + 2)


def test_a_page(target: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(target, "f64[5]", "f64[100,5]", "--format", "html", "-o", str(page))
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "e = np.exp(x @ w)" in page.read_text()


def test_what_is_wrong_is_said(target: str) -> None:
    assert "--format must be text, html or json; got 'svg'" in run(
        target, "f64[5]", "f64[100,5]", "--format", "svg", code=2
    )
    assert "takes (w, x)" in run(target, "f64[5]", code=2)
