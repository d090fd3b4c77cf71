"""Tensors of 16 bits: operations compute in float32 from them, and round each result once.

PyTorch's do the same.  NumPy's products of float16 would take a hundred times as long, and of
bfloat16 it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import converted, is_bfloat16, is_half
from autojit.tracing.tracer import Tracer

_WIDE = np.dtype(np.float32)


def cast(x: Any, dtype: np.dtype) -> Any:
    """An array, or a traced one, in another dtype."""
    return x.astype(dtype) if isinstance(x, Tracer) else converted(x, dtype)


def plain(x: Any) -> Any:
    """An array that NumPy computes with: of bfloat16 the same numbers as float32."""
    return cast(x, _WIDE) if is_bfloat16(x.dtype) else x


def wide(x: Any) -> Any:
    """Half floats as float32; all else as it is."""
    return cast(x, _WIDE) if has_halves([x]) else x


def computable(dtype: np.dtype) -> np.dtype:
    """The dtype of :func:`plain` arrays."""
    return _WIDE if is_bfloat16(dtype) else dtype


def added(x: Any, y: Any) -> Any:
    """The sum of two arrays of one dtype."""
    if x.__class__ is np.ndarray and has_halves([x]):
        return cast(cast(x, _WIDE) + cast(y, _WIDE), x.dtype)
    return x + y


def has_halves(arrays: Sequence[Any]) -> bool:
    """Whether any array is of half floats."""
    # It is asked for each operation: `any` takes twice the time.
    for a in arrays:  # noqa: SIM110
        if a.itemsize == 2 and is_half(a.dtype):
            return True
    return False


def by_float32(function: Callable[..., Any], arrays: Sequence[Any], static: tuple[Any, ...]) -> Any:
    """The results of a function of arrays some of which are half floats.

    Results are half floats where all floats among the arrays are, and of one dtype.
    """
    dtypes = {a.dtype for a in arrays if a.dtype.kind in "fc" or is_half(a.dtype)}
    result = function(*[cast(a, _WIDE) if is_half(a.dtype) else a for a in arrays], *static)
    if len(dtypes) > 1:
        return result
    (dtype,) = dtypes
    if isinstance(result, tuple):
        return tuple([_rounded(r, dtype) for r in result])
    return _rounded(result, dtype)


def _rounded(x: Any, dtype: np.dtype) -> Any:
    return cast(np.asarray(x) if isinstance(x, np.generic) else x, dtype) if x.dtype == _WIDE else x
