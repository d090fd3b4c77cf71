"""Passes: programs to smaller programs that compute the same."""

from .pipeline import optimize
from .simplify_parts import resolve_parts

__all__ = ["optimize", "resolve_parts"]
