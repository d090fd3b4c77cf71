"""Between which bounds Python's integers lie, where more is known than their 64 bits."""

from __future__ import annotations

from typing import Any, TypeVar

from .protocol import Bounds, TracedValue

T = TypeVar("T", bound=TracedValue)

LEAST, LARGEST = -(2**63), 2**63 - 1


def bounds_of(x: Any) -> Bounds:
    """The bounds of a Python integer, traced or not."""
    if isinstance(x, int):
        return int(x), int(x)
    found: Bounds = x.owner.bounds.get(x.value, (LEAST, LARGEST))
    return found


def with_bounds(x: T, bounds: Bounds) -> T:
    """The same traced integer, which is known to lie between bounds."""
    x.owner.bounds[x.value] = bounds
    return x
