"""Creation of arrays like traced ones, and questions about their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.program import Value
from autojit.ir.ops import move
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, perhaps_view, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import Uncounted, fresh
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

from .assignment import cast
from .manipulation import reshape

#: NumPy's own name for ``copy=None``, which other libraries pass; it raises in a boolean context.
_IF_NEEDED: Any = np._CopyMode.IF_NEEDED


def _is_vague(a: Any, order: str) -> bool:
    """Whether a new array like ``a`` need not be in row-major order."""
    return order != "C" and not (isinstance(a, Tracer) and a.ordered)


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
    extents = shape_of(a) if shape is None else shape
    return fresh(np.zeros(extents, a.dtype if dtype is None else dtype), _is_vague(a, order))


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
    extents = shape_of(a) if shape is None else shape
    return fresh(np.ones(extents, a.dtype if dtype is None else dtype), _is_vague(a, order))


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
    result = full(shape_of(a) if shape is None else shape, fill_value, dtype)
    result.ordered = not _is_vague(a, order)
    return result


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
    like: Any = None,
) -> Tracer:  # fmt: skip
    """``np.full`` with a traced value."""
    target = tuple(map(int, np.atleast_1d(shape)))
    value = cast(fill_value, np.dtype(dtype) if dtype is not None else dtype_of(fill_value))
    return made(move.broadcast_to(value, target), ordered=order == "C")


def made(value: Value, *, ordered: bool = True) -> Tracer:
    """A value as a new array that owns its memory."""
    result = tracer(value)
    result.boxed, result.ordered = True, ordered
    return result


def converted(
    name: str, x: Any, dtype: Any = None, order: Any = None, *, copy: Any = ...,
    subok: Any = False, ndmin: int = 0, device: Any = None, like: Any = None,
) -> Tracer:  # fmt: skip
    """``np.array``, ``np.asarray`` and related functions of a traced array or nested lists."""
    order = {"ascontiguousarray": "C", "asfortranarray": "F"}.get(name, order)
    if isinstance(x, list) and any(isinstance(each, Uncounted) for each in x):
        elements = hooks.elements_as_array(x)
        return elements if dtype is None else elements.astype(dtype)
    known = isinstance(x, Tracer)
    result = as_tracer(x)
    wanted = result.dtype if dtype is None else np.dtype(dtype)
    copies = name == "array" if copy is ... else copy is not _IF_NEEDED and copy
    if not known or result.is_scalar or copies or wanted != result.dtype:
        ordered = not known or result.ordered or order == "C"
        result = made(cast(result, wanted), ordered=ordered and order in (None, "C", "K", "A"))
    elif order == "F" or (order == "C" and not result.ordered):
        result = perhaps_view(result, as_value(result))
    least = max(ndmin, 1) if name in ("ascontiguousarray", "asfortranarray") else ndmin
    missing = max(0, least - result.ndim)
    return reshape(result, (*(1,) * missing, *result.shape)) if missing else result


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tracer:
    ordered = order == "C" or (isinstance(a, Tracer) and a.ordered and order in "KA")
    return made(as_value(a), ordered=ordered)


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
    from autojit.protocols.lifting import result_dtype

    is_dtype = [isinstance(x, (np.dtype, type, str)) for x in arrays_and_dtypes]
    pairs = list(zip(is_dtype, arrays_and_dtypes, strict=True))
    dtypes = [np.dtype(x) for known, x in pairs if known]
    arrays = [x for known, x in pairs if not known]
    # An empty array of a dtype promotes like the dtype, and numbers stay weak beside it.
    return result_dtype(*arrays, *(np.empty(0, dtype) for dtype in dtypes))


@implements(np.linspace, known=("num",))
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
    if endpoint and num > 1:  # make the last point exact
        points = np.where(along == parts, last, points)
    points = np.moveaxis(points, 0, axis)
    if dtype is not None:
        points = np.floor(points) if np.dtype(dtype).kind in "iu" else points
        points = points.astype(dtype)
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


@implements(np.logspace, known=("num",))
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    if np.ndim(base):
        ndim = max(np.ndim(x) for x in (start, stop, base))
        base = np.expand_dims(
            np.reshape(base, (1,) * (ndim - np.ndim(base)) + np.shape(base)), axis
        )
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    points = np.power(base, exponents)
    return points if dtype is None else points.astype(dtype)


@implements(np.geomspace, known=("num",))
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Neither end may be zero; if both are real, they have the same sign."""
    asked = np.zeros((), dtype).dtype
    kind = np.result_type(dtype_of(start), dtype_of(stop), float(num), asked)
    first, last = (as_tracer(x).astype(kind) for x in (start, stop))
    direction = np.sign(first)
    ends = [np.log10(x / direction) for x in (first, last)]
    exponents = linspace(ends[0], ends[1], num, endpoint)
    points = np.moveaxis(np.power(10.0, exponents), 0, -1)
    points = points * np.asarray(1, kind) * direction[..., None]
    if num > 0:  # make the ends exact
        at = np.arange(num)
        points = np.where(at == 0, first[..., None], points)
        points = np.where((at == num - 1) & endpoint & (num > 1), last[..., None], points)
    points = np.moveaxis(points, -1, axis)
    return points if dtype is None else points.astype(dtype)
