"""Convolutions and pooling as modules."""

from __future__ import annotations

import math
from typing import Any

from autojit.torch.engine.tensor import Tensor

from . import init
from .functional import _FUNCTIONS as F
from .linear import fresh
from .module import Module


def _each(x: Any, ndim: int) -> Any:
    return x if isinstance(x, str) else tuple(x) if isinstance(x, (tuple, list)) else (x,) * ndim


class _Convolution(Module):
    ndim = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but "
                f"got padding_mode='{padding_mode}'"
            )
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.groups: int = groups
        self.kernel_size: Any = _each(kernel_size, self.ndim)
        self.stride: Any = _each(stride, self.ndim)
        self.padding: Any = _each(padding, self.ndim)
        self.dilation: Any = _each(dilation, self.ndim)
        self.padding_mode = padding_mode
        self.weight = fresh(out_channels, in_channels // groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", fresh(out_channels, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        fan = math.prod(self.weight.shape[1:])
        for p in self.parameters():
            init.default_(p, fan)

    def forward(self, input: Tensor) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F["pad"](input, self._borders(), self.padding_mode), 0
        return F[f"conv{self.ndim}d"](
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _borders(self) -> list[int]:
        """The numbers of elements that are added at both ends of each axis, the last axis first."""
        if self.padding == "valid":
            pairs = [(0, 0)] * self.ndim
        elif self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(n // 2, n - n // 2) for n in totals]
        else:
            pairs = [(p, p) for p in self.padding]
        return [p for pair in pairs[::-1] for p in pair]

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * self.ndim:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.ndim:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        text = text if self.bias is not None else f"{text}, bias=False"
        if self.padding_mode == "zeros":
            return text
        return f"{text}, padding_mode={self.padding_mode}"


class Conv1d(_Convolution):
    """Cross-correlation of signals (N, C, L) with filters."""

    ndim = 1


class Conv2d(_Convolution):
    """Cross-correlation of images (N, C, H, W) with filters."""

    ndim = 2


class Conv3d(_Convolution):
    """Cross-correlation of volumes (N, C, D, H, W) with filters."""

    ndim = 3


class _MaxPool(Module):
    ndim = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.padding: Any = padding
        self.dilation: Any = dilation
        self.stride: Any = kernel_size if stride is None else stride
        self.return_indices: bool = return_indices
        self.ceil_mode: bool = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return F[f"max_pool{self.ndim}d"](
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of signals."""

    ndim = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of images."""

    ndim = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of volumes."""

    ndim = 3


class _AvgPool(Module):
    ndim = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.padding: Any = padding
        self.ceil_mode: bool = ceil_mode
        self.stride: Any = kernel_size if stride is None else stride
        if self.ndim == 1:  # PyTorch stores tuples
            self.kernel_size, self.padding = _each(kernel_size, 1), _each(padding, 1)
            self.stride = _each(self.stride, 1)
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Any:
        return F[f"avg_pool{self.ndim}d"](
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window of signals."""

    ndim = 1


class AvgPool2d(_AvgPool):
    """The mean of each window of images."""

    ndim = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of volumes."""

    ndim = 3


class _Adaptive(Module):
    function = ""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return F[self.function](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of equal windows of signals."""

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """The means of equal windows of images."""

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """The means of equal windows of volumes."""

    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_Adaptive):
    """The largest elements of equal windows of signals."""

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_Adaptive):
    """The largest elements of equal windows of images."""

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_Adaptive):
    """The largest elements of equal windows of volumes."""

    function = "adaptive_max_pool3d"
