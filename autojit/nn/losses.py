"""Losses: one number per sample, and their mean or sum.

``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.arguments import check_flag, named

from .checks import need_shape, need_value, reduced


@named
def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The squares of ``x - target``.

    Raises:
        ShapeError: if the shapes differ.

    >>> float(mse_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    2.0
    """
    _same_shape(x, target)
    difference = x - target
    return reduced(difference * difference, reduction)


@named
def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute values of ``x - target``.

    >>> float(l1_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    1.0
    """
    _same_shape(x, target)
    return reduced(np.abs(x - target), reduction)


@named
def huber_loss(x: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """``d**2 / 2`` if ``d = |x - target|`` is at most delta, else ``delta * (d - delta / 2)``.

    Huber, "Robust estimation of a location parameter", 1964.

    >>> huber_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
    array([0.125, 2.5  ])
    """
    _same_shape(x, target)
    need_value(delta > 0, f"delta={delta} is not positive")
    d = np.abs(x - target)
    return reduced(np.where(d <= delta, 0.5 * (d * d), delta * (d - 0.5 * delta)), reduction)


@named
def smooth_l1_loss(x: Any, target: Any, beta: float = 1.0, reduction: str = "mean") -> Any:
    """``d**2 / (2 beta)`` if ``d = |x - target|`` is less than beta, else ``d - beta / 2``.

    Girshick, "Fast R-CNN", 2015, equation 3.

    >>> smooth_l1_loss(np.array([0.5, 3.0]), np.zeros(2), beta=2.0, reduction="none")
    array([0.0625, 2.    ])
    """
    need_value(beta >= 0, f"beta={beta} is negative")
    if beta == 0:
        return l1_loss(x, target, reduction)
    _same_shape(x, target)
    d = np.abs(x - target)
    return reduced(np.where(d < beta, 0.5 / beta * (d * d), d - 0.5 * beta), reduction)


@named
def binary_cross_entropy(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """``-(target * log(x) + (1 - target) * log(1 - x))`` for probabilities x.

    Args:
        x: probabilities.
        target: numbers in [0, 1].
        weight: factors of the losses, or None.
        reduction: as for all losses.

    A logarithm below -100 counts as -100, with derivative 0, so that the losses of probabilities 0
    and 1 are finite. For logits, use :func:`binary_cross_entropy_with_logits`.

    >>> binary_cross_entropy(np.array([0.5, 0.0]), np.array([1.0, 1.0]), reduction="none").round(4)
    array([  0.6931, 100.    ])
    """
    _same_shape(x, target)
    losses = -(target * _log_at_least(x) + (1.0 - target) * _log_at_least(1.0 - x))
    return reduced(losses if weight is None else losses * weight, reduction)


def _log_at_least(x: Any) -> Any:
    """``max(log(x), -100)``, with derivative 0 below -100."""
    inside = ~(x <= math.exp(-100.0))
    return np.where(inside, np.log(np.where(inside, x, 1.0)), -100.0)


@named
def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """The binary cross-entropy of ``sigmoid(x)``, without overflow.

    Args:
        x: logits.
        target: numbers in [0, 1].
        weight: factors of the losses, or None.
        reduction: as for all losses.
        pos_weight: factors of the losses of positive examples, or None.

    >>> float(binary_cross_entropy_with_logits(np.array([1000.0]), np.array([0.0])))
    1000.0
    """
    _same_shape(x, target)
    factor = 1.0 if pos_weight is None else 1.0 + (pos_weight - 1.0) * target
    losses = (1.0 - target) * x + factor * np.logaddexp(0.0, -x)
    return reduced(losses if weight is None else losses * weight, reduction)


@named
def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """``target * (log(target) - x)``, the Kullback-Leibler divergence of log-probabilities x.

    Args:
        x: log-probabilities.
        target: probabilities, or their logarithms with ``log_target``.
        reduction: as for all losses, or ``"batchmean"``: the sum divided by the length of axis 0,
            which is the mean of the divergences.
        log_target: see ``target``.

    Kullback and Leibler, "On information and sufficiency", 1951.

    >>> float(kl_div(np.log([0.5, 0.5]), np.array([0.5, 0.5]), "sum"))
    0.0
    """
    check_flag(log_target, "log_target", "kl_div")
    _same_shape(x, target)
    if log_target:
        losses = np.exp(target) * (target - x)
    else:
        from scipy import special

        losses = special.xlogy(target, target) - target * x
    if reduction == "batchmean":
        need_shape(x.ndim > 0, "x is a scalar; reduction='batchmean' needs an axis of samples")
        return np.sum(losses) / float(x.shape[0])
    return reduced(losses, reduction)


@named
def hinge_loss(x: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """``max(0, margin - target * x)`` for targets -1 and 1, with derivative 0 at the kink.

    Cortes and Vapnik, "Support-vector networks", 1995.

    >>> hinge_loss(np.array([0.5, 2.0]), np.array([1.0, 1.0]), reduction="none")
    array([0.5, 0. ])
    """
    _same_shape(x, target)
    short = margin - target * x
    return reduced(np.where(short <= 0, 0.0, short), reduction)


def _same_shape(x: Any, target: Any) -> None:
    need_shape(
        np.shape(x) == np.shape(target),
        f"x has shape {np.shape(x)} and target {np.shape(target)}; they must be equal. To "
        "broadcast, use np.broadcast_to(target, x.shape)",
    )
