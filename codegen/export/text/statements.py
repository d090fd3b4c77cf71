"""The user's statements, found by the source lines of a program's ops."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from autojit.ir.core.values import Source

#: The length at which a comment with a statement is cut off.
_WIDTH = 88


@dataclass(frozen=True)
class Statement:
    """A simple statement, or the head of a compound one."""

    file: str
    line: int
    text: str
    #: The names that it sets, in order: one name, or those of a tuple.
    targets: tuple[str, ...]

    def comment(self, *, backward: bool = False, mark: str = "#") -> str:
        """Return ``# line 3: y = np.sin(x)``, on one line and not too long."""
        words = "backward of " if backward else ""
        text = f"{mark} {words}line {self.line}: {' '.join(self.text.split())}"
        return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 4].rstrip()} ..."


class Statements:
    """The user's statements by file; files are read on first use."""

    def __init__(self) -> None:
        self._files: dict[str, dict[int, Statement]] = {}

    def of(self, source: Source | None) -> Statement | None:
        """Return the statement at a place; None if its file cannot be read."""
        if source is None:
            return None
        if source.file not in self._files:
            self._files[source.file] = _read(source.file)
        return self._files[source.file].get(source.line)

    def target(self, source: Source | None) -> str:
        """Return the name that the statement at a place sets, if it sets one."""
        statement = self.of(source)
        return statement.targets[0] if statement and len(statement.targets) == 1 else ""


def is_backward(source: Source | None) -> bool:
    return source is not None and source.backward


def _read(file: str) -> dict[int, Statement]:
    return _statements(file, tuple(linecache.getlines(file)))


@lru_cache(maxsize=64)
def _statements(file: str, lines: tuple[str, ...]) -> dict[int, Statement]:
    """Return the innermost statement of each line."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return {k: Statement(file, k, line.strip(), ()) for k, line in enumerate(lines, 1)}
    found: dict[int, Statement] = {}
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.stmt):
            made = _statement(file, lines, node)
            for line in range(node.lineno, made.line + made.text.count("\n") + 1):
                found[line] = made
    return found


def _statement(file: str, lines: Sequence[str], node: ast.stmt) -> Statement:
    """Return a statement; of a compound one, the part before its body."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    text = "".join(lines[node.lineno - 1 : last]).strip()
    return Statement(file, node.lineno, text, _targets(node))


def _targets(node: ast.stmt) -> tuple[str, ...]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)):
        targets = [node.target]
    return _names(targets[0]) if len(targets) == 1 else ()


def _names(target: ast.expr) -> tuple[str, ...]:
    """Return the names of a target: ``q, r``, or ``u`` for ``u[1:-1]``; none for others."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Subscript):
        return _names(target.value)
    if isinstance(target, ast.Tuple):
        parts = [_names(part) for part in target.elts]
        return tuple(p[0] for p in parts) if all(len(p) == 1 for p in parts) else ()
    return ()
