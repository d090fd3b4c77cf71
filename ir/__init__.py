"""The intermediate representation: programs, ops, transformations, passes."""

from . import linalg, ops, regions, tools

__all__ = ["linalg", "ops", "regions", "tools"]
