"""Errors: one class for each mistake, each with the user's line and the fix in code."""

from __future__ import annotations

import linecache

from autojit.codegen.errors import CacheWarning, CorruptCacheWarning
from autojit.ir.program import Source
from autojit.ir.types import TypeMismatch

__all__ = [
    "AutojitError",
    "CacheWarning",
    "ConcreteValueError",
    "CorruptCacheWarning",
    "DtypeError",
    "InPlaceError",
    "IntegerGradientError",
    "LeakedTracerError",
    "NonScalarGradientError",
    "NotArrayError",
    "ShapeError",
    "StructureError",
    "TypeMismatch",
    "UncoveredFunctionError",
    "UnhashableStaticError",
    "UnsupportedTargetError",
]


class AutojitError(Exception):
    """Base of all errors that autojit raises about a user's program."""


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


class UnsupportedTargetError(AutojitError, RuntimeError):
    """A program or machine that a backend does not support."""


def with_place(message: str, source: Source | None) -> str:
    """The message with the user's line under it.

    >>> print(with_place("x is traced.", None))
    x is traced.
    """
    if source is None:
        return message
    line = linecache.getline(source.file, source.line).strip()
    where = f'\n\n  File "{source.file}", line {source.line}, in {source.function}'
    return message + where + (f"\n    {line}" if line else "")
