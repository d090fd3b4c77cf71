"""``np.average``: means with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.functions.checks import ensured
from autojit.functions.reductions import count_of
from autojit.ir.core import shapes
from autojit.protocols.lifting import dtype_of, shape_of
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.source import user_source

_MISSING = np._NoValue


@implements(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = _MISSING,
) -> Any:
    if weights is None:
        result = np.mean(a, axis, keepdims=keepdims)
        number = np.full(result.shape, count_of(shape_of(a), axis), result.dtype)
        return (result, number) if returned else result
    if np.shape(weights) != shape_of(a):
        weights = _along(axis, weights, shape_of(a))
    both = dtype_of(a), dtype_of(weights)
    floating = np.result_type(*both, *([np.float64] if both[0].kind in "iub" else []))
    weights = weights * np.ones(shape_of(a), floating)
    total: Any = np.sum(weights, axis, keepdims=keepdims)
    normal = total != 0
    if is_traced(total) or not np.all(normal):
        error = ZeroDivisionError("Weights sum to zero, can't be normalized")
        total = ensured(total, normal, error)
    result = np.sum(a * weights, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def _along(axis: Any, weights: Any, shape: tuple[int, ...]) -> Any:
    """Weights of the elements along some axes, in the order in which the axes are given."""
    if axis is None:
        words = f"np.average: weights of shape {np.shape(weights)} for an array of shape {shape}"
        raise TypeError(with_place(f"{words}: give the axis", user_source()))
    axes = [shapes.normalize_axis(k, len(shape)) for k in (axis if np.ndim(axis) else (axis,))]
    if np.shape(weights) != tuple(shape[k] for k in axes):
        words = f"np.average: weights of shape {np.shape(weights)} do not fit shape {shape}"
        raise ShapeError(with_place(f"{words} along axis {axis}", user_source()))
    places = np.argsort(axes).tolist()
    extents = [n if k in axes else 1 for k, n in enumerate(shape)]
    return np.reshape(np.transpose(weights, places), extents)
