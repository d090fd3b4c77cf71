"""Losses by distances, margins and several labels; activations with thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories, pointwise, reductions

from .activations import FUNCTIONS as ACTIVATIONS
from .layers import cosine_similarity, pairwise_distance
from .losses import _reduced, older


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0,
                        p: float = 2, eps: float = 1e-6, swap: bool = False,
                        size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    """``max(0, margin + distance to the positive - distance to the negative)``."""
    near, far = (pairwise_distance(anchor, x, p, eps) for x in (positive, negative))
    if swap:
        far = pointwise.FUNCTIONS["minimum"](far, pairwise_distance(positive, negative, p, eps))
    losses = (margin + near - far).clamp(min=0)
    return _reduced(losses, older(reduction, size_average, reduce))


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Any, margin: float = 0,
                          size_average: Any = None, reduce: Any = None,
                          reduction: str = "mean") -> Tensor:  # fmt: skip
    """``1 - cosine`` where the target is 1, else ``max(0, cosine - margin)``."""
    cosine = cosine_similarity(input1, input2, -1)
    losses = pointwise.where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0))
    return _reduced(losses, older(reduction, size_average, reduce))


def hinge_embedding_loss(input: Tensor, target: Any, margin: float = 1.0,
                         size_average: Any = None, reduce: Any = None,
                         reduction: str = "mean") -> Tensor:  # fmt: skip
    """The input where the target is 1, else ``max(0, margin - input)``."""
    near = pointwise.where(target != -1, input, 0.0)
    losses = near + pointwise.where(target != 1, (margin - input).clamp(min=0), 0.0)
    return _reduced(losses, older(reduction, size_average, reduce))


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0,
                      weight: Any = None, size_average: Any = None, reduce: Any = None,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """The sum of the hinge losses of all other classes, divided by the number of classes."""
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    labels = target.reshape(-1, 1)
    short = (margin - rows.gather(1, labels) + rows).clamp(min=0) ** p
    if weight is not None:
        short = short * weight[labels]
    others = wrap(np.arange(rows.shape[1])) != labels
    losses = (short * others).sum(1) / rows.shape[1]
    made = losses if input.ndim == 2 else losses.squeeze(0)
    return _reduced(made, older(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input: Any, target: Tensor, weight: Any = None,
                                size_average: Any = None, reduce: Any = None,
                                reduction: str = "mean") -> Tensor:  # fmt: skip
    """The mean over classes of the cross-entropies of sigmoids."""
    inside, outside = (ACTIVATIONS["logsigmoid"](x) for x in (input, -input))
    terms = -(target * inside + (1 - target) * outside)
    losses = (terms if weight is None else terms * weight).mean(-1)
    return _reduced(losses, older(reduction, size_average, reduce))


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input / alpha) - 1)``."""
    below = alpha * pointwise.FUNCTIONS["expm1"](input.clamp(max=0) / alpha)
    return pointwise.where(input > 0, input, below)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` outside ``[-lambd, lambd]``, else 0."""
    return pointwise.where(input.abs() > lambd, input, 0.0)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, but not beyond 0."""
    outer = pointwise.where(input > lambd, input - lambd, 0.0)
    return pointwise.where(input < -lambd, input + lambd, outer)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10,
                   dim: int = -1) -> Tensor:  # fmt: skip
    """A random class as soft shares of all classes; with ``hard``, one-hot, with the gradient of
    the soft shares.

    Jang and others, "Categorical reparameterization with Gumbel-softmax", 2017.
    """
    uniform = factories.FUNCTIONS["rand"](*logits.shape, dtype=logits.dtype)
    noise = -(-(uniform.clamp(min=1e-30)).log()).log()
    soft = reductions.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, True)
    one = factories.FUNCTIONS["zeros_like"](logits).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (triplet_margin_loss, cosine_embedding_loss, hinge_embedding_loss, multi_margin_loss,
              multilabel_soft_margin_loss, celu, hardshrink, softshrink, tanhshrink, gumbel_softmax)
}  # fmt: skip
