"""Passes: programs to smaller programs that compute the same."""

from .pipeline import optimize

__all__ = ["optimize"]
