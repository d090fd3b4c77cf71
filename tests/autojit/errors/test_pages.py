"""The pages about mistakes: each example does what the page says, and each fix runs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autojit import errors
from autojit.cli.app import app
from autojit.session.mistakes import FOLDER, pages, pages_of
from tests.autojit.errors.examples import Example, examples, printed

#: How an example ends: a surprise is a result that is not what one expects.
ENDINGS = {
    "raises": "raises",
    "warns": "warns",
    "surprises": "runs",
    "shows": "runs",
    "runs": "runs",
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", pages())
def test_examples_print_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m tests.autojit.errors.examples` writes the pages anew."""
    monkeypatch.chdir(tmp_path)
    page = pages()[name]
    mistake, *fixes = examples(page.text)
    assert mistake.kind != "runs"
    assert fixes
    assert all(fix.kind == "runs" for fix in fixes)
    for library in re.findall(r"^import (torch|pandas)", page.text, re.MULTILINE):
        pytest.importorskip(library)
    for each in (mistake, *fixes):
        assert printed(each.code, name) == (ENDINGS[each.kind], each.shown)


@pytest.mark.parametrize("name", pages())
def test_a_page_names_the_class_that_it_shows(name: str) -> None:
    page = pages()[name]
    mistake = examples(page.text)[0]
    for kind in page.classes:
        assert kind in errors.__all__
        assert kind in mistake.shown
    if mistake.kind == "warns" or "autojit.errors." in mistake.shown:
        assert page.classes


#: Classes of which no short program gives an example.
WITHOUT = {
    "AutojitError": "the base of others",
    "TracingError": "the base of others",
    "TypeMismatch": "about programs that are written by hand",
    "CacheWarning": "about the folder of the cache",
    "CorruptCacheWarning": "about the folder of the cache",
    "MiscompilationError": "about a fault of autojit's own",
    "UncheckedGradientWarning": "about a check that was asked for and could not be made",
    "UnrolledLoopWarning": "takes seconds to be met",
}


def test_each_class_has_a_page() -> None:
    assert {kind for kind in errors.__all__ if not pages_of(kind)} == WITHOUT.keys()


#: What stands for the user's in the fixes of messages.
SETUP = """
import numpy as np, autojit
from autojit import grad, jacrev, jit, value_and_grad
def f(x, *more): return np.sum(np.asarray(x) * 1.0)
x, y, n = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([1, 2])
"""
#: Mistakes, with the class that is raised; the indented code of the message has to run.
PROVOKED: dict[str, tuple[str, type[Exception]]] = {
    "bits": ("jit(lambda x: x & 1)(x)", errors.DtypeError),
    "in place": ("jit(lambda n: (n + 0).__iadd__(0.5))(n)", errors.InPlaceError),
    "memory": ("jit(lambda x: x.tobytes())(x)", errors.UncoveredAttributeError),
    "array": ("grad(lambda x: x * 2)(x)", errors.NonScalarGradientError),
    "changed": ("jit(lambda x: x.__isub__(1))(x)", errors.ArgumentChangedError),
    "a profile": ("autojit.profile().seconds", errors.ProfileError),
    "argnums": ("grad(f, argnums='x')", errors.SettingError),
    "no argnum": ("grad(f, argnums=1.0)", errors.SettingError),
    "device": ("jit(f, device='CPU')", errors.UnsupportedTargetError),
    "options": ("jit(f, nopython=True)", errors.SettingError),
}


@pytest.mark.parametrize("name", PROVOKED)
def test_the_fix_of_a_message_runs_when_pasted(name: str) -> None:
    mistake, kind = PROVOKED[name]
    space: dict[str, object] = {}
    exec(SETUP, space)
    with pytest.raises(kind) as caught:
        eval(mistake, space)
    message, _, _ = str(caught.value).partition('\n\n  File "')
    fix = [line for line in message.splitlines() if line.startswith("    ")]
    assert fix, message
    exec(textwrap.dedent("\n".join(fix)), space)


def test_an_example_that_differs_is_found() -> None:
    (example,) = examples("```python raises\n1 / 0\n```\n\n```text\nZeroDivisionError: no\n```\n")
    assert example == Example("raises", "1 / 0\n", "ZeroDivisionError: no\n")
    assert printed(example.code, "one") == ("raises", "ZeroDivisionError: division by zero\n")
    assert printed("print(1)", "one") == ("runs", "1\n")
    assert printed("import warnings; warnings.warn('w')", "one")[0] == "warns"


def test_the_index_lists_each_page() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.*)\]\(([\w-]+)\.md\) \|", index, re.MULTILINE)
    assert listed == [(page.title, page.name) for page in pages().values()]
    assert len(listed) >= 40


# -- the command ------------------------------------------------------------------------


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["mistakes", *words])
    return done.exit_code, done.output


def test_the_command_prints_a_page() -> None:
    text = pages()["integer-gradient"].text.rstrip("\n") + "\n"
    assert said("integer-gradient") == (0, text)
    assert said("IntegerGradientError") == (0, text)
    assert said("autojit.errors.IntegerGradientError") == (0, text)


def test_the_command_lists_pages() -> None:
    code, words = said()
    assert code == 0
    assert all(page.name in words and page.title in words for page in pages().values())
    code, words = said("ShapeError")
    assert code == 0
    assert all(page.title in words for page in pages_of("ShapeError"))


def test_the_command_says_what_there_is_not() -> None:
    assert "Did you mean ShapeError?" in said("ShapeErro")[1]
    assert "Did you mean integer-gradient?" in said("integer-gradeint")[1]
    code, words = said("TracingError")
    assert code == 2
    assert "no page about TracingError" in words
