"""Generator functions become functions that hand on the values they yield.

    def terms(x):                       def terms(x, *, __aj_consume__):
        t = 1.0                             t = 1.0
        while t > 1e-9:          ->         while t > 1e-9:
            yield t                             if __aj_consume__(t):
            t *= x                                  return
                                                t *= x

``__aj_consume__`` is the body of the loop that runs through the generator; it returns whether the
loop ends there. A generator's code between two elements runs in the same order as in Python.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

from .build import branch, do, load, nodes, place, runtime, store

#: The parameter that takes yielded values.
CONSUME = "__aj_consume__"
_PUSHED = "__aj_pushed"
#: The attribute that marks generator functions that have their other form.
_DONE = "is_pushed"
_YIELDED = "__aj_yielded"
_YIELDS = (ast.Yield, ast.YieldFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def is_generator(node: Any) -> bool:
    """Whether a function yields."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(part, _YIELDS) for statement in node.body for part in _of_own(statement)
    )


def _of_own(node: ast.AST) -> Any:
    """The nodes of a function, without those of functions inside it."""
    yield node
    if not isinstance(node, _FUNCTIONS):
        for child in ast.iter_child_nodes(node):
            yield from _of_own(child)


def pushed(node: ast.FunctionDef) -> ast.FunctionDef | None:
    """The form of a generator function that hands on what it yields. None if it uses the value of a
    ``yield``, returns a value, or yields in a ``try`` or ``with``."""
    made = deepcopy(node)
    rewriter = _Yields()
    try:
        made.body = [part for each in made.body for part in rewriter.statement(each)]
    except _Stays:
        return None
    made.args.kwonlyargs.append(ast.arg(arg=CONSUME, annotation=None, **place(node)))
    made.args.kw_defaults.append(None)
    return made


class _Stays(Exception):
    """A generator has no such form."""


class _Yields:
    """Rewrites the statements of a generator."""

    def statement(self, node: Any) -> list[Any]:
        if isinstance(node, _FUNCTIONS):
            return [node]
        if isinstance(node, ast.Expr) and isinstance(node.value, _YIELDS):
            return self._handed_on(node.value)
        if isinstance(node, ast.Return) and node.value is not None:
            raise _Stays
        if isinstance(node, ast.Try | ast.With) and any(
            isinstance(part, _YIELDS) for part in _of_own(node)
        ):
            raise _Stays
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [part for each in block for part in self.statement(each)])
        for case in getattr(node, "cases", []):
            case.body = [part for each in case.body for part in self.statement(each)]
        if any(isinstance(part, _YIELDS) for part in _of_own(node)):
            raise _Stays  # the value of a yield is used
        return [node]

    def _handed_on(self, node: ast.Yield | ast.YieldFrom) -> list[ast.stmt]:
        value = node.value or ast.Constant(value=None, **place(node))
        if any(isinstance(part, _YIELDS) for part in _of_own(value)):
            raise _Stays
        if isinstance(node, ast.Yield):
            return [self._consumed(value, node)]
        each = self._consumed(load(_YIELDED, node), node)
        return [
            ast.For(
                target=store(_YIELDED, node), iter=value, body=[each], orelse=[],
                type_comment=None, **place(node),
            )
        ]  # fmt: skip

    def _consumed(self, value: ast.expr, at: ast.AST) -> ast.stmt:
        test = ast.Call(func=load(CONSUME, at), args=[value], keywords=[], **place(at))
        return branch(test, [ast.Return(value=None, **place(at))], at)


def with_pushed(root: Any) -> None:
    """After each generator function inside a function, insert its other form."""
    found = nodes(root)
    if not any(type(node) in _YIELDS for node in found):
        return
    for node in found:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not isinstance(node, ast.ClassDef):
                setattr(node, field, [part for each in block for part in _both(each)])


def _both(node: Any) -> list[ast.stmt]:
    if not is_generator(node) or node.decorator_list or hasattr(node, _DONE):
        return [node]
    made = pushed(node)
    if made is None:
        return [node]
    made.name = f"{_PUSHED}_{node.name}"
    for each in (node, made):
        setattr(each, _DONE, True)
    told = ast.Call(
        func=runtime("generator", node), args=[load(node.name, node), load(made.name, node)],
        keywords=[], **place(node),
    )  # fmt: skip
    return [node, made, do(told, node)]
