"""The limits that CONTRIBUTING.md states: the length of files and passes, branches in functions.

How many modules a folder has, and which imports there are, is in `test_layers.py`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Callable, Mapping, Set
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Lines of a file, and lines of code of a pass: docstrings, comments and blank lines do not count.
MOST_LINES, MOST_LINES_OF_PASS = 400, 150
MOST_COMPLEX = 10

#: Programs as other people write them, which are run as they are.
OF_OTHERS = "tests/autojit/capture/{others/*,test_iterables.py}"
#: Adjoints by hand, as one would write them in Fortran.
IN_ONE_PIECE = "bench/workloads/element_loops.py"

SOURCES = ("autojit", "ir", "codegen", "bench", "examples")
#: Folders with one pass a file.  (Rerolling is one pass in several modules.)
PASSES = ("ir/passes/algebra", "ir/passes/loops", "codegen/loop_passes")

#: Files that splitting would make worse, with the reason.
LONGER: Mapping[str, str] = {}

_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def lines(source: str) -> int:
    return len(source.splitlines())


def lines_of_code(source: str) -> int:
    """How many lines are neither blank nor comments nor in docstrings."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and ast.get_docstring(node) is not None:
                assert first.end_lineno is not None
                found.difference_update(range(first.lineno, first.end_lineno + 1))
    return len(found)


def too_long(
    root: Path, folders: tuple[str, ...], count: Callable[[str], int], most: int
) -> set[str]:
    """The files of some folders that have more lines than that.  (`rglob` enters no links.)"""
    return {
        path.relative_to(root).as_posix()
        for folder in folders
        for path in (root / folder).rglob("*.py")
        if count(path.read_text(encoding="utf-8")) > most
    }


def compare(found: Set[str], listed: Set[str], most: int) -> None:
    assert not found - listed, f"longer than {most} lines: split by what the parts are for"
    assert not listed - found, f"at most {most} lines now: take it off the list"


def test_files_are_short() -> None:
    found = too_long(ROOT, SOURCES, lines, MOST_LINES)
    compare(found, LONGER.keys(), MOST_LINES)


def test_passes_are_short() -> None:
    found = too_long(ROOT, PASSES, lines_of_code, MOST_LINES_OF_PASS)
    compare(found, set(), MOST_LINES_OF_PASS)


def test_the_linter_counts_branches_everywhere() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
    lint = settings["lint"]
    assert lint["mccabe"]["max-complexity"] == MOST_COMPLEX
    assert "C90" in lint["select"]
    by_file = lint.get("per-file-ignores", {})
    ignored = {"everywhere": lint.get("ignore", ()), **by_file}
    without = [name for name, codes in ignored.items() if any(c.startswith("C9") for c in codes)]
    assert without == [OF_OTHERS]
    excused = [
        path.relative_to(ROOT).as_posix()
        for folder in (*SOURCES, "tests")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"#\s*noqa:.*\bC90", path.read_text(encoding="utf-8"))
    ]
    assert excused == [IN_ONE_PIECE]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", 0),
        ('"""Docs.\n\nMore.\n"""\n\n# A comment.\nx = 1  # one\n', 1),
        ('def f():\n    """Docs."""\n    return """a\n\nb"""\n', 4),
        ('class A:\n    """Docs."""\n    b = "no docstring"\n    "nor this"\n', 3),
    ],
)
def test_lines_of_code(source: str, expected: int) -> None:
    assert lines_of_code(source) == expected


def test_a_long_file_is_found_and_a_short_one_leaves_the_list(tmp_path: Path) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "long.py").write_text("x = 1\n" * 401, encoding="utf-8")
    (tmp_path / "ir" / "short.py").write_text("x = 1\n" * 400, encoding="utf-8")
    found = too_long(tmp_path, ("ir",), lines, MOST_LINES)
    assert found == {"ir/long.py"}
    compare(found, {"ir/long.py"}, MOST_LINES)
    with pytest.raises(AssertionError, match="split"):
        compare(found, set(), MOST_LINES)
    with pytest.raises(AssertionError, match="off the list"):
        compare(found, {"ir/long.py", "ir/short.py"}, MOST_LINES)
