"""Conditions on values that may be known, so that checks of plain numbers add no operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.tracing.tracer import Tracer


class Uncovered(Exception):
    """Raised if a family has no formula for a method."""


def holds_everywhere(condition: Any) -> bool:
    """Whether a condition is known to hold."""
    return not isinstance(condition, Tracer) and bool(np.all(condition))


def holds_nowhere(condition: Any) -> bool:
    """Whether a condition is known not to hold."""
    return not isinstance(condition, Tracer) and not np.any(condition)


def either(a: Any, b: Any) -> Any:
    """``np.logical_or``; left out if one of the conditions is known to hold nowhere."""
    if holds_nowhere(a):
        return b
    return a if holds_nowhere(b) else np.logical_or(a, b)


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """``np.where``; left out if the condition is known to hold nowhere."""
    return b if holds_nowhere(condition) else np.where(condition, a, b)
