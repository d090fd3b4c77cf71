"""Transposed convolutions, interpolation, padding, windows and instance normalisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit import nn
from autojit.nn.windows import columns
from autojit.torch.engine.tensor import Tensor
from autojit.torch.precision import lowered

from .layers import FUNCTIONS as LAYERS
from .layers import group_norm
from .shells import settings, shell


def _transposed(ndim: int) -> Callable[..., Any]:
    call = shell("Convolution", getattr(nn, f"conv_transpose{ndim}d"))

    def convolution(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1,
                    padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                    dilation: Any = 1) -> Tensor:  # fmt: skip
        whole = input if input.ndim == ndim + 2 else input.unsqueeze(0)
        if whole.ndim != ndim + 2 or whole.shape[1] != weight.shape[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected input"
                f"{list(input.shape)} to have {weight.shape[0]} channels"
            )
        made: Tensor = call(whole, weight, bias, *map(settings, (stride, padding, output_padding)),
                            groups, settings(dilation))  # fmt: skip
        return made if whole is input else made.squeeze(0)

    convolution.__name__ = f"conv_transpose{ndim}d"
    convolution.__doc__ = "The transpose of cross-correlation with filters."
    return convolution


conv_transpose1d: Callable[..., Any] = lowered(_transposed(1))
conv_transpose2d: Callable[..., Any] = lowered(_transposed(2))
conv_transpose3d: Callable[..., Any] = lowered(_transposed(3))


def _nearest(x: Any, axis: int, size: int, scale: float) -> Any:
    places = np.minimum(np.floor(np.arange(size) * scale).astype(np.int64), x.shape[axis] - 1)
    return np.take(x, places, axis=axis)


def _linear(x: Any, axis: int, size: int, scale: float, corners: bool) -> Any:
    n = x.shape[axis]
    if corners:
        at = np.arange(size) * ((n - 1) / (size - 1) if size > 1 else 0.0)
    else:
        at = np.maximum((np.arange(size) + 0.5) * scale - 0.5, 0)
    low = np.minimum(np.floor(at).astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    share = (at - low).astype(x.dtype).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    return np.take(x, low, axis=axis) * (1 - share) + np.take(x, high, axis=axis) * share


def _interpolated(x: Any, sizes: Any, scales: Any, mode: str, corners: bool) -> Any:
    for k, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        linear = mode != "nearest"
        x = _linear(x, k + 2, size, scale, corners) if linear else _nearest(x, k + 2, size, scale)
    return x


_INTERPOLATE = shell("Upsample", _interpolated)
_MODES = {"nearest": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,)}


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:  # fmt: skip
    """Resize signals or images: by the nearest elements, or linearly in each axis.

    >>> from autojit import torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    ndim = input.ndim - 2
    if mode == "area":
        wanted, _ = _sizes(input, size, scale_factor, False)
        made: Tensor = LAYERS[f"adaptive_avg_pool{ndim}d"](input, wanted)
        return made
    if ndim not in _MODES.get(mode, ()) or antialias:
        raise NotImplementedError(
            f"interpolate: mode={mode!r} of an input with {input.ndim} axes, antialias={antialias} "
            f"is not covered; modes are {', '.join(_MODES)}, area"
        )
    if align_corners is not None and mode == "nearest":
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    sizes, scales = _sizes(input, size, scale_factor, bool(recompute_scale_factor))
    made = _INTERPOLATE(input, sizes, scales, mode, bool(align_corners))
    return made


def _sizes(
    x: Tensor, size: Any, factor: Any, again: bool
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The new extents, and the distances in the input between neighbours in the result."""
    extents = tuple(x.shape)[2:]
    if (size is None) == (factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,) * len(extents)
        return sizes, tuple(n / m for n, m in zip(extents, sizes, strict=True))
    factors = tuple(factor) if isinstance(factor, (tuple, list)) else (factor,) * len(extents)
    sizes = tuple(math.floor(n * f) for n, f in zip(extents, factors, strict=True))
    if again:
        return sizes, tuple(n / m for n, m in zip(extents, sizes, strict=True))
    return sizes, tuple(1.0 / f for f in factors)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels to finer pixels: (…, C r², H, W) to (…, C, H r, W r)."""
    *lead, c, h, w = input.shape
    r = upscale_factor
    parts = input.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    turned = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return turned.reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange pixels to channels: (…, C, H r, W r) to (…, C r², H, W)."""
    *lead, c, h, w = input.shape
    r = downscale_factor
    parts = input.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    turned = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return turned.reshape(*lead, c * r**2, h // r, w // r)


def _windows(x: Any, taps: Any, dilations: Any, margins: Any, strides: Any) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in margins)))
    seen = columns(x, taps, strides, dilations, "unfold")
    return seen.reshape(x.shape[0], x.shape[1] * math.prod(taps), -1)


_UNFOLD = shell("Im2Col", _windows)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
           stride: Any = 1) -> Tensor:  # fmt: skip
    """The windows of images (N, C, H, W), as columns: (N, C * window, windows)."""
    pairs = (tuple(v) if isinstance(v, (tuple, list)) else (v, v)
             for v in (kernel_size, dilation, padding, stride))  # fmt: skip
    made: Tensor = _UNFOLD(input, *pairs)
    return made


_MODES_OF_PAD = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_CONSTANT = shell("ConstantPadNd", lambda x, widths, v: np.pad(x, widths, constant_values=v))
_BORDERS = {
    mode: shell(f"{mode.title()}Pad", lambda x, widths, how=how: np.pad(x, widths, mode=how))
    for mode, how in _MODES_OF_PAD.items()
}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Add or remove elements at both ends of axes; ``pad`` begins with the last axis."""
    if mode != "constant" and mode not in _BORDERS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    widths = [tuple(pad[k : k + 2]) for k in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (input.ndim - len(widths)) + widths
    if any(w < 0 for pair in widths for w in pair):
        cut = tuple(
            slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, input.shape, strict=True)
        )
        input = input[cut]
    more = tuple((max(a, 0), max(b, 0)) for a, b in widths)
    if mode == "constant":
        made: Tensor = _CONSTANT(input, more, 0.0 if value is None else value)
        return made
    for (a, b), n in zip(more, input.shape, strict=True):
        if mode == "reflect" and max(a, b) >= n > 0 and max(a, b):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({a}, {b}) of extent {n}"
            )
    made = _BORDERS[mode](input, more)
    return made


def instance_norm(input: Tensor, running_mean: Any = None, running_var: Any = None,
                  weight: Any = None, bias: Any = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Normalise to mean 0 and variance 1 in each channel of each sample."""
    if running_mean is not None or not use_input_stats:
        raise NotImplementedError(
            "instance_norm: running statistics are not covered; track_running_stats=False"
        )
    if input._data.size == input.shape[0] * input.shape[1]:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    return group_norm(input, input.shape[1], weight, bias, eps)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (conv_transpose1d, conv_transpose2d, conv_transpose3d, interpolate, pixel_shuffle,
              pixel_unshuffle, unfold, pad, instance_norm)
}  # fmt: skip
FUNCTIONS["upsample"] = interpolate
