"""The names that are certainly assigned before a statement, and that may be read after it.

Both analyses walk statements in normal form. They store their results on the statements, as
``definite``, ``live_in``, ``live_out`` and ``effects``.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

from .build import place
from .scopes import Effects, Scope, effects

Names = set[str]


class Definite:
    """Definite assignment, forwards."""

    def __init__(self, scope: Scope) -> None:
        #: The state at places that control never reaches: all names.
        self.every = scope.bound | scope.params
        #: The names that another function may unbind at any time.
        self.never = {name for name in scope.deleted if name in scope.changed}

    def block(self, block: list[ast.stmt], state: Names) -> Names:
        for node in block:
            state = self.statement(node, state)
            node.definite_after = state  # type: ignore[attr-defined]
        return state

    def statement(self, node: Any, state: Names) -> Names:
        state = state - self.never
        node.definite = state
        kind = type(node)
        if kind in _COMPOUND:
            return _COMPOUND[kind](self, node, state)
        node.effects = found = effects(node)
        if kind is ast.Raise or kind is ast.Return:
            return self.every
        return (state | found.stores) - found.deleted

    def _if(self, node: ast.If, state: Names) -> Names:
        if hasattr(node, "is_guard"):
            self.block(node.orelse, state)
            return self.block(node.body, state)
        return self.block(node.body, state) & self.block(node.orelse, state)

    def _loop(self, node: Any, state: Names) -> Names:
        removed = effects(node.body).deleted
        state = state - removed
        node.definite = state
        inside = state | effects(node.target).stores if isinstance(node, ast.For) else state
        after = self.block(node.body, inside)
        test = node.test if isinstance(node, ast.While) else None
        if isinstance(test, ast.Constant) and test.value:
            return after
        return state

    def _with(self, node: ast.With, state: Names) -> Names:
        inside = state
        for item in node.items:
            if item.optional_vars is not None:
                inside = inside | effects(item.optional_vars).stores
        self.block(node.body, inside)
        return state - effects(node.body).deleted

    def _try(self, node: Any, state: Names) -> Names:
        removed = effects(node.body).deleted
        after = self.block(node.orelse, self.block(node.body, state))
        for handler in node.handlers:
            inside = state - removed
            if handler.name is not None:
                inside = inside | {handler.name}
            end = self.block(handler.body, inside)
            after = after & (end - {handler.name} if end is not self.every else end)
        if not node.finalbody:
            return after
        inside = state - removed
        for part in (node.orelse, *(handler for handler in node.handlers)):
            inside = inside - effects(part).deleted
        start = self.block(node.finalbody, inside)
        if any(type(n) is ast.Raise for n in node.finalbody):
            return self.every
        added = start - inside
        return (after | added) - effects(node.finalbody).deleted

    def _match(self, node: ast.Match, state: Names) -> Names:
        after = state
        for case in node.cases:
            after = after & self.block(case.body, state | effects(case.pattern).stores)
        return after


_COMPOUND = {
    ast.If: Definite._if, ast.While: Definite._loop, ast.For: Definite._loop,
    ast.With: Definite._with, ast.Try: Definite._try, ast.TryStar: Definite._try,
    ast.Match: Definite._match,
}  # fmt: skip


class Live:
    """Liveness, backwards: first what each statement reads and kills, then what is live after
    it."""

    def __init__(self, scope: Scope) -> None:
        self.every = frozenset(scope.bound | scope.params)
        #: The names that other functions may read at any time.
        self.always = frozenset(scope.captured | scope.nonlocals | scope.globals)

    # -- the names that a block reads before it assigns them, and that it assigns on every path

    def summary(self, block: list[ast.stmt]) -> tuple[Names, Names]:
        reads: Names = set()
        kills: Names = set()
        for node in block:
            more, dead = self.of(node)
            reads |= more - kills
            kills |= dead
        return reads, kills

    def of(self, node: Any) -> tuple[Names, Names]:
        known = getattr(node, "flow", None)
        if known is None:
            known = node.flow = self._of(node)
        return known

    def _of(self, node: Any) -> tuple[Names, Names]:
        kind = type(node)
        if kind is ast.If:
            (a, kills_a), (b, kills_b) = self.summary(node.body), self.summary(node.orelse)
            node.live_in = a | b
            kills = kills_a if hasattr(node, "is_guard") else kills_a & kills_b
            return effects(node.test).reads | a | b, kills
        if kind is ast.While:
            body, _ = self.summary(node.body)
            node.live_in = effects(node.test).reads | body | set(node.flags)
            return node.live_in, set()
        if kind is ast.For:
            target = effects(node.target)
            body, _ = self.summary(node.body)
            node.live_in = target.reads | (body - target.stores) | set(node.flags)
            return effects(node.iter).reads | node.live_in, set()
        if kind is ast.Raise or kind is ast.Return:
            return node.effects.reads, set(self.every)
        if kind in (ast.Try, ast.TryStar, ast.With, ast.Match):
            node.live_in = self._region(node)
            return node.live_in, set()
        found: Effects = node.effects
        return found.reads, found.stores | found.deleted

    def _region(self, node: Any) -> Names:
        """The names that a statement with other blocks may read: all that its blocks may read."""
        heads, blocks = regions(node)
        reads = set(effects(heads).reads)
        for block in blocks:
            reads |= self.summary(block)[0]
        return reads

    # -- the names that are live after each statement

    def block(self, block: list[ast.stmt], out: Names, beside: Names) -> None:
        """Set ``live_out``: `out` is live after the block, `beside` wherever an exception leads."""
        for node in reversed(block):
            reads, kills = self.of(node)
            node.live_out = out | beside | self.always  # type: ignore[attr-defined]
            self._inside(node, out, beside)
            out = reads | (out - kills)

    def _inside(self, node: Any, out: Names, beside: Names) -> None:
        if isinstance(node, ast.If):
            self.block(node.body, out, beside)
            self.block(node.orelse, out, beside)
        elif isinstance(node, ast.While | ast.For):
            node.live_in |= self._handed_on(node, out, beside)  # type: ignore[union-attr]
            around: Names = node.live_in  # type: ignore[union-attr]
            self.block(node.body, out | around, beside)
        elif isinstance(node, ast.Try | ast.TryStar | ast.With | ast.Match):
            beside = beside | out | self._region(node)
            for block in regions(node)[1]:
                self.block(block, out, beside)

    def _handed_on(self, node: Any, out: Names, beside: Names) -> Names:
        """The names that a step may change or leave unchanged, and that are read after it; a step
        takes them from the step before. An exception may leave any name unchanged."""
        kills, writes = self.summary(node.body)[1], effects(node.body).writes
        if isinstance(node, ast.For):
            kills = kills | effects(node.target).stores
            writes = writes | effects(node.target).stores
        return ((writes & (out | node.live_in)) - kills) | (writes & beside)


def regions(node: Any) -> tuple[list[Any], list[list[ast.stmt]]]:
    """The expressions and the blocks of a statement that is not itself a construct."""
    if isinstance(node, ast.With):
        return [node.items], [node.body]
    if isinstance(node, ast.Match):
        heads = [part for case in node.cases for part in (case.pattern, case.guard)]
        return [node.subject, heads], [case.body for case in node.cases]
    types = [handler.type for handler in node.handlers]
    blocks = [node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody]
    return types, blocks


# -- walks over the statements of a function ------------------------------------------------


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
    """The parts of a target that Python evaluates if it has an annotation but no value."""
    parts = [target.value] if isinstance(target, ast.Attribute | ast.Subscript) else []
    if isinstance(target, ast.Subscript):
        parts.append(target.slice)
    return ast.Tuple(elts=parts, ctx=ast.Load(), **place(target))


# -- recursive calls (see `self_calls`)


def is_call(node: Any) -> bool:
    """Whether a statement is a recursive call that has got a statement of its own."""
    return isinstance(node, ast.Assign) and hasattr(node.value, "number")


def _defined(body: list[ast.stmt]) -> set[str]:
    """The names of functions that each run defines, and that nothing else binds."""
    stores, found = Counter[str](), set[str]()
    for node in all_statements(body):
        names = effects(*heads(node), getattr(node, "target", [])).writes
        stores.update(names)
        found |= names if hasattr(node, "is_in_each_run") else set()
    return {name for name in found if stores[name] == 1}


def kept_names(body: list[ast.stmt], scope: Scope) -> tuple[set[str], set[str]]:
    """The local names that are read after a recursive call, and those of them that may not be bound
    before one."""
    calls: list[Any] = [part for part in all_statements(body) if is_call(part)]
    if not calls:
        return set(), set()
    names = set[str]().union(*(part.live_out | part.value.again for part in calls))
    names &= scope.locals
    names -= _defined(body)
    return names, names - set.intersection(*(part.definite for part in calls))
