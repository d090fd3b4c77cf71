"""``scipy.special`` functions that are no ufuncs.

The ufuncs of ``scipy.special`` (``erf``, ``expit``, ``ndtr``, ``xlogy``, …) dispatch, and
are used as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions import reductions

from .registry import answers


@answers("scipy.special.logsumexp")
def logsumexp(
    a: Any,
    axis: int | tuple[int, ...] | None = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """``log(sum(b * exp(a)))`` over axes, without overflow.

    The derivative by ``a`` is the softmax. A traced sum must be positive, and
    ``return_sign`` is not covered there.

    >>> from autojit import grad
    >>> from autojit.scipy.special import logsumexp
    >>> grad(logsumexp)(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    return reductions.logsumexp(a, axis, b, keepdims, return_sign)


@answers("scipy.special.softmax")
def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """``exp(x)`` over its sum along axes (all of them by default), without overflow.

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
