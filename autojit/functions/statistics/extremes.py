"""Positions of the extremes of an array, and counts of nonzero elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.functions.reductions import max, min, sum
from autojit.ir.core import shapes
from autojit.ir.core.declaration import full
from autojit.ir.core.halves import kind_of
from autojit.ir.ops import arithmetic, move, reduce
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_value, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.tracer import Tracer

_MISSING = np._NoValue


def _argument(name: str, extreme: Any) -> Callable[..., Tracer]:
    def function(
        a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = _MISSING
    ) -> Tracer:
        shape = shape_of(a)
        if axis is None:
            a, along = np.ravel(a), 0
        elif not shape:
            shapes.reduced_axes(axis, 0)
            a, along = np.reshape(a, (1,)), 0
        else:
            along = shapes.normalize_axis(axis, len(shape))
        x = tracer(as_value(a))
        hit = _attains(extreme, x, along)
        hit = hit | np.isnan(x) if kind_of(x.dtype) in "fc" else hit
        index = np.dtype(np.int64)
        positions = iota(dtype=index, shape=x.shape, axis=along)
        beyond = full(x.shape[along], positions.type)
        # The smallest position of an element that equals the extreme (or is NaN).
        first = reduce.min_(arithmetic.select(as_value(hit), positions, beyond), axes=(along,))
        if keepdims is not _MISSING and keepdims:
            kept = (1,) * len(shape) if axis is None else shapes.keep_axes(shape, (along,))
            first = move.reshape(first, shape=kept)
        return tracer(first)

    function.__name__ = name
    return function


def _attains(extreme: Any, x: Any, along: int) -> Any:
    """Mark the elements equal to the extreme; complex numbers are ordered by their parts."""
    if x.dtype.kind != "c":
        return x == extreme(x, along, keepdims=True)
    first = x.real == extreme(x.real, along, keepdims=True)
    worst = x.real.dtype.type(-np.inf if extreme is max else np.inf)
    second = np.where(first, x.imag, worst)
    return first & (x.imag == extreme(second, along, keepdims=True))


argmax = implements(np.argmax)(_argument("argmax", max))
argmin = implements(np.argmin)(_argument("argmin", min))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    return sum(tracer(arithmetic.truth(as_value(a))), axis, np.int64, None, keepdims)
