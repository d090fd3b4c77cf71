"""erf, erfc and the normal distribution's ndtr.

Up to |x| = 1, erf x = x + x P(x * x). Beyond, erf x = 1 - exp(-P(|x| - 1)), where only an absolute
error counts; and erfc x = exp(-x * x) P(t) / (x + 3), where x * x must be known to twice the
precision, and t = 9 / (x + 3) - 5/4 maps all of [1, inf) onto a short interval.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .coefficients import COEFFICIENTS
from .constants import round_to_bits
from .double_word import two_product
from .exponential import power_of_two, reduce_by_ln2, scale_by_power_of_two
from .scalar import Value, estrin, fmuladd, horner, horner, select
from .table import vector_function


def erf_excess(x: Value) -> Value:
    """erf(x) / x - 1 for |x| <= 1."""
    return estrin(x * x, COEFFICIENTS["erf", x.format.bits])


@vector_function("erf")
def erf(x: Value) -> Value:
    """Within 1 ulp."""
    bits, bias = x.format.bits, x.format.bias
    magnitude = x.abs()
    near = fmuladd(x, erf_excess(x), x)
    beyond = magnitude.at_most(5.95 if bits == 64 else 3.95) - 1.0
    r, exponent = reduce_by_ln2(-estrin(beyond, COEFFICIENTS["erf_tail", bits]), bias)
    exp_r = fmuladd(r * r, estrin(r, COEFFICIENTS["exp", bits]), r) + 1.0
    far = fmuladd(exp_r, -power_of_two(exponent), 1.0).copysign(x)
    return select(magnitude > 1.0, far, near)


def gaussian_tail(a: Value, square: Value, square_error: Value) -> Value:
    """erfc(a) for a >= 1 up to where it vanishes, given a * a in two parts."""
    bits = a.format.bits
    over = 1.0 / (a + 3.0)
    factor = estrin((a - 1.0) * over, COEFFICIENTS["erfc", bits]) * over
    r, exponent = reduce_by_ln2(-square, 2 * a.format.bias)
    r = r - square_error
    exp_r_less_1 = fmuladd(r * r, estrin(r, COEFFICIENTS["exp", bits]), r)
    return scale_by_power_of_two(fmuladd(exp_r_less_1, factor, factor), exponent)


def vanishing(x: Value) -> float:
    """Beyond this erfc is zero, and exp's exponent is still in range."""
    return 28.0 if x.format.bits == 64 else 11.0


@vector_function("erfc")
def erfc(x: Value) -> Value:
    """1 - erf(x), relative accuracy kept for large x. Within 3 ulp."""
    magnitude = x.abs()
    near = (1.0 - x) - x * erf_excess(x)
    bounded = magnitude.at_most(vanishing(x))
    tail = gaussian_tail(bounded, *two_product(bounded, bounded))
    far = select(x < 0.0, 2.0 - tail, tail)
    return select(magnitude > 1.0, far, near)


