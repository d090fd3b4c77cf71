"""Activation functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import nn
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import pointwise, reductions
from autojit.torch.functions.factories import default_generator

from .shells import floats, in_place, shell

_elementwise = {
    name: shell(node, getattr(nn, name))
    for name, node in {
        "leaky_relu": "LeakyRelu", "elu": "Elu", "selu": "Elu", "gelu": "Gelu", "silu": "Silu",
        "softplus": "Softplus", "hardtanh": "Hardtanh",
    }.items()
}  # fmt: skip
_THRESHOLD = shell("Threshold", lambda x, t, v: np.where(x > t, x, v))
_PRELU = shell("PreluKernel", lambda x, w: np.where(x > 0, x, w * x))
_SOFTPLUS = shell(
    "Softplus",
    lambda x, beta, most: np.where(
        x * beta > most, x, nn.softplus(np.where(x * beta > most, 0.0, x), beta)
    ),
)

tanh, sigmoid = pointwise.FUNCTIONS["tanh"], pointwise.FUNCTIONS["sigmoid"]


@in_place
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``, with derivative 0 at 0."""
    made: Tensor = pointwise.FUNCTIONS["relu"](input)
    return made


@in_place
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``input`` where it is positive, else ``negative_slope * input``."""
    made: Tensor = _elementwise["leaky_relu"](input, negative_slope)
    return made


@in_place
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``."""
    made: Tensor = _elementwise["elu"](input, alpha)
    return made


@in_place
def selu(input: Tensor) -> Tensor:
    """``elu``, scaled so that it preserves mean 0 and variance 1."""
    made: Tensor = _elementwise["selu"](input)
    return made


@in_place
def silu(input: Tensor) -> Tensor:
    """``input * sigmoid(input)``."""
    made: Tensor = _elementwise["silu"](input)
    return made


@in_place
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``input`` clipped to two bounds."""
    made: Tensor = _elementwise["hardtanh"](input, min_val, max_val)
    return made


@in_place
def relu6(input: Tensor) -> Tensor:
    """``input`` clipped to 0 and 6."""
    return hardtanh(input, 0.0, 6.0)


@in_place
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """``input`` where it is above a threshold, else ``value``."""
    made: Tensor = _THRESHOLD(input, threshold, value)
    return made


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input`` times the normal cumulative distribution function of ``input``."""
    made: Tensor = _elementwise["gelu"](input, approximate)
    return made


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``leaky_relu`` with learnt slopes: one slope, or one for each channel."""
    if weight.numel() == 1:
        weight = weight.reshape(())
    elif input.ndim > 1:
        weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
    made: Tensor = _PRELU(input, weight)
    return made


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; above the threshold, where both agree, ``input``."""
    made: Tensor = _SOFTPLUS(input, beta, threshold)
    return made


def logsigmoid(input: Any) -> Tensor:
    """The logarithm of the sigmoid."""
    made: Any = softplus(-input)
    return -made


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (1 + input.abs())


def mish(input: Tensor) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return input * tanh(softplus(input))


@in_place
def hardsigmoid(input: Tensor) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return relu6(input + 3) / 6


@in_place
def hardswish(input: Tensor) -> Tensor:
    """``input * hardsigmoid(input)``."""
    return input * hardsigmoid(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    a, b = input.chunk(2, dim)
    return a * sigmoid(b)


def _dim(dim: int | None, ndim: int) -> int:
    """PyTorch's default axis: the first one for 0, 1 or 3 axes, else the second."""
    return (0 if ndim in (0, 1, 3) else 1) if dim is None else dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """``exp(input)`` divided by its sum along an axis."""
    return reductions.softmax(input, _dim(dim, input.ndim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Any:
    """The logarithm of the softmax along an axis."""
    return reductions.log_softmax(input, _dim(dim, input.ndim), dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of ``-input``."""
    return softmax(-input, dim, dtype=dtype)


_DROP = shell("NativeDropout", lambda x, mask, p: nn.dropout(x, p, mask=mask))


def _dropped(input: Tensor, p: float, training: bool, shape: Any) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    mask = nn.keep_mask(default_generator.numbers, 1.0 - p, shape)
    made: Tensor = _DROP(floats(input), _wrapped(mask), p)
    return made


def _wrapped(array: Any) -> Any:
    from autojit.torch.engine.recording import wrap

    return wrap(array)


@in_place
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set elements to 0 with probability p, and divide the others by 1 - p."""
    return _dropped(input, p, training, tuple(input.shape))


@in_place
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set whole channels of (N, C, L) to 0 with probability p, and divide the others by 1 - p."""
    return _dropped(input, p, training, (*input.shape[:-1], 1))


@in_place
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Set whole channels of (N, C, H, W) to 0 with probability p, and divide the others by
    1 - p."""
    return _dropped(input, p, training, (*input.shape[:-2], 1, 1))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (relu, leaky_relu, elu, selu, silu, hardtanh, relu6, threshold, gelu, prelu, softplus,
              logsigmoid, softsign, mish, hardsigmoid, hardswish, glu, softmax, log_softmax,
              softmin, dropout, dropout1d, dropout2d)
}  # fmt: skip
FUNCTIONS.update(tanh=tanh, sigmoid=sigmoid)
