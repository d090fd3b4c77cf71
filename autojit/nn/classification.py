"""The cross-entropy of classes, and the negative log-likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import check_whole, named

from .activations import log_softmax
from .checks import need_integers, need_shape, need_value, no_negative, reduced, rows_at


@named
def cross_entropy(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """``-log(softmax(x))`` at the target class.

    Args:
        x: logits, of shape (classes,), (N, classes) or (N, classes, …).
        target: class numbers, of the shape of x without the axis of classes; or probabilities, of
            the shape of x.
        weight: a factor for each class, of shape (classes,), or None.
        ignore_index: a class number whose targets do not count in the loss.
        reduction: ``"none"``, ``"sum"``, or ``"mean"``: divided by the sum of the targets' weights
            for class numbers, else by the number of samples.
        label_smoothing: the share of the target that is spread over all classes.

    Raises:
        ShapeError: if the shapes do not match.
        IndexError: if a target is neither a class nor ``ignore_index``.

    Label smoothing: Szegedy and others, "Rethinking the inception architecture", 2016, section 7.

    >>> logits = np.log(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]))
    >>> round(float(cross_entropy(logits, np.array([0, 2]))), 6)              # -log(0.5)
    0.693147
    >>> round(float(cross_entropy(logits, np.array([0, 2]), ignore_index=2)), 6)
    0.693147
    """
    check_whole(ignore_index, "ignore_index", "cross_entropy")
    need_value(0.0 <= label_smoothing <= 1.0, f"label_smoothing={label_smoothing} is not in [0, 1]")
    need_shape(x.ndim >= 1, "x is a scalar; cross_entropy needs logits (N, classes)")
    axis = _class_axis(x)
    log_shares = log_softmax(x, axis)
    if target.shape != x.shape or target.dtype.kind in "iu":
        return _of_classes(log_shares, target, weight, ignore_index, reduction, label_smoothing)
    classes = x.shape[axis]
    _check_weight(weight, classes)
    if label_smoothing > 0.0:
        target = (1.0 - label_smoothing) * target + label_smoothing / classes
    terms = target * log_shares
    losses = -np.sum(terms if weight is None else terms * _along(weight, x), axis=axis)
    if reduction == "mean":
        return np.sum(losses) / float(max(losses.size, 1))
    return reduced(losses, reduction)


@named
def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """``-x`` at the target class: the negative log-likelihood of log-probabilities.

    The arguments are those of :func:`cross_entropy`, with log-probabilities x and class numbers.

    >>> float(nll_loss(np.array([[-1.0, -2.0]]), np.array([1])))
    2.0
    """
    check_whole(ignore_index, "ignore_index", "nll_loss")
    return _of_classes(x, target, weight, ignore_index, reduction, 0.0)


def _of_classes(
    x: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    axis = _class_axis(x)
    classes, expected = x.shape[axis], x.shape[:axis] + x.shape[axis + 1 :]
    need_shape(
        target.shape == expected,
        lambda: (
            f"target has shape {target.shape}; x of shape {x.shape} needs class numbers of shape "
            f"{expected}, or probabilities of shape {x.shape}"
        ),
    )
    need_integers(target, "target")
    _check_weight(weight, classes)
    ignored = target == ignore_index
    plain = weight is None and smoothing == 0.0 and ignored.__class__ is np.ndarray
    if plain and not ignored.any():  # a faster way to the same result
        return reduced(-_at(x, no_negative(target, classes), axis), reduction)
    labels = np.where(ignored, 0, no_negative(target, classes))
    factor = np.where(ignored, 0, 1).astype(x.dtype) if weight is None else (
        np.where(ignored, 0.0, rows_at(weight, labels))
    )  # fmt: skip
    picked = _at(x, labels, axis)
    losses = np.where(ignored, 0.0, -picked if weight is None else -picked * factor)
    if smoothing > 0.0:
        spread = x if weight is None else x * _along(weight, x)
        rest = np.where(ignored, 0.0, -np.sum(spread, axis=axis))
        losses = (1.0 - smoothing) * losses + (smoothing / classes) * rest
    if reduction == "mean":
        return np.sum(losses) / np.sum(factor)
    return reduced(losses, reduction)


def _at(x: Any, labels: Any, axis: int) -> Any:
    """The elements at the labels along the axis of classes."""
    if axis == 1 and x.ndim == 2 and x.__class__ is labels.__class__ is np.ndarray:
        return x[np.arange(len(labels)), labels]  # a faster way to the same result
    found = np.take_along_axis(x, np.expand_dims(labels, axis), axis=axis)
    return np.squeeze(found, axis=axis)


def _class_axis(x: Any) -> int:
    return 0 if x.ndim == 1 else 1


def _along(weight: Any, x: Any) -> Any:
    """The numbers per class, shaped to lie along the axis of classes."""
    return weight.reshape(-1, *(1,) * (x.ndim - 1 - _class_axis(x)))


def _check_weight(weight: Any, classes: int) -> None:
    need_shape(
        weight is None or weight.shape == (classes,),
        lambda: f"weight has shape {np.shape(weight)}; {classes} classes need ({classes},)",
    )
