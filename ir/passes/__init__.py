"""Passes: programs to smaller programs that compute the same."""

from .pipeline import optimize, resolve_parts

__all__ = ["optimize", "resolve_parts"]
