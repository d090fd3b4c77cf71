"""Containers among the arguments of a traced function: a function that changes one is refused.

    def f(params):
        params["w"] = 2.0 * params["w"]    # in plain Python the caller's dict has a new array now

A function is traced with copies of its caller's containers, so the change would be lost.  The
containers are compared before the function runs and when it has returned, by the keys and by the
identity of what they hold.  A function that puts everything back has changed nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from autojit.errors import ArgumentChangedError, with_place
from autojit.ir.core.program import Source
from autojit.tracing.context import current_trace
from autojit.tracing.running.arguments import Argument
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .pytrees import NAMESPACE

_LEAVES = frozenset({Argument, Tracer, np.ndarray, np.float64, float, int, type(None)})


def watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which raises if it changes containers made for its trace
    (``trees.arguments``)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        before = _states(trace.rebuilt)
        result = function(*args, **kwargs)
        for node, held in before.values():
            if not _is_the_same(held, _held(node)):
                raise _error(function, args, kwargs, node, before)
        return result

    call.__name__ = getattr(function, "__name__", type(function).__name__)
    return call


#: The contents of a container, by keys, positions or names.
_Held = dict[Any, Any]
#: Containers, and what they held, by their ids.
_States = dict[int, tuple[Any, _Held]]


def _states(roots: Sequence[Any]) -> _States:
    found: _States = {}
    left = list(roots)
    while left:
        node = left.pop()
        held = _held(node)
        if held is not None and id(node) not in found:
            found[id(node)] = node, held
            left += held.values()
    return found


def _held(node: Any) -> _Held | None:
    """The contents of a container; None for a leaf."""
    kind = type(node)
    if kind in _LEAVES:
        return None
    if kind is dict:
        return dict(node)
    if kind is list or kind is tuple:
        return dict(enumerate(node))
    try:
        children, _, entries, *_ = optree.tree_flatten_one_level(node, namespace=NAMESPACE)
    except ValueError:
        return None
    return dict(zip(entries, children, strict=True))


def _is_the_same(before: _Held, now: _Held | None) -> bool:
    if now is None or len(before) != len(now):
        return False
    return all(key in now and now[key] is x for key, x in before.items())


# -- words ------------------------------------------------------------------------------


def _error(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], node: Any, before: _States
) -> ArgumentChangedError:
    name = getattr(function, "__name__", type(function).__name__)
    where, steps = next(_places(node, args, kwargs, before))
    what = f"argument {where!r}{''.join(steps)}"
    variable = _parameter(function, where)
    copied = _COPIES.get(type(node)) if not steps else None
    fix = f"    {variable} = {copied or 'copy.deepcopy'}({variable})"
    fix = f"{fix:<38} # the function's first line"
    return ArgumentChangedError(
        with_place(
            f"{name} changes {what}, a {type(node).__name__}: {_change(before[id(node)][1], node)}"
            ". In plain Python the caller's would change with it; a traced function works on a "
            "copy, so the change would be lost.\n"
            "Change a copy, and return what the caller needs:\n"
            + (fix if copied else f"    import copy\n\n{fix}"),
            _definition(function),
        )
    )


#: Code that copies a container holding only leaves, or an outermost one.
_COPIES: dict[Any, str] = {dict: "dict", list: "list"}


def _places(
    node: Any, args: tuple[Any, ...], kwargs: dict[str, Any], before: _States
) -> Iterator[tuple[int | str, list[str]]]:
    """The arguments that hold a container, and the code of the path from there."""
    arguments: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    for where, root in arguments:
        yield from ((where, steps) for steps in _steps(node, root, before))


def _steps(node: Any, root: Any, before: _States) -> Iterator[list[str]]:
    if root is node:
        yield []
    _, held = before.get(id(root), (root, {}))
    for key, x in held.items():
        step = f".{key}" if dataclasses.is_dataclass(root) else f"[{key!r}]"
        yield from ([step, *steps] for steps in _steps(node, x, before))


def _change(before: _Held, node: Any) -> str:
    now = _held(node) or {}
    if isinstance(node, list) and len(before) != len(now):
        return f"it had {len(before)} elements, and has {len(now)}"
    for words, keys in (
        ("{!r} is new", [k for k in now if k not in before]),
        ("{!r} is gone", [k for k in before if k not in now]),
        ("{!r} is a different object", [k for k in before if k in now and now[k] is not before[k]]),
    ):
        if keys and str(keys[0]).startswith("__aj_"):
            return "it gets a traced key"
        if keys:
            return words.format(keys[0])
    return "it is a different object"


def _parameter(function: Any, where: int | str) -> str:
    """The variable that an argument is bound to."""
    if isinstance(where, str):
        return where
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "x"
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return named[where] if where < len(named) else "x"


def _definition(function: Any) -> Source | None:
    """Where a function is defined, because the line that changed the container is unknown."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return user_source()
    return Source(code.co_filename, code.co_firstlineno, code.co_name)
