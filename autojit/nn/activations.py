"""Activation functions: elementwise functions, and the softmax.

At kinks the derivatives are PyTorch's: ``relu`` has 0 at 0, while ``np.maximum(x, 0)`` has 1/2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.arguments import named
from autojit.scipy import special as traced_special
from autojit.transformations.derivatives import stop_gradient

from .checks import need_value

#: Klambauer and others, "Self-normalizing neural networks", 2017, equation 14.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@named
def relu(x: Any) -> Any:
    """``max(x, 0)``, with derivative 0 at 0.

    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    >>> autojit.grad(relu)(0.0)
    np.float64(0.0)
    """
    return np.where(x <= 0, 0.0, x)


@named
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """``x`` if it is positive, else ``negative_slope * x``.

    >>> leaky_relu(np.array([-1.0, 2.0]), 0.5)
    array([-0.5,  2. ])
    """
    return np.where(x > 0, x, negative_slope * x)


@named
def elu(x: Any, alpha: float = 1.0) -> Any:
    """``x`` if it is positive, else ``alpha * (exp(x) - 1)``.

    Clevert and others, "Fast and accurate deep network learning by exponential linear units", 2015.

    >>> elu(np.array([0.0, 2.0]))
    array([0., 2.])
    """
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0.0, x)))


@named
def selu(x: Any) -> Any:
    """``scale * elu(x, alpha)`` with the two constants that preserve mean 0 and variance 1.

    Klambauer and others, "Self-normalizing neural networks", 2017.

    >>> selu(np.array([0.0, 1.0])).round(4)
    array([0.    , 1.0507])
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@named
def gelu(x: Any, approximate: str = "none") -> Any:
    """``x`` times the standard normal distribution function of x, or its ``"tanh"`` approximation.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    >>> gelu(np.array([0.0, 1.0])).round(4), gelu(np.array([0.0, 1.0]), "tanh").round(4)
    (array([0.    , 0.8413]), array([0.    , 0.8412]))
    """
    need_value(
        approximate in ("none", "tanh"), f"approximate={approximate!r} is not 'none' or 'tanh'"
    )
    if approximate == "tanh":
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1.0 + np.tanh(inner))
    from scipy import special

    return 0.5 * x * (1.0 + special.erf(x * math.sqrt(0.5)))


@named
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``.

    >>> sigmoid(np.array([0.0]))
    array([0.5])
    """
    from scipy import special

    return special.expit(x)


@named
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, also called swish.

    Elfwing and others, "Sigmoid-weighted linear units", 2017.

    >>> silu(np.array([0.0, 1.0])).round(4)
    array([0.    , 0.7311])
    """
    return x * sigmoid(x)


@named
def softplus(x: Any, beta: float = 1.0) -> Any:
    """``log(1 + exp(beta * x)) / beta``, without overflow.

    >>> softplus(np.array([0.0, 1000.0])).round(4)
    array([6.931e-01, 1.000e+03])
    """
    return np.logaddexp(0.0, beta * x) / beta


@named
def tanh(x: Any) -> Any:
    """The hyperbolic tangent: ``np.tanh``.

    >>> tanh(np.array([0.0]))
    array([0.])
    """
    return np.tanh(x)


@named
def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """``x`` clipped to two bounds, with derivative 0 on them.

    >>> hardtanh(np.array([-3.0, 0.5, 3.0]))
    array([-1. ,  0.5,  1. ])
    """
    return np.where(x <= min_val, min_val, np.where(x >= max_val, max_val, x))


@named
def softmax(x: Any, axis: int = -1) -> Any:
    """``exp(x)`` over its sum along an axis, without overflow.

    >>> softmax(np.array([0.0, 0.0, 1000.0]))
    array([0., 0., 1.])
    """
    # The shift cancels, so it carries no derivative.
    weights = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return weights / np.sum(weights, axis=axis, keepdims=True)


@named
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of the softmax along an axis, without overflow.

    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return traced_special.log_softmax(x, axis)
