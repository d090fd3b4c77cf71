"""Arrays in the likeness of traced ones, and questions about their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracer import Tracer
from .lifting import as_tracer, as_value, shape_of, tracer
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
    result = tracer(as_value(a))
    result.boxed = True
    result.ordered = order == "C" or (isinstance(a, Tracer) and a.ordered and order in "KA")
    return result


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


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    parts = num - 1 if endpoint else num
    kind = np.result_type(start, stop, float(num))
    first, last = (as_tracer(x).astype(kind) for x in (start, stop))
    step = (last - first) / kind.type(max(parts, 1))
    along = np.arange(num, dtype=kind).reshape(-1, *(1,) * np.ndim(step))
    points = along * step + first
    if endpoint and num > 1:  # the last one exactly
        points = np.where(along == parts, last, points)
    points = np.moveaxis(points, 0, axis)
    points = points if dtype is None else points.astype(dtype)
    return (points, step) if retstep else points


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    n = len(xi)
    grids = [np.reshape(x, (1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        grids = [np.swapaxes(g, 0, 1) for g in grids]
    full = tuple(grids) if sparse else np.broadcast_arrays(*grids)
    return tuple(map(np.copy, full)) if copy else tuple(full)
