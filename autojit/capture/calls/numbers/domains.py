"""Arguments outside of the domains of ``math``, where a function handles Python's exceptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.values.scalars import as_float, is_traced, scalar_value
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand
from autojit.tracing.source import user_source


class _Domain(NamedTuple):
    """Whether arguments are outside of a function's domain, and such arguments."""

    is_outside: Callable[..., Any]
    example: Sequence[float]
    kind: type[Exception] = ValueError


def _with_finite(ufunc: Any) -> _Domain:
    """The domain of a function whose results must be finite."""
    return _Domain(lambda x: np.isfinite(x) & np.isinf(ufunc(x)), (1e5,), OverflowError)


def _has_no_power(x: Any, y: Any) -> Any:
    """Whether ``math.pow(x, y)`` is not real, or 0 to a negative power."""
    fraction = np.isfinite(y) & (np.trunc(y) != y)
    return ((x == 0) & (y < 0) & np.isfinite(y)) | (np.isfinite(x) & (x < 0) & fraction)


def _has_large_power(x: Any, y: Any) -> Any:
    return np.isfinite(x) & (x != 0) & np.isfinite(y) & np.isinf(np.power(x, y))


def _has_no_remainder(x: Any, y: Any) -> Any:
    return (np.isinf(x) & ~np.isnan(y)) | ((y == 0) & ~np.isnan(x))


def _is_pole(x: Any) -> Any:
    return (x <= 0) & (np.trunc(x) == x) & np.isfinite(x)


def _is_large(name: str) -> Callable[[Any], Any]:
    def is_large(x: Any) -> Any:
        import scipy.special

        return np.isfinite(x) & ~_is_pole(x) & np.isinf(getattr(scipy.special, name)(x))

    return is_large


def _has_large_product(x: Any, i: Any) -> Any:
    i = i.astype(np.int64) if is_traced(i) else int(i)
    return np.isfinite(x) & np.isinf(np.ldexp(x, i))


_POSITIVE = _Domain(lambda x: np.less_equal(x, 0), (0.0,))
_UP_TO_ONE = _Domain(lambda x: np.greater(np.abs(x), 1), (2.0,))

DOMAINS: dict[Any, Sequence[_Domain]] = {
    math.log: [_POSITIVE], math.log2: [_POSITIVE], math.log10: [_POSITIVE],
    math.acos: [_UP_TO_ONE], math.asin: [_UP_TO_ONE],
    math.log1p: [_Domain(lambda x: np.less_equal(x, -1), (-1.0,))],
    math.sqrt: [_Domain(lambda x: np.less(x, 0), (-1.0,))],
    math.atanh: [_Domain(lambda x: np.greater_equal(np.abs(x), 1), (1.0,))],
    math.acosh: [_Domain(lambda x: np.less(x, 1), (0.0,))],
    math.exp: [_with_finite(np.exp)], math.exp2: [_with_finite(np.exp2)],
    math.expm1: [_with_finite(np.expm1)], math.cosh: [_with_finite(np.cosh)],
    math.sinh: [_with_finite(np.sinh)],
    math.gamma: [_Domain(lambda x: _is_pole(x) | (x == -np.inf), (0.0,)),
                 _Domain(_is_large("gamma"), (200.0,), OverflowError)],
    math.lgamma: [_Domain(_is_pole, (0.0,)),
                  _Domain(_is_large("gammaln"), (1e307,), OverflowError)],
    math.ldexp: [_Domain(_has_large_product, (1.0, 2000), OverflowError)],
    math.fmod: [_Domain(_has_no_remainder, (1.0, 0.0))],
    math.pow: [_Domain(_has_no_power, (-1.0, 0.5)),
               _Domain(_has_large_power, (10.0, 400.0), OverflowError)],
}  # fmt: skip


def check_domain(function: Any, args: Sequence[Any]) -> None:
    """Raise Python's error if the arguments are known. If they are known only when the compiled
    code runs, and the user's code handles the error, the compiled code goes to the handler."""
    trace = current_trace()
    if trace is None or function not in DOMAINS:
        return
    for x in args:
        if is_traced(x) and np.ndim(x):
            scalar_value(x)  # raises
    values = [at_hand(bare(x)) if is_traced(x) else x for x in args]
    if all(v is not None for v in values):
        function(*values)
        return
    for domain in DOMAINS[function]:
        if not trace.builder.handles(domain.kind):
            continue
        if len(args) != len(domain.example):
            trace.builder.check_raise(domain.kind, user_source(), f"`math.{function.__name__}`")
        else:
            error = _error_of(function, domain.example)
            hooks.fail_where(domain.is_outside(*map(as_float, args)), error)


def _error_of(function: Any, args: Sequence[float]) -> Exception:
    """The exception that a function raises for some numbers."""
    try:
        function(*args)
    except (ValueError, OverflowError) as error:
        return error
    raise AssertionError(function)
