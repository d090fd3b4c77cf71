"""``scipy.spatial`` for traced arrays."""

from . import distance

__all__ = ["distance"]
