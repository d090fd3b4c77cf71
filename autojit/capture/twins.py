"""The twins of functions that are traced."""

from __future__ import annotations

from autojit.tracing.hooks import hooks

from . import checks, reasons  # noqa: F401 - register themselves
from .runtime import twin

hooks.converted = twin
