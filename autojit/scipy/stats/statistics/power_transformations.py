"""The transformations of Box and Cox, and of Yeo and Johnson.

A lambda that is not given is the one of greatest likelihood. Golden sections and Newton steps find
it; its derivative follows from the slope, which is 0 there.

>>> from autojit import grad
>>> import scipy.stats as st
>>> grad(lambda x: st.boxcox(x)[1])(np.array([1.0, 2.0, 3.0, 5.0, 9.0])).round(4)
array([-0.6853,  0.2132,  0.21  ,  0.0728, -0.0817])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from autojit.scipy.names import uncovered
from autojit.scipy.registry import answers
from autojit.solvers.sections import least_number, widened

from .correlation import pearsonr
from .descriptive import boxcox_llf, count, floats, propagates

#: Where SciPy's search for a lambda begins.
BRACKET = (-2.0, 2.0)


def order_medians(n: int) -> np.ndarray:
    """Approximations of the medians of n uniform order statistics.

    Filliben, "The probability plot correlation coefficient test for normality", Technometrics 17
    (1975), 111-117.
    """
    middle = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    middle[-1] = 0.5 ** (1.0 / n)
    middle[0] = 1 - middle[-1]
    return middle


def _best(f: Callable[[Any], Any], bracket: Any) -> Any:
    """The lambda at which f is least."""
    low, high = (floats(end) for end in (bracket[0], bracket[-1]))
    return least_number(f, *widened(f, low, high))


@answers("scipy.stats.boxcox", tuples=("optimizer",))
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """The transformation of Box and Cox; without ``lmbda``, ``(transformed, lambda)``."""
    x = floats(x)
    if lmbda is not None:
        return sc.boxcox(x, lmbda)
    if alpha is not None:
        uncovered("stats", "boxcox with alpha=")
    best = boxcox_normmax(x, method="mle", optimizer=optimizer)
    return sc.boxcox(x, best), best


@answers("scipy.stats.boxcox_normmax", tuples=("brack", "optimizer"))
def boxcox_normmax(
    x: Any, brack: Any = None, method: str = "pearsonr", optimizer: Any = None, *, ymax: Any = None
) -> Any:
    """The lambda of Box and Cox that makes a sample most normal."""
    if optimizer is not None or ymax is not None:
        uncovered("stats", "boxcox_normmax with optimizer= or ymax=")
    x = floats(x)
    quantiles = sc.ndtri(order_medians(x.shape[0]))
    losses = {
        "pearsonr": lambda lmb: 1 - pearsonr(quantiles, np.sort(sc.boxcox(x, lmb)))[0],
        "mle": lambda lmb: -boxcox_llf(lmb, x),
    }
    if method not in (*losses, "all"):
        raise ValueError(f"Method {method} not recognized.")
    chosen = list(losses) if method == "all" else [method]
    found = [_best(losses[name], brack or BRACKET) for name in chosen]
    return np.stack(found) if method == "all" else found[0]


@answers("scipy.stats.yeojohnson")
def yeojohnson(x: Any, lmbda: Any = None, *, nan_policy: str = "propagate") -> Any:
    """The transformation of Yeo and Johnson; without ``lmbda``, ``(transformed, lambda)``.

    Biometrika 87 (2000), 954-959.
    """
    propagates("yeojohnson", nan_policy)
    x = floats(x)
    if lmbda is None:
        best = yeojohnson_normmax(x)
        return yeojohnson(x, best), best
    positive = x >= 0
    above, below = np.where(positive, x, 0.0), np.where(positive, 0.0, -x)
    return np.where(positive, sc.boxcox1p(above, lmbda), -sc.boxcox1p(below, 2 - lmbda))


@answers("scipy.stats.yeojohnson_normmax", tuples=("brack",))
def yeojohnson_normmax(x: Any, brack: Any = None) -> Any:
    """The lambda of Yeo and Johnson that makes a sample most normal."""
    x = floats(x)
    return _best(lambda lmb: -yeojohnson_llf(lmb, x), brack or BRACKET)


@answers("scipy.stats.yeojohnson_llf")
def yeojohnson_llf(
    lmb: Any, data: Any, *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The log-likelihood of the transformation of Yeo and Johnson with a given lambda."""
    x = floats(data)
    spread = np.var(yeojohnson(x, lmb, nan_policy=nan_policy), axis=axis, keepdims=keepdims)
    total = np.sum(np.sign(x) * np.log1p(np.abs(x)), axis=axis, keepdims=keepdims)
    return (lmb - 1) * total - count(x, axis) / 2 * np.log(spread)
