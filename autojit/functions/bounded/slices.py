"""Slices with traced bounds: ``x[i:i + 3]``, ``A[k + 1:, k]``, ``r[k - 1::-1]``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autojit.errors import ConcreteValueError, ShapeError, with_place
from autojit.functions.assignment import cast
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic, move
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.update import scatter
from autojit.protocols.lifting import as_value, view
from autojit.tracing.aliasing import assign
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .alignment import entered, layout, same_length
from .array import Bounded, Range, mask_of, refuse
from .integers import (
    Form,
    as_index,
    as_int,
    at_most,
    checked,
    distance,
    form_of,
    from_the_end,
    greater,
    lesser,
)

_INT = np.dtype(np.int64)


@dataclass(frozen=True)
class Run:
    """A known number of places of an axis, from a traced place on: a view of known shape."""

    axis: int
    #: The first place, and its form.
    start: Value = field(compare=False)
    form: Form
    count: int
    step: int

    def within(self, take: Callable[[Value], Value]) -> Run:
        """The same run inside a block, which receives outer values through ``take``."""
        return replace(self, start=take(self.start))

    @property
    def _places(self) -> Value:
        steps = iota(dtype=_INT, shape=(self.count,), axis=0) * self.step
        return steps + move.broadcast(self.start, shape=(self.count,), dims=())

    def read(self, base: Value) -> Value:
        """The elements of a base array at these places."""
        picked = gather(base, self._places, axes=(self.axis,))
        rest = range(self.axis + 1, picked.type.ndim)
        order = (*range(1, self.axis + 1), 0, *rest)
        return move.transpose(picked, axes=order) if self.axis else picked

    def write(self, base: Value, part: Value) -> Value:
        """The base with other elements at these places."""
        rest = [a for a in range(part.type.ndim) if a != self.axis]
        part = move.transpose(part, axes=(self.axis, *rest)) if self.axis else part
        return scatter(base, part, self._places, axes=(self.axis,))


def is_traced_slice(item: Any) -> bool:
    """Whether an index is a slice with a traced bound."""
    if not isinstance(item, slice):
        return False
    return any(isinstance(bare(x), Tracer) for x in (item.start, item.stop, item.step))


def _expanded(index: Any, x: Tracer) -> list[Any]:
    """The items of an index, one for each axis, with None items kept and the ellipsis expanded."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(item is not None and item is not Ellipsis for item in items)
    dots = [n for n, item in enumerate(items) if item is Ellipsis]
    if used > x.ndim or len(dots) > 1:
        raise IndexError(
            with_place(f"too many indices: {used} for an array of {x.ndim} axes", user_source())
        )
    (at,) = dots or [len(items)]
    return [*items[:at], *[slice(None)] * (x.ndim - used), *items[at + 1 :]]


def _step(item: slice) -> int:
    step = bare(item.step)
    if isinstance(step, Tracer):
        raise ConcreteValueError(
            with_place(
                "The step of a slice must be known when the function is traced; its bounds may be "
                "traced. Pick the places by their indices:\n"
                "    x[start + step * np.arange(n)]     # not: x[start:stop:step]",
                user_source(),
            )
        )
    size = 1 if step is None else int(step.__index__())
    if size == 0:
        raise ValueError("slice step cannot be zero")
    return size


def _clipped(bound: Any, extent: Any, low: int, high: Any) -> Any:
    return lesser(greater(from_the_end(as_index(bound), extent), low), high)


def range_of(item: slice, extent: Any) -> Range:
    """The range that a slice selects by NumPy's rules; the extent may be traced too."""
    step, first, last = _step(item), bare(item.start), bare(item.stop)
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start, stop = (low, high) if step > 0 else (high, low)
    if first is not None:
        start = _clipped(first, extent, low, high)
    if last is not None:
        stop = _clipped(last, extent, low, high)
    span = stop - start if step > 0 else start - stop
    known = at_most(start, stop) if step > 0 else at_most(stop, start)
    if abs(step) > 1:
        span, known = (span + (abs(step) - 1)) // abs(step), known
    return Range(start, span if known else greater(span, 0), step)


def _run(item: slice, extent: int) -> tuple[Value, Form, int, int] | None:
    """First place, its form, count and step of a slice of known length; None if that is not known.

    If the slice is out of range, NumPy would return fewer elements; here the code raises at run
    time.
    """
    step, start, stop = _step(item), bare(item.start), bare(item.stop)
    if step < 0 or start is None or stop is None:
        return None
    start, stop = as_index(start), as_index(stop)
    size = distance(start, stop)
    if size is None or size <= 0:
        return None
    count = -(-size // step)
    if not (at_most(0, start) and at_most(stop, extent)):
        begin, end = as_int(start), as_int(stop)
        inside = arithmetic.bitwise_and(arithmetic.ge(begin, 0), arithmetic.le(end, extent))
        before = arithmetic.bitwise_and(arithmetic.ge(begin, -extent), arithmetic.lt(end, 0))
        fits = arithmetic.logical_or(inside, before)
        first = checked(from_the_end(start, extent), fits, "part_out_of_range")
        place = arithmetic.select(fits, as_int(first), full(0, begin.type))
        return place, form_of(start), count, step
    return as_int(start), form_of(start), count, step


def _place(i: Any, found: Range) -> Any:
    """The place of element i of a range; the code raises if there is no such element."""
    i = from_the_end(as_index(i), found.length)
    if not (at_most(0, i) and at_most(i + 1, found.length)):
        value = as_int(i)
        below = arithmetic.lt(value, as_int(found.length))
        holds = arithmetic.bitwise_and(arithmetic.ge(value, 0), below)
        i = checked(i, holds, "part_out_of_range")
    return found.place(i)


def _is_integer(item: Any) -> bool:
    if isinstance(item, Tracer):
        return not item.shape and item.dtype.kind in "iu"
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _narrowed(found: Range, item: slice) -> Range:
    if item == slice(None):
        return found
    inner = range_of(item, found.length)
    if not isinstance(found, Range):
        return found.narrowed(inner)
    start = found.start + found.step * inner.start
    return Range(start, inner.length, found.step * inner.step)


class _Part:
    """The selection of an index, found axis by axis."""

    def __init__(self, x: Tracer) -> None:
        self.known, self.extents = layout(x)
        #: The index into the storage, and the axes of its result that are bounded or a run.
        self.basic: list[Any] = []
        self.ranges: list[Range | None] = []
        self.runs: dict[int, tuple[Value, Form, int, int]] = {}
        self.key: list[Any] = []

    def add(self, item: Any, axis: int) -> None:
        found, extent = self.known[axis], self.extents[axis]
        if isinstance(item, slice):
            self._slice(item, found, extent)
        elif _is_integer(item):
            place = item if found is None else _place(item, found)
            self.key.append(form_of(as_index(place)))
            self.basic.append(place)
        else:
            refuse("An index array or a mask beside slices with traced bounds")

    def new_axis(self) -> None:
        self.basic.append(None)
        self.ranges.append(None)
        self.key.append(None)

    def _slice(self, item: slice, found: Range | None, extent: int) -> None:
        if found is None and not is_traced_slice(item):
            self.basic.append(item)
            self.ranges.append(None)
            self.key.append(item.indices(extent))
            return
        self.basic.append(slice(None))
        run = _run(item, extent) if found is None else None
        if run is not None:
            self.runs[len(self.ranges)] = run
            self.ranges.append(None)
            self.key.append(run[1:])
            return
        result = range_of(item, extent) if found is None else _narrowed(found, item)
        self.ranges.append(result)
        if not isinstance(result, Range):
            self.key.append(result)
            return
        self.key.append((form_of(result.start), form_of(result.length), result.step))


def _part(x: Tracer, index: Any) -> _Part:
    """The part of an array that an index selects."""
    part = _Part(x)
    axis = 0
    for item in _expanded(index, x):
        if item is None:
            part.new_axis()
            continue
        part.add(item, axis)
        axis += 1
    return part


def _read(storage: Tracer, part: _Part) -> Any:
    found, basic = storage, [item for item in part.basic if item is not None]
    if any(item != slice(None) for item in basic):
        found = storage[tuple(basic)]
    kept = [item for item in part.basic if item is None or isinstance(item, slice)]
    for axis, run in part.runs.items():  # before there are new axes, which would copy the array
        found = view(found, Run(axis - kept[:axis].count(None), *run))
    if None in kept:
        found = found[tuple(None if item is None else slice(None) for item in kept)]
    if not any(part.ranges):
        return found
    return Bounded(found, tuple(part.ranges), origin=(storage, part.key))


def note_slices() -> None:
    """Note that the trace has arrays of traced length."""
    trace = current_trace()
    while trace is not None and not trace.slices:
        trace.slices, trace = True, trace.around


def is_mask(index: Any) -> bool:
    """Whether an index is a bounded array of booleans."""
    return isinstance(index, Bounded) and index.dtype.kind == "b"


def get(x: Any, index: Any) -> Any:
    """``x[index]`` of a bounded array, or with traced slice bounds: a view."""
    note_slices()
    x, index = bare(x), bare(index)
    if isinstance(x, Bounded) and is_mask(index):
        return hooks.filtered(x, index).copy()
    return _read(x.storage if isinstance(x, Bounded) else x, _part(x, index))


def put(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value`` of a bounded array, with traced slice bounds, or of a bounded value."""
    note_slices()
    x, index, value = bare(x), bare(index), bare(value)
    if isinstance(x, Bounded) and is_mask(index):
        return write(hooks.filtered(x, index), value)
    storage, picked = x.storage if isinstance(x, Bounded) else x, _part(x, index)
    if not picked.ranges:  # a single element, which has no view
        if isinstance(value, Bounded):
            refuse("Assigning an array of traced length to a single element")
        storage[tuple(picked.basic)] = value
        return None
    part = _read(storage, picked)
    if isinstance(value, Bounded) and isinstance(part, Bounded):
        if _is_same_part(value.origin, part.origin):
            return None  # x[:i] += y: the operator has changed the part, and x with it
    elif isinstance(value, Tracer) and value is not part and _is_same_view(value, part):
        return None
    return write(part, value)


def _is_same_part(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a[0] is b[0] and a[1] == b[1]


def _is_same_view(a: Tracer, b: Any) -> bool:
    return a.base is not None and a.base is b.base and a.how == b.how


def write(part: Any, value: Any) -> None:
    """Assign values to a part."""
    value = bare(value)
    if not isinstance(part, Bounded):
        part = Bounded(part, (None,) * part.ndim)
    own, shape = layout(part)
    given, extents = layout(value)
    before = len(shape) - len(extents)
    if before < 0:
        refuse(f"Assigning {len(extents)} axes into {len(shape)}")
    ranges = list(own)
    for axis, (found, extent) in enumerate(zip(given, extents, strict=True), before):
        ranges[axis] = _checked(ranges[axis], shape[axis], found, extent)
    if part.dtype.kind != "c" and _kind(value) == "c":
        cast(value.storage if isinstance(value, Bounded) else value, part.dtype)  # raises
    new = entered(value, tuple(ranges), shape)
    old = as_value(part.storage)
    mask = mask_of(tuple(ranges), shape)
    fitting = move.broadcast_to(cast(new, part.dtype), shape)
    assign(part.storage, fitting if mask is None else arithmetic.select(mask, fitting, old))


def _kind(value: Any) -> str:
    return np.result_type(value).kind if not isinstance(value, Tracer) else value.dtype.kind


def _checked(own: Range | None, size: int, given: Range | None, extent: int) -> Range | None:
    """The range of an axis that is written to, with a check that the value's axis is as long."""
    if given is None and extent == 1:
        return own
    if own is None and given is None:
        if extent != size:
            raise ShapeError(
                with_place(
                    f"A value with an axis of {extent} elements does not broadcast into one of "
                    f"{size}.",
                    user_source(),
                )
            )
        return None
    target = Range(0, size, 1) if own is None else own
    length = extent if given is None else given.length
    return target.of_length(same_length(target.length, length))


hooks.get_bounded, hooks.set_bounded, hooks.write_bounded = get, put, write
