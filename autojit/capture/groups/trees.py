"""Functions in a syntax tree that call each other, or themselves, by their names.

The root is known by its names outside: its own, and those of the functions of its group. The
function objects of the others are made by twins, so these are known by their names in the tree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .cycles import Cycles

#: The scope and the name of an inner function; that of the root is `_ROOT`.
_Key = tuple[int, str]
_ROOT = 0, ""

#: Among the names by which a function may lead back to itself: it uses such a function as a value,
#: so calls of its variables and of elements may lead back as well.
AS_VALUE = "*"

Mangled = Callable[[str], str]


def is_path(node: Any) -> bool:
    """Whether an expression is a name, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_path(node.value))


def spelt(node: Any, mangled: Mangled) -> str:
    """A name with attributes, as Python stores them: ``mangled`` if they are private."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{spelt(node.value, mangled)}.{mangled(node.attr)}"


def inner_groups(
    root: Any, scopes: Iterable[Any], outside: frozenset[str], mangled: Mangled
) -> list[Any]:
    """Note in each function, as ``leads_to``, the names by which it may lead back to itself.

    ``outside`` are the names, with attributes, that lead back to the root. Returns the assignments
    of lambdas to names by which they call each other, or themselves.
    """
    scopes = list(scopes)
    loads = set[str]().union(*(scope.loads for scope in scopes))
    root.leads_to = frozenset(x for x in outside if x.partition(".")[0] in loads)
    if len(scopes) == 1:
        root.leads_to |= _as_value(root, root.leads_to, mangled)
        return []
    found = _Functions(root, scopes, outside, mangled)
    root.leads_to |= found.names_of(_ROOT)
    root.leads_to |= _as_value(root, root.leads_to, mangled)
    lambdas = []
    for key, statements in found.definitions.items():
        names = found.names_of(key)
        for node in statements:
            node.leads_to = names | _as_value(node, names, mangled)
            if names and isinstance(node, ast.Assign):
                lambdas.append(node)
    return lambdas


def _as_value(node: Any, names: frozenset[str], mangled: Mangled) -> frozenset[str]:
    """`AS_VALUE`, if one of the names is used, and not called, in a function."""
    every = list(ast.walk(node)) if names else []
    called = {id(x.func) for x in every if isinstance(x, ast.Call)}
    values = (x for x in every if isinstance(x, ast.Name | ast.Attribute) and id(x) not in called
              and isinstance(x.ctx, ast.Load) and is_path(x))  # fmt: skip
    return frozenset({AS_VALUE} if any(spelt(x, mangled) in names for x in values) else ())


class _Functions:
    """The functions of a tree, and the names in each of them."""

    def __init__(
        self, root: Any, scopes: Iterable[Any], outside: frozenset[str], mangled: Mangled
    ) -> None:
        #: By scope and name, the statements that define an inner function.
        self.definitions: dict[_Key, list[Any]] = {}
        self._outside = outside
        owners: dict[int, _Key] = {}
        for node in ast.walk(root):
            for name, scope in () if node is root else _defined(node):
                owner = scope.parent.owner(name)
                if owner is not None and owner.kind == "function":
                    key = id(owner), name
                    self.definitions.setdefault(key, []).append(node)
                    owners[id(scope)] = key
        #: The functions that each one reads, by names.
        self._reads: dict[_Key, dict[_Key, str]] = {key: {} for key in (_ROOT, *self.definitions)}
        for scope in scopes if self.definitions else ():
            self._note(scope, _owner(scope, owners))
        for key, statements in self.definitions.items():
            self._note_attributes(key, statements, mangled)
        self._cycles = Cycles(self._reads.__getitem__)

    def _note(self, scope: Any, around: _Key) -> None:
        for name in scope.loads:
            owner = scope.owner(name)
            if owner is not None and (id(owner), name) in self.definitions:
                self._reads[around][id(owner), name] = name
            elif owner is None and name in self._outside and around != _ROOT:
                self._reads[around][_ROOT] = name

    def _note_attributes(self, key: _Key, statements: list[Any], mangled: Mangled) -> None:
        if not any("." in name for name in self._outside):
            return
        for node in (x for statement in statements for x in ast.walk(statement)):
            if isinstance(node, ast.Attribute) and is_path(node):
                name = spelt(node, mangled)
                if name in self._outside:
                    self._reads[key][_ROOT] = name

    def names_of(self, key: _Key) -> frozenset[str]:
        """The names by which a function may lead back to itself."""
        group = self._cycles.around(key)
        if len(group) == 1 and key not in self._reads[key]:
            return frozenset()
        names = {name for each, name in self._reads[key].items() if each in group}
        return frozenset(names) | (self._outside if _ROOT in group else frozenset())


def _owner(scope: Any, owners: dict[int, _Key]) -> _Key:
    """The function that a scope belongs to."""
    while scope is not None:
        if id(scope) in owners:
            return owners[id(scope)]
        scope = scope.parent
    return _ROOT


def _defined(node: Any) -> Iterator[tuple[str, Any]]:
    """The name and the scope of the function that a statement defines."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node.scope  # type: ignore[attr-defined]
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name):
            yield target.id, node.value.scope  # type: ignore[attr-defined]


# -- lambdas as functions ------------------------------------------------------------------------


def as_function(node: ast.Lambda, name: str) -> Any:
    """A lambda as the definition of a function, whose calls can get statements of their own."""
    at: dict[str, Any] = {
        "lineno": node.lineno, "col_offset": node.col_offset,
        "end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset,
    }  # fmt: skip
    body = node.body
    ends: Any = ast.copy_location(ast.Return(value=body), body)
    more: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(
        name=name, args=node.args, body=[ends], decorator_list=[], returns=None,
        type_comment=None, **more, **at,
    )  # fmt: skip


class WithoutLambdas(ast.NodeTransformer):
    """Replaces assignments of lambdas by definitions of functions."""

    def __init__(self, chosen: list[Any]) -> None:
        self._chosen = {id(node) for node in chosen}
        #: The names and the lines of the functions.
        self.found: set[tuple[str, int]] = set()

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        if id(node) not in self._chosen:
            return node
        target: Any = node.targets[0]
        made = as_function(node.value, target.id)  # type: ignore[arg-type]
        self.found.add((target.id, made.lineno))
        return made
