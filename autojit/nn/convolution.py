"""Convolutions: windows of the padded array times the filters, as one product.

The windows are not stored where code generation can read them from the array.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .checks import need_shape, need_value, pair
from .windows import columns


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation of signals with filters.

    Args:
        x: an array of shape (N, C, L).
        weight: filters of shape (filters, C / groups, taps).
        bias: an array of shape (filters,), or None.
        stride, padding, dilation: numbers; ``padding`` may be ``"valid"``, none, or ``"same"``,
            for a result as long as x, which needs stride 1.
        groups: into how many groups channels and filters are divided; each group of filters sees
            its channels alone.

    Returns:
        An array of shape (N, filters, (L + 2 padding - dilation (taps - 1) - 1) // stride + 1).

    Raises:
        ShapeError: where the shapes do not fit.

    Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.

    >>> conv1d(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[-1.0, 1.0]]]))
    array([[[1., 2.]]])
    """
    return _convolution(x, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation of images with filters.

    Args:
        x: an array of shape (N, C, H, W).
        weight: filters of shape (filters, C / groups, height, width).
        bias: an array of shape (filters,), or None.
        stride, padding, dilation: a number, or one for each axis; ``padding`` as for
            :func:`conv1d`.
        groups: as for :func:`conv1d`.

    Returns:
        An array of shape (N, filters, …) with extents as for :func:`conv1d`.

    Raises:
        ShapeError: where the shapes do not fit.

    >>> conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    return _convolution(x, weight, bias, stride, padding, dilation, groups, 2)


def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, ndim: int
) -> Any:
    name = f"conv{ndim}d"
    _check(x, weight, bias, groups, ndim, name)
    strides, dilations = pair(stride, ndim, "stride"), pair(dilation, ndim, "dilation")
    taps = weight.shape[2:]
    x = np.pad(x, ((0, 0), (0, 0), *_margins(padding, taps, strides, dilations)))
    seen = columns(x, taps, strides, dilations, name)
    places, count, filters = seen.shape[3:], x.shape[0], weight.shape[0]
    inner, length = prod(weight.shape[1:]), prod(places)
    if groups == 1:
        made = weight.reshape(filters, inner) @ seen.reshape(count, inner, length)
    else:
        own = weight.reshape(groups, filters // groups, inner)
        made = own @ seen.reshape(count, groups, inner, length)
    made = made.reshape(count, filters, *places)
    return made if bias is None else made + bias.reshape(-1, *(1,) * ndim)


def _margins(
    padding: Any, taps: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> list[tuple[int, int]]:
    if not isinstance(padding, str):
        return [(p, p) for p in pair(padding, len(taps), "padding")]
    need_value(
        padding in ("valid", "same"), f"padding={padding!r} is not a number, 'valid' or 'same'"
    )
    if padding == "valid":
        return [(0, 0)] * len(taps)
    need_value(all(s == 1 for s in strides), "padding='same' needs stride=1")
    totals = [d * (k - 1) for d, k in zip(dilations, taps, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _check(x: Any, weight: Any, bias: Any, groups: int, ndim: int, name: str) -> None:
    axes = "(N, C, L)" if ndim == 1 else "(N, C, H, W)"
    need_shape(x.ndim == ndim + 2, f"x has shape {x.shape}; {name} needs {axes}")
    need_shape(
        weight.ndim == ndim + 2,
        f"weight has shape {weight.shape}; {name} needs (filters, C / groups, taps of each axis)",
    )
    need_shape(
        x.shape[1] == weight.shape[1] * groups and weight.shape[0] % groups == 0,
        f"x has {x.shape[1]} channels and weight the shape {weight.shape}: with groups={groups} "
        f"it needs (a multiple of {groups}, {x.shape[1]} / {groups}, …)",
    )
    need_shape(
        bias is None or bias.shape == weight.shape[:1],
        f"bias has shape {np.shape(bias)}; weight of shape {weight.shape} needs {weight.shape[:1]}",
    )
