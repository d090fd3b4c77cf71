"""Normalisation by mean and variance, over the axes of one sample or of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import check_flag, named
from autojit.tracing.values import is_tracer

from .checks import need_shape, need_value


@named
def layer_norm(
    x: Any, normalized_shape: int | tuple[int, ...], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last axes.

    Args:
        x: an array whose last axes have the shape ``normalized_shape``.
        normalized_shape: the extents of these axes; a number for the last axis alone.
        weight, bias: arrays of this shape, or None.
        eps: added to the variance, which is divided by the number of elements.

    Raises:
        ShapeError: if the shapes do not match.

    Ba and others, "Layer normalization", 2016.

    >>> layer_norm(np.array([[1.0, 3.0]]), 2, eps=0.0)
    array([[-1.,  1.]])
    """
    _check_eps(eps)
    axes = _last_axes(x, normalized_shape, weight=weight, bias=bias)
    return _affine(_standardized(x, axes, eps), weight, bias)


@named
def rms_norm(
    x: Any, normalized_shape: int | tuple[int, ...], weight: Any = None, eps: float | None = None
) -> Any:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last axes.

    Args:
        x, normalized_shape, weight: as for :func:`layer_norm`.
        eps: None for the machine epsilon of the dtype.

    Zhang and Sennrich, "Root mean square layer normalization", 2019.

    >>> rms_norm(np.array([3.0, 3.0]), 2).round(6)
    array([1., 1.])
    """
    axes = _last_axes(x, normalized_shape, weight=weight)
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    _check_eps(eps)
    return _affine(x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps), weight, None)


@named
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Normalisation over groups of channels and all positions.

    Args:
        x: an array of shape (N, C, …).
        num_groups: a divisor of C.
        weight, bias: arrays of shape (C,), or None.
        eps: added to the variance.

    Raises:
        ShapeError: if the shapes do not match.

    Wu and He, "Group normalization", 2018.

    >>> group_norm(np.array([[1.0, 3.0, 5.0, 5.0]]), 2, eps=1e-9).round(3)
    array([[-1.,  1.,  0.,  0.]])
    """
    _check_eps(eps)
    need_shape(
        x.ndim >= 2 and x.shape[1] % num_groups == 0,
        f"x has shape {x.shape}: num_groups={num_groups} does not divide axis 1",
    )
    _check_channels(x, weight=weight, bias=bias)
    grouped = x.reshape(x.shape[0], num_groups, -1)
    normal = _standardized(grouped, (2,), eps).reshape(x.shape)
    return _affine(normal, _by_channel(weight, x.ndim), _by_channel(bias, x.ndim))


@named
def batch_norm(
    x: Any, running_mean: Any | None, running_var: Any | None, weight: Any = None,
    bias: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> tuple[Any, tuple[Any, Any]]:  # fmt: skip
    """Normalisation of each channel over the batch and all positions.

    Args:
        x: an array of shape (N, C, …).
        running_mean, running_var: arrays of shape (C,): the statistics so far. In training both
            may be None.
        weight, bias: arrays of shape (C,), or None.
        training: whether to normalise by the statistics of this batch and update the running ones;
            otherwise the running statistics are used.
        momentum: the share of this batch in the new running statistics.
        eps: added to the variance.

    Returns:
        ``(y, (running_mean, running_var))``, with the new statistics. As in PyTorch, the running
        variance is unbiased.

    Raises:
        ShapeError: if the shapes do not match, or a channel has only one value in training.

    Ioffe and Szegedy, "Batch normalization", 2015.

    >>> y, (mean, var) = batch_norm(
    ...     np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1), training=True, eps=0.0
    ... )
    >>> y.ravel(), mean, var
    (array([-1.,  1.]), array([0.2]), array([1.1]))
    """
    check_flag(training, "training", "batch_norm")
    _check_eps(eps)
    need_shape(x.ndim >= 2, f"x has shape {x.shape}; batch_norm needs (N, C, …)")
    _check_channels(x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    axes = (0, *range(2, x.ndim))
    if training:
        running_mean, running_var, mean, var = _batch_statistics(
            x, axes, running_mean, running_var, momentum
        )
    else:
        need_shape(
            running_mean is not None and running_var is not None,
            "running_mean or running_var is None: batch_norm needs both, or training=True",
        )
        mean, var = _by_channel(running_mean, x.ndim), _by_channel(running_var, x.ndim)
    normal = (x - mean) / np.sqrt(var + eps)
    made = _affine(normal, _by_channel(weight, x.ndim), _by_channel(bias, x.ndim))
    return made, (running_mean, running_var)


def _batch_statistics(
    x: Any, axes: tuple[int, ...], running_mean: Any, running_var: Any, momentum: float
) -> tuple[Any, Any, Any, Any]:
    """The new running statistics, and the statistics of the batch."""
    count = x.size // max(x.shape[1], 1)
    need_shape(
        count > 1,
        f"x has shape {x.shape}, one value for each channel: its variance is not defined. "
        "Use a larger batch, or training=False",
    )
    mean = np.mean(x, axis=axes, keepdims=True)
    var = np.mean((x - mean) ** 2, axis=axes, keepdims=True)
    if running_mean is not None:
        running_mean = (1.0 - momentum) * running_mean + momentum * mean.reshape(-1)
    if running_var is not None:
        unbiased = var.reshape(-1) * (count / (count - 1))
        running_var = (1.0 - momentum) * running_var + momentum * unbiased
    return running_mean, running_var, mean, var


def _standardized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + eps)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _by_channel(x: Any, ndim: int) -> Any:
    """Numbers per channel, shaped to lie along axis 1 of ``ndim`` axes."""
    return None if x is None else x.reshape(-1, *(1,) * (ndim - 2))


def _last_axes(x: Any, shape: int | tuple[int, ...], **parameters: Any) -> tuple[int, ...]:
    """The last axes; raise unless their extents are ``shape``."""
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    need_shape(
        len(extents) > 0 and x.shape[-len(extents) :] == extents,
        f"x has shape {x.shape}, which does not end with normalized_shape={extents}",
    )
    for name, parameter in parameters.items():
        need_shape(
            parameter is None or parameter.shape == extents,
            f"{name} has shape {np.shape(parameter)}; it needs normalized_shape={extents}",
        )
    return tuple(range(-len(extents), 0))


def _check_eps(eps: Any) -> None:
    need_value(is_tracer(eps) or eps >= 0, f"eps={eps} is negative")


def _check_channels(x: Any, **parameters: Any) -> None:
    for name, parameter in parameters.items():
        need_shape(
            parameter is None or parameter.shape == x.shape[1:2],
            f"{name} has shape {np.shape(parameter)}; x of shape {x.shape} needs {x.shape[1:2]}",
        )
