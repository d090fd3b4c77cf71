"""Unevaluated sums high + low of two floats: about twice the precision (Dekker, 1971).

All of these need every operation rounded as written; `Value` operators carry no fast-math flags.
`fmuladd` appears only where the product is exact, so that fused and not it gives the same.
"""

from __future__ import annotations

from .scalar import Value, fmuladd


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
    """x as a part of at most half the significand's bits, truncated, and the exact rest."""
    high = x.keep_high((x.format.mantissa + 2) // 2)
    return high, x - high


def two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """a * b exactly, without a fused instruction: not every processor has one."""
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    product = a * b
    error = fmuladd(a_high, b_high, -product)
    error = fmuladd(a_low, b_high, fmuladd(a_high, b_low, error))
    return product, fmuladd(a_low, b_low, error)
