"""Errors below the public interface, which adds the user's line and the fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from autojit.ir.core.program import Source
from autojit.ir.ops.checks import error_of, failure_of

#: Run-time errors of kernels, as bits of the status: the exception and its message.
OUT_OF_BOUNDS, NEGATIVE_POWER, OUT_OF_MEMORY = 1, 2, 4
SINGULAR, NOT_POSITIVE, NO_EIGENVALUES, NO_SVD = 8, 16, 32, 64
#: The bits of the errors that `ensure` raises for Python integers and bounded arrays, by kernel
#: word. Overflow comes last among those of integers, because it may follow from another failure.
ENSURED: Mapping[str, int] = MappingProxyType({
    "ensure_zero_division": 128, "ensure_negative_shift": 256, "ensure_overflow": 512,
    "ensure_unequal_lengths": 1024, "ensure_empty_maximum": 2048, "ensure_empty_minimum": 4096,
    "ensure_empty_argument": 8192, "ensure_part_out_of_range": 16384,
})  # fmt: skip
#: A callback has raised its own error.
CALLED = 32768
#: Python has raised an error (Ctrl-C) while a loop ran; it is set in the thread.
INTERRUPTED = 65536
#: The bit of the first error of the user's; the status has 64 bits, of which one is a sign.
FIRST, LAST = 17, 62
FAILURES = {
    OUT_OF_BOUNDS: ("IndexError", "an index is out of bounds"),
    NEGATIVE_POWER: ("ValueError", "Integers to negative integer powers are not allowed."),
    OUT_OF_MEMORY: ("MemoryError", "no memory to work in"),
    SINGULAR: ("LinAlgError", "Singular matrix"),
    NOT_POSITIVE: ("LinAlgError", "Matrix is not positive definite"),
    NO_EIGENVALUES: ("LinAlgError", "Eigenvalues did not converge"),
    NO_SVD: ("LinAlgError", "SVD did not converge"),
}


def is_check(word: str) -> bool:
    """Whether a word of kernels is the word of an `ensure`."""
    return failure_of(word) is not None


def bits(words: Iterable[str]) -> Mapping[str, int]:
    """The bits of the checks among the words of a program, errors of the user's in their order."""
    own = _of_the_user(words)
    if len(own) > LAST - FIRST + 1:
        raise TargetError(
            f"a function can raise at most {LAST - FIRST + 1} different errors when it is "
            f"exported, but this one has {len(own)}: raise fewer"
        )
    return {**ENSURED, **{word: 1 << bit for bit, word in enumerate(own, FIRST)}}


def marks(words: Iterable[str]) -> Mapping[str, int]:
    """The marks of the checks among the words of a program, where only the first failure is noted:
    a bit for each of ours, and for the errors of the user's, of which there may be any number,
    their numbers above these bits."""
    own = _of_the_user(words)
    return {**ENSURED, **{word: k << FIRST for k, word in enumerate(own, 1)}}


def mask_of(mark: int) -> int:
    """The bits of the status that equal a mark if there was this failure."""
    return mark if mark < 1 << FIRST else ((1 << LAST) - 1) >> FIRST << FIRST


def _of_the_user(words: Iterable[str]) -> list[str]:
    return [w for w in dict.fromkeys(words) if is_check(w) and w not in ENSURED]


def raised(word: str) -> tuple[str, str]:
    """The name of the exception that a check raises, and its words."""
    failure = failure_of(word)
    assert failure is not None
    error = error_of(failure)
    return type(error).__name__, error.args[0] if error.args else ""


class TargetError(Exception):
    """A program, or a machine, that a target does not support."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        super().__init__(message)
        self.source = source


class CacheWarning(UserWarning):
    """Compiled code cannot be stored on disk or loaded from there; it is compiled anew."""


class CorruptCacheWarning(CacheWarning):
    """A file of the cache differs from what was written; it was removed."""
