"""Arrays in the likeness of traced ones, and questions about their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracer import Tracer
from .lifting import as_value, shape_of, tracer
from .manipulation import broadcast_to
from .registry import implements


@implements(np.zeros_like)
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> np.ndarray:
    return np.zeros(shape_of(a) if shape is None else shape, dtype or a.dtype)


@implements(np.ones_like)
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> np.ndarray:
    return np.ones(shape_of(a) if shape is None else shape, dtype or a.dtype)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tracer:
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    extents = shape_of(a) if shape is None else shape
    return broadcast_to(tracer(as_value(fill_value, dtype)), extents)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tracer:
    return tracer(as_value(a))


@implements(np.empty_like)
def empty_like(prototype: Any, *args: Any, **kwargs: Any) -> np.ndarray:
    return zeros_like(prototype, *args, **kwargs)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return x.dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return x.dtype.kind != "c"


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    from .lifting import result_dtype

    is_dtype = [isinstance(x, (np.dtype, type, str)) for x in arrays_and_dtypes]
    pairs = list(zip(is_dtype, arrays_and_dtypes, strict=True))
    dtypes = [np.dtype(x) for known, x in pairs if known]
    arrays = [x for known, x in pairs if not known]
    # An empty array of a dtype promotes as the dtype does, and numbers stay weak beside it.
    return result_dtype(*arrays, *(np.empty(0, dtype) for dtype in dtypes))
