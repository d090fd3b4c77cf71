"""The windows of an array along its axes from 2 on, by position in a window."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .checks import need_shape

Extents = tuple[int, ...]

#: The axes of arrays with windows along one, two or three axes, for messages.
AXES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}

#: Up to this number of positions in a window, each is a slice of its own. Gradients of convolutions
#: then take 0.7 to 0.85 times as long as with one view of the windows. Forward and gradient take up
#: to 0.7 s longer to compile for 25 positions, and 3 s longer for 49. See autojit/decisions/0007.
MOST_SLICES = 25


def parts(x: Any, taps: Extents, strides: Extents, dilations: Extents, name: str) -> list[Any]:
    """For each position in a window, the elements of all windows at that position.

    >>> [a.tolist() for a in parts(np.arange(4).reshape(1, 1, 4), (2,), (1,), (2,), "conv1d")]
    [[[[0, 1]]], [[[2, 3]]]]
    """
    spans = _spans(x, taps, dilations, name)
    return [
        x[(..., *(slice(d * i, d * i + n, s)
                  for i, n, s, d in zip(place, spans, strides, dilations, strict=True)))]
        for place in product(*(range(k) for k in taps))
    ]  # fmt: skip


def columns(x: Any, taps: Extents, strides: Extents, dilations: Extents, name: str) -> Any:
    """All windows of (N, C, …), as an array of shape (N, C, positions in a window, *windows).

    >>> columns(np.arange(4).reshape(1, 1, 4), (2,), (1,), (2,), "conv1d")[0, 0]
    array([[0, 1],
           [2, 3]])
    """
    if prod(taps) <= MOST_SLICES:
        return np.stack(parts(x, taps, strides, dilations, name), axis=2)
    _spans(x, taps, dilations, name)
    count = len(taps)
    widths = tuple(d * (k - 1) + 1 for d, k in zip(dilations, taps, strict=True))
    seen = sliding_window_view(x, widths, axis=tuple(range(2, 2 + count)))
    steps = [slice(None, None, k) for k in (*strides, *dilations)]
    seen = seen[(slice(None), slice(None), *steps)]
    order = (0, 1, *range(2 + count, 2 + 2 * count), *range(2, 2 + count))
    windows = seen.shape[2 : 2 + count]
    return seen.transpose(order).reshape(*x.shape[:2], prod(taps), *windows)


def _spans(x: Any, taps: Extents, dilations: Extents, name: str) -> list[int]:
    """For each axis, the number of positions at which a window can start."""
    spans = [n - d * (k - 1) for n, k, d in zip(x.shape[2:], taps, dilations, strict=True)]
    need_shape(
        all(span > 0 for span in spans) and all(k > 0 for k in taps),
        f"{name}: windows of size {taps} with dilation {dilations} do not fit into the padded x "
        f"of shape {x.shape[2:]}",
    )
    return spans
