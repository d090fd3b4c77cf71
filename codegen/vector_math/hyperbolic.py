"""Hyperbolic functions, from expm1, and their inverses, from log1p."""

from __future__ import annotations

import math

from .coefficients import COEFFICIENTS
from .double_word import fast_two_sum, two_sum
from .exponential import power_of_two, reduce_by_ln2, scaled_expm1
from .logarithm import log1p_inside
from .scalar import Value, estrin, fmuladd, select
from .table import vector_function


@vector_function("tanh")
def tanh(x: Value) -> Value:
    """h / (h + 1), where h = (e**(2|x|) - 1) / 2. Within 2 ulp."""
    magnitude = x.abs().at_most(20.0 if x.format.bits == 64 else 10.0)
    half, low = scaled_expm1(magnitude + magnitude, 1)
    denominator, error = two_sum(half, half.constant(1.0))
    quotient = half / denominator
    # 1 / (h + 1) is 1 - h / (h + 1): no second division for the small terms.
    correction = (low - quotient * (error + low)) * (1.0 - quotient)
    return (quotient + correction).copysign(x)


def bounded(x: Value) -> Value:
    """|x|, at most a little more than where sinh and cosh overflow."""
    return x.abs().at_most(710.6 if x.format.bits == 64 else 89.6)


@vector_function("sinh")
def sinh(x: Value) -> Value:
    """2 (q + q / (4 q + 1)), where q = (e**|x| - 1) / 4. Within 2 ulp."""
    q, low = scaled_expm1(bounded(x), 2)
    quotient = q / fmuladd(q, 4.0, 1.0)
    # 1 + 1 / (4 q + 1)**2, the derivative, carries the low part.
    reciprocal = fmuladd(quotient, -4.0, 1.0)
    half = q + fmuladd(low, fmuladd(reciprocal, reciprocal, 1.0), quotient)
    tiny = x.abs() < 2.0 ** -(x.format.mantissa // 2 + 2)
    return select(tiny, x, (half + half).copysign(x))


@vector_function("cosh")
def cosh(x: Value) -> Value:
    """2 q + 1 / (8 q), where q = e**|x| / 4. Within 2 ulp."""
    r, exponent = reduce_by_ln2(bounded(x), x.format.bias - 2)
    exp_r = fmuladd(r * r, estrin(r, COEFFICIENTS["exp", x.format.bits]), r) + 1.0
    quarter = exp_r * power_of_two(exponent)
    return fmuladd(quarter, 2.0, 0.125 / quarter)


@vector_function("asinh")
def asinh(x: Value) -> Value:
    """log1p(|x| + x**2 / (1 + sqrt(1 + x**2))); log(2 |x|) for large x. Within 2 ulp."""
    magnitude = x.abs()
    large = magnitude > 2.0 ** (x.format.mantissa + 2)
    moderate = select(large, 1.0, magnitude)
    square = moderate * moderate
    excess = square / ((square + 1.0).sqrt() + 1.0)
    return log1p_of_sum(magnitude, moderate, excess, large).copysign(x)


@vector_function("acosh")
def acosh(x: Value) -> Value:
    """log1p(t + sqrt(t**2 + 2 t)), t = x - 1; log(2 x) for large x. Within 2 ulp."""
    large = x > 2.0 ** (x.format.mantissa + 2)
    t = select(large, 1.0, x) - 1.0
    result = log1p_of_sum(x, fmuladd(t, t, t + t).sqrt(), t, large)
    return select(x < 1.0, math.nan, result)


def log1p_of_sum(x: Value, larger: Value, smaller: Value, large: Value) -> Value:
    """log1p(larger + smaller), or log(2 x) where x is large; infinity at infinity."""
    total, low = fast_two_sum(larger, smaller)
    total = select(large, x, total)
    low = select(large, 0.0, low)
    result = log1p_inside(total, low, doublings=select(large, x.constant(1.0), 0.0))
    return select(x.equals(math.inf), math.inf, result)


@vector_function("atanh")
def atanh(x: Value) -> Value:
    """log1p(2 |x| / (1 - |x|)) / 2. Within 2 ulp."""
    magnitude = x.abs()
    inside = log1p_inside((magnitude + magnitude) / (1.0 - magnitude)) * 0.5
    edge = select(magnitude.equals(1.0), x.constant(math.inf), math.nan)
    tiny = magnitude < 2.0 ** -(x.format.mantissa // 2 + 2)
    inside = select(tiny, magnitude, inside)
    return select(magnitude < 1.0, inside, edge).copysign(x)
