"""Sums of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions import reductions
from autojit.scipy.registry import answers


@answers("scipy.special.logsumexp")
def logsumexp(
    a: Any,
    axis: int | tuple[int, ...] | None = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """``log(sum(b * exp(a)))`` over axes, without overflow; NaN where the sum is negative.

    With ``return_sign``, the result is ``log(abs(sum))`` and the sign of the sum. The derivative by
    ``a`` is the softmax.

    >>> from autojit import grad
    >>> from autojit.scipy.special import logsumexp
    >>> grad(logsumexp)(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    if not return_sign:
        return reductions.logsumexp(a, axis, b, keepdims)
    a = a + np.zeros(np.shape(b)) if b is not None else a * 1.0
    top = np.max(a, axis, keepdims=True, initial=-np.inf)
    finite: Any = np.where(np.isfinite(top), top, 0.0)
    shift = reductions.stop(finite)
    terms = np.exp(a - shift)
    total = np.sum(terms if b is None else b * terms, axis, keepdims=True)
    size, sign = np.log(np.abs(total)) + shift, np.sign(total)
    if not keepdims:
        size, sign = np.sum(size, axis), np.sum(sign, axis)  # removes axes of length 1
    return size, sign


@answers("scipy.special.softmax")
def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """``exp(x)`` divided by its sum along axes (all of them by default), without overflow.

    >>> from autojit import jit
    >>> from autojit.scipy.special import softmax
    >>> jit(softmax)(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    return np.exp(log_softmax(x, axis))


@answers("scipy.special.log_softmax")
def log_softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """``x - logsumexp(x)`` along axes (all of them by default).

    >>> from autojit import jit
    >>> from autojit.scipy.special import log_softmax
    >>> jit(log_softmax)(np.array([0.0, 0.0])) + np.log(2)
    array([0., 0.])
    """
    return x - logsumexp(x, axis, keepdims=True)


@answers("scipy.special.softplus")
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, without overflow.

    >>> from autojit import grad
    >>> from autojit.scipy.special import softplus
    >>> grad(softplus)(0.0)
    np.float64(0.5)
    """
    return np.logaddexp(0.0, x)
