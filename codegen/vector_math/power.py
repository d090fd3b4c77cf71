"""pow, cbrt and hypot."""

from __future__ import annotations

import math

from .coefficients import COEFFICIENTS
from .constants import LN2, split
from .double_word import fast_two_sum, two_product
from .exponential import nearest_integer, power_of_two, reduce_by_ln2, scale_by_power_of_two
from .logarithm import integer_to_float, log_from_parts, normalise, split_exponent
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function


def log_double_word(x: Value) -> tuple[Value, Value]:
    """log x of a positive double as high + low, relative error about 2**-65.

    As in `logarithm`, log m = 2 s + s z P(z), with s, z and P's first coefficient in two parts.
    """
    k, m = normalise(x)
    f = m - 1.0
    denominator = m + 1.0
    denominator_low = m - (denominator - 1.0)
    inverse = 1.0 / denominator
    s = f * inverse
    product, error = two_product(s, denominator)
    s_low = (((f - product) - error) - s * denominator_low) * inverse
    z, z_low = two_product(s, s)
    z_low = fmuladd(s * 2.0, s_low, z_low)

    leading, *rest = COEFFICIENTS["log_double_word", 64]
    tail = z * estrin(z, rest)
    polynomial = tail + 2 / 3
    polynomial_low = ((2 / 3 - polynomial) + tail) + leading
    cubic, cubic_low = two_product(z, polynomial)
    cubic_low = cubic_low + fmuladd(z, polynomial_low, z_low * polynomial)
    term, term_low = two_product(s, cubic)
    term_low = term_low + fmuladd(s, cubic_low, s_low * cubic)

    log_m, low = fast_two_sum(s + s, term)
    low = low + fmuladd(s_low, 2.0, term_low)
    ln2_high, ln2_low = split(LN2, x.format, x.format.mantissa - 11)
    high, carry = fast_two_sum(k * ln2_high, log_m)
    return fast_two_sum(high, carry + fmuladd(k, ln2_low, low))


def magnitude_of_double_power(base: Value, y: Value) -> Value:
    """base ** y for a positive finite base."""
    # Beyond this the result is 0, 1 or inf already, and products must not overflow.
    y = y.clamp(-(2.0**70), 2.0**70)
    log_high, log_low = log_double_word(base)
    exponent, error = two_product(y, log_high)
    error = fmuladd(y, log_low, error)
    inside = exponent.abs() < 760.0
    exponent = exponent.clamp(-746.0, 710.0)
    r, bits = reduce_by_ln2(exponent, 2 * base.format.bias)
    r = r + select(inside, error, 0.0)
    polynomial = estrin(r, COEFFICIENTS["exp", 64])
    return scale_by_power_of_two(fmuladd(r * r, polynomial, r) + 1.0, bits)


def magnitude_of_float_power(base: Value, y: Value) -> Value:
    """base ** y for a positive finite base: in double, where nothing overflows or is subnormal."""
    wide = base.widen()
    biased, m = split_exponent(wide)
    k = integer_to_float(biased, wide.format.bias)
    # An infinite y would make NaN of 1 ** y.
    y = y.widen().clamp(-1e30, 1e30)
    exponent = (y * log_from_parts(k, m - 1.0)).clamp(-110.0, 95.0)
    r, bits = reduce_by_ln2(exponent, wide.format.bias)
    polynomial = estrin(r, COEFFICIENTS["exp", 32])
    return ((fmuladd(r * r, polynomial, r) + 1.0) * power_of_two(bits)).narrow()


@vector_function("pow", arity=2)
def pow(x: Value, y: Value) -> Value:
    """x ** y with the special cases of C99 and IEEE 754. Within 1.5 ulp."""
    base = x.abs()
    magnitude = magnitude_of_double_power if x.format.bits == 64 else magnitude_of_float_power
    result = magnitude(base, y)
    # An infinite or zero base gives infinity or zero.
    result = select(base.equals(select(y > 0.0, x.constant(math.inf), 0.0)), math.inf, result)
    result = select(base.equals(select(y > 0.0, x.constant(0.0), math.inf)), 0.0, result)
    half = y * 0.5
    integer = y.intrinsic("llvm.rint").equals(y)
    odd = integer & ~half.intrinsic("llvm.rint").equals(half)
    result = select(odd, result.copysign(x), result)
    undefined = (x < 0.0) & (base < math.inf) & ~integer
    result = select(undefined | x.is_nan() | y.is_nan(), math.nan, result)
    return select(x.equals(1.0) | y.equals(0.0), 1.0, result)


@vector_function("cbrt")
def cbrt(x: Value) -> Value:
    """t (1 + e)**(1/3), where t guesses the root in so few bits that t**3 is exact.

    Within 1 ulp.
    """
    format = x.format
    k, m = normalise(x.abs())
    third, biased = nearest_integer(k, 1 / 3, format.bias)
    rest = k - third * 3.0
    guess = estrin(m, COEFFICIENTS["cbrt", format.bits])
    up, down = rest > 0.0, rest < 0.0
    factor = select(up, x.constant(2.0), select(down, x.constant(0.5), 1.0))
    root_of_factor = select(
        up, x.constant(2 ** (1 / 3)), select(down, x.constant(0.5 ** (1 / 3)), 1.0)
    )
    m = m * factor
    t = (guess * root_of_factor).keep_high(format.mantissa + 1 - (format.mantissa + 1) // 3)
    cube = t * t * t
    e = (m - cube) / cube
    series = fmuladd(e, fmuladd(e, 5 / 81, -1 / 9), 1 / 3)
    root = fmuladd(t * e, series, t) * power_of_two(biased)
    regular = (x.abs() > 0.0) & (x.abs() < math.inf)
    return select(regular, root.copysign(x), x)


@vector_function("hypot", arity=2)
def hypot(x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) without needless overflow; infinite if either is. Within 1.5 ulp."""
    x, y = x.abs(), y.abs()
    if x.format.bits == 32:
        x_wide, y_wide = x.widen(), y.widen()
        root = fmuladd(x_wide, x_wide, y_wide * y_wide).sqrt().narrow()
    else:
        larger = select(x > y, x, y)
        huge, tiny = larger > 2.0**500, larger < 2.0**-450
        scale = select(huge, x.constant(2.0**-600), select(tiny, x.constant(2.0**600), 1.0))
        unscale = select(huge, x.constant(2.0**600), select(tiny, x.constant(2.0**-600), 1.0))
        x_scaled, y_scaled = x * scale, y * scale
        root = fmuladd(x_scaled, x_scaled, y_scaled * y_scaled).sqrt() * unscale
    return select(x.equals(math.inf) | y.equals(math.inf), math.inf, root)
