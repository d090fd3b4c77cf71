"""Find the messages that show code in the sources, so that no fix goes untested."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import autojit

ROOT = Path(autojit.__file__).parent
#: Modules that write source code, text or pages, and not messages.
WRITERS = (
    "cli/", "codegen/export/", "codegen/cuda/printing/", "codegen/cuda/device_program/",
    "codegen/cuda/driver/entry.py", "codegen/cuda/source.py", "codegen/loop_text/",
    "drawing/programs/script.py", "drawing/stages/", "explanations/as_text.py",
    "explanations/demands.py", "ir/tools/text.py", "profiling/flame.py", "scalar/operations.py",
    "scipy/special/bessel.py", "validation/fixes.py", "validation/nan_report.py",
)  # fmt: skip
#: An indented line, as messages show code.
_CODE = re.compile(r"(?:^|\n)    (?! *[\"'{]?\)?$)\S")
#: Only modules that match are parsed: parsing all would take seconds.
_MAY_HAVE_CODE = re.compile(r"\\n    |[\"']    |[=(,\[] *[rf]*\"\"\"")


class Site(NamedTuple):
    """A message with code in a module: its constant pieces, in order."""

    module: str
    pieces: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the module and the first line of the code."""
        text = "…".join(self.pieces)
        found = _CODE.search(text)
        assert found is not None
        line = text[found.end() - 1 :].partition("\n")[0].partition("  #")[0].strip()
        return f"{self.module}: {line}"

    def made(self, message: str) -> bool:
        """Return whether a message may come from this site."""
        return re.search(".*".join(map(re.escape, self.pieces)), message, re.DOTALL) is not None


def sites() -> Iterator[Site]:
    """Yield all messages that show code."""
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        if module.startswith(WRITERS):
            continue
        source = path.read_text(encoding="utf-8")
        if _MAY_HAVE_CODE.search(source):
            yield from _of_module(module, ast.parse(source))


def _of_module(module: str, tree: ast.Module) -> Iterator[Site]:
    inner: set[int] = set()
    texts: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            texts.append(node)
        elif isinstance(node, ast.JoinedStr):
            texts.append(node)
            inner.update(id(part) for value in node.values for part in ast.walk(value))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))  # a docstring
    for node in texts:
        if id(node) in inner:
            continue
        pieces = tuple(_pieces(node))
        if _CODE.search("…".join(pieces)):
            yield Site(module, pieces)


def _pieces(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from re.split(r"\{[\w!:<>=]*\}", node.value)  # of `str.format`
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.Constant):
                yield str(part.value)
