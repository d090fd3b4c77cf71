"""x = n pi/2 + r with |r| <= pi/4: the first step of sin, cos and tan.

`reduce_moderate` subtracts n times pi/2 in four parts (Cody & Waite) and is cheap, but wrong for
large x. `reduce_any` is right for every finite x and costs four times as much (after Payne &
Hanek, 1983). It needs x * 2/pi only modulo 4, so for large x it omits the leading bits of 2/pi,
which contribute multiples of 4 whatever follows them. A table contains, for each few exponents,
2/pi times a power of two, modulo 4, and the exponent of x is lowered by that power. The product is
formed so exactly that r keeps its relative accuracy close to multiples of pi/2 too. (Doubles
beyond 2**52 leave an absolute error of at most 2**-98, which matters only to the few that are
within 2**-46 of a multiple.)
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from llvmlite import ir

from .constants import PI, round_to_bits, split
from .double_word import fast_two_sum, two_product, two_sum
from .scalar import Format, Value, fmuladd, select

MODERATE_LIMIT = 1e6
"""`reduce_moderate` is accurate up to this magnitude."""

HALF_PI = PI / 2
EXPONENTS_PER_ROW = {64: 8, 32: 1}
"""Doubles keep the table small; floats keep the product small, and so need fewer parts."""
PART_LENGTHS = {64: (53, 53, 53), 32: (29, 53)}


class Reduced(NamedTuple):
    """n modulo 4 in the low bits of an integer, and r as high + low (0 < |low| << |high|)."""

    quadrant: Value
    high: Value
    low: Value


def reduce_moderate(magnitude: Value) -> Reduced:
    """For 0 <= x <= MODERATE_LIMIT."""
    if magnitude.format.bits == 32:
        wide = magnitude.widen()
        n, bits = _nearest_integer(wide * float(1 / HALF_PI))
        pi_high, pi_low = split(HALF_PI, wide.format, 33)
        return _narrow(bits, fmuladd(n, -pi_low, fmuladd(n, -pi_high, wide)))
    n, bits = _nearest_integer(magnitude * float(1 / HALF_PI))
    first, second, third, fourth = split(HALF_PI, magnitude.format, 33, 33, 33)
    r = fmuladd(n, -first, magnitude)
    r, error = _subtract(r, n * second)
    r, error_2 = _subtract(r, n * third)
    return Reduced(bits, r, fmuladd(n, -fourth, error + error_2))


def _nearest_integer(x: Value) -> tuple[Value, Value]:
    """The nearest integer as a float, and in the low bits of an integer."""
    shifted = x + x.format.magic
    return shifted - x.format.magic, shifted.as_int()


def _subtract(a: Value, b: Value) -> tuple[Value, Value]:
    """a - b and the rounding error; the error itself may be rounded where |a| < |b|."""
    difference = a - b
    return difference, (a - difference) - b


def reduce_any(magnitude: Value) -> Reduced:
    """For every x >= 0; NaN if x is infinite."""
    reduce = _reduce_float if magnitude.format.bits == 32 else _reduce_double
    reduced = reduce(magnitude)
    # Small arguments must not go through a product whose low part would underflow.
    small = magnitude < math.pi / 4
    high = select(small, magnitude, reduced.high)
    return Reduced(
        select(small, 0, reduced.quadrant),
        select(magnitude < math.inf, high, math.nan),
        select(small, 0.0, reduced.low),
    )


def _reduce_float(magnitude: Value) -> Reduced:
    """24 by 29 bits are exact in a double, and so is most of what follows."""
    x, (first, second) = _lower_exponent(magnitude)
    x = x.widen()
    total = fmuladd(x, second, _modulo_4(x * first))
    n, bits = _nearest_integer(total)
    return _narrow(bits, (total - n) * float(HALF_PI))


def _narrow(bits: Value, r: Value) -> Reduced:
    high = r.narrow()
    return Reduced(bits.narrow(), high, (r - high.widen()).narrow())


def _reduce_double(magnitude: Value) -> Reduced:
    """The product as a sum of exact terms, largest first."""
    x, (first, second, third) = _lower_exponent(magnitude)
    leading, carry = two_product(x, first)
    middle, middle_error = two_product(x, second)
    total, error = two_sum(_modulo_4(leading), carry)
    total, error_2 = two_sum(total, middle)
    error, rest = two_sum(error, error_2)
    middle_error, rest_2 = two_sum(middle_error, x * third)
    error, rest_3 = two_sum(error, middle_error)

    n, bits = _nearest_integer(total)
    high, low = fast_two_sum(total - n, error)
    high, low = fast_two_sum(high, low + (rest + rest_2 + rest_3))
    half_pi_high, half_pi_low = split(HALF_PI, x.format, x.format.mantissa + 1)
    product, product_error = two_product(high, high.constant(half_pi_high))
    correction = product_error + fmuladd(high, half_pi_low, low * half_pi_high)
    return Reduced(bits, *fast_two_sum(product, correction))


def _modulo_4(x: Value) -> Value:
    """x less the nearest multiple of 4: exact."""
    return x - (x * 0.25).intrinsic("llvm.rint") * 4.0


def _lower_exponent(magnitude: Value) -> tuple[Value, list[Value]]:
    """y and doubles of sum t with x * 2/pi = y * t modulo 4, where y is of moderate size.

    In all rows but the first y is an integer, so a multiple of 4 in t can be left out.
    """
    format = magnitude.format
    step = EXPONENTS_PER_ROW[format.bits]
    shift = step.bit_length() - 1
    first_integer = format.bias + format.mantissa
    bits = magnitude.as_int()
    exponent = bits >> format.mantissa
    row = select(exponent >= first_integer + step, (exponent - first_integer) >> shift, 0)
    y = (bits - (row << (format.mantissa + shift))).as_float()
    return y, _load_row(magnitude, row)


def _load_row(magnitude: Value, row: Value) -> list[Value]:
    """Load from a constant array; the vectorizer turns the loads into gathers."""
    builder, format = magnitude.builder, magnitude.format
    numbers = _table(builder.module, format)
    width = len(PART_LENGTHS[format.bits])
    zero = ir.Constant(format.int_type, 0)
    addresses = [builder.gep(numbers, [zero, (row * width + k).value]) for k in range(width)]
    return [Value(builder, format.of(64), builder.load(address)) for address in addresses]


def _table(module: ir.Module, format: Format) -> ir.GlobalVariable:
    """The rows as a constant of the module, defined on first use."""
    name = f"aj.two_over_pi.f{format.bits}"
    existing = module.globals.get(name)
    if isinstance(existing, ir.GlobalVariable):
        return existing
    numbers = _rows(format)
    type = ir.ArrayType(ir.DoubleType(), len(numbers))
    constant = ir.GlobalVariable(module, type, name)
    constant.initializer = ir.Constant(type, numbers)
    constant.global_constant = True
    constant.linkage = "internal"
    constant.unnamed_addr = True
    return constant


@functools.cache
def _rows(format: Format) -> list[float]:
    """Row k: 2/pi * 2**(k * exponents per row), modulo 4, as doubles of decreasing size."""
    step = EXPONENTS_PER_ROW[format.bits]
    numbers: list[float] = []
    for row in range((format.bias + 1 - format.mantissa) // step + 1):
        rest = 2 ** (step * row) / HALF_PI
        rest -= 4 * round(rest / 4)
        for length in PART_LENGTHS[format.bits]:
            part = round_to_bits(rest, length)
            numbers.append(float(part))
            rest -= part
    return numbers
