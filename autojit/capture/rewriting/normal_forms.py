"""Statements without ``break``, ``continue``, early ``return`` and ``else`` of loops.

    while a:                        __aj_break_1 = False
        if b:                       while a:               # flags: __aj_break_1
            break                       if b:
        c                   ->              __aj_break_1 = True
    else:                               else:
        d                                   c
                                    if not __aj_break_1:
                                        d

If a branch of an ``if`` never ends normally, the rest of the block moves into the other branch. A
``return`` that ends the function assigns ``__aj_result``. Any other escape sets a flag, and the
statements that it skips get a condition.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .build import ask, assign, branch, constant, load, none_of, pair, place
from .matching import as_branches
from .scopes import Scope

if TYPE_CHECKING:
    from .context import Context

RESULT, RETURNED = "__aj_result", "__aj_return"
#: The blocks of a ``try``, by number; a handler has its position added to that of the first.
BODY, FIRST_HANDLER, ORELSE, FINALLY = 0, 1, -1, -2

Escapes = frozenset[str]
_NONE: Escapes = frozenset()
_LOOPS = (ast.While, ast.For)
_TRIES: tuple[type, ...] = (ast.Try, ast.TryStar)


def parts(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a statement."""
    if isinstance(node, ast.If | ast.While | ast.For):
        return [node.body, node.orelse]
    if isinstance(node, ast.With):
        return [node.body]
    if isinstance(node, ast.Try | ast.TryStar):
        return [node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody]
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    return []


def is_captured(node: ast.stmt) -> bool:
    """Whether a statement is a ``try`` of the user's."""
    return isinstance(node, ast.Try) and not hasattr(node, "is_ours")


def escapes(node: ast.stmt) -> Escapes:
    """The escapes that may leave a statement, out of "break", "continue" and "return"."""
    if isinstance(node, ast.Return | ast.Break | ast.Continue):
        return frozenset((type(node).__name__.lower(),))
    known: Escapes | None = getattr(node, "escapes", None)
    if known is None:
        blocks = [escapes_of(block) for block in parts(node)]
        if isinstance(node, _LOOPS):
            blocks[0] &= {"return"}
        known = _NONE.union(*blocks)
        node.escapes = known  # type: ignore[attr-defined]
    return known


def escapes_of(block: list[ast.stmt]) -> Escapes:
    return _NONE.union(*map(escapes, block))


def never_ends(block: list[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    return any(_never_ends(node) for node in block)


def _never_ends(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    if isinstance(node, ast.If):
        return never_ends(node.body) and never_ends(node.orelse)
    if isinstance(node, ast.Try | ast.TryStar):
        return never_ends(node.body) and all(never_ends(h.body) for h in node.handlers)
    return _is_endless(node)


def _is_endless(node: ast.stmt) -> bool:
    """Whether a statement is a ``while True`` without ``break``."""
    if not isinstance(node, ast.While) or not isinstance(node.test, ast.Constant):
        return False
    return bool(node.test.value) and "break" not in escapes_of(node.body)


def _may_change(block: list[ast.stmt]) -> bool:
    """Whether a function may change its result after a `return`, in a `finally` or by a `with`."""
    every = (x for node in block for x in ast.walk(node))
    return any(isinstance(x, ast.With) or getattr(x, "finalbody", None) for x in every)


class _Loop:
    """The flags of a loop, made on demand."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.stop: str | None = None
        self.skip: str | None = None


class NormalForms:
    """Rewrites the body of one function."""

    def __init__(self, scope: Scope, context: Context) -> None:
        self.scope = scope
        self._context = context
        self._loops = 0
        self._in_result = False
        self.returned = False
        #: The number of statements around that may catch an error.
        self._caught = 0

    def body(self, block: list[ast.stmt]) -> list[ast.stmt]:
        block = [each for node in block for each in self.spelt(node)]
        self._in_result = any(
            "return" in escapes(node) or _takes_the_rest(node)
            for node in block
            if not isinstance(node, ast.Return)
        ) and "return" in escapes_of(block)
        found = self._sequence(block, None, tail=True, top=True)
        if self._in_result and not (found and isinstance(found[-1], ast.Return | ast.Raise)):
            self._internal(RESULT)
            at = found[-1]
            value = ask("result", [load(RESULT, at), constant(_may_change(block), at)], at)
            found.append(ast.Return(value=value, **place(at)))
        return found

    def _internal(self, name: str) -> str:
        self.scope.bound.add(name)
        self.scope.internal.add(name)
        return name

    def _sequence(
        self, block: list[ast.stmt], loop: _Loop | None, *, tail: bool, top: bool = False
    ) -> list[ast.stmt]:
        """A block in normal form; `tail` says that nothing follows it in the body of the loop, or
        in the function."""
        found: list[ast.stmt] = []
        rest = list(block)
        while rest:
            node = rest.pop(0)
            node, *more = self.spelt(node)
            rest = more + rest
            if isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise):
                return found + self._escape(node, loop, tail=tail, top=top)
            if isinstance(node, ast.If):
                rest = moved_into(node, rest)
            last = tail and not rest
            leaving = escapes(node)
            endless = _is_endless(node)
            if isinstance(node, _LOOPS):
                before, rest, leaving = self._loop(node, rest, loop)
                found += before
                last = False
            else:
                found += self._compound(node, loop, last, leaving)
            found.append(self._discarding(node, loop, leaving))
            if endless or (last and parts(node)):
                return found
            if leaving and (rest or self._gives_result(loop, tail)):
                inner = self._sequence(rest, loop, tail=tail)
                guard = none_of(self._flags(leaving, loop), node)
                if inner:
                    found.append(branch(guard, inner, node))
                return found
        if self._gives_result(loop, tail) and not top:
            found += self._no_result(block)
        return found

    def spelt(self, node: ast.stmt) -> list[ast.stmt]:
        """A ``match`` as branches if it has such a form; any other statement as it is."""
        if not isinstance(node, ast.Match):
            return [node]

        def temporary(word: str) -> str:
            return self._internal(self._context.temporary(word))

        def is_builtin(name: str) -> bool:
            return self._context.is_builtin(name, self.scope)

        return as_branches(node, temporary, is_builtin) or [node]

    def _gives_result(self, loop: _Loop | None, tail: bool) -> bool:
        return tail and loop is None and self._in_result

    def _no_result(self, block: list[ast.stmt]) -> list[ast.stmt]:
        at = block[-1] if block else self._at
        return [assign(self._internal(RESULT), constant(None, at), at)]

    _at: ast.AST

    def _escape(
        self, node: ast.stmt, loop: _Loop | None, *, tail: bool, top: bool
    ) -> list[ast.stmt]:
        if isinstance(node, ast.Raise):
            return [node]
        if isinstance(node, ast.Return):
            if top:
                return [node]
            value = node.value or constant(None, node)
            result = assign(self._internal(RESULT), value, node)
            return [result] if tail and loop is None else [result, self._set("return", loop, node)]
        if isinstance(node, ast.Continue) and tail:
            return []
        return [self._set(type(node).__name__.lower(), loop, node)]

    def _set(self, kind: str, loop: _Loop | None, at: ast.AST) -> ast.stmt:
        return assign(self._flag(kind, loop), constant(True, at), at)

    def _flag(self, kind: str, loop: _Loop | None) -> str:
        if kind == "return":
            self.returned = True
            return self._internal(RETURNED)
        assert loop is not None
        if kind == "break":
            loop.stop = loop.stop or self._internal(f"__aj_break_{loop.number}")
            return loop.stop
        loop.skip = loop.skip or self._internal(f"__aj_continue_{loop.number}")
        return loop.skip

    def _flags(self, leaving: Escapes, loop: _Loop | None) -> list[str]:
        return [self._flag(kind, loop) for kind in sorted(leaving)]

    def _discarding(self, node: Any, loop: _Loop | None, leaving: Escapes) -> ast.stmt:
        """A statement that takes its escapes back if its end raises an error, since a statement
        around may catch that."""
        ends = isinstance(node, ast.With) or bool(getattr(node, "finalbody", None))
        if not (self._caught and leaving and ends):
            return node
        reset = [assign(flag, constant(False, node), node) for flag in self._flags(leaving, loop)]
        if "return" in leaving:
            reset.append(assign(self._internal(RESULT), constant(None, node), node))
        again = ast.Raise(exc=None, cause=None, **place(node))
        handler = ast.ExceptHandler(type=None, name=None, body=[*reset, again], **place(node))
        made = ast.Try(body=[node], handlers=[handler], orelse=[], finalbody=[], **place(node))
        made.is_ours = True  # type: ignore[attr-defined]
        return made

    def _compound(
        self, node: Any, loop: _Loop | None, tail: bool, leaving: Escapes
    ) -> list[ast.stmt]:
        """Rewrite the blocks of a statement that is no loop; return the statements before it."""
        self._at = node
        if isinstance(node, ast.If):
            node.body = self._sequence(node.body, loop, tail=tail)
            self._at = node
            node.orelse = self._sequence(node.orelse, loop, tail=tail)
        elif isinstance(node, ast.Try | ast.TryStar):
            self._try(node, loop, tail)
        elif isinstance(node, ast.With | ast.Match):
            before = self._no_result([node]) if self._gives_result(loop, tail) else []
            catches = isinstance(node, ast.With)
            self._caught += catches
            for each in node.cases if isinstance(node, ast.Match) else [node]:
                each.body = self._sequence(each.body, loop, tail=tail) or [ast.Pass(**place(node))]
            self._caught -= catches
            return before
        return []

    def _try(self, node: Any, loop: _Loop | None, tail: bool) -> None:
        leaving = escapes_of(node.body)
        guarded = bool(node.orelse) and bool(leaving)
        alone = tail and not node.orelse
        catches = bool(node.handlers)
        self._caught += catches
        node.body = self._sequence(node.body, loop, tail=alone) or [ast.Pass(**place(node))]
        self._caught -= catches
        for handler in node.handlers:
            self._at = handler
            body = self._sequence(handler.body, loop, tail=tail)
            handler.body = body or [ast.Pass(**place(handler))]
        if node.orelse:
            orelse = self._sequence(node.orelse, loop, tail=tail)
            if guarded:
                guard = none_of(self._flags(leaving, loop), node)
                orelse = [branch(guard, orelse or [ast.Pass(**place(node))], node)]
            node.orelse = orelse or [ast.Pass(**place(node))]
        node.finalbody = self._sequence(node.finalbody, None, tail=False)

    def _loop(
        self, node: Any, rest: list[ast.stmt], outer: _Loop | None
    ) -> tuple[list[ast.stmt], list[ast.stmt], Escapes]:
        """The statements before a loop and after it, and the ways to leave the function in it."""
        self._loops += 1
        loop = _Loop(self._loops)
        leaving = escapes_of(node.body) & {"return"}
        orelse, node.orelse = node.orelse, []
        body = self._sequence(node.body, loop, tail=True)
        if isinstance(node, ast.While) and any(
            isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)
        ):
            body = self._test_inside(node, loop, body, plain=loop.stop is None)
        elif loop.stop is None and orelse:
            rest, orelse = orelse + rest, []
        if loop.skip is not None:
            body.insert(0, assign(loop.skip, constant(False, node), node))
        before = []
        flags = []
        for flag in (loop.stop, getattr(node, "over", None)):
            if flag is not None:
                before.append(assign(flag, constant(False, node), node))
                flags.append(flag)
        if leaving:
            flags.append(self._flag("return", None))
        if orelse:
            stop = loop.stop
            guarded = [branch(none_of([stop], node), orelse, node)] if stop else orelse
            rest = guarded + rest
        node.body = body or [ast.Pass(**place(node))]
        node.flags = tuple(flags)
        return before, rest, leaving

    def _test_inside(
        self, node: ast.While, loop: _Loop, body: list[ast.stmt], *, plain: bool
    ) -> list[ast.stmt]:
        """The body of a ``while True`` that begins with the loop's test, which assigns names."""
        over = self._internal(f"__aj_over_{loop.number}")
        node.over = over  # type: ignore[attr-defined]
        test = node.test
        node.text_of = test  # type: ignore[attr-defined]
        node.test = constant(True, test)
        inner = branch(test, body or [ast.Pass(**place(node))], node)
        inner.orelse = [assign(over, constant(True, node), node)]
        return [inner]


def _takes_the_rest(node: ast.stmt) -> bool:
    """Whether the statements after this one move into a branch: after an ``if`` with a side that
    never ends, or a loop whose ``else`` never ends or has such an ``if``, since the ``else`` of a
    loop is put behind it."""
    if isinstance(node, _LOOPS):
        return never_ends(node.orelse) or any(map(_takes_the_rest, node.orelse))
    return isinstance(node, ast.If) and leaves_on_a_side(node)


def leaves_on_a_side(node: ast.If) -> bool:
    """Whether the end of one of the sides is never reached."""
    return never_ends(node.body) or never_ends(node.orelse)


def moved_into(node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Move the statements after an ``if`` into its branch that goes on; return the rest of them."""
    if not rest:
        return rest
    if never_ends(node.body):
        node.orelse = node.orelse + rest
    elif never_ends(node.orelse):
        node.body = node.body + rest
    else:
        return rest
    node.__dict__.pop("escapes", None)
    return []


def as_tuple(node: ast.expr) -> ast.expr:
    """A set display with values that may be traced, as a tuple: `in` finds the same elements in
    both. Other nodes stay."""
    if not isinstance(node, ast.Set) or all(isinstance(x, ast.Constant) for x in node.elts):
        return node
    return pair(node.elts, node)


def is_plain(node: ast.expr) -> bool:
    """Whether an expression is a constant that no traced value stands for."""
    return isinstance(node, ast.Constant) and type(node.value) not in (bool, type(None))
