"""The Python in the documents runs.

Each fence that opens with exactly "```python" is run, in order, one namespace a document. A fence
with more words after `python` is shown and not run: say there what it needs ("```python on a GPU").
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^([ \t]*)```python[ \t]*\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """The line on which each Python block starts, counted from 0, and its code."""
    return [
        (text.count("\n", 0, match.start(2)), dedent(match.group(2)))
        for match in FENCE.finditer(text)
    ]


def documents() -> list[str]:
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")]
    return sorted(
        str(path.relative_to(ROOT)) for path in paths if blocks(path.read_text(encoding="utf-8"))
    )


def run_document(path: Path) -> None:
    """Run the blocks of a document; a traceback names the document and its line."""
    names: dict[str, Any] = {"__name__": path.stem}
    for start, code in blocks(path.read_text(encoding="utf-8")):
        if ">>> " in code:
            run_session(code, names, path, start)
        else:
            exec(compile("\n" * start + code, str(path), "exec"), names)


def run_session(code: str, names: dict[str, Any], path: Path, start: int) -> None:
    """Run a block that shows a prompt, and compare what it prints."""
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), start)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)  # the parser copied them
    assert not report, "".join(report)


@pytest.mark.parametrize("document", documents())
def test_document(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(ROOT / document)


def test_readme_has_code() -> None:
    assert "README.md" in documents()


def test_blocks_share_names_and_others_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "good.md"
    path.write_text(
        "```python\nx = 1\n```\n\n- item\n\n  ```python\n  x += 1\n  ```\n\n"
        "```python\n>>> x\n2\n>>> y = x\n\n```\n\n```python on Mars\n1 / 0\n```\n\n"
        "```text\n1 / 0\n```\n\n```python\nassert y == 2\n```\n",
        encoding="utf-8",
    )
    run_document(path)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("1 / 0", ZeroDivisionError, "division"),
        (">>> 1 + 1\n3", AssertionError, r"Got:\n +2"),
        ("x = (", SyntaxError, "never closed"),
    ],
)
def test_faulty_document_is_reported(
    code: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.md"
    path.write_text(f"# Title\n\n```python\n{code}\n```\n", encoding="utf-8")
    with pytest.raises(error, match=words):
        run_document(path)


def test_traceback_has_the_line_of_the_document(tmp_path: Path) -> None:
    path = tmp_path / "bad.md"
    path.write_text("# Title\n\n```python\nx = 1\nx / 0\n```\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as caught:
        run_document(path)
    assert caught.traceback[-1].lineno == 4
    assert str(caught.traceback[-1].path) == str(path)
