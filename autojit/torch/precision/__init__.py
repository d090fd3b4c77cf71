"""Autocasting: which operations run in half precision."""

from .autocasting import casting, lowered, raised

__all__ = ["casting", "lowered", "raised"]
