"""Arithmetic between Python integers: exact, or an error when the compiled code runs.

A traced Python integer is an int64. NumPy's arithmetic would wrap around, and give 0 for a division
by zero; Python's does neither. So a result that does not fit into 64 bits raises OverflowError, and
a division by zero ZeroDivisionError. The bounds of many integers are known, such as those of a loop
index or of a result of `% 10`. Errors that these bounds exclude are not checked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.checks import ensure, error_of
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import LARGEST, LEAST, Bounds, bounds_of, with_bounds
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .lifting import as_value, to_dtype, tracer

#: The answers for ufuncs whose operands are Python integers, traced or not.
EXACT: dict[Any, Callable[..., Tracer]] = {}

_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
#: Half of the error of a result that has wrapped around; rounding errors are far smaller.
_WRAPPED = 2.0**62


def _exact(ufunc: Any) -> Callable[[Callable[..., Tracer]], Callable[..., Tracer]]:
    def register(answer: Callable[..., Tracer]) -> Callable[..., Tracer]:
        EXACT[ufunc] = answer
        return answer

    return register


def _value(x: Any) -> Value:
    """An operand; raises OverflowError for a known integer that does not fit into 64 bits."""
    if isinstance(x, int) and not LEAST <= x <= LARGEST:
        raise OverflowError(with_place(_TOO_LARGE.format(int(x)), user_source()))
    return as_value(x, _INT)


_TOO_LARGE = (
    "The integer {} is combined with a traced one, but does not fit into the 64 bits that "
    "integers have in compiled code. Compute with floats:\n"
    "    float(n) + 2.0**63                 # not: n + 2**63"
)


def _known(value: Value, bounds: Bounds) -> Tracer:
    """A Python integer with known bounds."""
    return with_bounds(tracer(value, int), bounds)


def _fits(bounds: Bounds) -> bool:
    return bounds[0] >= LEAST and bounds[1] <= LARGEST


def _checked(value: Value, holds: Callable[[], Value], bounds: Bounds) -> Tracer:
    """A result that lies between bounds, checked if these do not fit into 64 bits."""
    if not _fits(bounds):
        value = ensure(value, holds(), failure="overflow")
    return _known(value, (max(bounds[0], LEAST), min(bounds[1], LARGEST)))


def _not_negative(x: Value) -> Value:
    return arithmetic.ge(x, 0)


@_exact(np.add)
def _add(left: Any, right: Any) -> Tracer:
    a, b = _value(left), _value(right)
    total = arithmetic.add(a, b)

    def holds() -> Value:  # the sum has the sign of one operand
        same = arithmetic.bitwise_and(
            arithmetic.bitwise_xor(total, a), arithmetic.bitwise_xor(total, b)
        )
        return _not_negative(same)

    (low, high), (least, most) = bounds_of(left), bounds_of(right)
    return _checked(total, holds, (low + least, high + most))


@_exact(np.subtract)
def _subtract(left: Any, right: Any) -> Tracer:
    a, b = _value(left), _value(right)
    difference = arithmetic.sub(a, b)

    def holds() -> Value:  # operands of one sign, or the sign of the first
        differ = arithmetic.bitwise_and(
            arithmetic.bitwise_xor(a, b), arithmetic.bitwise_xor(a, difference)
        )
        return _not_negative(differ)

    (low, high), (least, most) = bounds_of(left), bounds_of(right)
    return _checked(difference, holds, (low - most, high - least))


@_exact(np.multiply)
def _multiply(left: Any, right: Any) -> Tracer:
    a, b = _value(left), _value(right)
    product = arithmetic.mul(a, b)
    corners = [x * y for x in bounds_of(left) for y in bounds_of(right)]
    return _checked(
        product,
        lambda: _is_near(product, _as_float(a) * _as_float(b)),
        (min(corners), max(corners)),
    )


def _as_float(x: Value) -> Value:
    return to_dtype(x, _FLOAT)


def _is_near(result: Value, in_floats: Value) -> Value:
    """Whether an integer result has not wrapped around, judged by the result in floats."""
    error = arithmetic.absolute(in_floats - _as_float(result))
    return arithmetic.lt(error, full(_WRAPPED, error.type))


def _divisor(x: Any) -> Value:
    """A divisor, which must not be 0."""
    value, (low, high) = _value(x), bounds_of(x)
    if not low <= 0 <= high:
        return value
    held, failure = arithmetic.ne(value, 0), "zero_division"
    is_checked = hooks.is_checked(tracer(held), error_of(failure))
    return value if is_checked else ensure(value, held, failure=failure)


@_exact(np.floor_divide)
def _floor_divide(left: Any, right: Any) -> Tracer:
    a, b = _value(left), _divisor(right)
    (low, high), (least, most) = bounds_of(left), bounds_of(right)
    quotient = arithmetic.floor_divide(a, b)
    ends = [d for d in {least, most, -1, 1} if d and least <= d <= most]
    corners = [x // d for x in (low, high) for d in ends] or [0]

    def holds() -> Value:  # only the least integer divided by -1 does not fit
        return arithmetic.logical_or(arithmetic.ne(a, LEAST), arithmetic.ne(b, -1))

    return _checked(quotient, holds, (min(corners), max(corners)))


@_exact(np.remainder)
def _remainder(left: Any, right: Any) -> Tracer:
    least, most = bounds_of(right)
    rest = arithmetic.remainder(_value(left), _divisor(right))
    return _known(rest, (min(0, least + 1), max(0, most - 1)))


@_exact(np.true_divide)
def _true_divide(left: Any, right: Any) -> Tracer:
    return tracer(_as_float(_value(left)) / _as_float(_divisor(right)), float)


@_exact(np.left_shift)
def _left_shift(left: Any, right: Any) -> Tracer:
    a, by = _value(left), _count(right)
    shifted = arithmetic.shift_left(a, by)
    (low, high), (_, most) = bounds_of(left), bounds_of(right)
    factor = 1 << min(max(most, 0), 64)
    bounds = min(low, low * factor), max(high, high * factor)
    return _checked(shifted, lambda: arithmetic.eq(arithmetic.shift_right(shifted, by), a), bounds)


@_exact(np.right_shift)
def _right_shift(left: Any, right: Any) -> Tracer:
    low, high = bounds_of(left)
    return _known(arithmetic.shift_right(_value(left), _count(right)), (min(low, 0), max(high, 0)))


def _count(x: Any) -> Value:
    """The number of places of a shift, which must not be negative."""
    value, (low, _) = _value(x), bounds_of(x)
    if low >= 0:
        return value
    return ensure(value, _not_negative(value), failure="negative_shift")


@_exact(np.power)
def _power(base: Any, exponent: Any) -> Tracer:
    if type(exponent) is int:
        return _to_known_power(base, exponent)
    a, n = _value(base), _value(exponent)
    result = arithmetic.power(a, n)  # a negative exponent is an error at run time
    if type(base) is int:
        return _checked(result, lambda: _fits_as_power(base, n), _powers(base, exponent))
    in_floats = arithmetic.power(_as_float(a), _as_float(n))
    checked = ensure(result, _is_near(result, in_floats), failure="overflow")
    return _known(checked, (LEAST, LARGEST))


def _powers(base: int, exponent: Any) -> Bounds:
    """The bounds of a power of a known base; no 64th power fits, except those of -1, 0 and 1."""
    most = min(max(bounds_of(exponent)[1], 0), 64)
    size = abs(base) ** most if abs(base) > 1 else 1
    return (-size if base < 0 else 0, size)


def _fits_as_power(base: int, n: Value) -> Value:
    most = next(k for k in range(64) if not LEAST <= base ** (k + 1) <= LARGEST)
    return arithmetic.le(n, most)


def _to_known_power(base: Tracer, exponent: int) -> Tracer:
    if exponent < 0:  # Python gives a float
        value = _as_float(_divisor(base))
        return tracer(arithmetic.power(value, full(float(exponent), value.type)), float)
    value, (low, high) = _value(base), bounds_of(base)
    if exponent == 0:
        return _known(full(1, value.type), (1, 1))
    most = _root(LARGEST, exponent)
    least = -_root(-LEAST if exponent % 2 else LARGEST, exponent)
    result = arithmetic.power(value, full(exponent, value.type))
    if exponent <= 64:
        result = arithmetic.integer_power(value, exponent=exponent)
    if least <= low and high <= most:
        ends = [low**exponent, high**exponent, *([0] if low <= 0 <= high else [])]
        return _known(result, (min(ends), max(ends)))
    inside = arithmetic.bitwise_and(arithmetic.ge(value, least), arithmetic.le(value, most))
    return _known(ensure(result, inside, failure="overflow"), (LEAST, LARGEST))


def _root(x: int, n: int) -> int:
    """The largest integer whose n-th power is at most x."""
    guess = max(1, math.ceil(x ** (1 / n)) + 1)
    return next(k for k in range(guess, -1, -1) if k**n <= x) if n < 64 else 1


@_exact(np.negative)
def _negative(x: Any) -> Tracer:
    return _subtract(0, x)


@_exact(np.absolute)
def _absolute(x: Any) -> Tracer:
    value, (low, high) = _value(x), bounds_of(x)
    size = max(-low, high)
    least = 0 if low <= 0 <= high else min(abs(low), abs(high))
    return _checked(arithmetic.absolute(value), lambda: arithmetic.ne(value, LEAST), (least, size))
