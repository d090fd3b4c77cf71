"""Makes a failing case small: fewer statements, smaller expressions, arrays and transformations.

A smaller case counts if it fails in the same way. A case that NumPy itself refuses never fails.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.case import Case

Fails = Callable[[Case], bool]

#: Constants that may replace an expression.
LEAVES = ("0.5", "2.0", "1", "0")


def shrink(case: Case, fails: Fails, seconds: float = 60.0) -> Case:
    """The smallest case found in this many seconds; the case itself if there is none."""
    until = time.monotonic() + seconds
    progress, seen = True, {case.to_json()}
    while progress and time.monotonic() < until:
        progress = False
        for step in (_settings, _statements, _inlined, _arguments, _expressions):
            smaller = _first(step, case, fails, until, seen)
            if smaller is not None:
                case, progress = smaller, True
    return case


def _first(
    step: Callable[[Case], Iterator[Case]], case: Case, fails: Fails, until: float, seen: set[str]
) -> Case | None:
    """The case after as many changes of one kind as possible."""
    changed = None
    while True:
        for candidate in step(case):
            text = candidate.to_json()
            if text in seen:
                continue
            seen.add(text)
            if time.monotonic() > until:
                return changed
            if fails(candidate):
                case = changed = candidate
                break
        else:
            return changed


def _settings(case: Case) -> Iterator[Case]:
    if case.thresholds:
        yield case.with_(thresholds={})
    for name in case.thresholds:
        yield case.with_(thresholds={k: v for k, v in case.thresholds.items() if k != name})
    if case.threads is not None:
        yield case.with_(threads=None)


# -- statements ----------------------------------------------------------------


def _statements(case: Case) -> Iterator[Case]:
    tree = ast.parse(case.source)
    count = len(list(_places(tree)))
    for width in (8, 4, 2, 1):
        for at in reversed(range(count)):
            changed = copy.deepcopy(tree)
            places = list(_places(changed))
            body, position = places[at]
            if position + width > len(body) or len(body) == width:
                continue
            del body[position : position + width]
            yield case.with_(source=ast.unparse(changed))
    for at in range(count):
        changed = copy.deepcopy(tree)
        body, position = list(_places(changed))[at]
        if isinstance(loop := body[position], ast.For):
            body[position : position + 1] = loop.body
            yield case.with_(source=ast.unparse(changed))


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """The positions of statements: a list of statements, and an index in it."""
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list):
                yield from ((body, k) for k in range(len(body)))


def _inlined(given: Case) -> Iterator[Case]:
    """Replace names by the values bound to them; bind fewer names at once."""
    tree = ast.parse(given.source)
    for at in range(len(list(_places(tree)))):
        changed = copy.deepcopy(tree)
        body, position = list(_places(changed))[at]
        match body[position]:
            case ast.Assign([ast.Name(name)], value):
                del body[position]
                if not body:
                    continue
                found = _Inline(name, value)
                body[position:] = [found.visit(statement) for statement in body[position:]]
                if len(text := ast.unparse(changed)) < len(given.source):
                    yield given.with_(source=text)
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                for k in range(len(targets)):
                    made = copy.deepcopy(changed)
                    body, position = list(_places(made))[at]
                    parts = zip(targets, values, strict=False)
                    kept = [p for n, p in enumerate(parts) if n != k]
                    body[position : position + 1] = [ast.Assign([t], v, lineno=0) for t, v in kept]
                    yield given.with_(source=ast.unparse(made))


class _Inline(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        read = node.id == self.name and isinstance(node.ctx, ast.Load)
        return copy.deepcopy(self.value) if read else node


# -- expressions ---------------------------------------------------------------


def _expressions(case: Case) -> Iterator[Case]:
    for text in _smaller_expressions(case.call, list(case.arguments)):
        yield case.with_(call=text)
    for text in _smaller_expressions(case.source, list(case.arguments)):
        yield case.with_(source=text)


def _smaller_expressions(text: str, names: list[str]) -> Iterator[str]:
    tree = ast.parse(text)
    nodes = list(_holes(tree))
    for at in range(len(nodes)):
        parent, name, position = nodes[at]
        old = _child(parent, name, position)
        for new in _replacements(old, names):
            changed = copy.deepcopy(tree)
            where, _, _ = list(_holes(changed))[at]
            _replace(where, name, position, new)
            found = ast.unparse(changed)
            if len(found) < len(text) or isinstance(new, ast.Constant):
                yield found


def _holes(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """The positions of expressions, outer ones first: a node, its field and an index in a list."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("func", "slice", "target", "targets", "annotation", "decorator_list"):
                continue
            if isinstance(value, ast.expr):
                yield node, name, None
            elif isinstance(value, list):
                yield from ((node, name, k) for k, v in enumerate(value) if isinstance(v, ast.expr))


def _child(node: ast.AST, name: str, position: int | None) -> Any:
    value = getattr(node, name)
    return value if position is None else value[position]


def _replace(node: ast.AST, name: str, position: int | None, new: ast.expr) -> None:
    if position is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[position] = new


def _replacements(old: ast.expr, names: list[str]) -> Iterator[ast.expr]:
    """Parts of an expression, an argument, a constant; fewer elements of a tuple or list."""
    if isinstance(old, (ast.Tuple, ast.List)):
        for k in range(len(old.elts)):
            fewer = copy.deepcopy(old)
            del fewer.elts[k]
            yield fewer
    if isinstance(old, (ast.Name, ast.Constant)):
        yield from _smaller_number(old)
        return
    for _, value in ast.iter_fields(old):
        parts = value if isinstance(value, list) else [value]
        yield from (copy.deepcopy(p) for p in parts if isinstance(p, ast.expr))
    yield from (ast.Name(n) for n in names)
    yield from (ast.parse(leaf, mode="eval").body for leaf in LEAVES)


def _smaller_number(old: ast.expr) -> Iterator[ast.expr]:
    if isinstance(old, ast.Constant) and type(old.value) is int and old.value > 1:
        yield from (ast.Constant(n) for n in (0, 1, old.value // 2, old.value - 1) if n < old.value)


# -- arguments -----------------------------------------------------------------


def _arguments(case: Case) -> Iterator[Case]:
    values = {n: v for n, v in case.values().items() if not isinstance(v, (tuple, list, dict))}
    yield from filter(None, (_without(case, name) for name in case.arguments))
    extents = sorted({n for v in values.values() for n in np.shape(v) if n > 1}, reverse=True)
    for extent in extents:
        for less in sorted({1, 2, extent // 2, extent - 1, max(1, extent - extent // 8)}):
            if less < extent:
                yield _resized(case, values, extent, less)
    for name, value in values.items():
        for smaller in _smaller(np.asarray(value)):
            yield _with_value(case, name, smaller)
        if np.size(value) <= 24 and "default_rng" in case.arguments[name]:
            exact = np.asarray(value).dtype.kind in "fc"
            yield _with_value(case, name, np.round(value, 2) if exact else value)


def _smaller(value: np.ndarray) -> Iterator[np.ndarray]:
    for axis, extent in enumerate(value.shape):
        yield np.take(value, range(min(1, extent)), axis)
    if value.ndim and value.size:
        yield value[0]


def _resized(case: Case, values: dict[str, Any], extent: int, less: int) -> Case:
    """The case with every axis of one extent shortened."""
    made = case
    for name, value in values.items():
        if extent in np.shape(value):
            part = tuple(slice(less) if n == extent else slice(None) for n in np.shape(value))
            made = _with_value(made, name, np.asarray(value)[part])
    return made


def _without(case: Case, name: str) -> Case | None:
    """The case without an unused argument; None if it is used."""
    tree = ast.parse(case.source)
    used = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    if used or len(case.arguments) == 1:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "f":
            node.args.args = [a for a in node.args.args if a.arg != name]
    call = ast.parse(case.call)
    for node in ast.walk(call):
        if isinstance(node, ast.Call):
            node.args = [a for a in node.args if not (isinstance(a, ast.Name) and a.id == name)]
    left = {k: v for k, v in case.arguments.items() if k != name}
    return case.with_(source=ast.unparse(tree), call=ast.unparse(call), arguments=left)


def _with_value(case: Case, name: str, value: Any) -> Case:
    return case.with_(arguments={**case.arguments, name: value_text(case.arguments[name], value)})


def value_text(old: str, value: Any) -> str:
    """An array as text: a literal, or random numbers of its shape if it is large."""
    array = np.asarray(value)
    if array.size > 24 and "default_rng" in old:
        shape = array.shape
        start = old.index("size=(") if "size=(" in old else -1
        if start >= 0:
            end = old.index(")", start)
            return f"{old[:start]}size={shape}{old[end + 1 :]}"
    if array.size == 0:
        return f"np.zeros({array.shape}, np.{array.dtype.name})"
    usual = np.asarray(array.tolist()).dtype == array.dtype
    if not array.ndim and usual:
        return repr(array.tolist())
    typed = "" if usual else f", np.{array.dtype.name}"
    return f"np.array({array.tolist()}{typed})" + ("" if array.ndim else "[()]")
