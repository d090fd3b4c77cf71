"""Floats of 16 bits in LLVM IR are represented by their bits, an i16, in memory and registers.

Their only operations are conversions to and from float32, and from float64. All others are computed
in float32: see ``ir/passes/algebra/widen_halves.py``. Conversions are instructions if the processor
has them, else integer arithmetic, since LLVM would call a library that a process may lack
(``__truncsfhf2``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from autojit.codegen.loop_ir.machine import has_halves
from autojit.ir.core.halves import to_bfloat16

I16, I32 = ir.IntType(16), ir.IntType(32)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()

_SIGN, _INFINITY = 0x80000000, 0x7F800000


def bits(value: Any, dtype: str) -> ir.Constant:
    """Return a constant."""
    if dtype == "bf16":
        return ir.Constant(I16, int(to_bfloat16(value).view(np.uint16)))
    with np.errstate(over="ignore"):
        return ir.Constant(I16, int(np.float16(value).view(np.uint16)))


def widened(b: ir.IRBuilder, x: ir.Value, dtype: str) -> ir.Value:
    """Return the float32 of the same value."""
    if dtype == "bf16":
        return b.bitcast(b.shl(b.zext(x, I32), _i32(16)), FLOAT)
    if has_halves():
        return b.fpext(b.bitcast(x, ir.HalfType()), FLOAT)
    return _widened(b, b.zext(x, I32))


def narrowed(b: ir.IRBuilder, x: ir.Value, dtype: str) -> ir.Value:
    """Round a float32, or for float16 a float64, to the nearest half, ties to even."""
    if dtype == "bf16":
        return b.trunc(_upper_half(b, x), I16)
    x = _to_odd(b, x) if x.type == DOUBLE else x
    if has_halves():
        return b.bitcast(b.fptrunc(x, ir.HalfType()), I16)
    return b.trunc(_narrowed(b, b.bitcast(x, I32)), I16)


def _to_odd(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Round a float64 to a float32 that rounds to half correctly: inexact ones get an odd last bit.

    S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on
    Computers 57 (2008), theorem 3: so no inexact number becomes half-way between two others.
    """
    near = b.fptrunc(x, FLOAT)
    wide, number = b.fpext(near, DOUBLE), b.bitcast(near, I32)
    size = b.module.declare_intrinsic("llvm.fabs", [DOUBLE])
    is_less = b.fcmp_ordered("<", b.call(size, [wide]), b.call(size, [x]))
    odd = b.add(number, b.select(is_less, _i32(1), _i32(-1)))
    is_even = b.icmp_unsigned("==", b.and_(number, _i32(1)), _i32(0))
    inexact = b.and_(is_even, b.fcmp_ordered("!=", wide, x))
    return b.bitcast(b.select(inexact, odd, number), FLOAT)


# F. Giesen's conversions (public domain, https://gist.github.com/rygorous/2156668), with selects.


def _widened(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    sign = b.shl(b.and_(x, _i32(0x8000)), _i32(16))
    digits = b.shl(b.and_(x, _i32(0x7FFF)), _i32(13))
    exponent = b.and_(digits, _i32(0x7C00 << 13))
    normal = b.add(digits, _i32((127 - 15) << 23))
    special = b.add(normal, _i32((128 - 16) << 23))
    first = ir.Constant(FLOAT, 2.0**-14)
    tiny = b.fsub(b.bitcast(b.add(normal, _i32(1 << 23)), FLOAT), first)
    made = b.select(b.icmp_unsigned("==", exponent, _i32(0x7C00 << 13)), special, normal)
    is_tiny = b.icmp_unsigned("==", exponent, _i32(0))
    made = b.select(is_tiny, b.bitcast(tiny, I32), made)
    return b.bitcast(b.or_(made, sign), FLOAT)


def _narrowed(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    sign = b.and_(x, _i32(_SIGN))
    size = b.xor(x, sign)
    odd = b.and_(b.lshr(size, _i32(13)), _i32(1))
    normal = b.add(b.add(size, _i32(((15 - 127) << 23) + 0xFFF)), odd)
    normal = b.lshr(normal, _i32(13))
    unit = ((127 - 15) + (23 - 10) + 1) << 23
    raised = b.fadd(b.bitcast(size, FLOAT), ir.Constant(FLOAT, 0.5))  # whose bits are the unit
    tiny = b.sub(b.bitcast(raised, I32), _i32(unit))
    is_nan = b.icmp_unsigned(">", size, _i32(_INFINITY))
    special = b.select(is_nan, _i32(0x7E00), _i32(0x7C00))
    made = b.select(b.icmp_unsigned("<", size, _i32(113 << 23)), tiny, normal)
    made = b.select(b.icmp_unsigned(">=", size, _i32((127 + 16) << 23)), special, made)
    return b.or_(made, b.lshr(sign, _i32(16)))


def _upper_half(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return the bits of the nearest bfloat16. NaN is made quiet, not rounded, and stays NaN."""
    number = b.bitcast(x, I32)
    upper = b.lshr(number, _i32(16))
    odd = b.and_(upper, _i32(1))
    rounded = b.lshr(b.add(number, b.add(odd, _i32(0x7FFF))), _i32(16))
    is_nan = b.fcmp_unordered("!=", x, x)
    return b.select(is_nan, b.or_(upper, _i32(0x40)), rounded)


def _i32(number: int) -> ir.Constant:
    return ir.Constant(I32, number)
