"""Bits of integers, and the parts of floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import with_place
from autojit.functions.manipulation import along_one_axis
from autojit.ir.core.halves import kind_of
from autojit.ir.core.types import is_half
from autojit.protocols.composites import composite
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import PRODUCTS, implements
from autojit.tracing.source import user_source

# -- integers -----------------------------------------------------------------------


def _bit_weights(bitorder: str) -> np.ndarray:
    if bitorder not in ("big", "little"):
        words = f"bitorder must be 'big' or 'little'; got {bitorder!r}"
        raise ValueError(with_place(words, user_source()))
    weights = 1 << np.arange(8, dtype=np.uint8)
    return weights[::-1] if bitorder == "big" else weights


@implements(np.packbits)
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    if dtype_of(a).kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    x, along = along_one_axis(as_tracer(a), axis)
    bits = np.moveaxis(x, along, -1)
    short = -shape_of(bits)[-1] % 8
    bits = np.pad((bits != 0).astype(np.uint8), [(0, 0)] * (bits.ndim - 1) + [(0, short)])
    bytes_ = np.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8)) * _bit_weights(bitorder)
    packed: Any = np.sum(bytes_, axis=-1, dtype=np.uint8)
    return np.moveaxis(packed, -1, along)


@implements(np.unpackbits)
def unpackbits(
    a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    if dtype_of(a) != np.uint8:
        raise TypeError(with_place("np.unpackbits takes bytes: an array of uint8", user_source()))
    x, along = along_one_axis(as_tracer(a), axis)
    rows = np.moveaxis(x, along, -1)
    bits = (rows[..., None] & _bit_weights(bitorder)) != 0
    flat = np.reshape(bits.astype(np.uint8), (*rows.shape[:-1], rows.shape[-1] * 8))
    if count is not None:
        missing = max(0, count - flat.shape[-1])
        flat = np.pad(flat, [(0, 0)] * (flat.ndim - 1) + [(0, missing)])
        flat = flat[..., : count if count >= 0 else flat.shape[-1] + count]
    return np.moveaxis(flat, -1, along)


@composite(np.bitwise_count)
def bitwise_count(x: Any) -> Any:
    """Count bits in pairs, then fours, then bytes (H. S. Warren, Hacker's Delight, 5-1)."""
    v: Any = tracer(x)
    v = v.astype(np.uint8) if v.dtype.kind == "b" else np.abs(v)
    v = v.astype(np.dtype(f"u{v.dtype.itemsize}"))
    ones, bits = (1 << 8 * v.dtype.itemsize) - 1, 8 * v.dtype.itemsize
    pairs, fours, eights, bytes_ = (v.dtype.type(ones // k) for k in (3, 5, 17, 255))
    v = v - ((v >> v.dtype.type(1)) & pairs)
    v = (v & fours) + ((v >> v.dtype.type(2)) & fours)
    v = (v + (v >> v.dtype.type(4))) & eights
    return as_value(((v * bytes_) >> v.dtype.type(bits - 8)).astype(np.uint8))


# -- floats -------------------------------------------------------------------------


def _scaled(x: Any, exponent: Any) -> Any:
    """``x * 2**exponent`` in several factors.

    The power of 2 itself may overflow or underflow where the product does not.
    """
    part = np.trunc(exponent / 4).astype(exponent.dtype)
    for power in (part, part, part, exponent - 3 * part):
        x = x * np.exp2(power.astype(x.dtype))
    return x


def frexp(x: Any) -> tuple[Any, Any]:
    """``x = mantissa * 2**exponent``, with ``0.5 <= abs(mantissa) < 1``."""
    x = as_tracer(x) if kind_of(dtype_of(x)) == "f" else as_tracer(x).astype(np.float64)
    if is_half(x.dtype):
        mantissa, exponent = frexp(x.astype(np.float32))
        return mantissa.astype(x.dtype), exponent
    usual = np.isfinite(x) & (x != 0)
    size = np.abs(np.where(usual, x, x.dtype.type(1)))
    # Rounding may make the logarithm wrong by one, which shows in the mantissa.
    exponent = np.floor(np.log2(size)).astype(np.int32) + np.int32(1)
    mantissa = _scaled(size, -exponent)
    off = (mantissa >= 1).astype(np.int32) - (mantissa < 0.5).astype(np.int32)
    exponent = np.where(usual, exponent + off, np.int32(0))
    return np.where(usual, _scaled(x, -exponent), x), exponent


PRODUCTS[np.frexp] = frexp


@composite(np.ldexp)
def ldexp(x: Any, exponent: Any) -> Any:
    limit = 2 * (np.finfo(x.dtype).maxexp - np.finfo(x.dtype).minexp)
    exponent = np.clip(tracer(exponent), -limit, limit)
    if is_half(x.dtype):  # compute in float32 and round once
        return as_value(_scaled(tracer(x).astype(np.float32), exponent).astype(x.dtype))
    return as_value(_scaled(tracer(x), exponent))


def _step(x: Any) -> tuple[Any, Any]:
    """The distance to the next number away from zero, and to the next one towards zero."""
    limits = np.finfo(x.dtype)
    mantissa, exponent = frexp(np.abs(x))
    digits = np.int32(limits.nmant + 1)
    least = np.int32(limits.minexp - limits.nmant)
    one = np.ones(x.shape, x.dtype)
    away = _scaled(one, np.maximum(exponent - digits, least))
    inner = np.where(mantissa == 0.5, exponent - digits - np.int32(1), exponent - digits)
    return away, _scaled(one, np.maximum(inner, least))


@composite(np.spacing)
def spacing(x: Any) -> Any:
    value = tracer(x)
    away, inner = _step(value)
    away = np.where(value == 0, value.dtype.type(np.finfo(value.dtype).smallest_subnormal), away)
    result = np.copysign(away, np.where(value == 0, np.ones_like(value), value))
    if is_half(value.dtype):  # in NumPy: upwards, infinite at the maximum
        result = np.where(value < 0, inner, away)
        result = np.where(value == np.finfo(value.dtype).max, np.inf, result)
    return as_value(np.where(np.isfinite(value), result, value.dtype.type(np.nan)))


@composite(np.nextafter)
def nextafter(x: Any, towards: Any) -> Any:
    """The derivative with respect to x is 1: the step to the next number is constant."""
    a, b = tracer(x), tracer(towards)
    least = a.dtype.type(np.finfo(a.dtype).smallest_subnormal)
    away, inner = _step(np.where(np.isfinite(a), a, a.dtype.type(1)))
    grows = (b > a) == (a > 0)
    step = np.where(grows, away, -inner)
    moved = np.where(a == 0, np.copysign(least, b), a + np.copysign(np.ones_like(a), a) * step)
    ends = np.where(a > 0, a.dtype.type(np.finfo(a.dtype).max), a.dtype.type(np.finfo(a.dtype).min))
    moved = np.where(np.isinf(a), ends, moved)
    moved = np.where(a == b, b, moved)
    return as_value(np.where(np.isnan(a) | np.isnan(b), a + b, moved))
