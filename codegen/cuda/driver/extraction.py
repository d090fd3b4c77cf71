"""One kernel of a generated module, with the definitions that it uses, becomes a separate module.

Kernels that differ only in name have equal modules, so they are compiled once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: The name of every kernel in its own module.
NAME = "kernel"


class Extraction:
    """The kernels of one module."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        #: Top-level statements in order, by the names that they define.
        self._given: dict[str, ast.stmt] = {}
        for node in ast.parse(text).body:
            for name in _names_given(node):
                self._given[name] = node

    def module(self, name: str) -> str:
        """The text of a kernel's module, in which it is called ``kernel``."""
        kernel = self._given[name]
        needed = self._needed(kernel)
        parts = [self._text(node) for node in dict.fromkeys(self._given.values()) if node in needed]
        own = self._text(kernel).replace(f"def {name}(", f"def {NAME}(", 1)
        return "\n\n".join([*parts, own])

    def parameters(self, name: str) -> list[str]:
        """The names of a kernel's parameters."""
        kernel = self._given[name]
        assert isinstance(kernel, ast.FunctionDef)
        return [a.arg for a in kernel.args.args]

    def _needed(self, kernel: ast.stmt) -> set[ast.stmt]:
        """The definitions that a kernel uses, directly or not."""
        found: set[ast.stmt] = set()
        left = [kernel]
        while left:
            for node in ast.walk(left.pop()):
                given = self._given.get(node.id) if isinstance(node, ast.Name) else None
                if given is not None and given is not kernel and given not in found:
                    found.add(given)
                    left.append(given)
        return found

    def _text(self, node: ast.stmt) -> str:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return "".join(self._lines[first - 1 : node.end_lineno])


def _names_given(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id
