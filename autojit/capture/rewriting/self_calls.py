"""Calls of a function in its own body, each moved into a statement of its own.

    return n * f(n - 1)     ->      __aj_self_1 = f(n - 1)              # marked
                                    if __autojit__.suspended():
                                        return __autojit__.unbound
                                    return n * __aj_self_1

So a function that calls itself can be left at such a call and continued later (see
``capture.recursion``). ``a if c else f(x)`` and ``a and f(x)`` become branches. Calls in conditions
of loops, in comprehensions and in inner functions stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .build import ask, assign, branch, load, negation, nodes, place, runtime

_CLOSED = (
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef,
    ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr,
)  # fmt: skip
#: The expressions of statements that are evaluated once, before the rest of the statement.
_HEADS = {
    ast.Return: "value", ast.Assign: "value", ast.AugAssign: "value", ast.AnnAssign: "value",
    ast.Expr: "value", ast.If: "test", ast.For: "iter", ast.Match: "subject",
}  # fmt: skip


class SelfCalls:
    """Rewrites the body of a function; ``temporary`` makes names."""

    def __init__(self, name: str, first: str | None, temporary: Callable[[], str]) -> None:
        self._name, self._first = name, first
        self._temporary = temporary

    def block(self, block: list[Any]) -> list[Any]:
        if not any(map(self._is_self, nodes(*block))):
            return block
        return [each for node in block for each in self._statement(node)]

    def _statement(self, node: Any) -> list[Any]:
        if isinstance(node, _CLOSED) or not self._has(node):
            return [node]
        if isinstance(node, ast.Return) and isinstance(node.value, ast.IfExp):
            given = node.value
            chosen = branch(given.test, [ast.Return(value=given.body, **place(given.body))], node)
            chosen.orelse = [ast.Return(value=given.orelse, **place(given.orelse))]
            return self._statement(chosen)
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(node, field, self.block(getattr(node, field)))
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            part.body = self.block(part.body)
        before: list[Any] = []
        field = _HEADS.get(type(node), "")
        value = getattr(node, field, None) if field else None
        if value is not None:
            setattr(node, field, self._expression(value, before))
        return [*before, node]

    def _has(self, node: Any) -> bool:
        if isinstance(node, _CLOSED):
            return False
        return self._is_self(node) or any(map(self._has, ast.iter_child_nodes(node)))

    def _is_self(self, node: Any) -> bool:
        if not isinstance(node, ast.Call):
            return False
        func = node.func
        if isinstance(func, ast.Attribute):
            owner = func.value
            mine = isinstance(owner, ast.Name) and owner.id == self._first
            return mine and func.attr == self._name
        return isinstance(func, ast.Name) and func.id == self._name

    def _expression(self, node: Any, before: list[Any]) -> Any:
        """An expression without recursive calls, which move into ``before``."""
        if not self._has(node):
            return node
        if isinstance(node, ast.IfExp) and (self._has(node.body) or self._has(node.orelse)):
            return self._choice(node, before)
        if isinstance(node, ast.BoolOp) and any(map(self._has, node.values[1:])):
            return self._operator(node, before)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self._expression(value, before))
            elif isinstance(value, list):
                setattr(node, field, [self._part(each, before) for each in value])
        return self._called(node, before) if self._is_self(node) else node

    def _part(self, node: Any, before: list[Any]) -> Any:
        if isinstance(node, ast.keyword):
            node.value = self._expression(node.value, before)
            return node
        return self._expression(node, before) if isinstance(node, ast.expr) else node

    def _called(self, node: ast.Call, before: list[Any]) -> ast.expr:
        name = self._temporary()
        node.calls_itself = True  # type: ignore[attr-defined]
        leave = ast.Return(value=runtime("unbound", node), **place(node))
        before.append(assign(name, node, node))
        before.append(branch(ask("suspended", [], node), [leave], node))
        return load(name, node)

    def _choice(self, node: ast.IfExp, before: list[Any]) -> ast.expr:
        name, test = self._temporary(), self._expression(node.test, before)
        ways = []
        for value in (node.body, node.orelse):
            way: list[Any] = []
            found = self._expression(value, way)
            ways.append([*way, assign(name, found, value)])
        chosen = branch(test, ways[0], node)
        chosen.orelse = ways[1]
        before.append(chosen)
        return load(name, node)

    def _operator(self, node: ast.BoolOp, before: list[Any]) -> ast.expr:
        name = self._temporary()
        first, *rest = node.values
        before.append(assign(name, self._expression(first, before), first))
        block = before
        for value in rest:
            test = load(name, value)
            inner: list[Any] = []
            found = self._expression(value, inner)
            inner.append(assign(name, found, value))
            block.append(
                branch(test if isinstance(node.op, ast.And) else negation(test), inner, value)
            )
            block = inner
        return load(name, node)
