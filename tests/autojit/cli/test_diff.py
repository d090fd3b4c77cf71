"""`autojit diff`: programs that are the same up to names, and how others differ."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import autojit
from autojit.cli.app import app
from autojit.cli.looking.listings import as_lines, compared
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from tests.samples import SAMPLES
from tests.test_programs import programs, renamed

FUNCTIONS = """\
import numpy as np
from autojit import scan

def f(x, y):
    return np.sum(np.sin(x) * y)

def same(a, b):
    return np.sum(np.sin(a) * b)

def cosine(x, y):
    return np.sum(np.cos(x) * y)

def swapped(x, y):
    return np.sum(np.sin(y) * x)

def looped(x, y):
    return scan(lambda c, row: (np.sin(c) * row, None), y[0], x)[0]

def looped_by_sums(x, y):
    return scan(lambda c, row: (np.sin(c) + row, None), y[0], x)[0]
"""
ARGS = ("f64[3]", "f64[3]")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "two", raising=False)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["diff", *words])
    return result.exit_code, result.output


@pytest.mark.parametrize("stage", ["trace", "optimized", "loops"])
def test_the_same_up_to_names(stage: str) -> None:
    code, text = run("two.py:f", "two.py:same", *ARGS, "--grad", "--stage", stage)
    assert (code, text) == (
        0, "two.py:f and two.py:same are the same program, up to the names of values.\n",
    )  # fmt: skip


def test_another_operation() -> None:
    """Lines that read the changed line's value are not marked."""
    code, text = run("two.py:f", "two.py:cosine", *ARGS)
    assert code == 1
    assert (
        text
        == """\
--- two.py:f
+++ two.py:cosine
  program(%0: f64[3], %1: f64[3]) {
-   %2: f64[3] = sin %0
+   %2: f64[3] = cos %0
    %3: f64[3] = mul %2, %1
    %4: f64[] = sum %3 {axes=(0,)}
    return %4
  }

Lines: 1 removed, 1 added.
"""
    )


def test_other_operands() -> None:
    code, text = run("two.py:f", "two.py:swapped", *ARGS)
    assert code == 1
    assert "-   %2: f64[3] = sin %0\n+   %2: f64[3] = sin %1\n" in text
    assert "Lines: 2 with other operands." in text


def test_bodies_are_aligned_too() -> None:
    code, text = run("two.py:looped", "two.py:looped_by_sums", *ARGS, "--stage", "trace")
    assert code == 1
    assert " = mul " in text
    assert " = add " in text
    assert "Lines: 1 removed, 1 added." in text


def test_files(tmp_path: Path) -> None:
    def cube(x: object) -> object:
        return x * x * x  # type: ignore[operator]

    program = autojit.trace(cube)(1.0)
    (tmp_path / "a.ir").write_text(str(program), encoding="utf-8")
    (tmp_path / "b.ir").write_text(str(renamed(program, "other")), encoding="utf-8")
    loops = str(lower(optimize(program)))
    (tmp_path / "a.loops").write_text(loops, encoding="utf-8")
    (tmp_path / "b.loops").write_text(loops.replace(" * ", " + "), encoding="utf-8")
    assert run("a.ir", "b.ir")[0] == 0
    assert run("a.loops", "a.loops")[0] == 0
    code, text = run("a.loops", "b.loops")
    assert code == 1
    assert "Lines: 2 removed, 2 added." in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.ir", "two.py:f", *ARGS), "cannot read none.ir"),
        (("two.py:f", "two.py:same", "f64[3]"), "takes (x, y); 1 was given"),
        (("two.py:f", "two.py:same", *ARGS, "--stage", "asm"), "there is no stage 'asm'"),
    ],
)
def test_trouble_has_the_exit_code_of_diffs(words: tuple[str, ...], message: str) -> None:
    code, text = run(*words)
    assert code == 2
    assert message in " ".join(text.split())


def differs(a: Program, b: Program) -> bool:
    return any(row.mark != " " for row in compared(as_lines(a), as_lines(b)))


def test_it_says_what_equality_says() -> None:
    """A sample's program equals its renamed copy, and differs from the next unless equal."""
    found = [p for sample in SAMPLES[::40] for p in programs(sample)]
    for first, second in pairwise(found):
        assert not differs(first, renamed(first, "other"))
        assert differs(first, second) == (first != second)
