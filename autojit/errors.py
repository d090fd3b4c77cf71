"""Errors: one class for each kind of mistake. Messages show the user's line and the fix in code."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from .codegen.loop_ir.errors import CacheWarning, CorruptCacheWarning
from .ir.core.errors import AutojitError, DerivativeError
from .ir.core.errors import with_place as with_place
from .ir.core.program import Source
from .ir.core.types import TypeMismatch

__all__ = [
    "ArgumentChangedError",
    "AutojitError",
    "CacheWarning",
    "CaptureError",
    "ConcreteValueError",
    "CorruptCacheWarning",
    "DerivativeCheckError",
    "DerivativeError",
    "DonationWarning",
    "DtypeError",
    "EnvironmentVariableError",
    "FrozenRandomError",
    "FrozenStateWarning",
    "FrozenTimeError",
    "HandledFailureError",
    "InPlaceError",
    "IntegerGradientError",
    "LeakedTracerError",
    "MiscompilationError",
    "MissingDtypeError",
    "MixedDevicesError",
    "NanError",
    "NonScalarGradientError",
    "NotArrayError",
    "ProfileError",
    "RefusedInPlaceError",
    "RepeatedJitWarning",
    "RetraceWarning",
    "SettingError",
    "ShapeError",
    "ShapesDifferError",
    "StaleValueWarning",
    "StructureError",
    "TracingError",
    "TypeMismatch",
    "UncheckedGradientWarning",
    "UncoveredAttributeError",
    "UncoveredFunctionError",
    "UnhashableStaticError",
    "UnrolledLoopWarning",
    "UnsupportedTargetError",
]


class _Raised(threading.local):
    def __init__(self) -> None:
        #: The tracing errors of this thread's open traces, in order; None outside a trace.
        self.errors: list[TracingError] | None = None


raised: _Raised = _Raised()


class TracingError(AutojitError):
    """Raised only because a function is traced; plain arrays would not raise it.

    The traced function cannot handle such an error.  One that its ``except`` has caught is raised
    again when the trace ends.  All other errors of autojit may be caught: either NumPy raises them
    for arrays too, or they concern the call of a transformation.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        #: Whether C code that probes a value, as ``hasattr`` does, may catch the error.
        self.asked = False
        if raised.errors is not None:
            raised.errors.append(self)


# -- raised because a function is traced ----------------------------------------------


class UncoveredFunctionError(TracingError, NotImplementedError):
    """A NumPy function (or one of its arguments) that autojit does not trace."""


class UncoveredAttributeError(TracingError, AttributeError):
    """An attribute that arrays have and traced arrays do not."""


class ConcreteValueError(TracingError, TypeError):
    """Python asked a traced value for a concrete number."""


class LeakedTracerError(TracingError, RuntimeError):
    """A traced value outlives its trace, or is used after it."""


class NotArrayError(TracingError, TypeError):
    """An argument or result that is not an array, a number, or a tree of these."""


class CaptureError(TracingError, TypeError):
    """An ``if`` or a loop on traced values that cannot be compiled, because its branches
    differ in more than numbers."""


class ShapesDifferError(CaptureError):
    """A value has different shapes on different paths through a branch or a loop."""


class FrozenRandomError(TracingError, TypeError):
    """A random generator in a compiled function, which would draw once for all calls."""


class FrozenTimeError(TracingError, TypeError):
    """A clock read in a compiled function, which would show the same time in all calls."""


class HandledFailureError(TracingError, RuntimeError):
    """The function handles a failure that happens only when the compiled code runs."""


# -- raised for arrays too, or about the call of a transformation ----------------------


class NonScalarGradientError(AutojitError, TypeError):
    """``grad`` of a function whose result is not a real scalar."""


class IntegerGradientError(AutojitError, TypeError):
    """``grad`` with respect to an argument that is not floating point."""


class ShapeError(AutojitError, ValueError):
    """Operands whose shapes do not fit together."""


class DtypeError(AutojitError, TypeError):
    """A dtype that an operation does not take."""


class InPlaceError(AutojitError, TypeError):
    """An in-place change that NumPy refuses as well."""


class StructureError(AutojitError, TypeError):
    """A tree of arguments or results with the wrong structure."""


class SettingError(StructureError):
    """A setting of an autojit function (``argnums``, ``in_axes``, ``static_argnames``) that is
    invalid, or does not fit the function or its arguments."""


class UnhashableStaticError(AutojitError, TypeError):
    """A static argument that cannot be hashed."""


# -- kinds of these that are raised only because a function is traced -----------------


class MissingDtypeError(TracingError, DtypeError):
    """A dtype that NumPy accepts here and autojit does not."""


class MixedDevicesError(AutojitError, TypeError):
    """A program uses two devices, or takes arrays from two."""


class RefusedInPlaceError(TracingError, InPlaceError):
    """An in-place change that NumPy makes and tracing cannot follow exactly."""


class ArgumentChangedError(RefusedInPlaceError):
    """The traced function changes an argument, an array or container of its caller, in place."""


class RetraceWarning(UserWarning):
    """A compiled function is traced, and compiled, again and again."""


class RepeatedJitWarning(RetraceWarning):
    """``jit`` is called again and again on one function, as in a loop."""


class FrozenStateWarning(UserWarning):
    """A compiled function sets an outside variable; this happens only once, during tracing."""


class StaleValueWarning(UserWarning):
    """A value that a compiled function closes over has changed since tracing, without effect."""


class DonationWarning(UserWarning):
    """``donate_argnums`` has no effect: the results are correct, and no memory is saved."""


class UnrolledLoopWarning(UserWarning):
    """A Python loop made a trace so long that compiling it takes seconds."""


class NanError(AutojitError, FloatingPointError):
    """A NaN or an infinity that a call made while ``debug_nans`` is on."""

    def __init__(self, report: Any) -> None:
        super().__init__(str(report))
        #: The explanation by :func:`autojit.explain_nan`.
        self.report = report

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return type(self), (self.report,)


class DerivativeCheckError(AutojitError, AssertionError):
    """A derivative that differs from central differences, found by ``check_grads`` or
    ``jit(f, check="first")``."""


class MiscompilationError(AutojitError, RuntimeError):
    """Compiled code that disagrees with the interpreter, found by ``AUTOJIT_VERIFY``."""


class EnvironmentVariableError(AutojitError, ValueError):
    """An environment variable with an invalid value."""


class UncheckedGradientWarning(UserWarning):
    """``jit(f, check="first")`` could not check a derivative at the first call's arguments."""


class MissingFunctionError(AutojitError, RuntimeError):
    """A function was pickled without its Python code, and a call needs the code."""


class ProfileError(AutojitError, RuntimeError):
    """A profile is used twice, or read before it has begun."""


class UnsupportedTargetError(AutojitError, RuntimeError):
    """A program or machine that a backend does not support."""


def warn_at(source: Source | None, category: type[Warning], words: str) -> None:
    """Issue a warning that points to a line of the user's code."""
    if source is None:
        warnings.warn(words, category, stacklevel=2)
    else:
        warnings.warn_explicit(words, category, source.file, source.line)
