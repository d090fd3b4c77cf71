"""Bounded arrays in names that branches and loops change: ``x = x[keep]``, ``x = x[1:]``.

A block hands on the elements at their places, and a mask of those that count. Names with one mask,
such as ``x`` and ``v`` after ``x, v = x[keep], v[keep]``, share it afterwards too. Otherwise their
elements would be aligned anew in each operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import optree

from autojit.protocols.lifting import as_tracer, as_value, shape_of, tracer
from autojit.staging import pytrees
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

from .array import Bounded
from .masks import DEEPEST, Picked, count_of, is_same


class Filtered:
    """A bounded array at the end of a block: its elements, and a mask along one axis."""

    __slots__ = ("axis", "elements", "holds")

    def __init__(self, elements: Any, holds: Any, axis: int) -> None:
        self.elements = elements
        self.holds = holds
        self.axis = axis

    @property
    def is_whole(self) -> bool:
        """Whether all elements count."""
        return isinstance(self.holds, np.ndarray)


def as_state(x: Any) -> Any:
    """A bounded array as blocks hand it on, also in a tuple; anything else as it is."""
    if type(x) is tuple:
        return tuple([as_state(item) for item in x])
    if not isinstance(x, Bounded):
        return x
    axes = [axis for axis, found in enumerate(x.ranges) if found is not None]
    if len(axes) != 1:
        return x
    (axis,) = axes
    found: Any = x.ranges[axis]
    extent = x.storage.shape[axis]
    mask = found.mask(extent)
    holds: Any = np.ones(extent, bool) if mask is None else tracer(mask)
    if found.step > 0:
        return Filtered(x.storage, holds, axis)
    return Filtered(np.flip(x.storage, axis), holds[::-1], axis)  # the places are read backwards


def alike_states(values: list[Any]) -> list[Any]:
    """The values of one name on several ways. If it is a bounded array on one of them, an array of
    the same size is one of which all elements count. So are the items of tuples."""
    if all(type(x) is tuple and len(x) == len(values[0]) for x in values):
        columns = [alike_states(list(column)) for column in zip(*values, strict=True)]
        return list(zip(*columns, strict=True)) if columns else values
    found = next((x for x in values if type(x) is Filtered), None)
    if found is None:
        return values
    shape = shape_of(found.elements)
    return [_whole(x, found.axis) if _is_array(x, shape) else x for x in values]


def _is_array(x: Any, shape: tuple[int, ...]) -> bool:
    x = bare(x)
    is_one = isinstance(x, np.ndarray) or (isinstance(x, Tracer) and not x.is_bounded)
    return is_one and shape_of(x) == shape


def _whole(x: Any, axis: int) -> Filtered:
    return Filtered(x, np.ones(shape_of(x)[axis], bool), axis)


def _taken_apart(x: Any) -> tuple[Any, Any]:
    return (x.elements, x.holds), x.axis


def _put_together(axis: int, children: Any) -> Bounded:
    elements, holds = map(as_tracer, children)
    ranges: list[Any] = [None] * elements.ndim
    ranges[axis] = Picked(holds, count_of(as_value(holds)))
    return Bounded(elements, tuple(ranges))


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Filtered
_PUT_TOGETHER: Any = _put_together
optree.register_pytree_node(_CLASS, _taken_apart, _PUT_TOGETHER, namespace=pytrees.NAMESPACE)


def leaders(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """For each name with a bounded array, the first name that has the same mask."""
    found: dict[Any, Any] = {}
    filtered = {k: x for k, x in values.items() if type(x) is Filtered}
    for k, x in filtered.items():
        same = (j for j in found if found[j] is j and _have_one_mask(x, filtered[j]))
        found[k] = next(same, k)
    return found


def _have_one_mask(a: Filtered, b: Filtered) -> bool:
    if a.is_whole or b.is_whole:
        return a.is_whole and b.is_whole and a.holds.shape == b.holds.shape
    if a.holds.own is b.holds.own:
        return True
    return is_same(as_value(a.holds), as_value(b.holds), DEEPEST)


def sharing(x: Any, leader: Any) -> Any:
    """A bounded array with the places of another one."""
    picked = next(found for found in leader.ranges if found is not None)
    ranges = tuple(None if found is None else picked for found in x.ranges)
    return Bounded(x.storage, ranges)


hooks.as_state, hooks.alike_states, hooks.part = as_state, alike_states, Filtered
hooks.leaders, hooks.sharing = leaders, sharing
