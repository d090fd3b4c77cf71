"""Scopes of a function and of everything inside it: names bound, read, captured and deleted.

Each node that opens a scope gets the scope as its attribute ``scope``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .build import FIELDS

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TREES = (ast.AST, list)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)


class Scope:
    """The names of a function, lambda, class or comprehension."""

    def __init__(self, kind: str, parent: Scope | None) -> None:
        #: "function", "class", "comprehension" or "generator" (a generator expression).
        self.kind = kind
        self.parent = parent
        self.params: set[str] = set()
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.loads: set[str] = set()
        #: Names of this scope that become unbound in it or in a function inside it.
        self.deleted: set[str] = set()
        #: Names of this scope that functions inside it read or bind (captured), or bind (changed).
        self.captured: set[str] = set()
        self.changed: set[str] = set()
        #: Names that are read here or further inside, and bound further outside.
        self.free: set[str] = set()
        #: Names that a comprehension binds in the function around it.
        self.walrus: set[str] = set()
        #: Names that the rewriter made.
        self.internal: set[str] = set()
        #: Names that start as the runtime's ``unbound``.
        self.unbound: set[str] = set()
        #: Whether the code inside it has to stay as it is.
        self.untouched = False

    @property
    def locals(self) -> set[str]:
        return self.bound - self.nonlocals - self.globals

    def is_global(self, name: str) -> bool:
        return name in self.globals

    def owner(self, name: str) -> Scope | None:
        """The scope that a name belongs to; None if it lies outside the whole tree."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or scope.kind != "class":
                if name in scope.globals:
                    return None
                if name in scope.bound and name not in scope.nonlocals:
                    return scope
            scope = scope.parent
        return None

    def function(self) -> Scope:
        """The function whose code binds the names that a comprehension assigns."""
        scope = self
        while scope.kind in ("comprehension", "generator") and scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """Builds the scopes of a tree."""

    def __init__(self, root: ast.FunctionDef | ast.Lambda) -> None:
        self.all: list[Scope] = []
        self.has_walrus = False
        self.words: set[str] = set()
        self._function(root, None)
        for scope in reversed(self.all):
            self._close(scope)

    def _new(self, node: ast.AST, kind: str, parent: Scope | None) -> Scope:
        scope = Scope(kind, parent)
        node.scope = scope  # type: ignore[attr-defined]
        self.all.append(scope)
        return scope

    def visit(self, node: Any, scope: Scope) -> None:
        if isinstance(node, list):
            for item in node:
                self.visit(item, scope)
            return
        method = _VISIT.get(type(node))
        if method is not None:
            method(self, node, scope)
        else:
            for field in FIELDS[type(node)]:
                value = getattr(node, field, None)
                if isinstance(value, _TREES):
                    self.visit(value, scope)

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            scope.loads.add(node.id)
            return
        scope.bound.add(node.id)
        if isinstance(node.ctx, ast.Del):
            scope.deleted.add(node.id)

    def _aug_assign(self, node: ast.AugAssign, scope: Scope) -> None:
        if isinstance(node.target, ast.Name):
            scope.loads.add(node.target.id)
        self.visit([node.target, node.value], scope)

    def _ann_assign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.visit(node.target, scope)
        if node.value is not None:
            self.visit(node.value, scope)

    def _named(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.has_walrus = True
        home = scope.function()
        home.bound.add(node.target.id)
        while scope is not home:
            scope.walrus.add(node.target.id)
            scope = scope.parent  # type: ignore[assignment]
        self.visit(node.value, scope)

    def _definition(self, node: Any, scope: Scope) -> None:
        scope.bound.add(node.name)
        self._outside(node, scope)
        self._function(node, scope)

    def _outside(self, node: Any, scope: Scope) -> None:
        """Visit the parts of a function that are evaluated where it is defined."""
        arguments = node.args
        self.visit(arguments.defaults + arguments.kw_defaults, scope)
        if not isinstance(node, ast.Lambda):
            self.visit(node.decorator_list, scope)
            self.visit(node.returns, scope)
            for argument in every_argument(arguments):
                self.visit(argument.annotation, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self._outside(node, scope)
        self._function(node, scope)

    def _function(self, node: Any, parent: Scope | None) -> None:
        scope = self._new(node, "function", parent)
        scope.untouched = isinstance(node, ast.AsyncFunctionDef)
        scope.params = {argument.arg for argument in every_argument(node.args)}
        scope.bound |= scope.params
        self.visit(node.body, scope)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        scope.bound.add(node.name)
        self.visit([node.decorator_list, node.bases, node.keywords], scope)
        self.visit(node.body, self._new(node, "class", scope))

    def _comprehension(self, node: Any, scope: Scope) -> None:
        kind = "generator" if isinstance(node, ast.GeneratorExp) else "comprehension"
        self.visit(node.generators[0].iter, scope)
        inner = self._new(node, kind, scope)
        for k, part in enumerate(node.generators):
            self.visit([part.target, part.ifs] + ([part.iter] if k else []), inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.visit(parts, inner)

    def _handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name is not None:
            scope.bound.add(node.name)
            scope.deleted.add(node.name)
        self.visit([node.type, node.body], scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        scope.bound.update(imported(node))

    def _global(self, node: ast.Global, scope: Scope) -> None:
        scope.globals.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocals.update(node.names)

    def _match(self, node: Any, scope: Scope) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            scope.bound.add(name)
        for field in node._fields:
            self.visit(getattr(node, field), scope)

    def _yield(self, node: Any, scope: Scope) -> None:
        scope.function().untouched = True
        self.visit([node.value], scope)

    def _close(self, scope: Scope) -> None:
        """Tell the owners of names how this scope uses them; inner scopes come first."""
        parent = scope.parent
        if parent is None:
            return
        reads = (scope.loads | scope.free) - scope.locals
        parent.free |= reads if parent.kind != "class" else reads | scope.nonlocals
        direct = scope.kind == "comprehension"
        for name in scope.loads - scope.locals:
            self._capture(scope, name, direct)
        for name in scope.nonlocals:
            owner = parent.owner(name)
            if owner is not None:
                owner.captured.add(name)
                owner.changed.add(name)
                if name in scope.deleted:
                    owner.deleted.add(name)

    def _capture(self, scope: Scope, name: str, direct: bool) -> None:
        owner = scope.owner(name)
        if owner is None:
            return
        inner: Scope | None = scope
        while inner is not owner and inner is not None:
            direct = direct and inner.kind == "comprehension"
            inner = inner.parent
        if not direct:
            owner.captured.add(name)


def every_argument(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a function."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The names that an import binds."""
    return [alias.asname or alias.name.partition(".")[0] for alias in node.names]


_VISIT: dict[type, Callable[[Scopes, Any, Scope], None]] = {
    ast.Name: Scopes._name,
    ast.Constant: lambda self, node, scope: None,
    ast.AugAssign: Scopes._aug_assign,
    ast.AnnAssign: Scopes._ann_assign,
    ast.NamedExpr: Scopes._named,
    ast.FunctionDef: Scopes._definition,
    ast.AsyncFunctionDef: Scopes._definition,
    ast.Lambda: Scopes._lambda,
    ast.ClassDef: Scopes._class,
    ast.ListComp: Scopes._comprehension,
    ast.SetComp: Scopes._comprehension,
    ast.DictComp: Scopes._comprehension,
    ast.GeneratorExp: Scopes._comprehension,
    ast.ExceptHandler: Scopes._handler,
    ast.Import: Scopes._import,
    ast.ImportFrom: Scopes._import,
    ast.Global: Scopes._global,
    ast.Nonlocal: Scopes._nonlocal,
    ast.MatchAs: Scopes._match,
    ast.MatchStar: Scopes._match,
    ast.MatchMapping: Scopes._match,
    ast.Yield: Scopes._yield,
    ast.YieldFrom: Scopes._yield,
}


# -- the effects of a part of a function ----------------------------------------------------


class Effects:
    """The names that a statement or expression reads, certainly binds, may bind, and unbinds."""

    __slots__ = ("deleted", "maybe", "reads", "stores")

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.stores: set[str] = set()
        self.maybe: set[str] = set()
        self.deleted: set[str] = set()

    @property
    def writes(self) -> set[str]:
        return self.stores | self.maybe | self.deleted


def effects(*nodes: Any) -> Effects:
    """The effects of nodes on the function around them; those of inner functions are reads."""
    found = Effects()
    stack: list[Any] = list(nodes)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is list:
            stack.extend(node)
        elif kind is ast.Name:
            _of_name(node, found)
        elif kind in _SPECIAL:
            _SPECIAL[kind](node, found, stack)
        else:
            for field in FIELDS[kind]:
                value = getattr(node, field, None)
                if isinstance(value, _TREES):
                    stack.append(value)
    return found


def _of_name(node: ast.Name, found: Effects) -> None:
    kind = type(node.ctx)
    if kind is ast.Load:
        found.reads.add(node.id)
    else:
        (found.stores if kind is ast.Store else found.deleted).add(node.id)
        if kind is ast.Del:
            found.reads.add(node.id)


def _of_scope(node: Any, found: Effects, stack: list[Any]) -> None:
    scope: Scope = node.scope
    found.reads |= (scope.loads | scope.free | scope.nonlocals) - scope.locals
    found.maybe |= scope.walrus
    if isinstance(node, COMPREHENSIONS):
        stack.append(node.generators[0].iter)
        return
    if not isinstance(node, ast.Lambda):
        found.stores.add(node.name)
        stack.append(node.decorator_list)
    if isinstance(node, ast.ClassDef):
        found.maybe |= scope.nonlocals | scope.globals
        stack.extend((node.bases, node.keywords))
    else:
        stack.extend((node.args.defaults, node.args.kw_defaults))


def _of_named(node: ast.NamedExpr, found: Effects, stack: list[Any]) -> None:
    found.maybe.add(node.target.id)
    stack.append(node.value)


def _of_aug(node: ast.AugAssign, found: Effects, stack: list[Any]) -> None:
    if isinstance(node.target, ast.Name):
        found.reads.add(node.target.id)
    stack.extend((node.target, node.value))


def _of_ann(node: ast.AnnAssign, found: Effects, stack: list[Any]) -> None:
    if node.value is not None:
        stack.extend((node.target, node.value))


def _of_handler(node: ast.ExceptHandler, found: Effects, stack: list[Any]) -> None:
    if node.name is not None:
        found.stores.add(node.name)
        found.deleted.add(node.name)
    stack.extend((node.type, node.body))


def _of_import(node: ast.Import, found: Effects, stack: list[Any]) -> None:
    found.stores.update(imported(node))


def _of_match(node: Any, found: Effects, stack: list[Any]) -> None:
    name = node.rest if isinstance(node, ast.MatchMapping) else node.name
    if name is not None:
        found.stores.add(name)
    stack.extend(getattr(node, field) for field in node._fields)


def _of_loop(node: Any, found: Effects, stack: list[Any]) -> None:
    found.reads.update(getattr(node, "flags", ()))
    stack.extend(getattr(node, field) for field in node._fields)


_SPECIAL: dict[type, Callable[[Any, Effects, list[Any]], None]] = {
    **dict.fromkeys(SCOPES, _of_scope),
    ast.NamedExpr: _of_named,
    ast.AugAssign: _of_aug,
    ast.AnnAssign: _of_ann,
    ast.ExceptHandler: _of_handler,
    ast.Import: _of_import,
    ast.ImportFrom: _of_import,
    ast.MatchAs: _of_match,
    ast.MatchStar: _of_match,
    ast.MatchMapping: _of_match,
    ast.While: _of_loop,
    ast.For: _of_loop,
}
