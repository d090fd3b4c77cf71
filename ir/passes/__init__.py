"""Passes: programs to smaller programs that compute the same."""

from autojit.ir.simplification.parts import resolve_parts

from .pipeline import optimize

__all__ = ["optimize", "resolve_parts"]
