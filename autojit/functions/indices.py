"""Interpretation of an index: integers, slices, masks and index arrays become a selection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.program import Value
from autojit.ir.ops import arithmetic
from autojit.protocols.lifting import as_tracer, as_value, by_values, common_shape, shape_of
from autojit.session.devices import is_on_card
from autojit.tracing.created_arrays import TracedArray, bare, is_traced, plain
from autojit.tracing.known import value_of
from autojit.tracing.protocol import bounds_of
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .selections import Places, Window


def selection(index: Any, x: Tracer) -> Window | Places:
    """The selection that an index makes from an array."""
    basic = index if type(index) is tuple else (index,)
    if len(basic) <= x.ndim and all(type(item) in (int, slice) for item in basic):
        return window([*basic, *[slice(None)] * (x.ndim - len(basic))], x)
    index = bare(index)
    items, together = parse(index, x)
    if not any(map(is_array, items)):
        return window(items, x)
    # Integers count as arrays beside arrays, and broadcast with them.
    picked = [isinstance(item, int) or is_array(item) for item in items]
    around = window([slice(None) if p else item for p, item in zip(picked, items, strict=True)], x)
    axes = tuple(i for i, p in enumerate(picked) if p)
    arrays = [item for p, item in zip(picked, items, strict=True) if p]
    shape = common_shape(*arrays)
    places = tuple(
        _resolved(item, around.shape[axis], axis, x)
        for item, axis in zip(arrays, axes, strict=True)
    )
    # Integers alone are basic indices, even if they are not known yet.
    copies = any(isinstance(item, np.ndarray) or shape_of(item) for item in arrays)
    return Places(around, axes, places, shape, axes[0] if together else 0, copies)


def has_ellipsis(index: Any) -> bool:
    """Whether an index has an ellipsis; a result without axes is then still an array."""
    return any(item is Ellipsis for item in (index if isinstance(index, tuple) else (index,)))


def has_traced_slice(index: Any) -> bool:
    """Whether an index has a slice with a traced bound whose value is not known."""
    for item in index if type(index) is tuple else (index,):
        if type(item) is slice and any(map(_is_unknown, (item.start, item.stop, item.step))):
            return True
    return False


def _is_unknown(bound: Any) -> bool:
    return is_traced(bound) and value_of(bare(bound)) is None


def has_mask_or_places(index: Any) -> bool:
    """Whether an index has a traced mask or a bounded array."""
    for item in index if type(index) is tuple else (index,):
        if isinstance(item, (Tracer, TracedArray)):
            item = bare(item)
            if item.is_bounded or (item.dtype.kind == "b" and item.ndim):
                return True
    return False


class Masked(NamedTuple):
    """A mask that is not known yet, over axes of a part of an array; ``at`` is the first axis."""

    part: Window
    mask: Tracer
    at: int


def masked_part(index: Any, x: Tracer) -> Masked | None:
    """The part that a traced mask in the index covers; None if there is no such mask."""
    index = bare(index)
    items = list(index) if isinstance(index, tuple) else [index]
    masks = [item for item in items if isinstance(item, Tracer) and item.dtype.kind == "b"]
    if len(masks) != 1 or not masks[0].size:  # a mask without elements is known
        return None
    (mask,) = masks
    items = [i if i is mask else _understood(_lifted(i), x) for i in items]
    together, items = _are_together(items), _expand_ellipsis(items, x)
    number = next(n for n, item in enumerate(items) if item is mask)
    before, after = items[:number], items[number + 1 :]
    at = sum(not isinstance(item, int) for item in before)
    has_integers = any(isinstance(item, int) for item in items)
    if any(map(is_array, (*before, *after))) or (has_integers and at and not together):
        raise _apart(x)
    axis = sum(item is not None for item in before)
    extents = x.shape[axis : axis + mask.ndim]
    _check_mask(mask.shape, extents, x)
    part = window([*before, *[slice(None)] * mask.ndim, *after], x)
    return Masked(part, mask, at)


def _apart(x: Tracer) -> Exception:
    return UncoveredFunctionError(
        with_place(
            "An index that combines a traced mask with integers beyond a slice, or with arrays of "
            f"integers, is not covered by autojit, here for {x.type}. Index in two steps:\n"
            "    row = x[i]; row[:, mask] = 0       # not: x[i, :, mask] = 0",
            user_source(),
        )
    )


def in_two_steps(index: Any) -> tuple[Any, Any] | None:
    """An index of a traced mask and traced integers as two: the integers first, then the mask.
    None for another index."""
    if type(index) is not tuple:
        return None
    kinds = [_kind_of_item(item) for item in index]
    if kinds.count("mask") != 1 or "traced" not in kinds or "" in kinds:
        return None
    k = kinds.index("mask")
    picked = [n for n, kind in enumerate(kinds) if kind != "basic"]
    kept = [item for item, kind in zip(index[:k], kinds, strict=False) if kind == "basic"]
    if Ellipsis in kept or (kept and "basic" in kinds[picked[0] : picked[-1]]):
        return None
    whole = (slice(None),) * bare(index[k]).ndim
    return (*index[:k], *whole, *index[k + 1 :]), (*[slice(None)] * len(kept), index[k])


def _kind_of_item(item: Any) -> str:
    """ "basic" for what keeps axes, "number", "traced" or "mask"; nothing for another item."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return "basic"
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return "number"
    if not isinstance(item, (Tracer, TracedArray)):
        return ""
    item = bare(item)
    if item.dtype.kind == "b":
        return "mask" if item.ndim else ""
    return "traced" if item.dtype.kind in "iu" and not item.ndim else ""


def parse(index: Any, x: Tracer) -> tuple[list[Any], bool]:
    """One item for each axis, with None items kept; and whether the index arrays are adjacent."""
    every = index if isinstance(index, tuple) else (index,)
    items = [_understood(_lifted(item), x) for item in every]
    together = _are_together(items)
    return _with_places(_expand_ellipsis(items, x), x), together


def _lifted(item: Any) -> Any:
    """An array on a GPU as a traced array."""
    return as_tracer(item) if is_on_card(item) else item


def _understood(item: Any, x: Tracer) -> Any:
    """An item as a basic index, or as an array of integers or booleans."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, Tracer) and item.dtype.kind in "iu":
        return item
    if isinstance(item, Tracer) and item.dtype.kind == "b" and item.ndim:
        known = value_of(item) if item.size else np.zeros(item.shape, bool)
        item = item if known is None else known
    item = by_values(list(item) if isinstance(item, tuple) else item)
    if isinstance(item, list) and is_traced(item):
        item = as_tracer(item)
        if item.dtype.kind in "iu":
            return item
    if isinstance(item, (list, np.ndarray)) and not isinstance(item, Tracer):
        array = np.asarray(plain(item))
        if array.dtype.kind == "b" and array.ndim:
            return array
        if array.dtype.kind in "iu" or array.size == 0:
            return array.astype(np.int64)
    raise _refused(item, x)


def _refused(item: Any, x: Tracer) -> Exception:
    """The error for an invalid index."""
    if isinstance(item, float) or (isinstance(item, Tracer) and item.dtype.kind == "f"):
        fix = _OF_ARRAY if isinstance(item, Tracer) and item.ndim else _OF_NUMBER
        return IndexError(
            with_place(
                f"An index must be an integer, not {_describe(item)}. Convert it:\n{fix}",
                user_source(),
            )
        )
    if isinstance(item, str):
        return IndexError(
            with_place(
                f"Arrays have no column names and are indexed with integers, not with {item!r}. "
                "Pass a dict of arrays, or take a column by its number:\n"
                "    x[..., 0]                          # not: x['a']",
                user_source(),
            )
        )
    return UncoveredFunctionError(
        with_place(
            f"Indexing a traced array of type {x.type} with {_describe(item)} is not covered by "
            "autojit. It covers integers, slices, ..., None, integer arrays, and masks that are "
            "known when the function is traced.\n"
            "A traced mask gives a result whose shape depends on values. Keep the shape:\n"
            "    np.where(mask, x, 0)               # not: x[mask]\n"
            "    x = np.where(mask, x + y, x)       # not: x[mask] += y",
            user_source(),
        )
    )


_OF_NUMBER = "    x[int(i)]                          # not: x[i]"
_OF_ARRAY = "    x[i.astype(int)]                   # not: x[i]"


def _axes_of(item: Any) -> int:
    """The number of axes that an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_array(item) and item.dtype.kind == "b" else 1


def _with_places(items: list[Any], x: Tracer) -> list[Any]:
    """The items, with each known mask replaced by the index arrays of its places."""
    result: list[Any] = []
    axis = 0
    for item in items:
        extents = x.shape[axis : axis + _axes_of(item)]
        axis += len(extents)
        if not (isinstance(item, np.ndarray) and item.dtype.kind == "b"):
            result.append(item)
            continue
        _check_mask(item.shape, extents, x)
        result.extend(np.nonzero(item))
    return result


def _check_mask(shape: shapes.Shape, extents: shapes.Shape, x: Tracer) -> None:
    fits = len(shape) == len(extents) and all(
        m in (n, 0) for m, n in zip(shape, extents, strict=True)
    )
    if not fits:  # in NumPy, a mask without elements selects nothing
        raise IndexError(
            with_place(
                f"a mask of shape {shape} does not fit axes of extents {extents} of an array of "
                f"type {x.type}",
                user_source(),
            )
        )


def _describe(item: Any) -> str:
    if isinstance(item, Tracer):
        return f"a traced array of type {item.type}"
    if isinstance(item, np.ndarray):
        return f"an array of dtype {item.dtype}"
    return f"a {type(item).__name__}"


def is_array(item: Any) -> bool:
    """Whether an item makes the whole index an advanced one."""
    return isinstance(item, (np.ndarray, Tracer))


def _are_together(items: list[Any]) -> bool:
    """Whether the index arrays are adjacent (an ellipsis for no axes separates them too)."""
    picked = [isinstance(item, int) or is_array(item) for item in items]
    if True not in picked:
        return False
    first, last = picked.index(True), len(picked) - 1 - picked[::-1].index(True)
    return all(picked[first : last + 1])


def _expand_ellipsis(items: list[Any], x: Tracer) -> list[Any]:
    used = sum(map(_axes_of, items))
    if used > x.ndim:
        raise IndexError(
            with_place(f"too many indices: {used} for an array of type {x.type}", user_source())
        )
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not dots:
        items, dots = [*items, Ellipsis], [len(items)]
    (at,) = dots
    return [*items[:at], *([slice(None)] * (x.ndim - used)), *items[at + 1 :]]


def window(items: list[Any], x: Tracer) -> Window:
    """The selection of integers, slices and ``None``, one item for every axis."""
    ranges: list[tuple[int, int, int]] = []
    flips, shape = [], []
    for item in items:
        if item is None:
            shape.append(1)
            continue
        axis = len(ranges)
        start, stop, stride, flipped, keep = _range(item, x, axis)
        if flipped:
            flips.append(axis)
        if keep:
            shape.append(len(range(start, stop, stride)))
        ranges.append((start, stop, stride))
    start_, stop_, stride_ = zip(*ranges, strict=True) if ranges else ((), (), ())
    return Window(start_, stop_, stride_, tuple(flips), tuple(shape))


def _range(item: Any, x: Tracer, axis: int) -> tuple[int, int, int, bool, bool]:
    """The start, stop and positive stride, whether to flip, and whether the axis stays."""
    extent = x.shape[axis]
    if not isinstance(item, slice):
        i = int(item)
        if not -extent <= i < extent:
            raise IndexError(
                with_place(
                    f"index {i} is out of bounds for axis {axis} of an array of type {x.type}",
                    user_source(),
                )
            )
        return i % extent, i % extent + 1, 1, False, False
    picked = range(*item.indices(extent))
    if not len(picked):
        return 0, 0, 1, False, True
    first, last, step = picked[0], picked[-1], picked.step
    if step > 0:
        return first, last + 1, step, False, True
    return last, first + 1, -step, True, True


def _resolved(item: Any, extent: int, axis: int, x: Tracer) -> Value | np.ndarray:
    """Indices counted from 0; known ones are checked now, traced ones when the code runs."""
    if isinstance(item, Tracer):
        index = as_value(item, np.dtype(np.int64))
        low, high = bounds_of(item)
        if low >= 0:
            return index
        if high < 0:
            return index + extent
        return arithmetic.select(arithmetic.lt(index, 0), index + extent, index)
    known = np.asarray(item, np.int64)
    wrong = known[(known < -extent) | (known >= extent)]
    if wrong.size:
        raise IndexError(
            with_place(
                f"index {wrong.flat[0]} is out of bounds for axis {axis} of an array of type "
                f"{x.type}",
                user_source(),
            )
        )
    return np.where(known < 0, known + extent, known)
