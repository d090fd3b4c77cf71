"""Passes that turn programs into smaller or faster ones with the same results."""

from autojit.ir.simplification.parts import resolve_parts

from .pipeline import optimize

__all__ = ["optimize", "resolve_parts"]
