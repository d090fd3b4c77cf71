"""Convolutions: the filters times the windows of the padded array, as one matrix product.

The windows are not stored if generated code can read them from the array.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from autojit.arguments import named

from .checks import need_shape, need_value, pair
from .windows import AXES, columns


@named
def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation of signals with filters.

    Args:
        x: an array of shape (N, C, L).
        weight: filters of shape (filters, C / groups, taps).
        bias: an array of shape (filters,), or None.
        stride, padding, dilation: numbers. ``padding`` may also be ``"valid"``, for none, or
            ``"same"``, for a result as long as x, which needs stride 1.
        groups: the number of groups into which channels and filters are divided; each group of
            filters sees only its own channels.

    Returns:
        An array of shape (N, filters, (L + 2 padding - dilation (taps - 1) - 1) // stride + 1).

    Raises:
        ShapeError: if the shapes do not match.

    Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.

    >>> conv1d(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[-1.0, 1.0]]]))
    array([[[1., 2.]]])
    """
    return _convolution(x, weight, bias, stride, padding, dilation, groups, 1)


@named
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
        ShapeError: if the shapes do not match.

    >>> conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    return _convolution(x, weight, bias, stride, padding, dilation, groups, 2)


@named
def conv3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation of volumes with filters.

    It takes volumes (N, C, D, H, W) and filters (filters, C / groups, depth, height, width). The
    settings are those of :func:`conv2d`.

    >>> conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2)))
    array([[[[[8.]]]]])
    """
    return _convolution(x, weight, bias, stride, padding, dilation, groups, 3)


@named
def conv_transpose1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1,
    padding: int | tuple[int, ...] = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv1d`: each element of x adds its multiple of the filters.

    Args:
        x: an array of shape (N, C, L).
        weight: filters of shape (C, filters / groups, taps).
        bias: an array of shape (filters,), or None.
        stride, dilation: as for :func:`conv1d`.
        padding: the number of elements cut off from both ends of the result.
        output_padding: the number of elements added at the end of the result; it must be less than
            ``stride`` or ``dilation``.
        groups: as for :func:`conv1d`.

    Returns:
        An array of shape (N, filters, (L - 1) stride - 2 padding + dilation (taps - 1) +
        output_padding + 1).

    Raises:
        ShapeError: if the shapes do not match.

    >>> conv_transpose1d(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0]]]), stride=2)
    array([[[ 1., 10.,  2., 20.]]])
    """
    return _transposed(x, weight, bias, stride, padding, output_padding, groups, dilation, 1)


@named
def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1,
    padding: int | tuple[int, ...] = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv2d`.

    It takes images (N, C, H, W) and filters (C, filters / groups, height, width). The settings are
    those of :func:`conv_transpose1d`.

    Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4.

    >>> conv_transpose2d(np.ones((1, 1, 1, 1)), np.ones((1, 1, 2, 2)))
    array([[[[1., 1.],
             [1., 1.]]]])
    """
    return _transposed(x, weight, bias, stride, padding, output_padding, groups, dilation, 2)


@named
def conv_transpose3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1,
    padding: int | tuple[int, ...] = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv3d`.

    It takes volumes (N, C, D, H, W) and filters (C, filters / groups, depth, height, width). The
    settings are those of :func:`conv_transpose1d`.

    >>> conv_transpose3d(np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 1, 1, 2)))
    array([[[[[1., 1.]]]]])
    """
    return _transposed(x, weight, bias, stride, padding, output_padding, groups, dilation, 3)


def _transposed(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, more: Any, groups: int,
    dilation: Any, ndim: int,
) -> Any:  # fmt: skip
    """Convolve x, with zeros inserted between its elements, with reversed filters."""
    name = f"conv_transpose{ndim}d"
    need_shape(
        x.ndim == weight.ndim == ndim + 2 and x.shape[1] == weight.shape[0],
        f"x has shape {x.shape} and weight {weight.shape}; {name} needs (N, C, …) and (C, filters "
        "/ groups, taps of each axis)",
    )
    strides, dilations = pair(stride, ndim, "stride"), pair(dilation, ndim, "dilation")
    margins, ends = pair(padding, ndim, "padding", 0), pair(more, ndim, "output_padding", 0)
    need_value(
        all(e < max(s, d) for e, s, d in zip(ends, strides, dilations, strict=True)),
        f"output_padding={more} is not less than stride={stride} or dilation={dilation}",
    )
    taps = weight.shape[2:]
    for k, s in enumerate(strides):
        x = _spread(x, k + 2, s)
    reach = [d * (n - 1) for d, n in zip(dilations, taps, strict=True)]
    widths = [(r - p, r - p + e) for r, p, e in zip(reach, margins, ends, strict=True)]
    cut = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape[2:], strict=True)]
    x = np.pad(
        x[(slice(None), slice(None), *cut)],
        ((0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in widths)),
    )
    inner, outer = weight.shape[0] // groups, weight.shape[1]
    turned = weight[(slice(None), slice(None), *(slice(None, None, -1),) * ndim)]
    turned = np.swapaxes(turned.reshape(groups, inner, outer, *taps), 1, 2)
    turned = turned.reshape(groups * outer, inner, *taps)
    return _convolution(x, turned, bias, 1, 0, dilations, groups, ndim)


def _spread(x: Any, axis: int, step: int) -> Any:
    """Insert ``step - 1`` zeros between neighbours along an axis."""
    if step == 1:
        return x
    n = x.shape[axis]
    wide = np.pad(np.expand_dims(x, axis + 1), [(0, 0)] * (axis + 1) + [(0, step - 1)]
                  + [(0, 0)] * (x.ndim - axis - 1))  # fmt: skip
    whole = wide.reshape(*x.shape[:axis], n * step, *x.shape[axis + 1 :])
    return whole[(slice(None),) * axis + (slice(0, (n - 1) * step + 1),)]


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
        return [(p, p) for p in pair(padding, len(taps), "padding", 0)]
    need_value(
        padding in ("valid", "same"), f"padding={padding!r} is not a number, 'valid' or 'same'"
    )
    if padding == "valid":
        return [(0, 0)] * len(taps)
    need_value(all(s == 1 for s in strides), "padding='same' needs stride=1")
    totals = [d * (k - 1) for d, k in zip(dilations, taps, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _check(x: Any, weight: Any, bias: Any, groups: int, ndim: int, name: str) -> None:
    need_shape(x.ndim == ndim + 2, f"x has shape {x.shape}; {name} needs {AXES[ndim]}")
    need_shape(
        weight.ndim == ndim + 2,
        f"weight has shape {weight.shape}; {name} needs (filters, C / groups, taps of each axis)",
    )
    need_shape(
        x.shape[1] == weight.shape[1] * groups and weight.shape[0] % groups == 0,
        f"x has {x.shape[1]} channels and weight has shape {weight.shape}: with groups={groups}, "
        f"weight needs shape (a multiple of {groups}, {x.shape[1]} / {groups}, …)",
    )
    need_shape(
        bias is None or bias.shape == weight.shape[:1],
        f"bias has shape {np.shape(bias)}; weight of shape {weight.shape} needs {weight.shape[:1]}",
    )
