"""Calls of functions under ``functools.lru_cache`` that call themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def remembered(
    table: dict[Any, Any], key: Any, function: Callable[[], Any], suspended: Callable[[], Any]
) -> Any:
    """A call of a function under ``functools.lru_cache``; ``suspended()`` says whether the function
    has been left before its end."""
    if key in table:
        return table[key]
    return kept(table, key, function, suspended)


def kept(
    table: dict[Any, Any], key: Any, function: Callable[[], Any], suspended: Callable[[], Any]
) -> Any:
    """The rest of such a call, if the key was not in the table when it began."""
    value = function()
    if not suspended():
        table[key] = value
    return value
