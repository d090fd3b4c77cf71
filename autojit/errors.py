"""Errors: one class for each mistake, each with the user's line and the fix in code."""

from __future__ import annotations

import warnings

from autojit.codegen.errors import CacheWarning, CorruptCacheWarning
from autojit.ir.errors import AutojitError, DerivativeError
from autojit.ir.errors import with_place as with_place
from autojit.ir.program import Source
from autojit.ir.types import TypeMismatch

__all__ = [
    "AutojitError",
    "CacheWarning",
    "ConcreteValueError",
    "CorruptCacheWarning",
    "DerivativeError",
    "DtypeError",
    "InPlaceError",
    "IntegerGradientError",
    "LeakedTracerError",
    "NonScalarGradientError",
    "NotArrayError",
    "RetraceWarning",
    "ShapeError",
    "StructureError",
    "TypeMismatch",
    "UncoveredFunctionError",
    "UnhashableStaticError",
    "UnrolledLoopWarning",
    "UnsupportedTargetError",
]


class UncoveredFunctionError(AutojitError, NotImplementedError):
    """A NumPy function (or one of its arguments) that autojit does not trace."""


class ConcreteValueError(AutojitError, TypeError):
    """Python asked a traced value for a concrete number."""


class LeakedTracerError(AutojitError, RuntimeError):
    """A traced value was used after its trace had ended."""


class NonScalarGradientError(AutojitError, TypeError):
    """``grad`` of a function whose result is not a real scalar."""


class IntegerGradientError(AutojitError, TypeError):
    """``grad`` with respect to an argument that is not floating point."""


class ShapeError(AutojitError, ValueError):
    """Operands whose shapes do not fit together."""


class DtypeError(AutojitError, TypeError):
    """A dtype that an operation does not take."""


class NotArrayError(AutojitError, TypeError):
    """An argument or result that is not an array, a number, or a tree of these."""


class StructureError(AutojitError, TypeError):
    """A tree of arguments or results with the wrong structure."""


class UnhashableStaticError(AutojitError, TypeError):
    """A static argument that cannot be hashed."""


class InPlaceError(AutojitError, TypeError):
    """An in-place change of a traced array that cannot be followed exactly."""


class RetraceWarning(UserWarning):
    """A compiled function is traced, and compiled, again and again."""


class UnrolledLoopWarning(UserWarning):
    """A Python loop made a trace so long that compiling it takes seconds."""


class MissingFunctionError(AutojitError, RuntimeError):
    """A pickled function came without its Python code, and a call needs it."""


class UnsupportedTargetError(AutojitError, RuntimeError):
    """A program or machine that a backend does not support."""


def warn_at(source: Source | None, category: type[Warning], words: str) -> None:
    """Warn of a line of the user's."""
    if source is None:
        warnings.warn(words, category, stacklevel=2)
    else:
        warnings.warn_explicit(words, category, source.file, source.line)
