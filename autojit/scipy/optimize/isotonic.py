"""Isotonic regression: the increasing values that are closest to the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient

from .roots import result


@answers("scipy.optimize.isotonic_regression")
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """SciPy's result object with ``x``, the increasing (or decreasing) values closest to y.

    The compiled code calls SciPy to find which neighbours share a value. Each value is the weighted
    mean of its block, and has the derivative of a mean. The result has no ``weights`` and
    ``blocks``, because their number depends on values.

    >>> from autojit import jacfwd
    >>> from autojit.scipy.optimize import isotonic_regression
    >>> jacfwd(lambda y: isotonic_regression(y).x)(np.array([1.0, 3.0, 2.0]))
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0.5],
           [0. , 0.5, 0.5]])
    """
    y = floating(y)
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} axes; isotonic_regression takes one")
    w = floating(np.ones(y.shape[0]) if weights is None else weights)
    if w.shape != y.shape:
        raise ValueError(
            f"y has the shape {y.shape}, but weights has {w.shape}: they must be equal"
        )
    n = y.shape[0]

    def blocks(y: Any, w: Any) -> Any:
        search = original("scipy.optimize.isotonic_regression")
        first = search(y, weights=w, increasing=increasing).blocks
        return np.repeat(np.arange(first.size - 1), np.diff(first))

    block = pure_callback(
        blocks, np.zeros(n, np.int64), stop_gradient(y), stop_gradient(w), vmap_method="sequential"
    )
    same = block[:, None] == block
    return result(x=np.sum(np.where(same, w * y, 0.0), 1) / np.sum(np.where(same, w, 0.0), 1))
