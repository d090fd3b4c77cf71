"""``np.piecewise``: functions applied to the parts of an array that conditions select."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.protocols.lifting import as_tracer, as_value, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.created_arrays import bare, with_values
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .array import Bounded
from .integers import greater
from .masks import Picked
from .slices import write


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Call each function on all the elements that its condition selects.

    If several conditions hold for an element, the last one counts, as in NumPy.
    """
    x = as_tracer(x)
    masks = _masks(condlist, x)
    functions = list(funclist)
    if len(functions) == len(masks) + 1:
        nowhere = masks[0]
        for mask in masks[1:]:
            nowhere = nowhere | mask
        masks.append(~nowhere)
    elif len(functions) != len(masks):
        count = len(masks)
        words = f"np.piecewise: with {count} conditions, {count} or {count + 1} functions are given"
        raise ValueError(with_place(words, user_source()))
    picked = masks[0].ndim
    rows = np.reshape(x, (masks[0].size, *x.shape[picked:]))
    result: Any = np.zeros_like(rows)
    for mask, function in zip(masks, functions, strict=True):
        call = _called(function, args, kw)
        known = with_values(np.ravel(mask))
        some = _of_traced_mask if isinstance(known, Tracer) else _of_known_mask
        result = some(result, rows, known, call)
    return np.reshape(result, x.shape)


def _masks(condlist: Any, x: Tracer) -> list[Any]:
    """The list of conditions; a single condition may be given without a list."""
    if not shape_of(condlist) or (x.ndim and not _is_array(condlist[0])):
        condlist = [condlist]
    masks = [c if isinstance(c, Tracer) else np.asarray(c) for c in map(bare, condlist)]
    masks = [mask if mask.dtype == bool else mask != 0 for mask in masks]
    shape = masks[0].shape
    if any(mask.shape != shape for mask in masks) or shape != x.shape[: len(shape)]:
        shapes = ", ".join(str(mask.shape) for mask in masks)
        words = f"np.piecewise: x has shape {x.shape}, and the conditions have {shapes}"
        raise ShapeError(with_place(words, user_source()))
    return masks


def _is_array(condition: Any) -> bool:
    """Whether it is a whole condition rather than an element of one."""
    if isinstance(condition, (list, tuple)):
        return True
    return isinstance(bare(condition), (np.ndarray, Tracer)) and bool(np.ndim(condition))


def _called(function: Any, args: Any, kw: Any) -> Any:
    if not callable(function):
        return lambda part: function
    converted = hooks.converted(function)
    return lambda part: converted(part, *args, **kw)


def _of_known_mask(result: Any, rows: Any, mask: np.ndarray, call: Any) -> Any:
    """Assign to a known mask, as NumPy does; the function is not called without elements."""
    if mask.any():
        (places,) = mask.nonzero()
        result[places] = call(rows[places])
    return result


def _of_traced_mask(result: Any, rows: Any, mask: Tracer, call: Any) -> Any:
    """Assign to a mask that is not known.

    If the mask selects nothing, the results are not used. The length is then given as 1, so that
    functions that need an element, such as ``max``, do not fail.
    """
    holds = tracer(as_value(mask))
    length = greater(np.sum(holds), 1)
    ranges = (Picked(holds, length), *(None,) * (rows.ndim - 1))
    part = Bounded(tracer(as_value(rows)), ranges)
    place = Bounded(tracer(as_value(result)), ranges)
    write(place, call(part))
    return tracer(as_value(place.storage))
