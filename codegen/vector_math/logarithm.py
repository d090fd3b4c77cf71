"""log and its family: x = 2**k m with m in [sqrt(1/2), sqrt(2)), then log m from atanh.

With f = m - 1 (exact), s = f / (2 + f) and z = s * s, log m = 2 atanh(s) = 2 s + s z P(z). Since
2 s = f - s f, this is f - f*f/2 + s (f*f/2 + z P(z)): a small correction to the exact f (Tang,
"Table-driven implementation of the logarithm function", 1990; Muller, "Elementary Functions").
"""

from __future__ import annotations

import math
import struct

from .coefficients import COEFFICIENTS
from .constants import LN2, LN10, split
from .double_word import fast_two_sum, two_sum
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function


def bits_of(number: float, bits: int) -> int:
    """The bit pattern of a number in a format."""
    float_code, int_code = ("d", "q") if bits == 64 else ("f", "i")
    return int(struct.unpack(int_code, struct.pack(float_code, number))[0])


def split_exponent(x: Value) -> tuple[Value, Value]:
    """x = 2**k m for a normal positive x: k + bias as an integer, and m in [sqrt(1/2), sqrt(2))."""
    format = x.format
    lowest = bits_of(math.sqrt(0.5), format.bits)
    from_lowest = x.as_int() + ((format.bias << format.mantissa) - lowest)
    m = ((from_lowest & ((1 << format.mantissa) - 1)) + lowest).as_float()
    return from_lowest >> format.mantissa, m


def integer_to_float(small: Value, minus: Value | float) -> Value:
    """An integer in [0, 2**mantissa) as a float, less a number: cheaper than a conversion."""
    unit = 2.0**small.format.mantissa
    digits = (small | bits_of(unit, small.format.bits)).as_float()
    return digits - (minus + unit)


def normalise(x: Value) -> tuple[Value, Value]:
    """x = 2**k m for a positive x, subnormals too; k as a float."""
    format = x.format
    lift = format.mantissa + 2
    tiny = x < format.smallest_normal
    biased, m = split_exponent(select(tiny, x * 2.0**lift, x))
    return integer_to_float(biased, select(tiny, x.constant(format.bias + lift), format.bias)), m


def at_edges(x: Value, inside: Value) -> Value:
    """A logarithm's value where x is not a positive finite number, else `inside`."""
    edge = select(x.equals(0.0), x.constant(-math.inf), select(x < 0.0, math.nan, x))
    return select((x > 0.0) & (x < math.inf), inside, edge)


def atanh_correction(f: Value) -> tuple[Value, Value]:
    """h = f*f/2 and c such that log(1 + f) = f - (h - c)."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    return half_square, s * fmuladd(z, estrin(z, COEFFICIENTS["log", f.format.bits]), half_square)


def log_from_parts(k: Value, f: Value) -> Value:
    """k ln 2 + log(1 + f), for f between sqrt(1/2) - 1 and sqrt(2) - 1."""
    high, low = split(LN2, f.format, f.format.mantissa - 11)
    half_square, correction = atanh_correction(f)
    return fmuladd(k, high, f - (half_square - fmuladd(k, low, correction)))


@vector_function("log")
def log(x: Value) -> Value:
    """Natural logarithm. Within 1 ulp, subnormal arguments included."""
    k, m = normalise(x)
    return at_edges(x, log_from_parts(k, m - 1.0))


def log_in_base(x: Value, base: int) -> Value:
    """The logarithm in a base: log m in two parts, times 1 / ln base in two parts."""
    format = x.format
    k, m = normalise(x)
    f = m - 1.0
    half_square, correction = atanh_correction(f)
    high = (f - half_square).keep_high((format.mantissa + 2) // 2)
    low = (f - high) - half_square + correction
    ln_base = LN2 if base == 2 else LN10
    scale_high, scale_low = split(1 / ln_base, format, format.mantissa // 2)
    leading = high * scale_high
    rest = fmuladd(high, scale_low, low * (scale_high + scale_low))
    ln2_high, ln2_low = split(LN2 / ln_base, format, format.mantissa - 11)
    total, error = fast_two_sum(k * ln2_high, leading)
    return at_edges(x, total + (error + fmuladd(k, ln2_low, rest)))


@vector_function("log2")
def log2(x: Value) -> Value:
    """Logarithm in base 2, exact for powers of 2. Within 1 ulp."""
    return log_in_base(x, 2)


@vector_function("log10")
def log10(x: Value) -> Value:
    """Logarithm in base 10. Within 1 ulp."""
    return log_in_base(x, 10)


def log1p_inside(x: Value, low: Value | None = None, doublings: Value | None = None) -> Value:
    """log((1 + x + low) * 2**doublings) for finite x > -1, |low| << |x|; loses the sign of zero.

    The rounding error of u = 1 + x, scaled like u, is put back into f = m - 1: for small x that
    restores f = x exactly.
    """
    format = x.format
    u, error = two_sum(x.constant(1.0), x)
    if low is not None:
        error = error + low
    biased, m = split_exponent(u)
    # Far out the error does not matter, and 1 / scale may not be a normal number.
    over_scale = ((2 * format.bias - biased) << format.mantissa).as_float()
    over_scale = select(x < 2.0 ** (format.mantissa + 2), over_scale, 0.0)
    k = integer_to_float(biased, format.bias)
    k = k if doublings is None else k + doublings
    return log_from_parts(k, fmuladd(error, over_scale, m - 1.0))


@vector_function("log1p")
def log1p(x: Value) -> Value:
    """log(1 + x), relative accuracy kept at 0. Within 1.5 ulp."""
    edge = select(x.equals(-1.0), x.constant(-math.inf), select(x < -1.0, math.nan, x))
    inside = (x > -1.0) & (x < math.inf)
    return select(inside, log1p_inside(x).copysign(x), edge)
