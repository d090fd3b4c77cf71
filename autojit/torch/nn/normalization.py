"""Normalisation as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.torch.engine import dtypes
from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories

from .functional import _FUNCTIONS as F
from .module import Module
from .parameter import Parameter


def _ones(*shape: int, dtype: Any) -> Parameter:
    return Parameter(factories.ones(*shape, dtype=dtype))


def _zeros(*shape: int, dtype: Any) -> Parameter:
    return Parameter(factories.zeros(*shape, dtype=dtype))


class LayerNorm(Module):
    """Normalises to mean 0 and variance 1 over the last axes, times weight, plus bias."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape: tuple[int, ...] = tuple(shape)
        self.eps: float = eps
        self.elementwise_affine: bool = elementwise_affine
        weight = _ones(*self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)
        has_bias = elementwise_affine and bias
        added = _zeros(*self.normalized_shape, dtype=dtype) if has_bias else None
        self.register_parameter("bias", added)

    def forward(self, input: Tensor) -> Any:
        return F["layer_norm"](input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Normalises to mean square 1 over the last axes, times weight."""

    def __init__(self, normalized_shape: Any, eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape: tuple[int, ...] = tuple(shape)
        self.eps: float | None = eps
        self.elementwise_affine: bool = elementwise_affine
        weight = _ones(*self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def forward(self, input: Tensor) -> Any:
        return F["rms_norm"](input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalises to mean 0 and variance 1 over groups of channels."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups: int = num_groups
        self.num_channels: int = num_channels
        self.eps: float = eps
        self.affine = affine
        self.register_parameter("weight", _ones(num_channels, dtype=dtype) if affine else None)
        self.register_parameter("bias", _zeros(num_channels, dtype=dtype) if affine else None)

    def forward(self, input: Tensor) -> Any:
        return F["group_norm"](input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _BatchNorm(Module):
    axes: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
                 affine: bool = True, track_running_stats: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_features: int = num_features
        self.eps: float = eps
        self.momentum: float | None = momentum
        self.affine: bool = affine
        self.track_running_stats: bool = track_running_stats
        self.register_parameter("weight", _ones(num_features, dtype=dtype) if affine else None)
        self.register_parameter("bias", _zeros(num_features, dtype=dtype) if affine else None)
        tracked = track_running_stats
        made = {
            "running_mean": factories.zeros(num_features, dtype=dtype),
            "running_var": factories.ones(num_features, dtype=dtype),
            "num_batches_tracked": factories.tensor(0, dtype=dtypes.int64),
        }
        for name, tensor in made.items():
            self.register_buffer(name, tensor if tracked else None)

    def forward(self, input: Tensor) -> Any:
        if input.ndim not in self.axes:
            words = " or ".join(f"{n}D" for n in self.axes)
            raise ValueError(f"expected {words} input (got {input.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            if not isinstance(input._data, np.ndarray):
                raise RuntimeError(
                    f"{type(self).__name__} changes its running statistics in training, which "
                    "compiled and transformed functions cannot. Use it without them, or after "
                    f"eval():\n    {type(self).__name__}({self.num_features}, "
                    "track_running_stats=False)"
                )
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the cumulative mean
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        return F["batch_norm"](
            input, self.running_mean, self.running_var, self.weight, self.bias, by_batch, momentum,
            self.eps,
        )  # fmt: skip

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            for tensor, value in ((self.running_mean, 0), (self.running_var, 1),
                                  (self.num_batches_tracked, 0)):  # fmt: skip
                tensor.fill_(value)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Normalises to mean 0 and variance 1 in each channel of (N, C) or (N, C, L)."""

    axes: tuple[int, ...] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises to mean 0 and variance 1 in each channel of (N, C, H, W)."""

    axes: tuple[int, ...] = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises to mean 0 and variance 1 in each channel of (N, C, D, H, W)."""

    axes: tuple[int, ...] = (5,)
