"""asin, acos, atan and atan2: identities bring the argument near zero, then odd polynomials."""

from __future__ import annotations

import math
from typing import NamedTuple

from .coefficients import COEFFICIENTS
from .constants import PI, split
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function


def multiple_of_pi(x: Value, eighths: int) -> list[Value]:
    """A multiple of pi/8 in two parts, as constants."""
    parts = split(PI * eighths / 8, x.format, x.format.mantissa + 1)
    return [x.constant(part) for part in parts]


class HalfAngle(NamedTuple):
    """asin s = high + low, for s = |x|, or where `folded` for s = sqrt((1 - |x|) / 2).

    asin |x| = pi/2 - 2 asin sqrt((1 - |x|) / 2) then completes the answer.
    """

    folded: Value
    high: Value
    low: Value


def half_angle(magnitude: Value) -> HalfAngle:
    format = magnitude.format
    folded = magnitude > 0.5
    z = select(folded, (1.0 - magnitude) * 0.5, magnitude * magnitude)
    root = z.sqrt()
    # The root, as a short part whose square is exact, and what is missing
    root_high = root.keep_high(format.mantissa // 2 + 1)
    missing = (z - root_high * root_high) / (root + root_high).at_least(format.smallest_normal)
    s = select(folded, root, magnitude)
    high = select(folded, root_high, magnitude)
    tail = s * (z * estrin(z, COEFFICIENTS["asin", format.bits]))
    return HalfAngle(folded, high, tail + select(folded, missing, 0.0))


@vector_function("asin")
def asin(x: Value) -> Value:
    """NaN outside [-1, 1]. Within 1 ulp."""
    angle = half_angle(x.abs())
    pi_high, pi_low = split(PI / 2, x.format, x.format.mantissa + 1)
    folded = (pi_high - angle.high * 2.0) - (angle.low * 2.0 - pi_low)
    return select(angle.folded, folded, angle.high + angle.low).copysign(x)


@vector_function("acos")
def acos(x: Value) -> Value:
    """NaN outside [-1, 1]. Within 1.5 ulp."""
    angle = half_angle(x.abs())
    # acos x = pi/2 -+ asin |x|, 2 asin s or pi - 2 asin s
    doubled = select(angle.folded, x.constant(2.0), 1.0)
    negative = x.as_int() < 0
    sign = select(negative ^ ~angle.folded, -doubled, doubled)
    half_pi, pi = multiple_of_pi(x, 4), multiple_of_pi(x, 8)
    high, low = (
        select(angle.folded, select(negative, of_pi, 0.0), of_half_pi)
        for of_half_pi, of_pi in zip(half_pi, pi, strict=True)
    )
    return (high + sign * angle.high) + fmuladd(sign, angle.low, low)


def atan_of_quotient(numerator: Value, denominator: Value, base: tuple[Value, Value]) -> Value:
    """base + atan(numerator / denominator) for a quotient of at most tan(pi/8)."""
    t = numerator / denominator
    z = t * t
    tail = t * (z * estrin(z, COEFFICIENTS["atan", t.format.bits]))
    high, low = base
    return high + (t + (tail + low))


LOW_SLOPE, HIGH_SLOPE = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


@vector_function("atan")
def atan(x: Value) -> Value:
    """From 0, pi/4 or pi/2, whichever is nearest. Within 2 ulp."""
    magnitude = x.abs()
    shallow, steep = magnitude < LOW_SLOPE, magnitude > HIGH_SLOPE
    numerator = select(shallow, magnitude, select(steep, -1.0, magnitude - 1.0))
    denominator = select(shallow, 1.0, select(steep, magnitude, magnitude + 1.0))
    high, low = (
        select(shallow, 0.0, select(steep, quarter, eighth))
        for quarter, eighth in zip(multiple_of_pi(x, 4), multiple_of_pi(x, 2), strict=True)
    )
    return atan_of_quotient(numerator, denominator, (high, low)).copysign(x)


@vector_function("atan2", arity=2)
def atan2(y: Value, x: Value) -> Value:
    """The angle of (x, y), with C99's values at zeros and infinities. Within 2 ulp."""
    rise, run = y.abs(), x.abs()
    # So that neither the sum nor the product with a slope overflows where they matter
    scale = select(rise > 2.0 ** (x.format.bias - 2), x.constant(0.25), 1.0)
    rise, run = rise * scale, run * scale
    # The factors exceed 1, as a subnormal number times less could not be told from the number.
    shallow, steep = (rise * HIGH_SLOPE < run) | rise.equals(0.0), rise > run * HIGH_SLOPE
    difference = select(rise.equals(run), 0.0, rise - run)
    numerator = select(shallow, rise, select(steep, -run, difference))
    denominator = select(shallow, run, select(steep, rise, rise + run))
    denominator = select(denominator.equals(0.0), 1.0, denominator)

    backward = x.as_int() < 0
    high, low = (
        select(
            steep,
            quarter,
            select(backward, select(shallow, half, three_eighths), select(shallow, 0.0, eighth)),
        )
        for eighth, quarter, three_eighths, half in zip(
            *(multiple_of_pi(x, eighths) for eighths in (2, 4, 6, 8)), strict=True
        )
    )
    numerator = select(backward, -numerator, numerator)
    return atan_of_quotient(numerator, denominator, (high, low)).copysign(y)
