"""sin, cos and tan: x = n pi/2 + r, |r| <= pi/4, and the polynomial that n modulo 4 selects.

With z = r * r, sin r = r + r z P(z) and cos r = 1 - z/2 + z z Q(z); the low part of r and the
rounding error of 1 - z/2 join the small terms.

The `_moderate` versions take a fifth of the time but are right only up to `MODERATE_LIMIT`.
"""

from __future__ import annotations

from typing import NamedTuple

from .argument_reduction import MODERATE_LIMIT, Reduced, reduce_any, reduce_moderate
from .coefficients import COEFFICIENTS
from .double_word import fast_two_sum
from .scalar import Value, estrin, fmuladd, select
from .table import Moderate, vector_function


class Quarter(NamedTuple):
    """sin r and cos r, each as a leading and a small term, and the last two bits of n."""

    sin: tuple[Value, Value]
    cos: tuple[Value, Value]
    odd: Value
    """The last bit, as a condition."""
    sign: Value
    """The next, in the place of a float's sign."""

    def pick(
        self, if_odd: tuple[Value, Value], if_even: tuple[Value, Value]
    ) -> tuple[Value, Value]:
        leading, small = (select(self.odd, *pair) for pair in zip(if_odd, if_even, strict=True))
        return leading, small


def quarter(reduced: Reduced, turn: int) -> Quarter:
    """Both polynomials, in quadrant n + turn."""
    r, low, format = reduced.high, reduced.low, reduced.high.format
    z = r * r
    sine_polynomial = estrin(z, COEFFICIENTS["sin", format.bits])
    cosine_polynomial = estrin(z, COEFFICIENTS["cos", format.bits])
    half = z * 0.5
    leading = 1.0 - half
    error = (1.0 - leading) - half
    sine = r, fmuladd(r * z, sine_polynomial, low)
    cosine = leading, fmuladd(z * z, cosine_polynomial, fmuladd(r, -low, error))
    n = reduced.quadrant + turn if turn else reduced.quadrant
    sign = (n << (format.bits - 2)) & format.sign_mask
    return Quarter(sine, cosine, (n & 1).equals(1), sign)


def sine(x: Value, reduced: Reduced) -> Value:
    at = quarter(reduced, 0)
    leading, small = at.pick(at.cos, at.sin)
    return (leading + small).negate_if(at.sign ^ x.sign_bit())


def cosine(reduced: Reduced) -> Value:
    at = quarter(reduced, 1)
    leading, small = at.pick(at.cos, at.sin)
    return (leading + small).negate_if(at.sign)


def tangent(x: Value, reduced: Reduced) -> Value:
    at = quarter(reduced, 0)
    odd_sign = (reduced.quadrant << (x.format.bits - 1)) ^ x.sign_bit()
    numerator, numerator_low = fast_two_sum(*at.pick(at.cos, at.sin))
    denominator, denominator_low = fast_two_sum(*at.pick(at.sin, at.cos))
    quotient = numerator / denominator
    correction = (numerator_low - quotient * denominator_low) / denominator
    return (quotient + correction).negate_if(odd_sign)


def sin_moderate(x: Value) -> Value:
    return sine(x, reduce_moderate(x.abs()))


def cos_moderate(x: Value) -> Value:
    return cosine(reduce_moderate(x.abs()))


def tan_moderate(x: Value) -> Value:
    return tangent(x, reduce_moderate(x.abs()))


@vector_function("sin", moderate=Moderate(sin_moderate, MODERATE_LIMIT))
def sin(x: Value) -> Value:
    """Within 1 ulp for every finite x."""
    return sine(x, reduce_any(x.abs()))


@vector_function("cos", moderate=Moderate(cos_moderate, MODERATE_LIMIT))
def cos(x: Value) -> Value:
    """Within 1 ulp for every finite x."""
    return cosine(reduce_any(x.abs()))


@vector_function("tan", moderate=Moderate(tan_moderate, MODERATE_LIMIT))
def tan(x: Value) -> Value:
    """Within 2 ulp for every finite x."""
    return tangent(x, reduce_any(x.abs()))
