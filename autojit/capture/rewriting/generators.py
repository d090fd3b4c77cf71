"""Two forms of generator functions.

The first hands on the values that it yields:

    def terms(x):                       def terms(x, *, __aj_consume__):
        t = 1.0                             t = 1.0
        while t > 1e-9:          ->         while t > 1e-9:
            yield t                             if __aj_consume__(t):
            t *= x                                  return
                                                t *= x

``__aj_consume__`` is the body of the loop that runs through the generator; it returns whether the
loop ends there. A generator's code between two elements runs in the same order as in Python.

The second runs from one ``yield`` to the next. It is left at a ``yield``, and continued there, as a
function that calls itself is at a recursive call (see `self_calls`). ``yield from`` becomes a loop:

    y = yield from other(x)             part = __autojit__.delegate(other(x))
                                        sent = None
                                 ->     while __autojit__.advanced(part, sent):
                                            sent = yield __autojit__.current(part)
                                        y = __autojit__.returned(part)
"""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

from .build import (
    ask,
    assign,
    branch,
    constant,
    do,
    handler_uses_exception,
    load,
    nodes,
    place,
    runtime,
    store,
)  # fmt: skip

#: The parameter that takes yielded values.
CONSUME = "__aj_consume__"
_PUSHED, _RESUMED = "__aj_pushed", "__aj_resumed"
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


def is_pushed(node: Any) -> bool:
    """Whether a function is a generator function in the form that hands on its values."""
    return any(each.arg == CONSUME for each in node.args.kwonlyargs)


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


# -- the form that runs from one yield to the next ------------------------------------------------


def resumed(node: ast.FunctionDef) -> ast.FunctionDef | None:
    """The form of a generator function that can be left at each ``yield``. None if it yields in a
    ``with``, a ``try`` with ``finally``, or another place where it cannot be left."""
    made = deepcopy(node)
    try:
        made.body = _Leaving().block(made.body)
    except _Stays:
        return None
    made.is_resumed = True  # type: ignore[attr-defined]
    return made


def is_resumed(node: Any) -> bool:
    """Whether a function is a generator function in the form that can be left."""
    return hasattr(node, "is_resumed")


def is_yield(node: Any) -> bool:
    """Whether an expression stands for a ``yield`` at which the function can be left."""
    return hasattr(node, "is_yield")


def _has_yield(node: Any) -> bool:
    return any(isinstance(part, _YIELDS) for part in _of_own(node))


#: Statements that can be left anywhere, with the fields that must not have a ``yield``.
_CLOSED: dict[type, tuple[str, ...]] = {
    ast.Expr: (), ast.Return: (), ast.Assert: (), ast.If: (), ast.While: (), ast.Match: (),
    ast.Assign: ("targets",), ast.AugAssign: ("target",), ast.AnnAssign: ("target", "annotation"),
    ast.For: ("target",), ast.Try: ("finalbody",),
}  # fmt: skip


class _Leaving(ast.NodeTransformer):
    """Marks the yields of a generator function as calls at which it can be left."""

    def __init__(self) -> None:
        self._count = 0

    def block(self, block: list[Any]) -> list[Any]:
        return [part for each in block for part in self._statement(each)]

    def _statement(self, node: Any) -> list[Any]:
        if isinstance(node, _FUNCTIONS) or not _has_yield(node):
            return [node]
        self._check(node)
        given = getattr(node, "value", None)
        if isinstance(given, ast.YieldFrom):
            return self._delegated(node, given)
        for field, held in ast.iter_fields(node):
            if isinstance(held, ast.expr):
                setattr(node, field, self.visit(held))
            elif isinstance(held, list) and held and isinstance(held[0], ast.stmt):
                setattr(node, field, self.block(held))
        for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            each.body = self.block(each.body)
        return [node]

    def _check(self, node: Any) -> None:
        """Raise _Stays if a statement has a ``yield`` where it cannot be left."""
        closed = _CLOSED.get(type(node))
        if closed is None or (isinstance(node, ast.Try) and node.finalbody):
            raise _Stays
        parts = [getattr(node, field) for field in closed]
        parts += [case.guard for case in getattr(node, "cases", ())]
        parts += [each for each in getattr(node, "handlers", ()) if handler_uses_exception(each)]
        held = [x for part in parts for x in (part if isinstance(part, list) else [part])]
        if any(_has_yield(x) for x in held if x is not None):
            raise _Stays

    def _delegated(self, node: Any, given: ast.YieldFrom) -> list[Any]:
        if _has_yield(given.value):
            raise _Stays
        part, sent = self._name("part", node), self._name("sent", node)
        value = self._leaving([ask("current", [load(part, node)], node)], given)
        advanced = ask("advanced", [load(part, node), load(sent, node)], node)
        body: list[Any] = [assign(sent, value, node)]
        node.value = ask("returned", [load(part, node)], node)
        return [
            assign(part, ask("delegate", [given.value], node), node),
            assign(sent, constant(None, node), node),
            ast.While(test=advanced, body=body, orelse=[], **place(node)),
            node,
        ]

    def _name(self, word: str, at: ast.AST) -> str:
        self._count += 1
        return f"__aj_{word}_{self._count}"

    def _leaving(self, args: list[Any], at: ast.AST) -> ast.Call:
        made = ast.Call(func=runtime("yields", at), args=args, keywords=[], **place(at))
        made.is_yield = True  # type: ignore[attr-defined]
        return made

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        value = self.visit(node.value) if node.value else constant(None, node)
        return self._leaving([value], node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        raise _Stays

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        if _has_yield(node):
            raise _Stays
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


# -- functions inside functions ---------------------------------------------------------------


def with_forms(root: Any) -> None:
    """After each generator function inside a function, insert its other forms."""
    found = nodes(root)
    if not any(type(node) in _YIELDS for node in found):
        return
    for node in found:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not isinstance(node, ast.ClassDef):
                setattr(node, field, [part for each in block for part in _every(each)])


def _every(node: Any) -> list[ast.stmt]:
    if not is_generator(node) or node.decorator_list or hasattr(node, _DONE):
        return [node]
    forms = {_PUSHED: pushed(node), _RESUMED: resumed(node)}
    if not any(forms.values()):
        return [node]
    setattr(node, _DONE, True)
    given: list[ast.expr] = []
    for start, made in forms.items():
        if made is None:
            given.append(constant(None, node))
            continue
        setattr(made, _DONE, True)
        made.name = f"{start}_{node.name}"
        given.append(load(made.name, node))
    told = ask("generator", [load(node.name, node), *given], node)
    return [node, *filter(None, forms.values()), do(told, node)]
