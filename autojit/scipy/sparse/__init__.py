"""``scipy.sparse`` for traced values: matrices, their products, and solvers."""

from . import construct, linalg, operands

__all__ = ["construct", "linalg", "operands"]
