"""The page of all stages: each row beside the user's line that it is from."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import autojit
from autojit import grad
from autojit.cli.app import app
from autojit.drawing import picture
from autojit.drawing.stages import rows
from autojit.drawing.stages.page import page_of
from autojit.drawing.stages.rows import stages_of
from autojit.errors import NonScalarGradientError, SettingError
from autojit.ir.core.program import Program

FILE = Path(__file__).name
X = np.linspace(0.1, 1, 40)


def loss(x: Any) -> Any:
    y = np.sin(x)  # line 0
    z = np.exp(y) / np.sum(y)  # line 1
    return np.sum(z * x)  # line 2


FIRST = loss.__code__.co_firstlineno + 1


def steps(x: Any) -> Any:
    for _ in range(600):
        if np.sum(x) > 1.0:
            x = np.tanh(x)
        x = x * 0.9
    return np.sum(x)


def many(x: Any) -> Any:
    for k in range(6):
        x = (x[1:] * k + x[:-1]) / (2.0 + k * k)
        x = x - np.sum(x) if k % 5 else x * x
    return x


def traced(f: Any, x: Any = X) -> Program:
    return autojit.trace(f)(x)


class Page(HTMLParser):
    """A page's content: each column's rows (text, lines), and the titles of folded sections."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[tuple[str, list[str]]]] = {}
        self.titles: dict[str, list[tuple[str, bool]]] = {}
        self.links: list[str] = []
        self.stack: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        assert not self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.links += [v for k, v in found.items() if k in ("src", "href")]
        if tag == "meta":
            return
        self.stack.append((tag, found))
        if tag == "section":
            self.column = found["data-name"]
            self.rows[self.column], self.titles[self.column] = [], []
        if "r" in found.get("class", "").split():
            self.rows[self.column].append(("", found.get("data-l", "").split()))
        if tag == "summary":
            self.titles[self.column].append(("", "open" in self.stack[-2][1]))

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        assert tag == "meta"

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        inside = [tag for tag, _ in self.stack]
        if any("r" in found.get("class", "").split() for _, found in self.stack):
            if "b" not in inside:
                text, lines = self.rows[self.column][-1]
                self.rows[self.column][-1] = text + data, lines
        elif "summary" in inside:
            text, is_open = self.titles[self.column][-1]
            self.titles[self.column][-1] = text + data, is_open

    def of(self, column: str, word: str) -> list[list[int]]:
        """Return the lines of rows that contain a word, counted from the first of ``loss``."""
        rows = (lines for text, lines in self.rows[column] if re.search(word, text))
        return [[int(line) - FIRST for line in lines] for lines in rows]


def test_rows_have_their_lines_in_every_stage() -> None:
    page = Page(page_of(traced(loss), traced(grad(loss))))
    assert list(page.rows) == [
        "your code", "trace", "adjoint", "optimized", "loops", "LLVM", "assembly",
    ]  # fmt: skip
    assert page.of("your code", "np.sin") == page.of("trace", "= sin") == [[0]]
    assert page.of("adjoint", "= cos") == page.of("optimized", "= cos") == [[0]]
    for word, line in (("sin", 0), ("exp", 1)):
        found = page.of("loops", rf"= {word}\(")
        assert found
        assert found == [[line]] * len(found)
    assert [0, 1] in [sorted(lines) for lines in page.of("loops", "for i in")]
    # The division stands on one line, so its instructions do.
    assert page.of("LLVM", "= fdiv .*double")[0] == [1]
    for column in ("LLVM", "assembly"):
        assert {line for _, lines in page.rows[column] for line in lines} >= {
            str(FIRST + k) for k in range(2)
        }


def test_picture_of_all_stages() -> None:
    made = picture(loss, X, stage="all", format="html", adjoint=True)
    page = Page(made)
    assert made.kind == "html"
    assert page.of("adjoint", "= cos") == [[0]]
    assert [text for text, _ in page.rows["loops"]] == [
        text for text, _ in Page(page_of(traced(loss), traced(grad(loss)))).rows["loops"]
    ]
    with pytest.raises(SettingError, match='stage="all", format="html"'):
        picture(loss, X, stage="all")
    with pytest.raises(NonScalarGradientError):
        picture(np.sin, X, stage="all", format="html", adjoint=True)


def test_page_stands_by_itself() -> None:
    text = page_of(traced(loss), None)
    page = Page(text)
    assert "adjoint" not in page.rows
    assert page.links == []
    assert "http" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "max-width: 800px" in text
    for key in ("ArrowDown", "ArrowRight", "Enter", "Escape"):
        assert key in text


def test_text_of_the_user_is_escaped() -> None:
    def f(x: Any) -> Any:
        return np.where(x < 1, x, 2) if "</script><b>" else x

    page = Page(page_of(traced(f), None))
    assert any("x < 1, x, 2" in text and "</script><b>" in text
               for text, _ in page.rows["your code"])  # fmt: skip


def test_a_body_is_from_the_lines_of_its_operations() -> None:
    first = steps.__code__.co_firstlineno
    page = Page(page_of(traced(steps), None))
    (scan,) = (lines for text, lines in page.rows["trace"] if "= scan" in text)
    assert {int(line) - first for line in scan} == {1, 2, 3, 4}
    (switch,) = (lines for text, lines in page.rows["trace"] if "= switch" in text)
    assert {int(line) - first for line in switch} == {2, 3}


def test_long_stages_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    long, most = 20, 120
    monkeypatch.setattr(rows, "LONG", long)
    monkeypatch.setattr(rows, "MOST", most)
    program = traced(many, np.ones(70))
    stages = {s.name: s for s in stages_of(program, None)}
    for name in ("trace", "loops", "assembly"):
        sections = stages[name].sections
        assert len(stages[name].rows) > 2 * long
        assert len(sections) > 2
        assert all(s.title for s in sections)
        assert sum(len(s.rows) for s in sections if s.opened) <= most
    assert "\n".join(row.text for row in stages["trace"].rows) == program.text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--adjoint --format html", "has it with --grad"),
        ("--by none --format html", "leave out --stage all"),
        ("--format svg", "For a page of all stages: --format html"),
    ],
)
def test_what_the_page_does_not_have(words: str, said: str) -> None:
    command = ["dump", f"{__file__}:loss", "f64[4]", "--stage", "all", *words.split()]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_command_writes_the_page(tmp_path: Path) -> None:
    for more, columns in ((["--grad"], "adjoint"), (["--transform", "vmap"], "transformed")):
        out = tmp_path / "steps.html"
        shape = "f64[4]" if "--grad" in more else "f64[3,4]"
        command = ["dump", f"{__file__}:loss", shape, *more, "--stage", "all", "--format", "html",
                   "-o", str(out)]  # fmt: skip
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        page = Page(out.read_text(encoding="utf-8"))
        assert columns in page.rows
        assert page.rows["trace"] != page.rows[columns]
        assert any(FILE in part for part in out.read_text(encoding="utf-8").split("<"))
