"""Rules for selection, logic, conversion and complex parts. All are exact.

Legal where both sides are the same for every element of the dtype, including NaN and both zeros,
and an intermediate dtype can represent each of its values. Nothing changes in the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.halves import is_bfloat16, is_half
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    conj,
    convert,
    eq,
    fmax,
    fmin,
    imag,
    make_complex,
    maximum,
    minimum,
    ne,
    real,
    select,
)
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


@rules(select)
def select_decided(op: Op, at: Rewriter) -> Value | None:
    """select(True, a, b) → a, select(False, a, b) → b, select(c, x, x) → x"""
    condition, a, b = op.operands
    known = at.scalar(condition)
    if known is None:
        return a if a is b else None
    return a if known else b


@rules(select)
def select_negated(op: Op, at: Rewriter) -> Value | None:
    """select(not c, a, b) → select(c, b, a)"""
    condition, a, b = op.operands
    negated = at.definition(condition, bitwise_not)
    return select(negated.operands[0], b, a) if negated else None


@rules(bitwise_not)
def not_of_inverse(op: Op, at: Rewriter) -> Value | None:
    """not not x → x, not (a == b) → a != b, not (a != b) → a == b"""
    (x,) = op.operands
    if negated := at.definition(x, bitwise_not):
        return negated.operands[0]
    if equal := at.definition(x, eq):
        return ne(*equal.operands)
    unequal = at.definition(x, ne)
    return eq(*unequal.operands) if unequal else None


def _all_bits(dtype: np.dtype) -> Any:
    return np.invert(dtype.type(0)).item()


@rules(bitwise_and)
def and_constant(op: Op, at: Rewriter) -> Value | None:
    """x and True → x, x and False → False; likewise all bits and no bits."""
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        scalar = at.scalar(other)
        if scalar is not None and scalar in (0, _all_bits(other.dtype)):
            return other if scalar == 0 else x
    return None


@rules(bitwise_or)
def or_constant(op: Op, at: Rewriter) -> Value | None:
    """x or False → x, x or True → True; likewise no bits and all bits."""
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        scalar = at.scalar(other)
        if scalar is not None and scalar in (0, _all_bits(other.dtype)):
            return x if scalar == 0 else other
    return None


@rules(bitwise_xor)
def xor_nothing(op: Op, at: Rewriter) -> Value | None:
    """x xor False → x, x xor 0 → x"""
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        if at.scalar(other) == 0:
            return x
    return None


@rules(bitwise_and, bitwise_or, maximum, minimum, fmax, fmin)
def same_operands(op: Op, at: Rewriter) -> Value | None:
    """x and x → x, x or x → x, maximum(x, x) → x"""
    a, b = op.operands
    return a if a is b else None


@rules(convert)
def convert_to_own_dtype(op: Op, at: Rewriter) -> Value | None:
    """convert(x: f64, dtype=f64) → x"""
    (x,) = op.operands
    return x if x.dtype == op.params["dtype"] else None


@rules(convert)
def convert_by_way_of_wider(op: Op, at: Rewriter) -> Value | None:
    """convert(convert(x, wider), d) → convert(x, d)"""
    inner = at.definition(op.operands[0], convert)
    if inner is None:
        return None
    (x,), wider, target = inner.operands, inner.params["dtype"], op.params["dtype"]
    # An element outside of an integer target's range wraps if it comes from an integer, and is
    # undefined if it comes from a float.
    in_range = target.kind not in "iu" or wider.kind in "biu" or _holds(target, x.dtype)
    return convert(x, dtype=target) if in_range and _holds(wider, x.dtype) else None


def _holds(wider: np.dtype, dtype: np.dtype) -> bool:
    """Whether a dtype has every value of another (float64 does not have every int64)."""
    if is_half(dtype):
        return wider.kind in "fc" and wider.itemsize > 2
    if is_half(wider):
        return dtype.kind in "biu" and dtype.itemsize == 1 and not is_bfloat16(wider)
    lossy = dtype.kind in "iu" and dtype.itemsize == 8 and wider.kind in "fc"
    return np.can_cast(dtype, wider, "safe") and not lossy


@rules(real, imag)
def part_of_complex(op: Op, at: Rewriter) -> Value | None:
    """real(complex(a, b)) → a, imag(complex(a, b)) → b"""
    made = at.definition(op.operands[0], make_complex)
    return made.operands[0 if op.kind is real else 1] if made else None


@rules(make_complex)
def complex_of_parts(op: Op, at: Rewriter) -> Value | None:
    """complex(real(z), imag(z)) → z"""
    first, second = op.operands
    re, im = at.definition(first, real), at.definition(second, imag)
    return re.operands[0] if re and im and re.operands == im.operands else None


@rules(conj)
def conj_conj(op: Op, at: Rewriter) -> Value | None:
    """conj(conj(z)) → z"""
    inner = at.definition(op.operands[0], conj)
    return inner.operands[0] if inner else None
