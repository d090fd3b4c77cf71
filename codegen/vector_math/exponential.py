"""exp and its family: x = n ln 2 + r with |r| <= ln(2)/2, then a polynomial in r, times 2**n.

n comes from adding and subtracting 1.5 * 2**mantissa, which rounds to an integer and leaves its
bits in the significand (no conversion instruction); n ln 2 is subtracted in two parts, the first
so short that its product is exact (Cody & Waite, "Software Manual for the Elementary Functions").
"""

from __future__ import annotations

from .coefficients import COEFFICIENTS
from .constants import LN2, split
from .double_word import fast_two_sum
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function


def nearest_integer(x: Value, factor: float, offset: int = 0) -> tuple[Value, Value]:
    """n = round(factor * x) as a float, and n + offset in an integer's low `mantissa - 1` bits."""
    magic = x.format.magic + offset
    shifted = fmuladd(x, factor, magic)
    return shifted - magic, shifted.as_int()


def reduce_by_ln2(x: Value, offset: int) -> tuple[Value, Value]:
    """r = x - n ln 2, rounded once, and n + offset in low bits (garbage above)."""
    n, bits = nearest_integer(x, float(1 / LN2), offset)
    high, low = split(LN2, x.format, x.format.mantissa - 11)
    return fmuladd(n, -low, fmuladd(n, -high, x)), bits


def power_of_two(biased_exponent: Value) -> Value:
    """2**(e - bias) for an integer e in [1, 2 bias]; higher bits are ignored but for the sign's."""
    return (biased_exponent << biased_exponent.format.mantissa).as_float()


def scale_by_power_of_two(x: Value, exponent: Value) -> Value:
    """x * 2**(exponent - 2 bias), rounded once even if the result is subnormal.

    The power is applied as two normal powers, of which only the second product can round.
    """
    half = exponent >> 1
    return (x * power_of_two(half)) * power_of_two(exponent - half)


def exp_range(x: Value) -> tuple[float, float]:
    """Beyond these exp is 0 and inf whatever the argument."""
    return (-746.0, 710.0) if x.format.bits == 64 else (-104.0, 89.0)


@vector_function("exp")
def exp(x: Value) -> Value:
    """e**x: 1 + r + r**2 P(r), scaled. Within 1.5 ulp, subnormal results included."""
    low, high = exp_range(x)
    r, exponent = reduce_by_ln2(x.clamp(low, high), 2 * x.format.bias)
    polynomial = estrin(r, COEFFICIENTS["exp", x.format.bits])
    return scale_by_power_of_two(fmuladd(r * r, polynomial, r) + 1.0, exponent)


@vector_function("exp2")
def exp2(x: Value) -> Value:
    """2**x: r = x - n is exact, 1 + r P(r), scaled. Within 1.5 ulp."""
    format = x.format
    x = x.clamp(-format.bias - format.mantissa - 3.0, format.bias + 1.0)
    n, exponent = nearest_integer(x, 1.0, 2 * format.bias)
    r = x - n
    polynomial = estrin(r, COEFFICIENTS["exp2", format.bits])
    return scale_by_power_of_two(fmuladd(r, polynomial, 1.0), exponent)


def scaled_expm1(x: Value, halvings: int) -> tuple[Value, Value]:
    """(e**x - 1) / 2**halvings as high + low, for x from about -40 to where that overflows.

    (2**n - 1) + 2**n r + 2**n r**2 P(r), largest first. Loses the sign of zero, and the last bits
    of subnormal x.
    """
    r, exponent = reduce_by_ln2(x, x.format.bias - halvings)
    scale = power_of_two(exponent)
    square = r * r * estrin(r, COEFFICIENTS["exp", x.format.bits])
    linear, error = fast_two_sum(scale - 2.0**-halvings, scale * r)
    high, low = fast_two_sum(linear, scale * square)
    return high, low + error


@vector_function("expm1")
def expm1(x: Value) -> Value:
    """e**x - 1, relative accuracy kept at 0. Within 2 ulp."""
    high, low = scaled_expm1(x.clamp(-40.0, exp_range(x)[1]), 1)
    half = high + low
    return select(x.abs() < 2.0 ** -(x.format.mantissa + 2), x, half + half)


@vector_function("sigmoid")
def sigmoid(x: Value) -> Value:
    """1 / (1 + e**-x), from e**-|x| so that neither end loses digits. Within 2 ulp."""
    decay = exp(-x.abs())
    negative = x < 0.0
    denominator, error = fast_two_sum(decay.constant(1.0), decay)
    quotient = select(negative, decay, 1.0) / denominator
    # The denominator's reciprocal is one of the two probabilities: no second division.
    reciprocal = select(negative, 1.0 - quotient, quotient)
    return fmuladd(quotient * error, -reciprocal, quotient)
