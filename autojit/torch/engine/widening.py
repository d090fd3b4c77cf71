"""Half-precision tensors: operations compute in float32 and round each result once.

PyTorch does the same.  NumPy's float16 products would take a hundred times as long, and NumPy has
no bfloat16.
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
    """An array that NumPy can compute with: bfloat16 is converted to float32."""
    return cast(x, _WIDE) if is_bfloat16(x.dtype) else x


def wide(x: Any) -> Any:
    """An array of half floats as float32; any other array unchanged."""
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
    """Whether any array has half floats."""
    # Called for each operation; `any` would take twice the time.
    for a in arrays:  # noqa: SIM110
        if a.itemsize == 2 and is_half(a.dtype):
            return True
    return False


def by_float32(function: Callable[..., Any], arrays: Sequence[Any], static: tuple[Any, ...]) -> Any:
    """The results of a function of arrays, some of which have half floats.

    Results have half floats if all floating-point arrays have half floats of one dtype.
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
