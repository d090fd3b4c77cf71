"""``float``, ``int``, ``bool``, ``complex``, ``round``, ``abs`` and the like on traced numbers.

The results are Python numbers, as Python would give them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import (
    as_float,
    as_item,
    float_of,
    is_traced,
    python_number,
    scalar_value,
    settled,
    truth,
    without_loss,
)
from autojit.capture.values.table import answers
from autojit.capture.values.type_tests import note_test
from autojit.errors import with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.arithmetic import bitwise_and, convert, make_complex
from autojit.ir.ops.checks import ensure
from autojit.protocols.kinds import are_noted, definite, note_call
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand, value_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.transformations.derivatives import stop_gradient

from . import library

#: The least float that is too large for 64 bits.
_TOO_LARGE = 2.0**63
#: Python's errors for floats that are no integers; ours also says that the limit is 64 bits.
_NAN = ("ValueError", "cannot convert float NaN to integer")
_INFINITE = "cannot convert float infinity to integer"
_NO_INTEGER = (
    "OverflowError",
    "cannot convert a float to an integer: it is infinite or does not fit into the 64 bits of a "
    "traced integer",
)
#: The largest power of ten that a double holds exactly.
LARGEST_EXACT_POWER = 22
#: The exponent of the largest power of ten that 64 bits hold.
LARGEST_TEN = 18
#: Splits a double into two halves of 26 bits.
_SPLITTER = 2.0**27 + 1
#: The most elements of an array that is taken apart into numbers.
MOST_NUMBERS = 1024

answers(float)(as_float)
answers(bool)(truth)


def whole(value: Value) -> Tracer:
    """A float that holds an integer, as a Python integer. The compiled code raises an error if it
    holds none (infinities, NaN, more than 64 bits)."""
    wide = to_dtype(value, np.float64)
    number = convert(wide, dtype=np.dtype(np.int64))
    inside = bitwise_and(
        arithmetic.ge(wide, full(-_TOO_LARGE, wide.type)),
        arithmetic.lt(wide, full(_TOO_LARGE, wide.type)),
    )
    missing = arithmetic.isnan(wide)
    is_checked = hooks.is_checked(np.logical_not(np.isinf(tracer(wide))), OverflowError(_INFINITE))
    failure = "overflow" if is_checked else _NO_INTEGER
    number = ensure(number, arithmetic.logical_or(inside, missing), failure=failure)
    if not hooks.is_checked(np.logical_not(tracer(missing)), ValueError(_NAN[1])):
        number = ensure(number, arithmetic.bitwise_not(missing), failure=_NAN)
    return tracer(number, int)


def integral(x: Any, ufunc: Any) -> Any:
    """A number rounded by a ufunc, as a Python integer."""
    value = scalar_value(x)
    if value.dtype.kind == "c":
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
        )
    known = value_of(bare(x))
    if known is not None:
        return int(known if value.dtype.kind in "iub" else ufunc(known))
    if value.dtype.kind in "iub":
        return x if _is_python_int(x) else python_number(value, int)
    return whole(as_value(ufunc(tracer(value))))


def _is_python_int(x: Any) -> bool:
    return isinstance(x, Tracer) and x.weak is int


@answers(int)
def int_(x: Any, *base: Any) -> Any:
    """``int(x)``: towards zero."""
    if base:
        raise TypeError("int() can't convert non-string with explicit base")
    return integral(x, np.trunc)


_FLOAT = np.dtype(np.float64)


@answers(complex)
def complex_(real: Any = 0, imag: Any = None) -> Any:
    """``complex(real, imag)``. Parts that are real numbers stay as they are, a zero's sign too."""
    if imag is None:
        return _complex(real)
    (a, b), (c, d) = map(_parts, (real, imag))
    first, second = a if d is None else a - d, c if b is None else b + c
    if not (is_traced(first) or is_traced(second)):
        return complex(first, second)
    return python_number(make_complex(as_value(first, _FLOAT), as_value(second, _FLOAT)), complex)


def _parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a number; None for that of a real number."""
    found = _complex(x)
    if scalar_value(x).dtype.kind == "c":
        return found.real, found.imag
    return found.real, None


def _complex(x: Any) -> Any:
    value = scalar_value(x)
    known = without_loss(bare(x)) if is_traced(x) else x
    return python_number(value, complex) if known is None else complex(known)


@answers(abs)
def abs_(x: Any) -> Any:
    """``abs(x)``; an integer for a bool."""
    return abs(x)


@answers(round, calls=True)
def round_(call: Any, number: Any, ndigits: Any = None) -> Any:
    """``round(number, ndigits)``: half to even."""
    ndigits = settled(ndigits)
    result = _round(call, number, ndigits)
    if are_noted([number]):
        note_call(result, round, [number] if ndigits is None else [number, ndigits], {})
    return result


def _round(call: Any, number: Any, ndigits: Any) -> Any:
    if not is_traced(number):
        number = as_tracer(number)
    number = bare(number)
    note_test(number, lambda kind: kind is np.ndarray)
    if np.shape(number) or not number.is_scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if number.dtype.kind == "c":
        raise TypeError("type complex doesn't define __round__ method")
    if ndigits is None:
        return integral(number, np.rint)
    if is_traced(ndigits):
        return _rounded_at(call, number, ndigits)
    known = at_hand(bare(number))
    if known is not None:
        return round(known, int(ndigits))
    if number.weak is float:
        return _rounded(number, int(ndigits))
    if number.weak is int:
        if -LARGEST_TEN <= ndigits < 0:
            return _rounded_to_multiple(number, 10 ** -int(ndigits))
        return number if ndigits >= 0 else call(library.rounded, number, int(ndigits))
    return np.round(number, ndigits)


def _rounded_to_multiple(n: Any, ten: int) -> Any:
    """An integer rounded to a multiple of a power of ten, half to even."""
    quotient = n // ten
    rest = n - quotient * ten
    odd = quotient % 2
    up = np.logical_or(rest > ten - rest, np.logical_and(rest == ten - rest, odd == 1))
    return (quotient + as_item(up.astype(np.int64))) * ten


def _rounded_at(call: Any, x: Any, digits: Any) -> Any:
    """``round(x, digits)`` with a traced number of digits."""
    if digits.ndim or digits.dtype.kind not in "iub":
        raise TypeError("'float' object cannot be interpreted as an integer")
    digits = python_number(as_value(digits), int)
    if x.dtype.kind in "iub":
        return call(library.rounded, integral(x, np.rint), digits)
    powers = tracer(as_value(10.0 ** np.arange(LARGEST_EXACT_POWER + 1)))
    ten = powers[np.minimum(abs(digits), LARGEST_EXACT_POWER)]
    if x.weak is not float:  # NumPy's round
        fraction, multiple = np.rint(x * ten) / ten, np.rint(x / ten) * ten
        return np.where(digits > 0, fraction, multiple).astype(x.dtype)[()]
    x = stop_gradient(x)
    many = digits > LARGEST_EXACT_POWER
    few = digits < -LARGEST_EXACT_POWER
    # Where 22 digits change nothing, more change nothing either; and where they leave 0.
    unknown = (many & (x != 0) & (abs(x) < 1e-6)) | (few & (abs(x) >= 1e22))
    hooks.fail_where(unknown & np.isfinite(x), OverflowError(_DIGITS))
    result = np.where(digits > 0, _to_fraction(x, ten), _to_multiple(x, ten))
    result = np.where(many, x, np.where(few & np.isfinite(x), np.copysign(0.0, x), result))
    return float_of(result)


_DIGITS = (
    f"round(x, n) with a traced n: more than {LARGEST_EXACT_POWER} digits are not exact in "
    "floating point"
)


def _rounded(x: Any, digits: int) -> Any:
    """A float rounded to decimal digits, from its exact value."""
    if abs(digits) > LARGEST_EXACT_POWER:
        refuse(
            f"round(x, {digits})",
            f"At most {LARGEST_EXACT_POWER} digits are exact in floating point.",
        )
    to_digits = _to_fraction if digits > 0 else _to_multiple
    return float_of(to_digits(stop_gradient(x), 10.0 ** abs(digits)))


def _to_fraction(x: Any, ten: Any) -> Any:
    """A float rounded to a multiple of ``1 / ten``."""
    scaled = x * ten
    near = _nearest(scaled, _error_of_product(x, ten, scaled))
    exact = np.logical_and(np.abs(scaled) < 2.0**52, np.abs(x) < 2.0**900)
    return np.copysign(np.where(exact, near / ten, x), x)


def _to_multiple(x: Any, ten: Any) -> Any:
    """A float rounded to a multiple of ``ten``."""
    scaled = x / ten
    product = scaled * ten
    near = _nearest(scaled, (x - product) - _error_of_product(scaled, ten, product))
    return np.copysign(np.where(np.isfinite(x), near * ten, x), x)


def _nearest(scaled: Any, lost: Any) -> Any:
    """The nearest integer. If a number lies halfway between two, its rounding error decides."""
    near = np.rint(scaled)
    gap = scaled - near
    near = np.where(np.logical_and(gap == 0.5, lost > 0), near + 1, near)
    return np.where(np.logical_and(gap == -0.5, lost < 0), near - 1, near)


def _error_of_product(a: Any, b: Any, product: Any) -> Any:
    """The part of ``a * b`` that rounding dropped (Dekker 1971)."""
    high = _high(a)
    low = a - high
    large = b * _SPLITTER - (b * _SPLITTER - b)
    small = b - large
    return low * small - (((product - high * large) - low * large) - high * small)


def _high(a: Any) -> Any:
    big = a * _SPLITTER
    return big - (big - a)


def item(x: Any, *args: Any) -> Any:
    """``x.item(*args)``: a Python number, with x's derivative."""
    x = bare(x)
    if args:
        index = args[0] if len(args) == 1 else args
        x = np.ravel(x)[index] if np.ndim(index) == 0 and not isinstance(index, tuple) else x[index]
    if x.size != 1:
        raise ValueError(
            with_place(
                "can only convert an array of size 1 to a Python scalar; this one has shape "
                f"{x.shape}. Pick an element, or add all up:\n"
                "    x[0].item()\n    np.sum(x).item()",
                user_source(),
            )
        )
    return as_item(as_tracer(np.reshape(x, ())))


def tolist(x: Any) -> Any:
    """``x.tolist()``: nested lists of Python numbers."""
    x = bare(x)
    if not x.shape:
        return as_item(x)
    if x.size > MOST_NUMBERS:
        refuse(
            f"x.tolist() of {x.size} elements",
            "Keep the array: NumPy's functions and `for` accept it directly.",
        )
    return [tolist(row) for row in x]


@answers(divmod)
def divmod_(a: Any, b: Any) -> Any:
    """``divmod(a, b)``."""
    return a // b, a % b


@answers(pow, calls=True)
def pow_(call: Any, base: Any, exp: Any, mod: Any = None) -> Any:
    """``pow(base, exp)``, or with integers ``pow(base, exp, mod)``."""
    if mod is None:
        return base**exp
    numbers = [integer(x) for x in (base, exp, mod)]
    if any(x is None for x in numbers):
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    return call(library.power, *numbers)


def integer(x: Any) -> Any:
    """A whole number as Python's integer; None for anything else."""
    if not is_traced(x):
        return int(x) if isinstance(x, (int, np.integer, np.bool_)) else None
    return integral(x, np.trunc) if scalar_value(x).dtype.kind in "iub" else None


def as_array_scalar(dtype: Any) -> Any:
    """A function like ``np.float64``, for traced numbers and arrays."""

    def convert_(x: Any) -> Any:
        if is_traced(x) and x.weak is complex and np.dtype(dtype).kind not in "bc":
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        return tracer(definite(as_value(as_tracer(bare(x)).astype(dtype))))

    return convert_
