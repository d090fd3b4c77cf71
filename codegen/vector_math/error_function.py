"""erf, erfc and the normal distribution's ndtr.

Near zero, erf x = x + x P(x * x). Farther out, erf x = 1 - exp(-P(|x| - 1)), where only an absolute
error counts; and erfc x = exp(-x * x) P(t) / (x + 1/2), where x * x must be known to twice the
precision, and t = (x - 7/4) / (x + 3) maps [0.8, inf) onto [-1/4, 1).
"""

from __future__ import annotations

import math

from .coefficients import COEFFICIENTS
from .double_word import fast_two_sum, two_product
from .exponential import power_of_two, reduce_by_ln2, scale_by_power_of_two
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function

FROM_TAIL = 0.8
"""Beyond this erfc is computed from its tail: earlier than erf, so that 1 - erf does not cancel."""
SQRT_HALF_ERROR = {64: -4.833646656726457e-17, 32: 1.2101617152817436e-08}
"""sqrt(1/2) less its rounding to each width."""


def erf_excess(x: Value) -> Value:
    """erf(x) / x - 1 for |x| <= 1."""
    return estrin(x * x, COEFFICIENTS["erf", x.format.bits])


@vector_function("erf")
def erf(x: Value) -> Value:
    """Within 2 ulp."""
    bits, bias = x.format.bits, x.format.bias
    magnitude = x.abs()
    near = fmuladd(x, erf_excess(x), x)
    beyond = magnitude.at_most(5.95 if bits == 64 else 3.95) - 1.0
    r, exponent = reduce_by_ln2(-estrin(beyond, COEFFICIENTS["erf_tail", bits]), bias)
    exp_r = fmuladd(r * r, estrin(r, COEFFICIENTS["exp", bits]), r) + 1.0
    far = fmuladd(exp_r, -power_of_two(exponent), 1.0).copysign(x)
    return select(magnitude > 1.0, far, near)


def gaussian_tail(a: Value, square: Value, square_error: Value) -> Value:
    """erfc(a) for a from FROM_TAIL to the point where it vanishes, given a * a in two parts."""
    bits = a.format.bits
    t = (a - 1.75) / (a + 3.0)
    constant, *rest = COEFFICIENTS["erfc", bits]
    polynomial, polynomial_low = fast_two_sum(a.constant(constant), t * estrin(t, rest))
    denominator = a + 0.5
    factor = polynomial / denominator
    # The polynomial is everywhere about 0.6: no second division for the small term.
    factor_low = (polynomial_low - factor * (a - (denominator - 0.5))) * (factor * (1 / 0.6))
    r, exponent = reduce_by_ln2(-square, 2 * a.format.bias)
    r = r - square_error
    exp_r_less_1 = fmuladd(r * r, estrin(r, COEFFICIENTS["exp", bits]), r)
    result = factor + fmuladd(exp_r_less_1, factor, factor_low)
    return scale_by_power_of_two(result, exponent)


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
    return select(magnitude > FROM_TAIL, far, near)


@vector_function("ndtr")
def ndtr(x: Value) -> Value:
    """The standard normal distribution function, erfc(-x / sqrt 2) / 2. Within 4 ulp."""
    format = x.format
    root_high, root_low = math.sqrt(0.5), SQRT_HALF_ERROR[format.bits]
    root_high = format.round(root_high)
    limit = vanishing(x) / math.sqrt(0.5)
    bounded = x.clamp(-limit, limit)
    t, t_low = two_product(bounded, x.constant(root_high))
    t_low = fmuladd(bounded, root_low, t_low)
    # The derivative of erf, to a few per cent, carries the low part of t.
    slope = fmuladd(t * t, -0.71, 1.13)
    near = (t + 1.0) + fmuladd(t_low, slope, t * erf_excess(t))
    square, square_error = two_product(bounded, bounded)
    tail = gaussian_tail(t.abs(), square * 0.5, square_error * 0.5)
    far = select(x > 0.0, 2.0 - tail, tail)
    return select(t.abs() > FROM_TAIL, far, near) * 0.5
