"""Walks over the statements of a function."""

from __future__ import annotations

import ast
from typing import Any

from .build import place


def heads(node: Any) -> list[Any]:
    """The expressions of a statement that are not in its blocks."""
    if isinstance(node, ast.If):
        return [node.test]
    if isinstance(node, ast.While):
        return [node.test]
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.With):
        return [node.items]
    if isinstance(node, ast.Match):
        return [node.subject, *((case.pattern, case.guard) for case in node.cases)]
    if isinstance(node, ast.Try | ast.TryStar):
        return [[handler.type for handler in node.handlers]]
    return [node]


def all_statements(block: list[Any]) -> Any:
    for node in block:
        yield node
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from all_statements(getattr(node, field, []))
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from all_statements(part.body)


def without_declarations(block: list[Any]) -> list[Any]:
    """A block without ``global``, ``nonlocal`` and types, which hold for the whole function."""
    found: list[Any] = []
    for node in block:
        if isinstance(node, ast.Global | ast.Nonlocal):
            continue
        if isinstance(node, ast.AnnAssign):
            if node.value is None:
                if not isinstance(node.target, ast.Name):
                    found.append(ast.Expr(value=_loaded(node.target), **place(node)))
                continue
            node = ast.Assign(
                targets=[node.target], value=node.value, type_comment=None, **place(node)
            )
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    inner = without_declarations(getattr(node, field))
                    setattr(node, field, inner or [ast.Pass(**place(node))])
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                at = node if isinstance(node, ast.Match) else part
                part.body = without_declarations(part.body) or [ast.Pass(**place(at))]
        found.append(node)
    return found


def _loaded(target: ast.expr) -> ast.expr:
    """What Python evaluates of the target of a type without a value."""
    parts = [target.value] if isinstance(target, ast.Attribute | ast.Subscript) else []
    if isinstance(target, ast.Subscript):
        parts.append(target.slice)
    return ast.Tuple(elts=parts, ctx=ast.Load(), **place(target))
