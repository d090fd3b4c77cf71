"""Functions that call themselves, in a form that can be left at such a call and continued later.

    y = g(n)                        if __autojit__.live():
    if n > y:                           y = g(n)
        r = n * f(n - 1)                __aj_test_1 = n > y
    return r                ->      else:
                                        __aj_test_1 = __autojit__.leads(0, 1)
                                    if __autojit__.enters(0, 1):
                                        if __aj_test_1:
                                            if __autojit__.live():
                                                __aj_self_2 = f(n - 1)              # call 0
                                            elif __autojit__.is_at(0):
                                                __aj_self_2 = __autojit__.answer(0)
                                            if __autojit__.suspended():
                                                return __autojit__.left
                                            if __autojit__.live():
                                                r = n * __aj_self_2
                                    if __autojit__.live():
                                        return r

A run that continues at a call has the values of its names already. It skips the statements before
the call (``live`` is false), and goes only into those that contain it (``enters``); ``leads`` says
into which side of a branch. See ``capture.frames``.

Each call moves into a statement of its own, after the expressions that Python evaluates first.
``a if c else f(x)`` and ``a and f(x)`` become branches, and comprehensions loops. A ``try`` or
``with`` is entered again, so the handlers and the ``else`` of a ``try`` move behind it. Calls in
``finally``, inner functions and the like stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from autojit.capture.groups.trees import AS_VALUE, is_path, spelt

from .build import (
    Block,
    ask,
    assign,
    branch,
    cases_apart,
    comprehension_of,
    constant,
    do,
    guard,
    handlers_apart,
    is_eager,
    is_text,
    is_within,
    load,
    loaded,
    managed,
    may_run_again,
    negation,
    nodes,
    orelse_apart,
    part,
    place,
    places,
    runtime,
    set_part,
    store,
)  # fmt: skip
from .normal_forms import escapes_of, leaves_on_a_side, moved_into
from .scopes import SCOPES, Scope, effects

_CLOSED = (*SCOPES, ast.NamedExpr)
#: The expressions of statements that are evaluated once, before the rest of the statement.
_HEADS = {
    ast.Return: "value", ast.Assign: "value", ast.AugAssign: "value", ast.AnnAssign: "value",
    ast.Expr: "value", ast.If: "test", ast.For: "iter", ast.Assert: "test",
}  # fmt: skip


class SelfCalls:
    """Rewrites the body of a function.

    ``is_self`` says whether a call may lead back to the function, ``temporary`` makes names, and
    ``is_builtin`` says whether a name is one of Python's.
    """

    def __init__(
        self, scope: Scope, is_self: Callable[[ast.Call], bool], temporary: Callable[[str], str],
        is_builtin: Callable[[str], bool], spelt: Callable[[Any], list[Any]], function: int,
    ) -> None:  # fmt: skip
        self._scope, self._is_called = scope, is_self
        self._temporary, self._is_builtin, self._spelt = temporary, is_builtin, spelt
        #: The number of calls so far, and that of the function.
        self.count, self.function = 0, function
        #: The names that the statements around read when they are entered again.
        self._again: frozenset[str] = frozenset()

    def body(self, block: list[Any]) -> list[Any]:
        """The body of the function."""
        if not any(map(self._is_self, nodes(*block))):
            return block
        first = 1 if is_text(block[0]) else 0  # a docstring stays the first statement
        return [*block[:first], *self._block(block[first:])]

    def _block(self, block: list[Any]) -> list[Any]:
        out, rest = Block(), list(block)
        while rest:
            node, *more = self._spelt(rest.pop(0))
            rest = more + rest
            has_calls = any(map(self._has, (node, *rest)))
            if has_calls and isinstance(node, ast.If) and leaves_on_a_side(node):
                rest = moved_into(node, rest)
            self._statement(node, out)
        return out.end()

    # -- statements

    def _statement(self, node: Any, out: Block) -> None:
        if not self._has(node):
            out.plain(node)
            return
        kind = type(node)
        if kind is ast.Return and isinstance(node.value, ast.IfExp):
            given = node.value
            node = branch(given.test, [ast.Return(value=given.body, **place(given.body))], node)
            node.orelse = [ast.Return(value=given.orelse, **place(given.orelse))]
            kind = ast.If
        if kind is ast.If:
            self._if(node, out)
        elif kind in _REWRITE:
            _REWRITE[kind](self, node, out)
        else:
            field = _HEADS.get(kind, "")
            value = getattr(node, field, None) if field else None
            if value is not None:
                setattr(node, field, self._expression(value, out))
            out.plain(node)

    def _if(self, node: Any, out: Block) -> None:
        text, test = node.test, self._expression(node.test, out)
        if not any(map(self._has, (*node.body, *node.orelse))):
            node.test = test
            out.plain(node)
            return
        first = self.count
        body = self._block(node.body)
        middle = self.count
        orelse = self._block(node.orelse)
        name = self._temporary("test")
        numbers = [constant(first, node), constant(middle, node)]
        out.choice(assign(name, test, test), assign(name, ask("leads", numbers, test), test))
        made = branch(load(name, node), body, node)
        made.orelse = orelse
        made.text_of = text  # type: ignore[attr-defined]
        self._entered(made, first, out)

    def _entered(self, node: Any, first: int, out: Block) -> None:
        """Add a statement with the calls from the number ``first`` on."""
        numbers = [constant(first, node), constant(self.count, node)]
        out.add(guard(ask("enters", numbers, node), [node]))

    def _each(self, block: list[Any], out: Block) -> None:
        for node in block:
            self._statement(node, out)

    def _try(self, node: Any, out: Block) -> None:
        if any(map(self._has, node.finalbody)):
            out.plain(node)
            return
        if node.orelse or any(map(self._has, node.handlers)):
            apart = handlers_apart(node, self._temporary("caught"), self._has)
            if apart is None:
                out.plain(node)
            else:
                self._each(apart, out)
            return
        first = self.count
        node.body = self._block(node.body)
        if node.finalbody:  # it runs when the body ends, and not when the function is left
            left = ask("is_left", [constant(self.function, node)], node)
            node.finalbody = [branch(negation(left), node.finalbody, node)]
        self._entered(node, first, out)

    def _with(self, node: Any, out: Block) -> None:
        if not all(map(may_run_again, node.items)):
            out.plain(node)
            return
        around, first = self._again, self.count
        self._again = around | effects([item.context_expr for item in node.items]).reads
        for item in node.items:
            managed(item)
        node.body = self._block(node.body)
        self._again = around
        self._entered(node, first, out)

    def _match(self, node: Any, out: Block) -> None:
        if any(self._has(case.guard) for case in node.cases if case.guard is not None):
            out.plain(node)
            return
        node.subject = self._expression(node.subject, out)
        self._each(cases_apart(node, self._temporary("case")), out)

    def _loop(self, node: Any, out: Block) -> None:
        tests = list(filter(None, [getattr(node, "test", None)]))
        if node.orelse and any(map(self._has, (*tests, *node.orelse))):
            self._each(orelse_apart(node, self._temporary("broken")), out)
            return
        if isinstance(node, ast.For):
            text = node.iter
            node.text_of = text  # type: ignore[attr-defined]
            name = self._temporary("iterable")
            iterable = self._expression(node.iter, out)
            nothing = assign(name, constant(None, node), node)
            out.choice(assign(name, iterable, text), nothing)
            node.iter = load(name, text)
        elif self._has(node.test):
            ends = branch(negation(node.test), [ast.Break(**place(node.test))], node.test)
            node.body.insert(0, ends)
            node.test = constant(True, node.test)
        first = self.count
        node.body = self._block(node.body)
        node.function = self.function
        node.is_left = _is_left(node.body)
        self._entered(node, first, out)

    def _aug_assign(self, node: ast.AugAssign, out: Block) -> None:
        """``a[i] += f(x)``: Python reads ``a[i]`` before the call."""
        target: Any = node.target
        if isinstance(target, ast.Name) and self._is_steady(target):
            node.value = self._expression(node.value, out)
            out.plain(node)
            return
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            node.value = self._expression(node.value, out)  # a view, which sees all changes
            out.plain(node)
            return
        if not is_path(getattr(target, "value", target)):
            out.plain(node)
            return
        if isinstance(target, ast.Subscript) and not self._is_steady(target.slice):
            target.slice = self._held(target.slice, out)
        old = self._held(loaded(target), out)
        name: str = old.id  # type: ignore[attr-defined]
        value = self._expression(node.value, out)
        out.plain(ast.AugAssign(target=store(name, node), op=node.op, value=value, **place(node)))
        given = load(name, node)
        out.plain(ast.Assign(targets=[target], value=given, type_comment=None, **place(node)))

    # -- expressions

    def _is_self(self, node: Any) -> bool:
        return isinstance(node, ast.Call) and self._is_called(node)

    def _has(self, node: Any) -> bool:
        """Whether a tree has calls that can get a statement of their own."""
        if isinstance(node, ast.ListComp) or is_eager(node):
            return any(map(self._is_self, nodes(node))) and self._can_be_loop(node)
        if isinstance(node, (*_CLOSED, ast.TryStar)):
            return False
        return self._is_self(node) or any(map(self._has, ast.iter_child_nodes(node)))

    def _is_steady(self, node: Any) -> bool:
        """Whether the value of an expression is the same after a call."""
        if isinstance(node, ast.Name):
            return node.id in self._scope.locals and node.id not in self._scope.changed
        return isinstance(node, ast.Constant | ast.Slice | ast.Lambda)

    def _held(self, node: Any, out: Block) -> ast.expr:
        """The value of an expression, which is evaluated now."""
        name = self._temporary("before")
        out.plain(assign(name, node, node))
        return load(name, node)

    def _expression(self, node: Any, out: Block) -> Any:
        """An expression without calls of this function, which move into ``out``."""
        if not self._has(node):
            return node
        if isinstance(node, ast.ListComp) or is_eager(node):
            return self._comprehension(node, out)
        if isinstance(node, ast.IfExp) and (self._has(node.body) or self._has(node.orelse)):
            return self._choice(node, out)
        if isinstance(node, ast.BoolOp) and any(map(self._has, node.values[1:])):
            return self._operator(node, out)
        found = list(places(node))
        calls = [self._has(part(holder, key)) for holder, key in found]
        last = max((k for k, has in enumerate(calls) if has), default=-1)
        for k, (holder, key) in enumerate(found[: last + 1]):
            value = self._expression(part(holder, key), out)
            is_bound = key == "func" and not isinstance(value, ast.Subscript)
            if k < last and not is_bound and not self._is_steady(value):
                value = self._held(value, out)
            set_part(holder, key, value)
        return self._called(node, out) if self._is_self(node) else node

    def _called(self, node: ast.Call, out: Block) -> ast.expr:
        name, number = self._temporary("self"), self.count
        self.count += 1
        node.number, node.function = number, self.function  # type: ignore[attr-defined]
        node.again = self._again  # type: ignore[attr-defined]
        given = [constant(number, node)]
        answer = guard(ask("is_at", given, node), [assign(name, ask("answer", given, node), node)])
        out.add(guard(ask("live", [], node), [assign(name, node, node)], [answer]))
        leave = branch(
            ask("suspended", [], node),
            [ast.Return(value=runtime("left", node), **place(node))], node,
        )  # fmt: skip
        leave.is_plain = leave.is_leave = True  # type: ignore[attr-defined]
        out.add(leave)
        return load(name, node)

    def _choice(self, node: ast.IfExp, out: Block) -> ast.expr:
        name = self._temporary("chosen")
        chosen = branch(node.test, [assign(name, node.body, node.body)], node)
        chosen.orelse = [assign(name, node.orelse, node.orelse)]
        self._if(chosen, out)
        return load(name, node)

    def _operator(self, node: ast.BoolOp, out: Block) -> ast.expr:
        name = self._temporary("operand")
        first, *rest = node.values
        self._statement(assign(name, first, first), out)
        made: list[Any] = []
        for value in reversed(rest):
            test = load(name, value)
            inner = [assign(name, value, value), *made]
            made = [branch(test if isinstance(node.op, ast.And) else negation(test), inner, value)]
        self._statement(made[0], out)
        return load(name, node)

    # -- comprehensions

    def _can_be_loop(self, node: Any) -> bool:
        """Whether a comprehension, or a call of one, can become a loop of the function itself."""
        made = comprehension_of(node)
        if made is not node and not self._is_builtin(node.func.id):
            return False
        inner = [x for x in nodes(*ast.iter_child_nodes(made)) if isinstance(x, _CLOSED)]
        return not inner and not any(part.is_async for part in made.generators)

    def _comprehension(self, node: Any, out: Block) -> ast.expr:
        made = comprehension_of(node)
        name = self._temporary("elements")
        out.plain(assign(name, ast.List(elts=[], ctx=ast.Load(), **place(node)), node))
        targets = {x.id for each in made.generators for x in nodes(each.target)
                   if isinstance(x, ast.Name)}  # fmt: skip
        renamed = {name: self._temporary(name) for name in sorted(targets)}
        first = made.generators[0].iter
        for x in nodes(*ast.iter_child_nodes(made)):
            if isinstance(x, ast.Name) and x.id in renamed and not is_within(x, first):
                x.id = renamed[x.id]
        append = ast.Attribute(value=load(name, made), attr="append", ctx=ast.Load(), **place(made))
        body: Any = do(ast.Call(func=append, args=[made.elt], keywords=[], **place(made)), made)
        for each in reversed(made.generators):
            for test in reversed(each.ifs):
                body = branch(test, [body], test)
            body = ast.For(
                target=each.target, iter=each.iter, body=[body], orelse=[], type_comment=None,
                **place(made),
            )  # fmt: skip
            body.is_unrolled = True
        self._statement(body, out)
        if made is node:
            return load(name, node)
        node.args[0] = load(name, node)
        return node


_REWRITE: dict[type, Callable[[SelfCalls, Any, Block], None]] = {
    ast.For: SelfCalls._loop, ast.While: SelfCalls._loop, ast.AugAssign: SelfCalls._aug_assign,
    ast.Try: SelfCalls._try, ast.With: SelfCalls._with, ast.Match: SelfCalls._match,
}  # fmt: skip


def _is_left(body: list[Any]) -> bool:
    """Whether each step of a loop leaves the function at a call, unless it raises an exception."""
    for k, node in enumerate(body):
        if hasattr(node, "is_leave"):
            return not escapes_of(body[:k]) - {"return"}
    return False


def calls_of(
    names: frozenset[str], variables: set[str], mangled: Callable[[str], str]
) -> Callable[[ast.Call], bool]:
    """A test whether a call may lead back to a function, by the names of functions that may, with
    attributes, and by those of its variables, which may be such functions."""
    if AS_VALUE not in names:
        variables = set()

    def is_self(call: ast.Call) -> bool:
        func = call.func
        if is_path(func):
            found = spelt(func, mangled)
            return found in names or found in variables
        return isinstance(func, ast.Subscript) and AS_VALUE in names

    return is_self
