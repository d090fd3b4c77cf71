"""Arrays selected by a traced mask: ``x[m]``, ``np.nonzero(m)``, ``np.compress(m, x)``.

The number of elements is known only at run time, so they stay at their places: the array is kept
whole, and the mask marks the places that count. Elementwise computations, sums, and assignments
through the same mask never move an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autojit.functions.assignment import cast
from autojit.functions.indexing import check_axes
from autojit.functions.indices import Masked, masked_part
from autojit.ir.core.program import Op, Value, current_builder
from autojit.ir.core.shapes import normalize_axis
from autojit.ir.ops import arithmetic, move, reduce
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_tracer, as_value, to_dtype, tracer
from autojit.protocols.registry import FUNCTIONS, implements
from autojit.tracing.aliasing import assign
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import value_of
from autojit.tracing.protocol import with_bounds
from autojit.tracing.tracer import Tracer

from .alignment import entered, frame, layout, met, placed
from .array import Bounded, Range, Ranges, mask_of, masked, refuse
from .integers import as_int
from .slices import note_slices, write

_INT = np.dtype(np.int64)
#: The number of operations through which two masks are compared.
DEEPEST = 16


@dataclass(frozen=True, eq=False)
class Picked:
    """The places of an axis where a mask holds."""

    holds: Tracer
    #: The number of these places.
    length: Any
    #: Whether the length has been checked. The mask then depends on the length, so that the
    #: check is not removed as dead code.
    is_checked: bool = False
    step = 1

    def of_length(self, length: Any) -> Picked:
        """The same places with another length, whose check may raise as the code runs."""
        return Picked(self.holds, length, self.is_checked or length is not self.length)

    def place(self, p: Any) -> Any:
        """The place of element p in the axis."""
        return tracer(as_value(self._order[p]), int)

    @property
    def _order(self) -> Any:
        """The indices of the places that count, followed by the others."""
        return np.argsort(~self.holds, kind="stable")

    def is_at(self, other: Any) -> bool:
        """Whether each element p has the same place in both."""
        if not isinstance(other, Picked):
            return False
        if self.holds.own is other.holds.own:
            return True
        return is_same(as_value(self.holds), as_value(other.holds), DEEPEST)

    def mask(self, extent: int) -> Value:
        """A mask of the places that count."""
        holds = as_value(self.holds)
        if not self.is_checked:
            return holds
        some = arithmetic.ge(as_int(self.length), 0)  # always true; keeps the check alive
        along = move.broadcast(some, shape=(extent,), dims=())
        return arithmetic.bitwise_and(holds, along)

    def numbers(self, extent: int) -> Value:
        """The number p of the element at each place of an axis, meaningful inside the mask only."""
        return as_value(np.cumsum(self.holds)) - 1

    def narrowed(self, inner: Range) -> Picked:
        """The elements of a range among these."""
        if inner.step < 0:
            refuse("A slice with a negative step")
        numbers, start = np.cumsum(self.holds) - 1, inner.start
        end = start + inner.step * inner.length
        holds = self.holds & (numbers >= start) & (numbers < end)
        if inner.step > 1:
            holds = holds & ((numbers - start) % inner.step == 0)
        return Picked(as_tracer(holds), inner.length)

    def to_the_front(self, x: Value, axis: int) -> Value:
        """A value with the selected elements first along an axis."""
        picked = gather(x, as_value(self._order), axes=(axis,))
        rest = range(axis + 1, x.type.ndim)
        return move.transpose(picked, axes=(*range(1, axis + 1), 0, *rest)) if axis else picked


def is_same(a: Value, b: Value, depth: int) -> bool:
    """Whether two values are computed in the same way from the same values."""
    if a is b:
        return True
    if a.type != b.type or not depth:
        return False
    made = {v: op for op in current_builder().ops[::-1] for v in op.results if v in (a, b)}
    return len(made) == 2 and _are_alike(made[a], made[b], depth - 1)


def _are_alike(a: Op, b: Op, depth: int) -> bool:
    if a.kind is not b.kind or len(a.operands) != len(b.operands) or a.programs:
        return False
    if len(a.results) != 1 or a.kind.key(a.params) != b.kind.key(b.params):
        return False
    return all(is_same(x, y, depth) for x, y in zip(a.operands, b.operands, strict=True))


# -- reading -----------------------------------------------------------------------------


def _flat(x: Value, found: Masked) -> Value:
    """A value with the axes of the mask merged into one."""
    _, mask, at = found
    shape = (*x.shape[:at], mask.size, *x.shape[at + mask.ndim :])
    return x if shape == x.shape else move.reshape(x, shape=shape)


def count_of(holds: Value) -> Any:
    """The number of places where a mask holds."""
    total = reduce.sum_(to_dtype(holds, _INT), axes=(0,))
    return with_bounds(tracer(total, int), (0, holds.shape[0]))


def _picked(x: Tracer, found: Masked) -> Bounded:
    note_slices()
    part, mask, at = found
    holds = as_value(mask)
    holds = holds if mask.ndim == 1 else move.reshape(holds, shape=(mask.size,))
    storage = tracer(_flat(part.read(as_value(x)), found))
    ranges: list[Any] = [None] * storage.ndim
    ranges[at] = Picked(tracer(holds), count_of(holds))
    return Bounded(storage, tuple(ranges))


def get_masked(x: Tracer, found: Masked) -> Any:
    """``x[mask]``: a copy, as in NumPy."""
    return _picked(x, found)


def set_masked(x: Tracer, found: Masked, value: Any) -> None:
    """``x[mask] = value`` with a value for each place where the mask holds."""
    picked = _picked(x, found)
    write(picked, value)
    part = found.part
    old = part.read(as_value(x))
    new = as_value(picked.storage)
    new = new if new.shape == old.shape else move.reshape(new, shape=old.shape)
    assign(x, part.write(as_value(x), new))


# -- places ------------------------------------------------------------------------------


class Places(Bounded):
    """The places where a mask holds, along one axis, as ``np.nonzero`` returns them."""

    __slots__ = ("axis", "mask")
    mask: Tracer
    axis: int


def places_of(mask: Any) -> tuple[Tracer, ...]:
    """``np.nonzero`` of an array whose values are not known."""
    check_axes(mask)
    mask = as_tracer(mask)
    if not mask.size:
        return tuple(as_tracer(np.zeros(0, _INT)) for _ in range(mask.ndim))
    truth = mask if mask.dtype.kind == "b" else as_tracer(mask != 0)
    found = []
    for axis in range(truth.ndim):
        along = iota(dtype=_INT, shape=truth.shape, axis=axis)
        masked_places = masked_part(truth, tracer(along))
        assert masked_places is not None
        storage = _picked(tracer(along), masked_places)
        made = Places(storage.storage, storage.ranges)
        made.mask, made.axis = truth, axis
        found.append(made)
    return tuple(found)


def mask_in(index: Any, x: Tracer) -> Any:
    """Replace an index that ``np.nonzero`` made from a mask by the mask."""
    items = index if isinstance(index, tuple) else (index,)
    if not items or not all(isinstance(item, Places) for item in items):
        return index
    mask = items[0].mask
    whole = [(mask, axis) for axis in range(mask.ndim)]
    found = [(item.mask, item.axis) for item in items]
    fits = mask.shape == x.shape[: mask.ndim] and len(found) == len(whole)
    same = all(a is b and i == j for (a, i), (b, j) in zip(found, whole, strict=False))
    return mask if fits and same else index


def get_at(x: Tracer, index: Any) -> Any:
    """``x[places]`` with an unknown number of places."""
    items = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(item, Bounded) and item.dtype.kind in "iu" for item in items):
        refuse(
            "An index that combines such an array with other items, or that is such an array of "
            "booleans,"
        )
    ranges, shape = frame(items)
    places = [entered(item, ranges, shape) for item in items]
    safe = [tracer(masked(as_value(p), ranges, 0)) for p in places]
    storage = as_tracer(x[tuple(safe)])
    return Bounded(storage, (*ranges, *(None,) * (storage.ndim - len(ranges))))


def set_at(x: Tracer, index: Any, value: Any) -> None:
    """``x[places] = value`` with an unknown number of places, one place for each element.

    The other elements of the arrays write the last element once more, to its own place. The last
    one wins in any case, so nothing changes.
    """
    items = index if isinstance(index, tuple) else (index,)
    if not all(_is_place(item) for item in items) or 0 in x.shape:
        refuse("Assigning at an index that combines such an array with a mask or slices")
    value = bare(value)
    rows = [*items, value] if _has_axis(value, x.ndim - len(items)) else list(items)
    axes = [[(r[0], n[0])] if n else [] for r, n in map(layout, rows)]
    if any(len(layout(item)[1]) > 1 for item in items):
        refuse("Assigning at indices of several axes")
    found, extent = met([axis for given in axes for axis in given])
    assert found is not None
    mask = mask_of((found,), (extent,))
    places = [move.broadcast_to(placed(item, (found,), (extent,))[0], (extent,)) for item in items]
    wide = (extent, *x.shape[len(items) :])
    own = layout(value)[0]
    ranges: Ranges = (found,) + (None,) * (len(wide) - 1)
    new = placed(value, ranges if len(own) == len(wide) else (None,) * len(wide), wide)[0]
    new = move.broadcast_to(cast(tracer(new), x.dtype), wide)
    if mask is not None:
        holds = tracer(mask)
        last = np.max(np.where(holds, np.arange(extent), -1))
        at, none = as_tracer(np.maximum(last, 0)), as_tracer(last < 0)
        firsts = [np.where(none, 0, as_tracer(p)[at]) for p in map(tracer, places)]
        row = np.where(none, x[(0,) * len(items)], tracer(new)[at])
        places = [
            as_value(np.where(holds, tracer(p), f)) for p, f in zip(places, firsts, strict=True)
        ]
        along = holds.reshape(extent, *(1,) * (len(wide) - 1))
        new = as_value(np.where(along, tracer(new), row))
    x[tuple(map(tracer, places))] = tracer(new)


def _is_place(item: Any) -> bool:
    if isinstance(item, Tracer):
        return item.dtype.kind in "iu" and (item.is_bounded or not item.shape)
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _has_axis(value: Any, after: int) -> bool:
    """Whether a value has an element, or a row with ``after`` axes, for each place."""
    shape = layout(value)[1]
    return len(shape) > after and (isinstance(value, Bounded) or shape[0] != 1)


def filtered(x: Bounded, mask: Bounded) -> Bounded:
    """The part of a bounded array where a mask for its first axis holds."""
    found, own = x.ranges[0], mask.ranges[0]
    extent = x.storage.shape[0]
    if mask.ndim > 1 or found is None or own is None or mask.storage.shape != (extent,):
        refuse("A mask of another length")
    if not found.is_at(own):
        refuse("A mask that was made from other elements")
    holds = mask.outside(False)
    picked: Any = Picked(tracer(holds), count_of(holds))
    return Bounded(x.storage, (picked, *x.ranges[1:]))


# -- NumPy's functions ---------------------------------------------------------------------


def _is_unknown(x: Any) -> bool:
    x = bare(x)
    return isinstance(x, Tracer) and not x.is_bounded and value_of(x) is None


def _or_else(function: Any, answer: Any) -> None:
    """Use ``answer`` for a function if the values of its first argument are not known."""
    known = FUNCTIONS[function]

    @implements(function)
    def either(first: Any, *args: Any, **kwargs: Any) -> Any:
        given = answer if _is_unknown(first) else known
        return given(first, *args, **kwargs)


def _flatnonzero(a: Any) -> Any:
    return places_of(np.ravel(a))[0]


def _extract(condition: Any, arr: Any) -> Any:
    return as_tracer(np.ravel(arr))[as_tracer(np.ravel(condition)) != 0]


def _compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    a, axis = (np.ravel(a), 0) if axis is None else (as_tracer(a), normalize_axis(axis, np.ndim(a)))
    short = a.shape[axis] - np.size(condition)
    condition = as_tracer(condition) != 0
    if short:  # missing conditions count as false
        condition = np.concatenate([condition, np.zeros(short, bool)])
    return as_tracer(a)[(slice(None),) * axis + (condition,)]


_or_else(np.nonzero, places_of)
_or_else(np.flatnonzero, _flatnonzero)
_or_else(np.extract, _extract)
_or_else(np.compress, _compress)

hooks.get_masked, hooks.set_masked = get_masked, set_masked
hooks.places_of, hooks.mask_in, hooks.get_at = places_of, mask_in, get_at
hooks.set_at, hooks.filtered = set_at, filtered
