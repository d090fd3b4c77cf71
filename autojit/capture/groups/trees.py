"""Inner functions that call each other, or themselves, by their names in a syntax tree.

Their function objects are made by the twin of the function around them, so they are known by names
alone. A function inside one of its own group is left out: each call would make another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from .cycles import Cycles

#: The scope and the name of an inner function.
_Key = tuple[int, str]


def inner_groups(root: Any, scopes: Iterable[Any]) -> list[Any]:
    """Note in each inner function, as ``leads_to``, the names of the functions of its group.

    Returns the assignments of lambdas to names by which they call each other, or themselves.
    """
    found = _Inner(root, scopes)
    lambdas = []
    for key, statements in found.definitions.items():
        names = found.names_of(key)
        for node in statements:
            node.leads_to = names
            if names and isinstance(node, ast.Assign):
                lambdas.append(node)
    return lambdas


class _Inner:
    """The inner functions of a tree, and the names in each of them."""

    def __init__(self, root: Any, scopes: Iterable[Any]) -> None:
        #: By scope and name, the statements that define the function.
        self.definitions: dict[_Key, list[Any]] = {}
        owners: dict[int, _Key] = {}
        for node in ast.walk(root):
            for name, scope in () if node is root else _defined(node):
                owner = scope.parent.owner(name)
                if owner is not None and owner.kind == "function":
                    key = id(owner), name
                    self.definitions.setdefault(key, []).append(node)
                    owners[id(scope)] = key
        #: The inner function around each one, and the names that each reads, with their functions.
        self._around: dict[_Key, _Key | None] = {}
        self._reads: dict[_Key, dict[_Key, str]] = {key: {} for key in self.definitions}
        for scope in scopes:
            self._note(scope, owners)

    def _note(self, scope: Any, owners: dict[int, _Key]) -> None:
        key = owners.get(id(scope))
        if key is not None:
            self._around[key] = _owner(scope.parent, owners)
        around = _owner(scope, owners)
        for name in scope.loads if around is not None else ():
            owner = scope.owner(name)
            if owner is not None and (id(owner), name) in self.definitions:
                self._reads[around][id(owner), name] = name  # type: ignore[index]

    def names_of(self, key: _Key) -> frozenset[str]:
        """The names by which a function may lead back to itself."""
        group = Cycles(self._reads.__getitem__).around(key)
        outer = {each for each in group if not any(x in group for x in self._all_around(each))}
        if key not in outer:
            return frozenset()
        inner = Cycles(lambda each: [x for x in self._reads[each] if x in outer]).around(key)
        return frozenset(name for each, name in self._reads[key].items() if each in inner)

    def _all_around(self, key: _Key) -> Iterator[_Key]:
        around = self._around.get(key)
        while around is not None:
            yield around
            around = self._around.get(around)


def _owner(scope: Any, owners: dict[int, _Key]) -> _Key | None:
    """The inner function that a scope belongs to."""
    while scope is not None:
        if id(scope) in owners:
            return owners[id(scope)]
        scope = scope.parent
    return None


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
