"""NumPy's functions that apply a user's function to parts of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.functions.manipulation import moveaxis
from autojit.ir.core import shapes
from autojit.protocols.lifting import as_tracer, shape_of
from autojit.protocols.registry import implements
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.transformations.batching import vmap


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply the function to all rows at once, like ``vmap``."""
    function = hooks.converted(func1d)
    axis = shapes.normalize_axis(axis, len(shape_of(arr)))
    rows = moveaxis(as_tracer(arr), axis, -1)
    around = shape_of(rows)[:-1]
    if not around:
        return function(rows, *args, **kwargs)

    def one(row: Any) -> Any:
        return as_tracer(function(row, *args, **kwargs))

    results = vmap(one)(np.reshape(rows, (-1, shape_of(rows)[-1])))
    inner = shape_of(results)[1:]
    wide = np.reshape(results, (*around, *inner))
    places = range(len(around), len(around) + len(inner))
    return moveaxis(wide, list(places), [axis + i for i in range(len(inner))])


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    function, value, ndim = hooks.converted(func), as_tracer(a), len(shape_of(a))
    for axis in np.atleast_1d(axes):
        axis = shapes.normalize_axis(int(axis), ndim)
        result: Any = as_tracer(function(value, axis))
        if result.ndim == ndim - 1:
            result = np.expand_dims(result, axis)
        if result.ndim != ndim:
            words = "np.apply_over_axes: the function must keep the number of axes, or drop one"
            raise ShapeError(with_place(words, user_source()))
        value = result
    return value
