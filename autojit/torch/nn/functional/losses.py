"""Losses as functions of tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import nn
from autojit.nn.checks import reduced
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import reductions, shaping
from autojit.torch.functions.kinks import binary_cross_entropies
from autojit.torch.precision import raised

from .shells import shell, spoken, together

_SHELLS = {
    name: shell(node, getattr(nn, name))
    for name, node in {
        "mse_loss": "MseLoss", "l1_loss": "MeanBackward0", "huber_loss": "HuberLoss",
        "smooth_l1_loss": "SmoothL1Loss", "cross_entropy": "NllLoss", "nll_loss": "NllLoss",
        "kl_div": "MeanBackward0",
        "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits",
    }.items()
}  # fmt: skip


def _pair(input: Tensor, target: Tensor) -> tuple[Any, ...]:
    """Input and target in one dtype and shape; as in PyTorch, a warning if shapes differ."""
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
        shape = np.broadcast_shapes(tuple(input.shape), tuple(target.shape))
        input, target = shaping.expand(input, *shape), shaping.expand(target, *shape)
    return together(input, target)


def older(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction; PyTorch's deprecated ``size_average`` and ``reduce`` take precedence."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def _reduction(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


@raised
def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
             reduction: str = "mean") -> Tensor:  # fmt: skip
    """The squares of ``input - target``."""
    reduction = older(reduction, size_average, reduce)
    made: Tensor = _SHELLS["mse_loss"](*_pair(input, target), _reduction(reduction))
    return made


@raised
def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
            reduction: str = "mean") -> Tensor:  # fmt: skip
    """The absolute values of ``input - target``."""
    reduction = older(reduction, size_average, reduce)
    made: Tensor = _SHELLS["l1_loss"](*_pair(input, target), _reduction(reduction))
    return made


@raised
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean",
               delta: float = 1.0) -> Tensor:  # fmt: skip
    """The squares of small differences, and the absolute values of large ones."""
    made: Tensor = _SHELLS["huber_loss"](*_pair(input, target), delta, _reduction(reduction))
    return made


@raised
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    """``huber_loss`` divided by ``beta``."""
    reduction = older(reduction, size_average, reduce)
    made: Tensor = _SHELLS["smooth_l1_loss"](*_pair(input, target), beta, _reduction(reduction))
    return made


@raised
def cross_entropy(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """``-log(softmax(input))`` at the target classes, or for target probabilities."""
    reduction = older(reduction, size_average, reduce)
    _check_batch(input, target)
    if label_smoothing == 0.0 and target._data.dtype.kind in "iu":  # this path saves the softmax
        return nll_loss(
            reductions.log_softmax(input, 0 if input.ndim == 1 else 1), target, weight, None,
            ignore_index, None, reduction,
        )  # fmt: skip
    made: Tensor = _SHELLS["cross_entropy"](
        input, target, weight, ignore_index, _reduction(reduction), label_smoothing
    )
    return made


@raised
def nll_loss(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None,
             reduction: str = "mean") -> Tensor:  # fmt: skip
    """``-input`` at the target classes."""
    reduction = older(reduction, size_average, reduce)
    _check_batch(input, target)
    made: Tensor = _SHELLS["nll_loss"](input, target, weight, ignore_index, _reduction(reduction))
    return made


def _check_batch(input: Tensor, target: Tensor) -> None:
    if input.ndim == 0:
        raise ValueError(f"Expected input to have at least 1 dimension, got {input.shape}")
    if input.ndim > 1 and target.ndim >= 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({target.shape[0]})."
        )


@raised
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Any = None,
                         size_average: Any = None, reduce: Any = None,
                         reduction: str = "mean") -> Tensor:  # fmt: skip
    """The cross-entropy of probabilities."""
    reduction = older(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target._data.dtype.kind in "biu":
        raise RuntimeError(
            f"Found dtype {spoken(target)} but expected {spoken(input)}. Convert it: "
            "target.to(input.dtype)"
        )
    for name, x in (("input", input), ("target", target)):
        if isinstance(x._data, np.ndarray) and not ((x._data >= 0) & (x._data <= 1)).all():
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    made: Tensor = _CROSS_ENTROPY(*together(input, target, weight), _reduction(reduction))
    return made


def _cross_entropy_of_two(x: Any, target: Any, weight: Any, reduction: str) -> Any:
    losses = binary_cross_entropies(x, target)
    return reduced(losses if weight is None else losses * weight, reduction)


_CROSS_ENTROPY = shell("BinaryCrossEntropy", _cross_entropy_of_two)


@raised
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Tensor:  # fmt: skip
    """The cross-entropy of the sigmoids of logits."""
    reduction = older(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    x, y, w, p = together(input, target, weight, pos_weight)
    made: Tensor = _SHELLS["binary_cross_entropy_with_logits"](x, y, w, _reduction(reduction), p)
    return made


@raised
def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence of log-probabilities."""
    reduction = older(reduction, size_average, reduce)
    word = reduction if reduction == "batchmean" else _reduction(reduction)
    made: Tensor = _SHELLS["kl_div"](*_pair(input, target), word, log_target)
    return made


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if _reduction(reduction) == "none":
        return losses
    return reductions.mean(losses) if reduction == "mean" else reductions.sum(losses)


@raised
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """``log(1 + exp(-target * input))``."""
    reduction = older(reduction, size_average, reduce)
    x, y = _pair(input, target)
    return _reduced(_SHELLS_SOFT(-(y * x)), reduction)


_SHELLS_SOFT = shell("SoftMarginLoss", nn.softplus)


@raised
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    """``max(0, margin - target * (input1 - input2))``."""
    reduction = older(reduction, size_average, reduce)
    short = margin - target * (input1 - input2)
    return _reduced(short.clamp(min=0), reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False,
                      eps: float = 1e-6, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The negative log-likelihood of normal distributions."""
    var = var if isinstance(var, Tensor) else input.detach() * 0 + var
    if (var._data < 0).any():
        raise ValueError("var has negative entry/entries")
    bounded = var + (var.detach().clamp(min=eps) - var.detach())
    losses = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    return _reduced(losses + 0.5 * float(np.log(2 * np.pi)) if full else losses, reduction)


@raised
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """The negative log-likelihood of Poisson distributions."""
    reduction = older(reduction, size_average, reduce)
    if full:
        raise NotImplementedError("poisson_nll_loss: full=True is not covered")
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    return _reduced(losses, reduction)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (mse_loss, l1_loss, huber_loss, smooth_l1_loss, cross_entropy, nll_loss,
              binary_cross_entropy, binary_cross_entropy_with_logits, kl_div, soft_margin_loss,
              margin_ranking_loss, gaussian_nll_loss, poisson_nll_loss)
}  # fmt: skip
