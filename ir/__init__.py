"""The intermediate representation: programs, ops, transformations, passes."""

from . import linalg, ops, regions, special, tools

__all__ = ["linalg", "ops", "regions", "special", "tools"]
