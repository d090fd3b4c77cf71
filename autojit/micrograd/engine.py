"""``micrograd.engine``: numbers that record the operations on them."""

from autojit.scalar import Value

__all__ = ["Value"]
