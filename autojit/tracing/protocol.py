"""Between which bounds Python's integers lie, where more is known than their 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tracer import Tracer

#: The least and the largest value that an integer may have.
Bounds = tuple[int, int]
LEAST, LARGEST = -(2**63), 2**63 - 1


def bounds_of(x: Any) -> Bounds:
    """The bounds of a Python integer, traced or not."""
    if isinstance(x, int):
        return int(x), int(x)
    found: Bounds = x.owner.bounds.get(x.value, (LEAST, LARGEST))
    return found


def with_bounds(x: Tracer, bounds: Bounds) -> Tracer:
    """The same traced integer, which is known to lie between bounds."""
    x.owner.bounds[x.value] = bounds
    return x
