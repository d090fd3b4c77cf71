"""Selections by a mask on a GPU: their length depends on values, so the call waits for them.

Only the mask is copied to the host, one byte per element, and the selected indices are copied back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray
from autojit.session.devices import is_on_card

from .transfer import device_get, device_put


def nonzero(x: DeviceArray) -> tuple[DeviceArray, ...]:
    """``np.nonzero(x)``."""
    mask: Any = x if x.dtype.kind == "b" else x != 0
    places: Any = np.nonzero(np.asarray(device_get(mask)))
    return tuple(device_put(each, x.device) for each in places)


def without_masks(items: tuple[Any, ...], x: DeviceArray) -> tuple[Any, ...]:
    """An equivalent index with the places that masks pick in place of the masks."""
    made: list[Any] = []
    axis, taken = 0, sum(map(axes, items))
    for item in items:
        mask = _mask(item)
        if mask is None:
            made.append(item)
        else:
            extents = x.shape[axis : axis + mask.ndim]
            if mask.shape != extents:
                raise IndexError(
                    f"a mask of shape {mask.shape} cannot select from axes of shape {extents}: "
                    "the shapes must be equal"
                )
            made += np.nonzero(mask)
        axis += x.ndim - taken if item is Ellipsis else axes(item)
    return tuple(made)


def _mask(item: Any) -> np.ndarray | None:
    """A mask as an array of the host; None for other items, which include a single bool."""
    if isinstance(item, list):
        item = np.asarray(item) if not any(map(is_on_card, item)) else item
    if getattr(getattr(item, "dtype", None), "kind", "") != "b" or not np.ndim(item):
        return None
    return np.asarray(device_get(item))


def axes(item: Any) -> int:
    """The number of axes that an item of an index consumes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    dtype = getattr(item, "dtype", None)
    return int(np.ndim(item)) if dtype is not None and dtype.kind == "b" else 1


def _flatnonzero(a: Any) -> Any:
    return np.ravel(a).nonzero()[0]


def _argwhere(a: Any) -> Any:
    return np.stack(nonzero(a), axis=1)


def _where(condition: Any, *values: Any) -> Any:
    return NotImplemented if values else nonzero(condition)


def _extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.ravel(condition)]


#: Functions of one or two arrays, and their versions on a GPU, which return NotImplemented if they
#: need no values.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.nonzero: nonzero, np.flatnonzero: _flatnonzero, np.argwhere: _argwhere, np.where: _where,
    np.extract: _extract,
}  # fmt: skip


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function whose result has a length that depends on values; NotImplemented for
    others."""
    made = FUNCTIONS.get(func)
    if made is None or kwargs or not args or not all(isinstance(a, DeviceArray) for a in args):
        return NotImplemented
    return made(*args)
