"""`math` and `cmath` on traced numbers; results are Python numbers with derivatives.

Python raises an error for an argument outside a function's domain (``math.sqrt(-1.0)``). If the
arguments are known, so does autojit. Compiled code gives NaN or infinity instead, like NumPy and
Numba, unless the function handles the error.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.capture.values.scalars import (
    any_traced,
    as_float,
    float_of,
    is_traced,
    python_number,
    scalar_value,
)
from autojit.capture.values.table import When, answers
from autojit.protocols.lifting import as_value, dtype_of, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.transformations.derivatives import stop_gradient

from .conversions import integral
from .domains import DOMAINS, check_domain

#: A power of two by which every product with a float is 0 or infinite.
MOST_SCALED = 2200


def _by_ufunc(ufunc: Any) -> Callable[..., Any]:
    return lambda *args: float_of(ufunc(*map(as_float, args)))


def _partial(function: Any, answer: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*args: Any) -> Any:
        check_domain(function, args)
        return answer(*args)

    return checked if function in DOMAINS else answer


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
    check_domain(math.log, (x, *base))
    result = float_of(np.log(as_float(x)))
    return result / (log(*base) if is_traced(base[0]) else math.log(*base)) if base else result


def _special(name: str) -> Callable[[Any], Any]:
    def answer(x: Any) -> Any:
        import scipy.special

        return float_of(getattr(scipy.special, name)(as_float(x)))

    return answer


for _function, _name in {
    math.erf: "erf", math.erfc: "erfc", math.gamma: "gamma", math.lgamma: "gammaln",
}.items():  # fmt: skip
    answers(_function)(_partial(_function, _special(_name)))


def _by_test(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: tracer(as_value(ufunc(tracer(scalar_value(as_float(x))))), bool)


answers(math.isnan)(_by_test(np.isnan))
answers(math.isinf)(_by_test(np.isinf))
answers(math.isfinite)(_by_test(np.isfinite))


def _to_integer(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: integral(x, ufunc)


answers(math.floor)(_to_integer(np.floor))
answers(math.ceil)(_to_integer(np.ceil))


@answers(math.trunc)
def trunc(x: Any) -> Any:
    """``math.trunc``, which only floats and the numbers of Python have."""
    kind = hooks.type_of(bare(x))
    if not hasattr(kind, "__trunc__"):
        raise TypeError(f"type {kind.__name__} doesn't define __trunc__ method")
    return integral(x, np.trunc)


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
    return float_of(np.where(np.logical_and(np.isinf(y), np.isfinite(x)), x, sign * nearest))


@answers(math.modf)
def modf(x: Any) -> tuple[Any, Any]:
    """``math.modf``."""
    x = as_float(x)
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0.0, x - whole)
    return float_of(np.copysign(part, x)), float_of(whole)


@answers(math.ldexp)
def ldexp(x: Any, i: Any) -> Any:
    """``math.ldexp``; infinite where Python raises OverflowError."""
    if dtype_of(i).kind not in "iub":
        raise TypeError("Expected an int as second argument to ldexp.")
    if not is_traced(i):
        i = max(-MOST_SCALED, min(i, MOST_SCALED))
    check_domain(math.ldexp, (x, i))
    return float_of(np.ldexp(as_float(x), i))


@answers(math.frexp)
def frexp(x: Any) -> tuple[Any, Any]:
    """``math.frexp``."""
    mantissa, exponent = np.frexp(as_float(x))
    return float_of(mantissa), python_number(as_value(exponent), int)


@answers(math.nextafter)
def nextafter(x: Any, y: Any) -> Any:
    """``math.nextafter``."""
    return float_of(np.nextafter(as_float(x), as_float(y)))


@answers(math.ulp)
def ulp(x: Any) -> Any:
    """``math.ulp``."""
    x = abs(stop_gradient(as_float(x)))
    return float_of(np.where(np.isfinite(x), np.spacing(x), x))


# -- of many numbers ------------------------------------------------------------------


@answers(math.hypot)
def hypot(*coordinates: Any) -> Any:
    """``math.hypot`` of any number of coordinates."""
    return _norm([as_float(c) for c in coordinates])


def _norm(parts: Sequence[Any]) -> Any:
    total = abs(parts[0])
    for part in parts[1:]:
        total = np.hypot(total, part)
    return float_of(total)


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
    return float_of(np.where(np.isfinite(total), total + lost, total))


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
    return float_of(np.angle(_complex(x)))


@answers(cmath.polar)
def polar(x: Any) -> tuple[Any, Any]:
    """``cmath.polar``."""
    return float_of(np.abs(_complex(x))), phase(x)


@answers(cmath.rect)
def rect(r: Any, phi: Any) -> Any:
    """``cmath.rect``."""
    r, phi = as_float(r), as_float(phi)
    return python_number(as_value(r * np.cos(phi) + 1j * (r * np.sin(phi))), complex)
