"""Branches that only run if Python would run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.tracing.hooks import hooks

from .scalars import is_traced

Thunk = Callable[[], Any]


def lazily(test: Any, then: Thunk, orelse: Thunk) -> Any:
    """``then() if test else orelse()`` for a bool, traced or not."""
    if not is_traced(test):
        return then() if test else orelse()
    return hooks.choose(test, then, orelse)
