"""The twins of functions that are traced."""

from __future__ import annotations

from autojit.tracing.hooks import hooks

from . import checks  # noqa: F401 - registers itself
from .calls import reasons  # noqa: F401 - registers itself
from .runtime import entry

hooks.converted = entry
