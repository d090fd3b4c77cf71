"""Checks in compiled code: a call raises an error if a condition does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import TracingError, with_place
from autojit.ir.ops.checks import LIBRARY_ERRORS, Failure, ensure, is_failure
from autojit.protocols.lifting import as_tracer, as_value, operand, tracer, weak_type
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import bounds_of, with_bounds
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

_BOOL = np.dtype(bool)


def ensured(x: Any, holds: Any, error: BaseException, *, derivatives: bool = True) -> Tracer:
    """``x``; the compiled code raises ``error`` where ``holds`` is false.

    ``holds`` broadcasts to the shape of ``x``.  The error is raised only if the returned value is
    used.  Derivatives pass through and are checked too, so that a call that uses the derivative but
    not ``x`` fails as well. With ``derivatives=False`` they pass unchecked, and loops need not keep
    the condition of each step for them.

    Raise TracingError for an error that compiled code cannot raise: it must be of a builtin class
    and have at most one message.

    >>> from autojit.functions.checks import ensured
    >>> f = autojit.jit(lambda x: np.sqrt(ensured(x, x >= 0, ValueError("x is negative"))))
    >>> float(f(4.0))
    2.0
    >>> f(-4.0)
    Traceback (most recent call last):
    ...
    ValueError: x is negative
      File "<doctest ...>", line 1, in <lambda>
        ...
    """
    failure = failure_of(error)
    weak = weak_type(x)
    if holds is True or hooks.is_checked(holds, error):
        return as_tracer(x)
    value = as_value(x)
    condition = operand(holds, value.type.with_dtype(_BOOL))
    flags = {"derivatives": True} if derivatives and value.type.is_inexact else {}
    result = tracer(ensure(value, condition, failure=failure, **flags), weak)
    return with_bounds(result, bounds_of(x)) if weak is int else result


def is_raised(kind: type[BaseException]) -> bool:
    """Whether compiled code can raise a class of exceptions: only Python's own."""
    return kind.__module__ == "builtins" or LIBRARY_ERRORS.get(kind.__name__) is kind


def failure_of(error: BaseException) -> Failure:
    """The name by which `ensure` refers to an error.

    >>> from autojit.functions.checks import failure_of
    >>> failure_of(KeyError("no such name"))
    ('KeyError', 'no such name')
    """
    failure = (type(error).__name__, "".join(map(str, error.args)))
    given = tuple(arg for arg in error.args if isinstance(arg, str) and arg)
    known = given == error.args and len(given) < 2
    if known and is_raised(type(error)) and is_failure(failure):
        return failure
    raise TracingError(
        with_place(
            f"compiled code cannot raise {error!r}: it raises only Python's own exceptions, with "
            "at most one message that is known while the function is traced. Write raise "
            'ValueError("…")',
            user_source(),
        )
    )
