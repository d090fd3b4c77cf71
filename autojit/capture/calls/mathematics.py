"""`math`, `cmath` and `statistics` on traced numbers; results are Python numbers with derivatives.

Python raises an error for an argument outside a function's domain (``math.sqrt(-1.0)``). If the
arguments are known, so does autojit. Compiled code gives NaN or infinity instead, like NumPy and
Numba, unless the function handles the error.
"""

from __future__ import annotations

import cmath
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import (
    any_traced,
    as_float,
    is_traced,
    python_number,
    scalar_value,
    settled,
)
from autojit.capture.values.table import When, answers
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand
from autojit.tracing.source import user_source
from autojit.transformations.derivatives import stop_gradient

from .conversions import integral
from .ordering import sorted_, stacked

#: Powers of two that a double holds.
LEAST_EXPONENT, LARGEST_EXPONENT = -1022, 1023


def _float(x: Any) -> Any:
    """A result of NumPy as a Python float."""
    return python_number(as_value(x), float)


def _by_ufunc(ufunc: Any) -> Callable[..., Any]:
    return lambda *args: _float(ufunc(*map(as_float, args)))


#: The exceptions for arguments outside of a function's domain, or for results that are too large.
_RAISES: dict[Any, type[Exception]] = {
    **dict.fromkeys(
        (math.acos, math.acosh, math.asin, math.atanh, math.fmod, math.log, math.log10, math.log1p,
         math.log2, math.pow, math.sqrt), ValueError),
    **dict.fromkeys((math.cosh, math.exp, math.exp2, math.expm1, math.sinh), OverflowError),
}  # fmt: skip


class _Domain(NamedTuple):
    """Whether a number is outside of a function's domain, and one such number."""

    is_outside: Callable[[Any], Any]
    example: float


def _with_finite(ufunc: Any) -> _Domain:
    """The domain of a function whose results must be finite."""
    return _Domain(lambda x: np.logical_and(np.isfinite(x), np.isinf(ufunc(x))), 1e5)


_DOMAINS: dict[Any, _Domain] = {
    **dict.fromkeys((math.log, math.log2, math.log10), _Domain(lambda x: np.less_equal(x, 0), 0.0)),
    **dict.fromkeys((math.acos, math.asin), _Domain(lambda x: np.greater(np.abs(x), 1), 2.0)),
    math.log1p: _Domain(lambda x: np.less_equal(x, -1), -1.0),
    math.sqrt: _Domain(lambda x: np.less(x, 0), -1.0),
    math.atanh: _Domain(lambda x: np.greater_equal(np.abs(x), 1), 1.0),
    math.acosh: _Domain(lambda x: np.less(x, 1), 0.0),
    math.exp: _with_finite(np.exp), math.exp2: _with_finite(np.exp2),
    math.expm1: _with_finite(np.expm1), math.cosh: _with_finite(np.cosh),
    math.sinh: _with_finite(np.sinh),
}  # fmt: skip


def _check_domain(function: Any, args: Sequence[Any]) -> None:
    """Raise Python's error if the arguments are known. If they are known only when the compiled
    code runs, and the user's code handles the error, the compiled code goes to the handler."""
    trace = current_trace()
    if trace is None or function not in _RAISES:
        return
    for x in args:
        if is_traced(x) and np.ndim(x):
            scalar_value(x)  # raises
    values = [at_hand(bare(x)) if is_traced(x) else x for x in args]
    if all(v is not None for v in values):
        function(*values)
        return
    kind, domain = _RAISES[function], _DOMAINS.get(function)
    if not trace.builder.handles(kind):
        return
    if domain is None or len(args) != 1:
        trace.builder.check_raise(kind, user_source(), f"`math.{function.__name__}`")
    else:
        hooks.fail_where(domain.is_outside(as_float(args[0])), _error_of(function, domain.example))


def _error_of(function: Any, x: float) -> Exception:
    """The exception that a function raises for a number."""
    try:
        function(x)
    except (ValueError, OverflowError) as error:
        return error
    raise AssertionError(function)


def _partial(function: Any, answer: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*args: Any) -> Any:
        _check_domain(function, args)
        return answer(*args)

    return checked if function in _RAISES else answer


for _function, _ufunc in {
    math.acos: np.arccos, math.acosh: np.arccosh, math.asin: np.arcsin, math.asinh: np.arcsinh,
    math.atan: np.arctan, math.atan2: np.arctan2, math.atanh: np.arctanh, math.cbrt: np.cbrt,
    math.copysign: np.copysign, math.cos: np.cos, math.cosh: np.cosh, math.degrees: np.degrees,
    math.exp: np.exp, math.exp2: np.exp2, math.expm1: np.expm1, math.fabs: np.absolute,
    math.fmod: np.fmod, math.log10: np.log10, math.log1p: np.log1p, math.log2: np.log2,
    math.pow: np.power, math.radians: np.radians, math.sin: np.sin, math.sinh: np.sinh,
    math.sqrt: np.sqrt, math.tan: np.tan, math.tanh: np.tanh,
}.items():  # fmt: skip
    answers(_function)(_partial(_function, _by_ufunc(_ufunc)))


@answers(math.log)
def log(x: Any, *base: Any) -> Any:
    """``math.log(x, base)``."""
    _check_domain(math.log, (x, *base))
    result = _float(np.log(as_float(x)))
    return result / (log(*base) if is_traced(base[0]) else math.log(*base)) if base else result


def _special(name: str) -> Callable[[Any], Any]:
    def answer(x: Any) -> Any:
        import scipy.special

        return _float(getattr(scipy.special, name)(as_float(x)))

    return answer


answers(math.erf)(_special("erf"))
answers(math.erfc)(_special("erfc"))


def _by_test(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: tracer(as_value(ufunc(tracer(scalar_value(x)))), bool)


answers(math.isnan)(_by_test(np.isnan))
answers(math.isinf)(_by_test(np.isinf))
answers(math.isfinite)(_by_test(np.isfinite))


def _to_integer(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: integral(x, ufunc)


answers(math.floor)(_to_integer(np.floor))
answers(math.ceil)(_to_integer(np.ceil))
answers(math.trunc)(_to_integer(np.trunc))


@answers(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """``math.isclose``."""
    a, b = as_float(a), as_float(b)
    apart = np.abs(a - b)
    near = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    finite = np.logical_and(np.isfinite(a), np.isfinite(b))
    return tracer(as_value(np.logical_or(a == b, np.logical_and(finite, apart <= near))), bool)


@answers(math.remainder)
def remainder(x: Any, y: Any) -> Any:
    """``math.remainder``: IEEE's, from the nearest multiple, without rounding error."""
    x, y = as_float(x), as_float(y)
    size, by = abs(x), abs(y)
    rest = np.fmod(size, by)
    other = by - rest
    half = rest - 2.0 * np.fmod(0.5 * (size - rest), by)
    nearest = np.where(rest < other, rest, np.where(rest > other, -other, half))
    sign = stop_gradient(np.copysign(1.0, x))
    return _float(np.where(np.logical_and(np.isinf(y), np.isfinite(x)), x, sign * nearest))


@answers(math.modf)
def modf(x: Any) -> tuple[Any, Any]:
    """``math.modf``."""
    x = as_float(x)
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0.0, x - whole)
    return _float(np.copysign(part, x)), _float(whole)


@answers(math.ldexp)
def ldexp(x: Any, i: Any) -> Any:
    """``math.ldexp`` with a known exponent."""
    i = settled(i)
    if is_traced(i):
        refuse("math.ldexp(x, i) with a traced i", "Write `x * 2.0**i`.")
    if not LEAST_EXPONENT <= i <= LARGEST_EXPONENT:
        refuse(f"math.ldexp(x, {i})", "Multiply in two steps by powers of two.")
    return as_float(x) * 2.0**i


@answers(math.gcd)
def gcd(*args: Any) -> Any:
    """Refuse ``math.gcd``: the length of its loop depends on values."""
    refuse(
        "math.gcd of traced integers",
        "Write Euclid's loop:\n    while b:\n        a, b = b, a % b",
    )


@answers(math.comb, math.factorial, math.perm, math.isqrt, math.lcm, math.gamma, math.lgamma,
         math.frexp, math.nextafter, math.ulp)  # fmt: skip
def uncovered(*args: Any) -> Any:
    """Refused."""
    refuse(
        "A function of `math` that autojit does not cover (comb, factorial, perm, isqrt, lcm, "
        "gamma, lgamma, frexp, nextafter, ulp)",
        "Apply it to known arguments, or write it with NumPy functions.",
    )


# -- of many numbers ------------------------------------------------------------------


@answers(math.hypot)
def hypot(*coordinates: Any) -> Any:
    """``math.hypot`` of any number of coordinates."""
    return _norm([as_float(c) for c in coordinates])


def _norm(parts: Sequence[Any]) -> Any:
    total = abs(parts[0])
    for part in parts[1:]:
        total = np.hypot(total, part)
    return _float(total)


@answers(math.dist, when=When.ALWAYS)
def dist(p: Any, q: Any) -> Any:
    """``math.dist``."""
    p, q = list(p), list(q)
    if not any_traced([*p, *q]):
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _norm([as_float(a) - as_float(b) for a, b in zip(p, q, strict=True)])


@answers(math.prod, when=When.ALWAYS)
def prod(iterable: Any, *, start: Any = 1) -> Any:
    """``math.prod``."""
    if is_traced(iterable) and iterable.ndim:
        whole = iterable.dtype if iterable.dtype.kind != "b" else None
        return start * np.prod(iterable, axis=0, dtype=whole)
    factors = list(iterable)
    if not any_traced([start, *factors]):
        return math.prod(factors, start=start)
    result = start
    for factor in factors:
        result = result * factor
    return result


@answers(math.fsum, when=When.ALWAYS)
def fsum(iterable: Any) -> Any:
    """``math.fsum``, computed with twice the precision instead of exactly."""
    terms = list(iterable)
    if not any_traced(terms):
        return math.fsum(terms)
    total: Any = 0.0
    lost: Any = 0.0
    for term in map(as_float, terms):
        before, total = total, total + term
        lost = lost + stop_gradient(_error_of_sum(before, term, total))
    return _float(np.where(np.isfinite(total), total + lost, total))


def _error_of_sum(a: Any, b: Any, total: Any) -> Any:
    """The part of ``a + b`` that rounding dropped (Knuth)."""
    second = total - a
    return (a - (total - second)) + (b - second)


# -- complex numbers ------------------------------------------------------------------


def _complex(x: Any) -> Any:
    return python_number(scalar_value(x), complex) if is_traced(x) else complex(x)


def _by_complex_ufunc(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: python_number(as_value(ufunc(_complex(x))), complex)


for _function, _ufunc in {
    cmath.exp: np.exp, cmath.sqrt: np.sqrt, cmath.sin: np.sin, cmath.cos: np.cos,
    cmath.tan: np.tan, cmath.sinh: np.sinh, cmath.cosh: np.cosh, cmath.tanh: np.tanh,
    cmath.log10: np.log10,
}.items():  # fmt: skip
    answers(_function)(_by_complex_ufunc(_ufunc))


@answers(cmath.log)
def complex_log(x: Any, *base: Any) -> Any:
    """``cmath.log(x, base)``."""
    result = python_number(as_value(np.log(_complex(x))), complex)
    return result / complex_log(*base) if base else result


@answers(cmath.phase)
def phase(x: Any) -> Any:
    """``cmath.phase``."""
    return _float(np.angle(_complex(x)))


@answers(cmath.polar)
def polar(x: Any) -> tuple[Any, Any]:
    """``cmath.polar``."""
    return _float(np.abs(_complex(x))), phase(x)


@answers(cmath.rect)
def rect(r: Any, phi: Any) -> Any:
    """``cmath.rect``."""
    r, phi = as_float(r), as_float(phi)
    return python_number(as_value(r * np.cos(phi) + 1j * (r * np.sin(phi))), complex)


# -- statistics ---------------------------------------------------------------------------


def _statistic(original: Any, least: int, compute: Callable[..., Any]) -> None:
    """Answer a function of the numbers in an iterable; Python handles known and too few numbers."""

    def answer(data: Any, *more: Any) -> Any:
        items = list(data)
        if not any_traced((*items, *more)):
            return original(items, *more)
        if len(items) < least:
            return original([0.0] * len(items))  # Python's error
        if any(np.ndim(x) or np.iscomplexobj(x) for x in items):
            refuse(f"statistics.{original.__name__}() of traced arrays", "Use NumPy's functions.")
        return compute(items, *more)

    answers(original, when=When.ALWAYS)(answer)


def _mean(items: list[Any]) -> Any:
    return _float(np.mean(stacked(items)[0]))


def _spread(lost: int, finish: Callable[[Any], Any]) -> Callable[..., Any]:
    def compute(items: list[Any], center: Any = None) -> Any:
        row, _ = stacked(items)
        moved = row - (np.mean(row) if center is None else as_float(center))
        return _float(finish(np.sum(moved * moved) / (len(items) - lost)))

    return compute


def _middle(low: int, high: int) -> Callable[..., Any]:
    """The median. If the count is even: the mean of two elements, which are ``low`` and ``high``
    places (0 or 1) above the lower one of the two in the middle."""

    def compute(items: list[Any]) -> Any:
        ordered, n = sorted_(None, items), len(items)
        at = (n - 1) // 2
        if n % 2 or low == high:
            return ordered[at if n % 2 else at + low]
        return (ordered[at] + ordered[at + 1]) / 2

    return compute


_statistic(statistics.mean, 1, _mean)
_statistic(statistics.fmean, 1, _mean)
_statistic(statistics.median, 1, _middle(0, 1))
_statistic(statistics.median_low, 1, _middle(0, 0))
_statistic(statistics.median_high, 1, _middle(1, 1))
_statistic(statistics.variance, 2, _spread(1, lambda v: v))
_statistic(statistics.pvariance, 1, _spread(0, lambda v: v))
_statistic(statistics.stdev, 2, _spread(1, np.sqrt))
_statistic(statistics.pstdev, 1, _spread(0, np.sqrt))
