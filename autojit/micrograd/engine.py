"""``micrograd.engine``: the number that records."""

from autojit.scalar import Value

__all__ = ["Value"]
