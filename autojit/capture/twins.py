"""The twins of functions that are traced."""

from __future__ import annotations

from typing import Any

from autojit.tracing.hooks import hooks

from . import checks  # noqa: F401 - registers itself
from .runtime import Runtime


def converted(f: Any) -> Any:
    """A function with its control flow captured; itself where it has none, or no source."""
    return Runtime.converted(f)


hooks.converted = converted
