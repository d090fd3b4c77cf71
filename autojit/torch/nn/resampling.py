"""Transposed convolutions, interpolation, padding, windows and instance normalisation, as
modules."""

from __future__ import annotations

import math
from typing import Any

from autojit.torch.engine.tensor import Tensor

from . import init
from .convolution import _each
from .functional import _FUNCTIONS as F
from .linear import fresh
from .module import Module
from .normalization import GroupNorm


class _Transposed(Module):
    ndim = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
                 dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for ConvTranspose{self.ndim}d'
            )
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.groups: int = groups
        self.kernel_size: Any = _each(kernel_size, self.ndim)
        self.stride: Any = _each(stride, self.ndim)
        self.padding: Any = _each(padding, self.ndim)
        self.output_padding: Any = _each(output_padding, self.ndim)
        self.dilation: Any = _each(dilation, self.ndim)
        self.weight = fresh(in_channels, out_channels // groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", fresh(out_channels, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        fan = math.prod(self.weight.shape[1:])
        for p in self.parameters():
            init.default_(p, fan)

    def forward(self, input: Tensor, output_size: Any = None) -> Any:
        more = self.output_padding if output_size is None else self._more(input, output_size)
        return F[f"conv_transpose{self.ndim}d"](
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
            self.dilation,
        )  # fmt: skip

    def _more(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding: the difference of a requested size from the smallest size."""
        wanted = tuple(output_size)[-self.ndim :]
        settings = zip(input.shape[-self.ndim :], self.stride, self.padding, self.dilation,
                       self.kernel_size, strict=True)  # fmt: skip
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]
        return tuple(w - m for w, m in zip(wanted, least, strict=True))

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * self.ndim:
                text += f", {name}={getattr(self, name)}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else f"{text}, bias=False"


class ConvTranspose1d(_Transposed):
    """The transpose of cross-correlation of signals (N, C, L) with filters."""

    ndim = 1


class ConvTranspose2d(_Transposed):
    """The transpose of cross-correlation of images (N, C, H, W) with filters.

    >>> from autojit import torch
    >>> torch.nn.ConvTranspose2d(3, 2, 4, stride=2, padding=1)(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 2, 10, 10])
    """

    ndim = 2


class ConvTranspose3d(_Transposed):
    """The transpose of cross-correlation of volumes (N, C, D, H, W) with filters."""

    ndim = 3


class Upsample(Module):
    """``functional.interpolate`` as a module."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:  # fmt: skip
        super().__init__()
        self.size: Any = size
        factors = scale_factor
        if isinstance(factors, (tuple, list)):
            factors = tuple(map(float, factors))
        elif factors is not None:
            factors = float(factors)
        self.scale_factor: Any = factors
        self.mode: str = mode
        self.align_corners: bool | None = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Any:
        return F["interpolate"](input, self.size, self.scale_factor, self.mode, self.align_corners,
                                self.recompute_scale_factor)  # fmt: skip

    def extra_repr(self) -> str:
        given = f"size={self.size}" if self.scale_factor is None else (
            f"scale_factor={self.scale_factor}"
        )  # fmt: skip
        return f"{given}, mode={self.mode!r}"


class PixelShuffle(Module):
    """``functional.pixel_shuffle`` as a module."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor: int = upscale_factor

    def forward(self, input: Tensor) -> Any:
        return F["pixel_shuffle"](input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``functional.pixel_unshuffle`` as a module."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor: int = downscale_factor

    def forward(self, input: Tensor) -> Any:
        return F["pixel_unshuffle"](input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """``functional.unfold`` as a module."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
                 stride: Any = 1) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.dilation: Any = dilation
        self.padding: Any = padding
        self.stride: Any = stride

    def forward(self, input: Tensor) -> Any:
        return F["unfold"](input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class _Pad(Module):
    ndim, mode = 0, ""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        is_one = isinstance(padding, int)
        self.padding: Any = (padding,) * (2 * self.ndim) if is_one else tuple(padding)

    def forward(self, input: Tensor) -> Any:
        return F["pad"](input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float = 0.0) -> None:
        super().__init__(padding)
        self.value: float = value

    def forward(self, input: Tensor) -> Any:
        return F["pad"](input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _pads(ndim: int) -> dict[str, Any]:
    """The padding modules for ``ndim`` axes."""
    kinds = {"Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}
    made: dict[str, Any] = {
        f"{name}Pad{ndim}d": type(
            f"{name}Pad{ndim}d", (_Pad,),
            {"ndim": ndim, "mode": mode, "__doc__": f"``functional.pad``, {mode}, as a module."},
        )
        for name, mode in kinds.items()
    }  # fmt: skip
    body = {"ndim": ndim, "__doc__": "``functional.pad`` with a number, as a module."}
    constant = type(f"ConstantPad{ndim}d", (_ConstantPad,), body)
    made[constant.__name__] = constant
    made[f"ZeroPad{ndim}d"] = type(
        f"ZeroPad{ndim}d", (constant,),
        {"__doc__": "``functional.pad`` with zeros, as a module.",
         "__init__": lambda self, padding: _ConstantPad.__init__(self, padding, 0.0),
         "extra_repr": lambda self: f"{self.padding}"},
    )  # fmt: skip
    return made


_1D, _2D, _3D = _pads(1), _pads(2), _pads(3)
ReflectionPad1d: type[Module] = _1D["ReflectionPad1d"]
ReplicationPad1d: type[Module] = _1D["ReplicationPad1d"]
CircularPad1d: type[Module] = _1D["CircularPad1d"]
ConstantPad1d: type[Module] = _1D["ConstantPad1d"]
ZeroPad1d: type[Module] = _1D["ZeroPad1d"]
ReflectionPad2d: type[Module] = _2D["ReflectionPad2d"]
ReplicationPad2d: type[Module] = _2D["ReplicationPad2d"]
CircularPad2d: type[Module] = _2D["CircularPad2d"]
ConstantPad2d: type[Module] = _2D["ConstantPad2d"]
ZeroPad2d: type[Module] = _2D["ZeroPad2d"]
ReflectionPad3d: type[Module] = _3D["ReflectionPad3d"]
ReplicationPad3d: type[Module] = _3D["ReplicationPad3d"]
CircularPad3d: type[Module] = _3D["CircularPad3d"]
ConstantPad3d: type[Module] = _3D["ConstantPad3d"]
ZeroPad3d: type[Module] = _3D["ZeroPad3d"]


class _InstanceNorm(GroupNorm):
    ndim = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
                 affine: bool = False, track_running_stats: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        if track_running_stats:
            raise NotImplementedError(
                f"{type(self).__name__}: track_running_stats is not covered; BatchNorm has them"
            )
        super().__init__(num_features, num_features, eps, affine, dtype=dtype)
        self.num_features: int = num_features
        self.momentum: float = momentum
        self.track_running_stats = False

    def forward(self, input: Tensor) -> Any:
        batched = input.ndim == self.ndim + 2
        whole = input if batched else input.unsqueeze(0)
        made: Any = F["instance_norm"](whole, None, None, self.weight, self.bias, eps=self.eps)
        return made if batched else made.squeeze(0)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, track_running_stats=False"
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalises to mean 0 and variance 1 in each channel of each signal."""

    ndim = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalises to mean 0 and variance 1 in each channel of each image."""

    ndim = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalises to mean 0 and variance 1 in each channel of each volume."""

    ndim = 3
