"""Floats of 16 bits: float16, and bfloat16, which NumPy does not have.

An array of bfloat16 has the dtype :data:`BFLOAT16`, numbers of 16 bits under a name, so that NumPy
moves its elements and refuses to compute on them.  Where the package ml_dtypes is loaded, results
are of its dtype, which has the same bits.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: The upper half of a float32.
BFLOAT16: np.dtype[Any] = np.dtype([("bfloat16", "<u2")])
_TOO_LARGE = (
    "the integer {} does not fit {}. Python integers have any size, but integers in arrays and "
    "in compiled code have 64 bits. Compute with floats:\n"
    "    x = 2.0**70                        # not: 2**70"
)
_FLOAT16, _BITS = np.dtype(np.float16), np.dtype(np.uint16)


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether a dtype is bfloat16, ours or that of ml_dtypes."""
    return dtype.kind == "V" and (dtype == BFLOAT16 or dtype.name == "bfloat16")


def is_half(dtype: np.dtype) -> bool:
    """Whether a dtype is a float of 16 bits: it is stored, and computed on in float32.

    >>> is_half(np.dtype("float16")), is_half(BFLOAT16), is_half(np.dtype("int16"))
    (True, True, False)
    """
    return dtype.itemsize == 2 and (dtype == _FLOAT16 or is_bfloat16(dtype))


def kind_of(dtype: np.dtype) -> str:
    """NumPy's letter for the kind of a dtype, which of bfloat16 is that of floats."""
    return "f" if is_bfloat16(dtype) else dtype.kind


def to_float32(x: Any) -> Any:
    """The numbers of bfloat16 as float32.

    >>> to_float32(np.array([0x3FC0, 0xFF80], "u2").view(BFLOAT16))
    array([ 1.5, -inf], dtype=float32)
    """
    bits = np.ascontiguousarray(x).view(np.uint16).astype(np.uint32)
    return (bits << np.uint32(16)).view(np.float32).reshape(np.shape(x))


def to_bfloat16(x: Any) -> Any:
    """Numbers as bfloat16, by way of float32: to the nearest, of two to the even one.

    >>> to_float32(to_bfloat16(np.array([1.00390625, 1.01171875, np.nan])))
    array([1.      , 1.015625,      nan], dtype=float32)
    """
    if is_bfloat16(np.asarray(x).dtype):
        return np.array(x).view(BFLOAT16)
    with np.errstate(all="ignore"):
        single = np.ascontiguousarray(x).astype(np.float32)
    bits = single.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + (np.uint32(0x7FFF) + odd)) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    made = np.where(np.isnan(single), quiet, rounded).astype(np.uint16)
    return made.view(BFLOAT16).reshape(np.shape(x))


def converted(x: Any, dtype: np.dtype) -> Any:
    """An array in another dtype, as a copy; either may be bfloat16."""
    if is_bfloat16(dtype):
        return np.array(x) if is_bfloat16(x.dtype) else to_bfloat16(x)
    return to_float32(x).astype(dtype, copy=False) if is_bfloat16(x.dtype) else x.astype(dtype)


def limits_of(dtype: np.dtype) -> np.finfo[Any]:
    """The smallest and the largest exponents of floats: bfloat16 has those of float32."""
    return np.finfo(np.dtype(np.float32) if is_bfloat16(dtype) else dtype)


def number_of(value: Any, dtype: np.dtype) -> Any:
    """The Python number that an element of a dtype is for a number.

    >>> number_of(0.1, BFLOAT16), number_of(3, np.dtype(float))
    (0.10009765625, 3.0)
    """
    if is_bfloat16(dtype):
        return to_float32(to_bfloat16(value)).item()
    try:
        return dtype.type(value).item()
    except OverflowError:
        raise OverflowError(_TOO_LARGE.format(value, dtype.name)) from None


def widened_params(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an operation that computes in float32 instead."""
    wide = np.dtype(np.float32)
    return {
        name: wide if isinstance(p, np.dtype) and is_half(p) else p for name, p in params.items()
    }


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """Numbers as an array of a dtype, which may be bfloat16; ``np.asarray`` would take its bits."""
    if x.__class__ is np.ndarray and x.dtype is dtype:
        return x
    array = np.asarray(x)
    if not (is_bfloat16(dtype) or is_bfloat16(array.dtype)):
        try:
            return np.asarray(x, dtype)
        except OverflowError:
            raise OverflowError(_TOO_LARGE.format(x, dtype.name)) from None
    if is_bfloat16(dtype) and is_bfloat16(array.dtype):
        return array if array.dtype is dtype else np.require(array, None, "C").view(dtype)
    return converted(array, dtype)


def held_as(dtype: np.dtype) -> np.dtype:
    """The dtype of the arrays that native code takes and gives: of bfloat16 it is that of bits."""
    return _BITS if dtype is BFLOAT16 else dtype


def shown_dtype(dtype: np.dtype) -> np.dtype:
    """A dtype as users see it: bfloat16 is that of ml_dtypes, where that package is loaded."""
    package = sys.modules.get("ml_dtypes") if dtype is BFLOAT16 else None
    return dtype if package is None else np.dtype(package.bfloat16)


def shown(x: Any) -> Any:
    """An array of bfloat16 in the dtype that users see."""
    dtype = shown_dtype(BFLOAT16)
    return x if x.dtype is dtype else x.view(dtype)
