"""Pooling: the largest element, or the mean, of each window."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import check_flag, named

from .checks import need_shape, need_value, pair
from .windows import AXES, Extents, parts


@named
def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    dilation: Any = 1,
) -> Any:
    """The largest element of each window of signals (N, C, L).

    Args:
        x: an array of shape (N, C, L).
        kernel_size: the number of elements of a window.
        stride: the distance between windows; None for ``kernel_size``.
        padding: the number of elements of minus infinity added at both ends; at most half a window.
        dilation: the distance between the elements of a window.

    Returns:
        An array of shape (N, C, (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1).

    Raises:
        ShapeError: if the shapes do not match.

    The gradient goes to the first of equal elements, as in PyTorch.

    >>> max_pool1d(np.array([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    array([[[3., 2.]]])
    """
    return _max_pool(x, kernel_size, stride, padding, dilation, 1)


@named
def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    dilation: Any = 1,
) -> Any:
    """The largest element of each window of images (N, C, H, W).

    The settings are those of :func:`max_pool1d`, each a number or one for each axis.

    >>> max_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 2)
    array([[[[3.]]]])
    """
    return _max_pool(x, kernel_size, stride, padding, dilation, 2)


@named
def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    dilation: Any = 1,
) -> Any:
    """The largest element of each window of volumes (N, C, D, H, W).

    The settings are those of :func:`max_pool1d`, each a number or one for each axis.

    >>> max_pool3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2)
    array([[[[[7.]]]]])
    """
    return _max_pool(x, kernel_size, stride, padding, dilation, 3)


@named
def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of signals (N, C, L).

    Args:
        x, kernel_size, stride: as for :func:`max_pool1d`.
        padding: the number of zeros added at both ends.
        count_include_pad: whether these zeros count in the mean.

    >>> avg_pool1d(np.array([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    array([[[2., 1.]]])
    """
    return _avg_pool(x, kernel_size, stride, padding, count_include_pad, 1)


@named
def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of images (N, C, H, W).

    The settings are those of :func:`avg_pool1d`, each a number or one for each axis.

    >>> avg_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 2)
    array([[[[1.5]]]])
    """
    return _avg_pool(x, kernel_size, stride, padding, count_include_pad, 2)


@named
def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: int | tuple[int, ...] = 0,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of volumes (N, C, D, H, W).

    The settings are those of :func:`avg_pool1d`, each a number or one for each axis.

    >>> avg_pool3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2)
    array([[[[[3.5]]]]])
    """
    return _avg_pool(x, kernel_size, stride, padding, count_include_pad, 3)


def _max_pool(x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ndim: int) -> Any:
    taps, strides, margins = _settings(x, kernel_size, stride, padding, ndim)
    dilations = pair(dilation, ndim, "dilation")
    first, *others = parts(_padded(x, margins, -np.inf), taps, strides, dilations, "pooling")
    largest = first
    for part in others:  # the first of equal elements, or NaN
        largest = np.where((part > largest) | np.isnan(part), part, largest)
    return largest


def _avg_pool(x: Any, kernel_size: Any, stride: Any, padding: Any, include: bool, ndim: int) -> Any:
    check_flag(include, "count_include_pad", f"avg_pool{ndim}d")
    taps, strides, margins = _settings(x, kernel_size, stride, padding, ndim)
    ones = (1,) * ndim
    total = sum(parts(_padded(x, margins, 0.0), taps, strides, ones, "pooling"))
    if include or not any(margins):
        return total / float(np.prod(taps))
    inside = np.ones((1, 1, *x.shape[2:]), x.dtype)
    return total / sum(parts(_padded(inside, margins, 0.0), taps, strides, ones, "pooling"))


def _settings(
    x: Any, kernel_size: Any, stride: Any, padding: Any, ndim: int
) -> tuple[Extents, Extents, Extents]:
    need_shape(x.ndim == ndim + 2, f"x has shape {x.shape}; pooling needs {AXES[ndim]}")
    taps, margins = pair(kernel_size, ndim, "kernel_size"), pair(padding, ndim, "padding", 0)
    need_value(
        all(2 * p <= k for p, k in zip(margins, taps, strict=True)),
        f"padding={padding} is more than half of kernel_size={kernel_size}",
    )
    return taps, taps if stride is None else pair(stride, ndim, "stride"), margins


def _padded(x: Any, margins: Extents, value: float) -> Any:
    if not any(margins):
        return x
    widths = ((0, 0), (0, 0), *((p, p) for p in margins))
    return np.pad(x, widths, constant_values=value)
