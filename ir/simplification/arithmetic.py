"""Rules for arithmetic. Each is exact, up to NaN and the sign of a zero.

There are two exceptions: the power of a complex zero keeps its signs, and the power of a float
becomes repeated multiplication, which backends may round differently.

Ops that are left alone, and why: ``x + 0.0`` (-0.0 becomes 0.0), ``x * 0`` and ``x - x`` (NaN and
infinity), ``-(a - b)`` (the sign of zero), ``x ** 0.5`` (differs from ``sqrt`` at -0.0 and -inf),
complex ``x * 1`` (an infinite part makes the other one NaN).

Legal where both sides are the same for every element of the dtype: NaN, infinities, both zeros, and
integers that wrap; an error at run time stays. The exceptions are those above, and products with
two constants, which differ if the product with the first overflows or is subnormal.
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.halves import limits_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import is_half
from autojit.ir.ops.arithmetic import (
    absolute,
    add,
    div,
    floor_divide,
    integer_power,
    mul,
    neg,
    power,
    sub,
)
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()

#: The largest exponent for which repeated multiplication is worth it.
_LARGEST_EXPONENT = 64


def _is(scalar: Any, wanted: complex) -> bool:
    """Whether a scalar equals another, 0.0 and -0.0 being different; False for None."""
    return scalar is not None and scalar == wanted and repr(scalar) == repr(type(scalar)(wanted))


def _pairs(op: Op) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    a, b = op.operands
    return (a, b), (b, a)


@rules(add)
def add_zero(op: Op, at: Rewriter) -> Value | None:
    """x + 0 → x for integers; x + -0.0 → x for floats."""
    inexact = op.result.type.is_inexact
    zero = -0.0 if inexact else 0
    if op.result.dtype.kind != "c":
        for x, other in _pairs(op):
            if _is(at.scalar(other), zero):
                return x
    return None


@rules(add)
def add_negated(op: Op, at: Rewriter) -> Value | None:
    """a + -b → a - b"""
    for x, other in _pairs(op):
        if negated := at.definition(other, neg):
            return sub(x, negated.operands[0])
    return None


@rules(sub)
def sub_zero(op: Op, at: Rewriter) -> Value | None:
    """x - 0 → x, x - 0.0 → x"""
    x, other = op.operands
    return x if _is(at.scalar(other), 0) else None


@rules(sub)
def sub_negated(op: Op, at: Rewriter) -> Value | None:
    """a - -b → a + b"""
    a, b = op.operands
    negated = at.definition(b, neg)
    return add(a, negated.operands[0]) if negated else None


@rules(add, sub)
def add_constants(op: Op, at: Rewriter) -> Value | None:
    """(x + c) + d → x + (c + d), (x + c) - d → x + (c - d) for integers, which wrap"""
    inner = op.operands[0]
    last = at.scalar(op.operands[1])
    made = at.definition(inner, add) or at.definition(inner, sub)
    if inner.dtype.kind != "i" or last is None or made is None:
        return None
    first = at.scalar(made.operands[1])
    if first is None:
        return None
    with np.errstate(over="ignore"):
        number = inner.dtype.type
        total = number(0)
        for kind, constant in ((made.kind, first), (op.kind, last)):
            total = total + number(constant) if kind is add else total - number(constant)
    return add(made.operands[0], full(int(total), inner.type))


@rules(neg)
def neg_of_difference(op: Op, at: Rewriter) -> Value | None:
    """-(a - b) → b - a for integers; of floats it would be another zero"""
    made = at.definition(op.operands[0], sub)
    return sub(*made.operands[::-1]) if made and op.result.dtype.kind == "i" else None


@rules(floor_divide)
def divided_by_unit(op: Op, at: Rewriter) -> Value | None:
    """x // 1 → x, x // -1 → -x for integers"""
    x, divisor = op.operands
    scalar = at.scalar(divisor)
    if x.dtype.kind != "i" or scalar not in (1, -1):
        return None
    return x if scalar == 1 else neg(x)


@rules(neg)
def neg_neg(op: Op, at: Rewriter) -> Value | None:
    """-(-x) → x"""
    negated = at.definition(op.operands[0], neg)
    return negated.operands[0] if negated else None


@rules(mul)
def mul_unit(op: Op, at: Rewriter) -> Value | None:
    """x * 1 → x, x * -1 → -x"""
    if op.result.dtype.kind == "c":
        return None
    for x, other in _pairs(op):
        scalar = at.scalar(other)
        if scalar == 1:
            return x
        if scalar == -1:
            return neg(x)
    return None


@rules(mul)
def mul_negated_by_constant(op: Op, at: Rewriter) -> Value | None:
    """-x * c → x * -c for a constant c that is a float."""
    for x, other in _pairs(op):
        scalar, negated = at.scalar(other), at.definition(x, neg)
        if negated and isinstance(scalar, float):
            return mul(negated.operands[0], full(-scalar, other.type))
    return None


@rules(neg)
def neg_of_scaled(op: Op, at: Rewriter) -> Value | None:
    """-(x * c) → x * -c for a constant c that is a float."""
    scaled = at.definition(op.operands[0], mul)
    for x, other in _pairs(scaled) if scaled else ():
        scalar = at.scalar(other)
        if isinstance(scalar, float):
            return mul(x, full(-scalar, other.type))
    return None


@rules(mul)
def scaled_twice(op: Op, at: Rewriter) -> Value | None:
    """(x * c) * d → x * (c * d) where c or d is a power of two of at least 1.

    Nothing rounds anew then, short of subnormal numbers and of the overflow of x * c, which in
    float16 are near.
    """
    if is_half(op.result.dtype):
        return None
    for inner, other in _pairs(op):
        d, scaled = at.scalar(other), at.definition(inner, mul)
        for x, constant in _pairs(scaled) if scaled else ():
            c = at.scalar(constant)
            if not (isinstance(c, float) and isinstance(d, float)):
                continue
            exact = any(1 <= abs(s) <= 2**10 and abs(frexp(s)[0]) == 0.5 for s in (c, d))
            if exact and all(2**-100 <= abs(s) <= 2**100 for s in (c, d)):
                return mul(x, full(c * d, op.result.type))
    return None


@rules(mul, div)
def both_negated(op: Op, at: Rewriter) -> Value | None:
    """-a * -b → a * b, -a / -b → a / b"""
    a, b = (at.definition(v, neg) for v in op.operands)
    if a and b and op.result.dtype.kind == "f":
        (result,) = at.emit(op.kind, (*a.operands, *b.operands), op.params)
        return result
    return None


@rules(div)
def div_by_power_of_two(op: Op, at: Rewriter) -> Value | None:
    """x / 2**n → x * 2**-n, both of which are rounded once."""
    x, other = op.operands
    scalar = at.scalar(other)
    if not isinstance(scalar, float) or abs(frexp(scalar)[0]) != 0.5:
        return None
    limits = limits_of(other.dtype)
    if not limits.tiny <= abs(1 / scalar) <= limits.max:
        return None
    return mul(x, full(1 / scalar, other.type))


@rules(power)
def power_constant(op: Op, at: Rewriter) -> Value | None:
    """x ** n → integer_power(x, n) for a constant integral n."""
    x, exponent = op.operands
    scalar = at.scalar(exponent)
    if scalar is None or not abs(scalar) <= _LARGEST_EXPONENT:
        return None
    n = int(scalar.real)
    if scalar != n or (n < 0 and not x.type.is_inexact):
        return None
    return integer_power(x, exponent=n)


@rules(integer_power)
def small_power(op: Op, at: Rewriter) -> Value | None:
    """x ** 0 → 1, x ** 1 → x, x ** 2 → x * x, x ** -1 → 1 / x"""
    (x,), exponent = op.operands, op.params["exponent"]
    if exponent == 0:
        return full(1, x.type)
    if exponent == 1:
        return x
    if exponent == 2:
        return mul(x, x)
    return div(full(1, x.type), x) if exponent == -1 and x.dtype.kind == "f" else None


@rules(absolute)
def abs_of_same_magnitude(op: Op, at: Rewriter) -> Value | None:
    """|-x| → |x|, ||x|| → |x|, but -1 of an unsigned dtype is its largest number"""
    (x,) = op.operands
    negated = at.definition(x, neg)
    if negated and x.dtype.kind != "u":
        return absolute(negated.operands[0])
    return x if at.definition(x, absolute) else None
