"""The scalar vocabulary on arrays with one scalar for each thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.codegen.loop_text.words import function_of
from autojit.ir.core.halves import converted as in_halves
from autojit.ir.core.types import dtype_from_name


def evaluate(name: str, args: Sequence[np.ndarray], dtype: str) -> np.ndarray:
    """Apply a word to arrays.

    >>> evaluate("select", [np.array([True, False]), np.ones(2), np.zeros(2)], "f64")
    array([1., 0.])
    """
    kind = dtype_from_name(dtype)
    if name == "convert":
        result = converted(args[0], kind)
    elif name == "select":
        result = np.where(*args)
    elif name == "pow" and args[0].dtype.kind in "iu":
        result = np.power(args[0], np.maximum(args[1], 0))
    else:
        result = function_of(name)(*args)
    made = np.asarray(result)
    return made if made.dtype == kind else made.astype(kind)


def converted(x: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Convert scalars to another dtype; floats beyond an integer's range saturate, NaN becomes 0.

    >>> converted(np.array([1e30, np.nan, -2.9]), np.dtype("i4"))
    array([2147483647,          0,         -2], dtype=int32)
    """
    if x.dtype.kind != "f" or kind.kind not in "iu":
        return in_halves(x, kind)
    info = np.iinfo(kind)
    whole = np.trunc(np.where(np.isnan(x), 0, x))
    high, low = whole >= float(info.max), whole <= float(info.min)
    result: Any = np.where(high | low, 0, whole).astype(kind)
    return np.where(high, info.max, np.where(low, info.min, result)).astype(kind)


def digit(x: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Eight bits of the keys of numbers, from bit ``shift`` on.

    >>> digit(np.array([-1.0, -0.0, 0.0, 1.0, np.inf, -np.nan]), 56)
    array([ 64, 128, 128, 191, 255, 255])
    """
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    top = unsigned.type(1 << (8 * x.dtype.itemsize - 1))
    if x.dtype.kind == "f":
        bits = np.where(x == 0, np.zeros_like(x), x).view(unsigned)
        key = np.where(bits & top, ~bits, bits | top)
        key = np.where(np.isnan(x), unsigned.type(np.iinfo(unsigned).max), key)
    else:
        key = x.view(unsigned) ^ (top if x.dtype.kind == "i" else unsigned.type(0))
    return (key.astype(np.uint64) >> np.asarray(shift).astype(np.uint64) & np.uint64(255)).astype(
        np.int64
    )
