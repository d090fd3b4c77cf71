"""``scipy.sparse`` for traced vectors: known sparse matrices, and iterative solvers."""

from . import linalg

__all__ = ["linalg"]
