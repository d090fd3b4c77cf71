"""The failures in kernels, and their places in the status that kernels write."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.loop_ir import errors
from autojit.codegen.loop_ir.errors import is_check, marks
from autojit.codegen.loop_ir.nodes import Compute, Gather, ScatterInto
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.ops.checks import error_of, failure_of

from .calls import LibraryCall
from .nodes import DeviceKernel, Fail

#: Failures that are not checks of the user; they come first in the status.
OUT_OF_BOUNDS, NEGATIVE_POWER = "out of bounds", "negative power"
#: A loop has more steps than its tapes have room for.  This is not an error of the user: the
#: launches must be repeated with longer tapes.
TAPE_IS_FULL = "tape is full"
SINGULAR, NOT_POSITIVE = "singular", "not positive definite"
NO_EIGENVALUES, NO_SVD = "no eigenvalues", "no singular values"
_ERRORS = {
    OUT_OF_BOUNDS: errors.OUT_OF_BOUNDS, NEGATIVE_POWER: errors.NEGATIVE_POWER,
    SINGULAR: errors.SINGULAR, NOT_POSITIVE: errors.NOT_POSITIVE,
    NO_EIGENVALUES: errors.NO_EIGENVALUES, NO_SVD: errors.NO_SVD,
}  # fmt: skip


def failure_words(s: Any) -> str | None:
    """The failure that a statement may cause: the word of a check, or one of the above; or None."""
    if isinstance(s, (Gather, ScatterInto)) and s.places:
        return OUT_OF_BOUNDS
    if isinstance(s, Fail):
        return s.words
    if isinstance(s, Repeat) and s.tapes:
        return TAPE_IS_FULL
    if isinstance(s, Compute):
        if is_check(s.name):
            return s.name
        if s.name == "pow" and s.operand_dtype[0] == "i":
            return NEGATIVE_POWER
    return None


def failures_of(launches: Sequence[DeviceKernel | LibraryCall]) -> list[str]:
    """All possible failures, in the order of their precedence; empty if there are none."""
    kernels = [launch for launch in launches if isinstance(launch, DeviceKernel)]
    found = (failure_words(s) for kernel in kernels for s in walk(kernel.body))
    words = [w for w in dict.fromkeys(found) if w is not None]
    if not words:
        return []
    checks = marks(words)
    mine = sorted((w for w in words if w in checks), key=lambda w: checks[w])
    tapes = [TAPE_IS_FULL] if TAPE_IS_FULL in words else []
    return [*tapes, *_ERRORS, *mine]


def error_for(words: str) -> Exception:
    """The exception for a failure."""
    failure = failure_of(words)
    if failure is not None:
        return error_of(failure)
    name, message = errors.FAILURES[_ERRORS[words]]
    kind: type[Exception] = getattr(builtins, name, None) or getattr(np.linalg, name)
    return kind(message)
