"""``ufunc.reduce``, ``ufunc.reduceat`` and ``ufunc.at`` of any ufunc, as loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ConcreteValueError, with_place
from autojit.functions.assignment import setitem, target
from autojit.functions.indexing import getitem
from autojit.functions.manipulation import moveaxis
from autojit.ir.core import shapes
from autojit.protocols.lifting import as_tracer, as_value, dtype_of, shape_of, tracer
from autojit.protocols.registry import reject, uncovered
from autojit.protocols.ufunc_plans import name_of, resolve
from autojit.tracing.aliasing import assign
from autojit.tracing.created_arrays import with_values
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

from .control import scan

_MISSING = np._NoValue


def _loop_dtype(ufunc: Any, method: str, kind: np.dtype) -> np.dtype:
    """The dtype in which a ufunc is applied to its own results."""
    name = f"{name_of(ufunc)}.{method}"
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError(f"{name}: only ufuncs with two operands and one result have this method")
    *_, result = resolve(ufunc, (kind, kind), None)
    again = resolve(ufunc, (result, result), None)
    if again[-1] != result:
        raise uncovered(name)
    return result


def fold(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: Any = False, initial: Any = _MISSING, where: Any = True,
) -> Any:  # fmt: skip
    """``ufunc.reduce`` along one axis, or several for ufuncs that commute."""
    name = f"{name_of(ufunc)}.reduce"
    reject(name, out=out, where=where)
    x = as_tracer(array)
    x = x if dtype is None else x.astype(dtype)
    kind = _loop_dtype(ufunc, "reduce", x.dtype)
    axes = shapes.reduced_axes(axis, x.ndim)
    if not axes:
        return x
    if len(axes) > 1 and ufunc.identity is None:
        raise ValueError(f"{name}: the order of elements counts, so give one axis")
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = np.transpose(x, (*axes, *kept)).astype(kind)
    rows = np.reshape(rows, (-1, *(x.shape[i] for i in kept)))
    result = _folded(name, ufunc, rows, initial)
    return np.reshape(result, shapes.keep_axes(x.shape, axes)) if keepdims else result


def _folded(name: str, ufunc: Any, rows: Any, initial: Any) -> Any:
    if initial is not _MISSING and initial is not None:
        start = np.broadcast_to(as_tracer(initial).astype(rows.dtype), rows.shape[1:])
    elif rows.shape[0]:
        start, rows = rows[0], rows[1:]
    elif ufunc.identity is not None:
        return np.full(rows.shape[1:], ufunc.identity, rows.dtype)
    else:
        raise ValueError(f"{name} of no elements has no value. Pass initial=.")

    def step(total: Any, row: Any) -> tuple[Any, None]:
        return ufunc(total, row), None

    return scan(step, start, rows)[0]


def reduce_at(
    ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.reduceat``: one reduction from each index to the next."""
    name = f"{name_of(ufunc)}.reduceat"
    reject(name, out=out)
    indices = with_values(indices)
    if is_tracer(indices):
        raise ConcreteValueError(
            with_place(
                f"{name}: the indices, which decide which elements are reduced together, are "
                "traced. Number the parts instead, and sum by these numbers:\n"
                "    np.bincount(part, weights=x, minlength=n)   # part: which one x[i] belongs to",
                user_source(),
            )
        )
    starts = [int(i) for i in np.asarray(indices)]
    rows = moveaxis(as_tracer(array), axis, 0)
    n = shape_of(rows)[0]
    if any(not 0 <= i < n for i in starts):
        raise IndexError(f"{name}: an index is out of bounds for {n} elements")
    stops = [*starts[1:], n]
    parts = [
        ufunc.reduce(rows[i : max(j, i + 1)], axis=0, dtype=dtype)
        for i, j in zip(starts, stops, strict=True)
    ]
    return moveaxis(np.stack(parts), 0, axis)


def update_at(ufunc: Any, x: Any, index: Any, *values: Any) -> None:
    """``ufunc.at``: one element after another, so that indices may repeat."""
    name = f"{name_of(ufunc)}.at"
    if len(values) != ufunc.nin - 1 or ufunc.nout != 1:
        raise uncovered(name)
    x = target(name, x)
    places = getitem(as_tracer(np.arange(x.size).reshape(x.shape)), index)
    flat_places = np.ravel(places)
    rows = [np.ravel(np.broadcast_to(as_tracer(v), shape_of(places))) for v in values]
    kind = resolve(ufunc, tuple(dtype_of(a) for a in (x, *values)), None)[-1]
    if not np.can_cast(kind, x.dtype, "same_kind"):
        raise TypeError(f"{name}: cannot cast {kind} to the array's {x.dtype}")

    def step(flat: Any, given: Any) -> tuple[Any, None]:
        place, *operands = given
        flat = np.copy(flat)
        setitem(flat, place, as_tracer(ufunc(flat[place], *operands)).astype(x.dtype))
        return flat, None

    flat, _ = scan(step, np.ravel(tracer(as_value(x))), (flat_places, *rows))
    assign(x, as_value(np.reshape(flat, x.shape)))


hooks.fold_ufunc, hooks.reduce_at, hooks.update_at = fold, reduce_at, update_at
