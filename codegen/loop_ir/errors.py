"""What goes wrong below the public interface, which adds the user's line and the fix."""

from __future__ import annotations

from autojit.ir.core.program import Source
from autojit.ir.ops.checks import FAILURES as ENSURES

#: What can go wrong as a kernel runs, as bits of the status: the exception and its words.
OUT_OF_BOUNDS, NEGATIVE_POWER, OUT_OF_MEMORY = 1, 2, 4
SINGULAR, NOT_POSITIVE, NO_EIGENVALUES, NO_SVD = 8, 16, 32, 64
#: The bits of what `ensure` raises, by the words that kernels are written in.  A result that does
#: not fit comes last: it may follow from another failure.
ENSURED = {
    "ensure_zero_division": 128, "ensure_negative_shift": 256, "ensure_overflow": 512,
    "ensure_unequal_lengths": 1024, "ensure_empty_maximum": 2048, "ensure_empty_minimum": 4096,
    "ensure_empty_argument": 8192, "ensure_part_out_of_range": 16384,
}  # fmt: skip
FAILURES = {
    OUT_OF_BOUNDS: ("IndexError", "an index is out of bounds"),
    NEGATIVE_POWER: ("ValueError", "Integers to negative integer powers are not allowed."),
    OUT_OF_MEMORY: ("MemoryError", "no memory to work in"),
    SINGULAR: ("LinAlgError", "Singular matrix"),
    NOT_POSITIVE: ("LinAlgError", "Matrix is not positive definite"),
    NO_EIGENVALUES: ("LinAlgError", "Eigenvalues did not converge"),
    NO_SVD: ("LinAlgError", "SVD did not converge"),
    **{
        bit: (ENSURES[word.removeprefix("ensure_")][0].__name__,
              ENSURES[word.removeprefix("ensure_")][1])
        for word, bit in ENSURED.items()
    },
}  # fmt: skip


class TargetError(Exception):
    """A program, or a machine, that a target does not support."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        super().__init__(message)
        self.source = source


class CacheWarning(UserWarning):
    """Compiled code cannot be kept on disk, or not be taken from there; it is compiled anew."""


class CorruptCacheWarning(CacheWarning):
    """A file of the cache is not what was written; it was removed."""
