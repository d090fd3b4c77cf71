"""What goes wrong below the public interface, which adds the user's line and the fix."""

from __future__ import annotations

from autojit.ir.program import Source

#: What can go wrong as a kernel runs, as bits of the status: the exception and its words.
OUT_OF_BOUNDS, NEGATIVE_POWER, SINGULAR, NOT_POSITIVE, NO_EIGENVALUES, NO_SVD = 1, 2, 4, 8, 16, 32
FAILURES = {
    OUT_OF_BOUNDS: ("IndexError", "an index is out of bounds"),
    NEGATIVE_POWER: ("ValueError", "Integers to negative integer powers are not allowed."),
    SINGULAR: ("LinAlgError", "Singular matrix"),
    NOT_POSITIVE: ("LinAlgError", "Matrix is not positive definite"),
    NO_EIGENVALUES: ("LinAlgError", "Eigenvalues did not converge"),
    NO_SVD: ("LinAlgError", "SVD did not converge"),
}


class TargetError(Exception):
    """A program, or a machine, that a target does not support."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        super().__init__(message)
        self.source = source
