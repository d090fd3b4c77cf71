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
    is_traced,
    python_number,
    scalar_value,
    settled,
    truth,
    without_loss,
)
from autojit.capture.values.table import answers
from autojit.errors import with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.ir.ops.arithmetic import bitwise_and, convert
from autojit.ir.ops.checks import ensure
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import at_hand, value_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.transformations.derivatives import stop_gradient

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


@answers(complex)
def complex_(real: Any = 0, imag: Any = None) -> Any:
    """``complex(real, imag)``."""
    first = _complex(real)
    return first if imag is None else first + 1j * _complex(imag)


def _complex(x: Any) -> Any:
    value = scalar_value(x)
    known = without_loss(bare(x)) if is_traced(x) else x
    return python_number(value, complex) if known is None else complex(known)


@answers(abs)
def abs_(x: Any) -> Any:
    """``abs(x)``; an integer for a bool."""
    return abs(x)


@answers(round)
def round_(number: Any, ndigits: Any = None) -> Any:
    """``round(number, ndigits)``: half to even."""
    ndigits = settled(ndigits)
    if is_traced(ndigits):
        refuse("round(x, n) with a traced n", "Make n a static argument.")
    if not is_traced(number) or np.shape(number) or not bare(number).is_scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if number.dtype.kind == "c":
        raise TypeError("type complex doesn't define __round__ method")
    if ndigits is None:
        return integral(number, np.rint)
    known = at_hand(bare(number))
    if known is not None:
        return round(known, int(ndigits))
    if number.weak is float:
        return _rounded(number, int(ndigits))
    if number.weak is int:
        if ndigits >= 0:
            return number
        ten = 10 ** -int(ndigits)
        return _rounded_to_multiple(number, ten)
    return np.round(number, ndigits)


def _rounded_to_multiple(n: Any, ten: int) -> Any:
    """An integer rounded to a multiple of a power of ten, half to even."""
    quotient = n // ten
    rest = n - quotient * ten
    odd = quotient % 2
    up = np.logical_or(rest * 2 > ten, np.logical_and(rest * 2 == ten, odd == 1))
    return (quotient + as_item(up.astype(np.int64))) * ten


def _rounded(x: Any, digits: int) -> Any:
    """A float rounded to decimal digits, from its exact value.

    The product with a power of ten is rounded. If it lies halfway between two integers, the
    rounding error of the product decides.
    """
    if abs(digits) > LARGEST_EXACT_POWER:
        refuse(
            f"round(x, {digits})",
            f"At most {LARGEST_EXACT_POWER} digits are exact in floating point.",
        )
    ten = 10.0 ** abs(digits)
    x = stop_gradient(x)
    if digits > 0:
        scaled = x * ten
        lost = _error_of_product(x, ten, scaled)
    else:
        scaled = x / ten
        product = scaled * ten
        lost = (x - product) - _error_of_product(scaled, ten, product)
    near = np.rint(scaled)
    gap = scaled - near
    near = np.where(np.logical_and(gap == 0.5, lost > 0), near + 1, near)
    near = np.where(np.logical_and(gap == -0.5, lost < 0), near - 1, near)
    result = near / ten if digits > 0 else near * ten
    exact = np.logical_and(np.abs(scaled) < 2.0**52, np.abs(x) < 2.0**900)
    result = np.where(exact, result, x) if digits > 0 else np.where(np.isfinite(x), result, x)
    return python_number(as_value(np.copysign(result, x)), float)


def _error_of_product(a: Any, b: float, product: Any) -> Any:
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


@answers(pow)
def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """``pow(base, exp)``; with a modulus it is refused."""
    if mod is not None:
        refuse("pow(base, exp, mod)", "Write `base ** exp % mod`.")
    return base**exp


def as_array_scalar(dtype: Any) -> Any:
    """A function like ``np.float64``, for traced numbers and arrays."""

    def convert_(x: Any) -> Any:
        made = as_tracer(bare(x)).astype(dtype)
        made.boxed = False
        return made

    return convert_
