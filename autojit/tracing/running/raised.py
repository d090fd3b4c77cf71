"""Traced values among the arguments and attributes of exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from autojit.errors import AutojitError
from autojit.tracing.known import at_hand
from autojit.tracing.tracer import Tracer

_CONTAINERS = (tuple, list, dict)


def leaves_of(error: BaseException) -> tuple[list[Any], Callable[[list[Any]], None]]:
    """The arguments and attributes of an exception, without the lists, tuples and dicts around
    them, and a function that sets them."""
    attributes = vars(error)
    tree: Any = error.args, dict(attributes)
    leaves: list[Any]
    leaves, structure = optree.tree_flatten(tree, is_leaf=lambda x: type(x) not in _CONTAINERS)

    def put(changed: list[Any]) -> None:
        made: Any = optree.tree_unflatten(structure, changed)
        error.args = made[0]
        attributes.update(made[1])

    return leaves, put


def with_values(error: BaseException) -> None:
    """Give an exception that leaves a trace with known arguments the values that it names."""
    if isinstance(error, AutojitError):
        return
    leaves, put = leaves_of(error)
    if any(isinstance(x, Tracer) for x in leaves):
        put([_with_value(x) for x in leaves])


def _with_value(x: Any) -> Any:
    found = at_hand(x) if isinstance(x, Tracer) else None
    return x if found is None else found
