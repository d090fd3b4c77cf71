"""``scipy.special`` functions that are no ufuncs: on plain arrays SciPy's own, traced ours.

The ufuncs of ``scipy.special`` (``erf``, ``expit``, ``ndtr``, ``xlogy``, …) dispatch, and
are used as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions import reductions
from autojit.protocols.lists import takes_arrays
from autojit.tracing.values import is_tracer


@takes_arrays()
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
    if is_tracer(a) or is_tracer(b):
        return reductions.logsumexp(a, axis, b, keepdims, return_sign)
    import scipy.special

    return scipy.special.logsumexp(a, axis, b, keepdims, return_sign)


@takes_arrays()
def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """``exp(x)`` over its sum along axes (all of them by default), without overflow.

    >>> from autojit import jit
    >>> from autojit.scipy.special import softmax
    >>> jit(softmax)(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    return np.exp(log_softmax(x, axis))


@takes_arrays()
def log_softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """``x - logsumexp(x)`` along axes (all of them by default).

    >>> from autojit import jit
    >>> from autojit.scipy.special import log_softmax
    >>> jit(log_softmax)(np.array([0.0, 0.0])) + np.log(2)
    array([0., 0.])
    """
    return x - logsumexp(x, axis, keepdims=True)
