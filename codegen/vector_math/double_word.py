"""Unevaluated sums high + low of two floats: about twice the precision (Dekker, 1971).

All of these functions need every operation rounded as written; `Value` operators carry no fast-math
flags. `fmuladd` is used only if the product is exact, so that the fused and the unfused form agree.
"""

from __future__ import annotations

from .scalar import Value, fma, fmuladd


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b exactly (Knuth)."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def fast_two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b exactly, if |a| >= |b| or a is zero."""
    total = a + b
    return total, b - (total - a)


def halves(x: Value) -> tuple[Value, Value]:
    """Split x into a rounded part of half the significand's bits and the exact rest, no longer."""
    low_bits = (x.format.mantissa + 2) // 2
    rounded_up = (x.as_int() + (1 << (low_bits - 1))).as_float()
    high = rounded_up.keep_high(low_bits)
    return high, x - high


def two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """a * b exactly; without a fused instruction, which not every processor has, from halves."""
    if a.format.fused:
        product = a * b
        return product, fma(a, b, -product)
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    product = a * b
    error = fmuladd(a_high, b_high, -product)
    error = fmuladd(a_low, b_high, fmuladd(a_high, b_low, error))
    return product, fmuladd(a_low, b_low, error)
