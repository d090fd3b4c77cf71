"""Initialises tensors in place, by the functions of ``autojit.nn.init``.

>>> from autojit import torch
>>> torch.nn.init.constant_(torch.empty(2), 0.5)
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.nn import init
from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.factories import default_generator


def fill(tensor: Tensor, array: Any) -> Tensor:
    """Overwrite a tensor's values with an array, without recording."""
    with no_grad():
        tensor.copy_(wrap(np.asarray(array)))
    return tensor


def _drawn(draw: Any, tensor: Tensor, *settings: Any, generator: Any = None) -> Tensor:
    source = (generator or default_generator).numbers
    return fill(tensor, draw(source, tuple(tensor.shape), *settings))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform random numbers between ``a`` and ``b``."""
    return _drawn(init.uniform, tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal random numbers."""
    return _drawn(init.normal, tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill with normal random numbers; those outside ``a`` to ``b`` are drawn again."""
    source = (generator or default_generator).numbers
    drawn = source.normal(mean, std, tuple(tensor.shape))
    while (outside := (drawn < a) | (drawn > b)).any():
        drawn[outside] = source.normal(mean, std, int(outside.sum()))
    return fill(tensor, drawn)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return fill(tensor, np.full(tensor.shape, val))


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return fill(tensor, np.eye(*tensor.shape))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform random numbers of Glorot's variance."""
    _check(tensor)
    return _drawn(init.xavier_uniform, tensor, gain, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal random numbers of Glorot's variance."""
    _check(tensor)
    return _drawn(init.xavier_normal, tensor, gain, generator=generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill with uniform random numbers of He's variance."""
    _check(tensor)
    return _drawn(init.kaiming_uniform, tensor, a, mode, nonlinearity, generator=generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill with normal random numbers of He's variance."""
    _check(tensor)
    return _drawn(init.kaiming_normal, tensor, a, mode, nonlinearity, generator=generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix of orthonormal rows or columns."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    return _drawn(init.orthogonal, tensor, gain, generator=generator)


def default_(tensor: Tensor, fan_in: int) -> Tensor:
    """Fill with PyTorch's default for weights and biases: uniform random numbers of at most
    ``1 / sqrt(fan_in)`` in absolute value."""
    return _drawn(init.default, tensor, fan_in)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended scale factor of weights for a nonlinearity."""
    return init.calculate_gain(nonlinearity, 0.01 if param is None else param)


def _check(tensor: Tensor) -> None:
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
