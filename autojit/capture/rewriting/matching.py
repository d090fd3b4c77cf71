"""``match`` as branches, so that its subject may be traced.

    match p:                          __aj_subject = p
        case [x, 0.0]:                if is_sequence(__aj_subject, 2) and __aj_subject[1] == 0.0:
            a                  ->         x = __aj_subject[0]
        case float(y) if y > 1:           a
            b                         else:
                                          __aj_guard = False
                                          if isinstance(__aj_subject, float):
                                              y = __aj_subject
                                              __aj_guard = y > 1
                                          if __aj_guard:
                                              b

Patterns of values, sequences, mappings and classes become tests in Python's order. Names are bound
if the whole pattern fits. A ``match`` with any other pattern, such as ``|`` with names, stays as it
is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from .build import LOAD, ask, assign, branch, constant, load, place, store

#: Classes whose pattern may have one argument, which matches the subject itself.
_SELF = frozenset((
    "bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str",
    "tuple",
))  # fmt: skip
_NUMBERS = frozenset(("bool", "float", "int", "complex"))


class _Fit(NamedTuple):
    """The tests of a pattern, and the names that it binds, with their values."""

    tests: list[ast.expr]
    names: list[tuple[str, ast.expr]]


class _Stays(Exception):
    """A pattern has no form as branches."""


def as_branches(
    node: ast.Match, temporary: Callable[[str], str], is_builtin: Callable[[str], bool]
) -> list[ast.stmt] | None:
    """The statements of a ``match``; None if it stays.

    ``temporary`` makes new names, and ``is_builtin`` says whether a name is the builtin's.
    """
    subject = temporary("subject")
    try:
        cases = [(_fit(c.pattern, load(subject, node), is_builtin), c) for c in node.cases]
    except _Stays:
        return None
    rest: list[ast.stmt] = []
    for fit, case in reversed(cases):
        rest = _case(fit, case, rest, temporary)
    return [assign(subject, node.subject, node), *rest]


def _case(
    fit: _Fit, case: ast.match_case, rest: list[ast.stmt], temporary: Callable[[str], str]
) -> list[ast.stmt]:
    at: Any = case.pattern
    bound: list[ast.stmt] = [
        ast.Assign(targets=[store(name, at)], value=value, type_comment=None, **place(at))
        for name, value in fit.names
    ]
    if case.guard is None and not fit.tests:
        return [*bound, *case.body]
    test = _every(fit.tests, at)
    if case.guard is None:
        whole = branch(test, [*bound, *case.body], at)
        whole.orelse = rest
        return [whole]
    if not bound:
        whole = branch(_every([*fit.tests, case.guard], at), case.body, at)
        whole.orelse = rest
        return [whole]
    guard = temporary("guard")
    asked = branch(test, [*bound, assign(guard, case.guard, at)], at)
    asked.orelse = [assign(guard, constant(False, at), at)]
    whole = branch(load(guard, at), case.body, at)
    whole.orelse = rest
    return [asked, whole]


def _every(tests: list[ast.expr], at: ast.AST) -> ast.expr:
    if not tests:
        return constant(True, at)
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests, **place(at))


def _fit(pattern: Any, value: ast.expr, is_builtin: Callable[[str], bool]) -> _Fit:
    """The fit of a pattern to the value of an expression, which may be evaluated repeatedly."""
    if isinstance(pattern, ast.MatchValue):
        return _Fit([_compared(value, ast.Eq(), pattern.value)], [])
    if isinstance(pattern, ast.MatchSingleton):
        return _Fit([_compared(value, ast.Is(), constant(pattern.value, pattern))], [])
    if isinstance(pattern, ast.MatchAs):
        inner = _Fit([], [])
        if pattern.pattern is not None:
            inner = _fit(pattern.pattern, value, is_builtin)
        mine = [] if pattern.name is None else [(pattern.name, deepcopy(value))]
        return _Fit(inner.tests, [*inner.names, *mine])
    if isinstance(pattern, ast.MatchOr):
        ways = [_fit(each, value, is_builtin) for each in pattern.patterns]
        if any(way.names for way in ways):
            raise _Stays
        tests = [_every(way.tests, pattern) for way in ways]
        return _Fit([ast.BoolOp(op=ast.Or(), values=tests, **place(pattern))], [])
    if isinstance(pattern, ast.MatchSequence):
        return _sequence(pattern, value, is_builtin)
    if isinstance(pattern, ast.MatchMapping) and pattern.rest is None:
        return _mapping(pattern, value, is_builtin)
    if isinstance(pattern, ast.MatchClass):
        return _class(pattern, value, is_builtin)
    raise _Stays


def _compared(value: ast.expr, op: Any, other: ast.expr) -> ast.expr:
    return ast.Compare(left=deepcopy(value), ops=[op], comparators=[other], **place(other))


def _sequence(
    pattern: ast.MatchSequence, value: ast.expr, is_builtin: Callable[[str], bool]
) -> _Fit:
    every = pattern.patterns
    count = len(every)
    stars = [k for k, each in enumerate(every) if isinstance(each, ast.MatchStar)]
    least = constant(count - len(stars), pattern)
    tests = [ask("is_sequence", [deepcopy(value), least, constant(bool(stars), pattern)], pattern)]
    names: list[tuple[str, ast.expr]] = []
    for k, each in enumerate(every):
        if isinstance(each, ast.MatchStar):
            if each.name is not None:
                names.append((each.name, _rest(value, k, k + 1 - count, each)))
            continue
        number = k if not stars or k < stars[0] else k - count
        inner = _fit(each, _item(value, constant(number, each), each), is_builtin)
        tests += inner.tests
        names += inner.names
    return _Fit(tests, names)


def _mapping(pattern: ast.MatchMapping, value: ast.expr, is_builtin: Callable[[str], bool]) -> _Fit:
    keys = ast.Tuple(elts=deepcopy(pattern.keys), ctx=LOAD, **place(pattern))
    tests = [ask("has_keys", [deepcopy(value), keys], pattern)]
    names: list[tuple[str, ast.expr]] = []
    for key, each in zip(pattern.keys, pattern.patterns, strict=True):
        inner = _fit(each, _item(value, deepcopy(key), each), is_builtin)
        tests += inner.tests
        names += inner.names
    return _Fit(tests, names)


def _item(value: ast.expr, index: ast.expr, at: ast.AST) -> ast.expr:
    return ast.Subscript(value=deepcopy(value), slice=index, ctx=LOAD, **place(at))


def _rest(value: ast.expr, start: int, stop: int, at: ast.AST) -> ast.expr:
    """The elements that a starred name takes, as a list."""
    last = constant(stop, at) if stop else None
    part = ast.Slice(lower=constant(start, at), upper=last, step=None, **place(at))
    starred = ast.Starred(value=_item(value, part, at), ctx=LOAD, **place(at))
    return ast.List(elts=[starred], ctx=LOAD, **place(at))


def _class(pattern: ast.MatchClass, value: ast.expr, is_builtin: Callable[[str], bool]) -> _Fit:
    kind = pattern.cls
    if not (is_builtin("isinstance") and is_builtin("hasattr")):
        raise _Stays
    count = len(pattern.patterns)
    tests = [_called("isinstance", [deepcopy(value), deepcopy(kind)], pattern)]
    parts: list[tuple[Any, ast.expr]] = []
    if isinstance(kind, ast.Name) and is_builtin(kind.id):
        is_number = kind.id in _NUMBERS and not count
        if count > 1 or not (is_number or kind.id in _SELF or not count):
            raise _Stays
        parts += [(each, deepcopy(value)) for each in pattern.patterns]
    else:
        for k, each in enumerate(pattern.patterns):
            asked = [deepcopy(value), deepcopy(kind), constant(k, each), constant(count, each)]
            tests.append(ask("has_part", asked, each))
            parts.append((each, ask("part_of", deepcopy(asked), each)))
    for name, each in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        tests.append(_called("hasattr", [deepcopy(value), constant(name, each)], each))
        parts.append(
            (each, ast.Attribute(value=deepcopy(value), attr=name, ctx=LOAD, **place(each)))
        )
    names: list[tuple[str, ast.expr]] = []
    for each, part in parts:
        inner = _fit(each, part, is_builtin)
        tests += inner.tests
        names += inner.names
    return _Fit(tests, names)


def _called(name: str, arguments: list[ast.expr], at: ast.AST) -> ast.expr:
    return ast.Call(func=load(name, at), args=arguments, keywords=[], **place(at))


def needs_values(node: ast.Match) -> bool:
    """Whether a ``match`` that stays would misjudge a traced subject: a pattern tests for True or
    False, or for a class of numbers."""
    return any(
        (isinstance(p, ast.MatchSingleton) and p.value is not None)
        or (isinstance(p, ast.MatchClass) and isinstance(p.cls, ast.Name) and p.cls.id in _NUMBERS)
        for case in node.cases
        for p in ast.walk(case.pattern)
    )
