"""Functions of the user's that NumPy applies to parts of an array."""

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

from .control import switch


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """All rows at once, as ``vmap`` takes them."""
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


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each element goes through the function of the last condition that holds for it, so that
    what another one would make of it has no effect, on derivatives neither.

    A function is called with one element.  NumPy calls it with all that a condition selects, which
    is the same for functions that work element by element, as they are meant to."""
    x = as_tracer(x)
    conditions = _conditions(condlist, x)
    functions, count = list(funclist), len(conditions)
    if len(functions) == count:
        functions.append(0)
    elif len(functions) != count + 1:
        words = f"np.piecewise: with {count} conditions, {count} or {count + 1} functions are given"
        raise ValueError(with_place(words, user_source()))
    number: Any = np.full(x.shape, count)
    for k, condition in enumerate(conditions):
        number = np.where(condition, k, number)
    branches = [_branch(hooks.converted(f), x.dtype, args, kw) for f in functions]

    def one(number: Any, element: Any) -> Any:
        return switch(number, branches, element)

    flat = vmap(one)(np.ravel(as_tracer(number)), np.ravel(x))
    return np.reshape(flat, x.shape)


def _conditions(condlist: Any, x: Any) -> list[Any]:
    """One mask, or a list of them."""
    if shape_of(condlist) == x.shape and (not isinstance(condlist, list) or not x.ndim):
        return [condlist]
    return [np.broadcast_to(as_tracer(c), x.shape) for c in condlist]


def _branch(function: Any, dtype: np.dtype, args: Any, kw: Any) -> Any:
    if not callable(function):
        return lambda element: as_tracer(function).astype(dtype)
    return lambda element: as_tracer(function(element, *args, **kw)).astype(dtype)
