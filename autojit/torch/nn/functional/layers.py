"""Linear maps, convolutions, pooling, normalisation and embeddings, as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import nn
from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.recording import compute, record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import reductions
from autojit.torch.precision import lowered

from .shells import same_dtype, settings, shell

_LINEAR = {
    (2, True): Operation("Addmm", nn.linear), (2, False): Operation("Mm", nn.linear),
}  # fmt: skip
_OTHER_LINEAR = {True: Operation("View", nn.linear), False: Operation("UnsafeView", nn.linear)}


@lowered
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    >>> from autojit import torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    x, w = input._data, weight._data
    if x.shape[-1:] != w.shape[1:]:
        rows = int(np.prod(x.shape[:-1]))
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{(x.shape or (1,))[-1]} and "
            f"{w.shape[1]}x{w.shape[0]}): the last axis of the input must have {w.shape[1]} "
            f"elements, the features that the layer was made for:\n"
            f"    nn.Linear({(x.shape or (1,))[-1]}, {w.shape[0]})"
        )
    same_dtype(input, weight)
    operation = _LINEAR.get((x.ndim, bias is not None)) or _OTHER_LINEAR[bias is not None]
    operands = (input, weight) if bias is None else (input, weight, bias)
    made: Tensor = record(operation, operands)
    return made


_BILINEAR = shell("Bilinear", lambda a, b, w: np.einsum("...i,kij,...j->...k", a, w, b))


@lowered
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """``input1 @ weight[k] @ input2`` for each k, plus bias."""
    made: Tensor = _BILINEAR(input1, input2, weight)
    return made if bias is None else made + bias


def _convolution(ndim: int, function: Callable[..., Any]) -> Callable[..., Any]:
    call = shell("Convolution", function)

    def convolution(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1,
                    padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
        whole = input if input.ndim == ndim + 2 else input.unsqueeze(0)
        if whole.ndim != ndim + 2:
            raise RuntimeError(
                f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to conv{ndim}d, "
                f"but got input of size: {list(input.shape)}"
            )
        if whole.shape[1] != weight.shape[1] * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(weight.shape)}, expected input"
                f"{list(input.shape)} to have {weight.shape[1] * groups} channels, but got "
                f"{whole.shape[1]} channels instead"
            )
        made: Tensor = call(
            whole, weight, bias, settings(stride), settings(padding), settings(dilation), groups
        )
        return made if whole is input else made.squeeze(0)

    convolution.__name__ = f"conv{ndim}d"
    convolution.__doc__ = "Cross-correlation with filters."
    return convolution


conv1d: Callable[..., Any] = lowered(_convolution(1, nn.conv1d))
conv2d: Callable[..., Any] = lowered(_convolution(2, nn.conv2d))
conv3d: Callable[..., Any] = lowered(_convolution(3, nn.conv3d))


def _pool(name: str, ndim: int, function: Callable[..., Any]) -> Callable[..., Any]:
    call = shell(name, function)

    def pooled(x: Tensor, *given: Any) -> Tensor:
        whole = x if x.ndim == ndim + 2 else x.unsqueeze(0)
        made: Tensor = call(whole, *map(settings, given))
        return made if whole is x else made.squeeze(0)

    return pooled


_MAX = {n: _pool(f"MaxPool{n}DWithIndices", n, getattr(nn, f"max_pool{n}d")) for n in (1, 2, 3)}
_AVG = {n: _pool(f"AvgPool{n}D", n, getattr(nn, f"avg_pool{n}d")) for n in (1, 2, 3)}


def _max_pool(ndim: int) -> Callable[..., Tensor]:
    def max_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 dilation: Any = 1, ceil_mode: bool = False,
                 return_indices: bool = False) -> Tensor:  # fmt: skip
        _not_covered(ceil_mode=ceil_mode, return_indices=return_indices)
        return _MAX[ndim](input, kernel_size, stride or None, padding, dilation)

    return max_pool


def _avg_pool(ndim: int) -> Callable[..., Tensor]:
    def avg_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None) -> Tensor:  # fmt: skip
        _not_covered(ceil_mode=ceil_mode, divisor_override=divisor_override)
        return _AVG[ndim](input, kernel_size, stride or None, padding, count_include_pad)

    return avg_pool


def _not_covered(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"pooling: {name}={value!r} is not covered")


def _windows_of(n: int, m: int) -> list[tuple[int, int]]:
    """The m windows of n elements: from floor(k n / m) to ceil((k + 1) n / m)."""
    return [(k * n // m, -(-(k + 1) * n // m)) for k in range(m)]


def _means(x: Any, targets: tuple[int, ...]) -> Any:
    """The means of windows of possibly different sizes, axis by axis, as matrix products."""
    for k, m in enumerate(targets):
        axis = x.ndim - len(targets) + k
        weights = np.zeros((m, x.shape[axis]), x.dtype)
        for row, (start, end) in zip(weights, _windows_of(x.shape[axis], m), strict=True):
            row[start:end] = 1 / (end - start)
        x = np.moveaxis(np.tensordot(x, weights, ([axis], [1])), -1, axis)
    return x


_UNEVEN = shell("AdaptiveAvgPool", _means)


def _adaptive(ndim: int, kind: str) -> Callable[..., Tensor]:
    def adaptive(input: Tensor, output_size: Any) -> Tensor:
        wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * ndim
        extents = tuple(input.shape)[-ndim:]
        targets = tuple(n if m is None else m for n, m in zip(extents, wanted, strict=True))
        even = not any(n % m for n, m in zip(extents, targets, strict=True))
        if kind == "avg" and not even:
            made: Tensor = _UNEVEN(input, targets)
            return made
        if not even:
            raise NotImplementedError(
                f"adaptive_max_pool of extents {extents} to {targets}: windows of different sizes "
                "are not covered; choose divisors of the extents"
            )
        sizes = tuple(n // m for n, m in zip(extents, targets, strict=True))
        taps = sizes if ndim > 1 else sizes[0]
        if kind == "avg":
            return _AVG[ndim](input, taps, None, 0, True)
        return _MAX[ndim](input, taps, None, 0, 1)

    return adaptive


_LAYER_NORM = shell("NativeLayerNorm", nn.layer_norm)
_RMS_NORM = shell("RmsNorm", nn.rms_norm)
_GROUP_NORM = shell("NativeGroupNorm", nn.group_norm)


def _of_shape(name: str, input: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(input.shape)[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )


def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Normalise to mean 0 and variance 1 over the last axes, times weight, plus bias."""
    shape = tuple(normalized_shape)
    _of_shape("layer_norm", input, shape)
    made: Tensor = _LAYER_NORM(input, shape, weight, bias, eps)
    return made


def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Tensor:
    """Normalise to mean square 1 over the last axes, times weight."""
    shape = tuple(normalized_shape)
    _of_shape("rms_norm", input, shape)
    made: Tensor = _RMS_NORM(input, shape, weight, eps)
    return made


def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Normalise to mean 0 and variance 1 over groups of channels."""
    if input.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    if input._data.size == num_groups:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    made: Tensor = _GROUP_NORM(input, num_groups, weight, bias, eps)
    return made


def _normed(*arguments: Any) -> Any:
    y, (mean, var) = nn.batch_norm(*arguments)
    return (y, mean, var) if mean is not None else y


_BATCH_NORM = shell("NativeBatchNorm", _normed)


def batch_norm(input: Tensor, running_mean: Any, running_var: Any, weight: Any = None,
               bias: Any = None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Normalise to mean 0 and variance 1 in each channel; in training, update the running
    statistics."""
    if training and input.numel() == input.shape[1]:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    made = _BATCH_NORM(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not isinstance(made, tuple):
        return made
    y, mean, var = made
    if training:
        with no_grad():
            running_mean.copy_(mean.detach())
            running_var.copy_(var.detach())
    return y


_EMBEDDING = shell("Embedding", nn.embedding)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None,
              max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:  # fmt: skip
    """The rows of a table at given indices."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding: max_norm, scale_grad_by_freq, sparse are not covered")
    _check_rows(input, weight)
    made: Tensor = _EMBEDDING(input, weight, padding_idx)
    return made


def _check_rows(input: Tensor, weight: Tensor) -> None:
    if isinstance(input._data, np.ndarray) and input._data.size and (
        input._data.min() < 0 or input._data.max() >= weight.shape[0]
    ):  # fmt: skip
        raise IndexError("index out of range in self")


_EMBEDDING_BAG = shell("EmbeddingBag", nn.embedding_bag)


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None,
                  max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                  mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
                  include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:  # fmt: skip
    """The mean, the sum or the largest elements of the rows of a table, for each bag of indices.

    >>> from autojit import torch
    >>> table = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [2, 2]]), table)
    tensor([[1.5000],
            [4.0000]])
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding_bag: max_norm, scale_grad_by_freq, sparse are not covered"
        )
    _check_bags(input, offsets, mode, per_sample_weights)
    _check_rows(input, weight)
    if offsets is not None and include_last_offset:
        offsets = offsets[:-1]
    made: Tensor = _EMBEDDING_BAG(input, weight, offsets, mode, per_sample_weights, padding_idx)
    return made


def _check_bags(input: Tensor, offsets: Tensor | None, mode: str, weights: Any) -> None:
    if weights is not None and weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(weights.shape)}) is not None, then it "
            f"must have the same shape as the input ({list(input.shape)})"
        )
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            "fixed length sequences. However, found offsets of type <class 'torch.Tensor'>"
        )
    if input.ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.ndim not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )


_ONE_HOT = Operation("OneHot", nn.one_hot)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows with a 1 at the label, else 0."""
    count = int(tensor._data.max()) + 1 if num_classes < 0 else num_classes
    if tensor._data.size and tensor._data.max() >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if tensor._data.size and tensor._data.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    made: Tensor = compute(_ONE_HOT, (tensor,), (count,))
    return made


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """``input`` divided by its norm along an axis."""
    length = reductions.norm(input, p, dim, True)
    return input / length.clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    shape = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = (x if tuple(x.shape) == shape else x.expand(*shape) for x in (x1, x2))
    lengths = [reductions.norm(x, 2, dim).clamp(min=eps) for x in (x1, x2)]
    return (x1 * x2).sum(dim) / (lengths[0] * lengths[1])


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6,
                      keepdim: bool = False) -> Tensor:  # fmt: skip
    """The norm of the difference along the last axis."""
    return reductions.norm(x1 - x2 + eps, p, -1, keepdim)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (linear, bilinear, conv1d, conv2d, conv3d, layer_norm, rms_norm, group_norm,
              batch_norm, embedding, embedding_bag, one_hot, normalize, cosine_similarity,
              pairwise_distance)
}  # fmt: skip
for _n in (1, 2, 3):
    FUNCTIONS[f"max_pool{_n}d"] = _max_pool(_n)
    FUNCTIONS[f"avg_pool{_n}d"] = _avg_pool(_n)
    for _kind in ("avg", "max"):
        FUNCTIONS[f"adaptive_{_kind}_pool{_n}d"] = _adaptive(_n, _kind)
