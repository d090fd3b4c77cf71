"""The Python code in the documents runs, and the paths and names in them exist.

Each fence that opens with exactly "```python" is run, in order, one namespace a document. A fence
with more words after `python` is shown and not run: say there what it needs ("```python on a GPU").

Words in backquotes with a slash that end in a slash or a suffix are paths, from the root or from
the document's folder; `path.py:Class.method` names what is defined there.  Links lead to files.
"""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^([ \t]*)```python[ \t]*\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """Yield the line on which each Python block starts, counted from 0, and its code."""
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


# -- names ------------------------------------------------------------------------------

QUOTED = re.compile(r"`([^`\n]+)`")
#: A path of ours, and perhaps what it defines; `<family>` and `*` stand for any name.
NAMED = re.compile(r"((?:[\w.-]+/)+(?:[\w-]+\.\w+)?)(?::([A-Za-z_][\w.]*))?")
#: At the end of a line of a diagram.
IN_DIAGRAM = re.compile(r"(?: {2}|, )((?:[\w-]+/)+(?:\w+\.py)?)(?=,|$)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)


def prose() -> list[str]:
    """Return the documents whose paths and names are checked."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("docs/*.md")]
    found += [p for folder in ("ir", "codegen") for p in (ROOT / folder).rglob("*.md")]
    found += (ROOT / "autojit" / "decisions").glob("*.md")
    of_the_past = {"CHANGELOG.md", "RESULTS.md"}
    return sorted(str(p.relative_to(ROOT)) for p in found if p.name not in of_the_past)


def defines(path: Path, name: str) -> bool:
    """Whether a module defines a dotted name, as far as can be seen without importing it."""
    body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = [s for s in body if part in _bound(s)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def _bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign):
        return [ast.unparse(statement.target)]
    if isinstance(statement, ast.Assign):
        names = [n for target in statement.targets for n in ast.walk(target)]
        return [n.id for n in names if isinstance(n, ast.Name)]
    return []


def missing(document: Path, root: Path = ROOT) -> list[str]:
    """Return a document's paths, names and links that do not exist."""
    text = document.read_text(encoding="utf-8")
    bare = FENCED.sub("", text)
    named = [m for m in map(NAMED.fullmatch, QUOTED.findall(bare)) if m]
    diagrams = [m[1] for fence in FENCED.findall(text) for m in IN_DIAGRAM.finditer(fence)]
    wrong = []
    for path, name in [*((m[1], m[2]) for m in named), *((path, None) for path in diagrams)]:
        found = [f / path for f in (root, document.parent) if (f / path).exists()]
        if not found or (name and not defines(found[0], name)):
            wrong.append(f"{path}:{name}" if name else path)
    links = [link for link in LINK.findall(bare) if "://" not in link]
    return wrong + [link for link in links if not (document.parent / link).exists()]


@pytest.mark.parametrize("document", prose())
def test_what_a_document_names_exists(document: str) -> None:
    assert missing(ROOT / document) == []


def test_architecture_names_functions() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = [m for m in map(NAMED.fullmatch, QUOTED.findall(text)) if m]
    assert sum(m[2] is not None for m in named) > 20
    assert len(IN_DIAGRAM.findall(text)) > 10


def test_names_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "a.py").write_text(
        "X, Y = 1, 2\nclass A:\n    def f(self): pass\n", encoding="utf-8"
    )
    path = tmp_path / "ir" / "doc.md"
    path.write_text(
        "`ir/a.py`, `ir/a.py:A.f`, `ir/a.py:Y`, `ir/`, `x / y`, `ir/<family>.py`, [a](a.py), "
        "[there](https://b.c/d)\n`ir/b.py`, `ir/a.py:A.g`, `ir/a.py:B`, `no/`, [c](c.md#d)\n\n"
        "```text\n  | lower     ir/a.py\n  | again     ir/gone.py, no/\n```\n",
        encoding="utf-8",
    )
    assert missing(path, tmp_path) == [
        "ir/b.py", "ir/a.py:A.g", "ir/a.py:B", "no/", "ir/gone.py", "no/", "c.md",
    ]  # fmt: skip


def test_each_decision_is_listed_and_has_all_parts() -> None:
    parts = ["Context", "Decision", "Predicted", "Measured", "Consequences"]
    for folder in ("autojit", "ir", "codegen"):
        records = sorted((ROOT / folder / "decisions").glob("[0-9]*.md"))
        listed = LINK.findall((records[0].parent / "README.md").read_text(encoding="utf-8"))
        assert sorted(link for link in listed if link[0].isdigit()) == [r.name for r in records]
        assert [int(r.name[:4]) for r in records] == list(range(1, len(records) + 1))
        for record in records:
            headings = re.findall(r"^## (.*)$", record.read_text(encoding="utf-8"), re.MULTILINE)
            assert headings == parts, record
