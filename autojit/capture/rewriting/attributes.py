"""Attributes in a ``try`` that handles AttributeError.

    try:                        try:
        n = x.size          ->      n = attribute(x, "size")
    except AttributeError:      except AttributeError:
        n = 1                       n = 1

Traced numbers have the attributes of arrays, and traced values have some of our own. There the
runtime answers as Python would for the user's number or array.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import Any

import numpy as np

from autojit.tracing.running.arguments import Argument

from .assignments import WRITERS
from .build import ask, constant, nodes

#: The attributes that the class of the user's value may lack.
_DOUBTFUL = frozenset({
    "__contains__", "__getitem__", "__iter__", "__len__",
    *(name for kind in (np.ndarray, Argument) for name in dir(kind) if name[:1] != "_"),
}).difference(WRITERS)  # fmt: skip


def with_asked_attributes(root: Any, free: Iterable[str], everywhere: bool) -> None:
    """Ask the runtime for attributes wherever a missing one may be handled: in each ``try`` that
    does so, or, in a function that is called from one, ``everywhere``. ``free`` are the names that
    the function has from outside it."""
    tried = [root] if everywhere else [node for node in nodes(root) if _may_handle(node)]
    if not tried:
        return
    asking = _Asking({*free, *map(_bound_name, nodes(root))})
    for node in tried:
        if isinstance(node.body, list):
            node.body = [asking.visit(statement) for statement in node.body]
        else:
            node.body = asking.visit(node.body)  # of a lambda


def _may_handle(node: Any) -> bool:
    """Whether a statement may handle an AttributeError of its body."""
    if isinstance(node, ast.Try | ast.TryStar):
        return any(_may_be(handler.type) for handler in node.handlers)
    if isinstance(node, ast.With):
        spelt = {getattr(x, "id", getattr(x, "attr", None)) for x in nodes(*node.items)}
        return "suppress" in spelt
    return False


def _may_be(kinds: ast.expr | None) -> bool:
    """Whether the classes of a handler may include AttributeError."""
    if kinds is None:
        return True
    found = [getattr(builtins, x.id, None) for x in nodes(kinds) if isinstance(x, ast.Name)]
    known = [kind for kind in found if isinstance(kind, type)]
    return len(known) < len(found) or any(issubclass(AttributeError, kind) for kind in known)


def _bound_name(node: Any) -> str | None:
    """The name that a node binds."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    return node.arg if isinstance(node, ast.arg) else None


class _Asking(ast.NodeTransformer):
    """Replaces attributes of values; those of modules and other global names stay."""

    def __init__(self, names: set[str | None]) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr not in _DOUBTFUL or not isinstance(node.ctx, ast.Load) or self._is_outer(node):
            return node
        return ask("attribute", [node.value, constant(node.attr, node)], node)

    def _is_outer(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.names
