"""Initial values of parameters: arrays of a shape, drawn from a Generator or with a seed.

>>> from autojit.nn import init
>>> init.xavier_uniform(0, (256, 784)).std().round(4)
np.float64(0.0438)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.arguments import checked, named
from autojit.tracing.hooks import hooks

from .checks import need_shape, need_value

Shape = tuple[int, ...]


@checked
def uniform(rng: Any, shape: Shape, a: float = 0.0, b: float = 1.0, dtype: Any = float) -> Any:
    """Uniformly distributed numbers between ``a`` and ``b``.

    >>> uniform(0, (2,)).round(3)
    array([0.637, 0.27 ])
    """
    need_value(a <= b, f"a={a} is more than b={b}")
    return np.random.default_rng(rng).uniform(a, b, shape).astype(dtype)


@checked
def normal(rng: Any, shape: Shape, mean: float = 0.0, std: float = 1.0, dtype: Any = float) -> Any:
    """Normally distributed numbers.

    >>> normal(0, (2,)).round(3)
    array([ 0.126, -0.132])
    """
    need_value(std >= 0, f"std={std} is negative")
    return np.random.default_rng(rng).normal(mean, std, shape).astype(dtype)


@checked
def zeros(rng: Any, shape: Shape, dtype: Any = float) -> Any:
    """Zeros; ``rng`` is ignored.

    >>> zeros(None, (2,))
    array([0., 0.])
    """
    return np.zeros(shape, dtype)


@checked
def ones(rng: Any, shape: Shape, dtype: Any = float) -> Any:
    """Ones; ``rng`` is ignored.

    >>> ones(None, (2,))
    array([1., 1.])
    """
    return np.ones(shape, dtype)


@checked
def xavier_uniform(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = float) -> Any:
    """Uniform numbers with variance ``gain**2 * 2 / (fan_in + fan_out)``.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
    2010, equation 16.

    >>> xavier_uniform(0, (2, 4)).shape
    (2, 4)
    """
    need_value(gain >= 0, f"gain={gain} is negative")
    bound = gain * math.sqrt(6.0 / sum(fans(shape)))
    return uniform(rng, shape, -bound, bound, dtype)


@checked
def xavier_normal(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = float) -> Any:
    """Normal numbers with variance ``gain**2 * 2 / (fan_in + fan_out)``.

    >>> xavier_normal(0, (2, 4)).shape
    (2, 4)
    """
    need_value(gain >= 0, f"gain={gain} is negative")
    return normal(rng, shape, 0.0, gain * math.sqrt(2.0 / sum(fans(shape))), dtype)


@checked
def kaiming_uniform(
    rng: Any, shape: Shape, a: float = 0.0, mode: str = "fan_in",
    nonlinearity: str = "leaky_relu", dtype: Any = float,
) -> Any:  # fmt: skip
    """Uniform numbers with variance ``gain**2 / fan``.

    Args:
        rng: a Generator or a seed.
        shape: the shape.
        a: the negative slope of ``"leaky_relu"``.
        mode: the fan that determines the variance: ``"fan_in"`` or ``"fan_out"``.
        nonlinearity: as for :func:`calculate_gain`.
        dtype: the dtype.

    He and others, "Delving deep into rectifiers", 2015, equation 10.

    >>> kaiming_uniform(0, (2, 4)).shape
    (2, 4)
    """
    bound = math.sqrt(3.0) * _kaiming_deviation(shape, a, mode, nonlinearity)
    return uniform(rng, shape, -bound, bound, dtype)


@checked
def kaiming_normal(
    rng: Any, shape: Shape, a: float = 0.0, mode: str = "fan_in",
    nonlinearity: str = "leaky_relu", dtype: Any = float,
) -> Any:  # fmt: skip
    """Normal numbers with variance ``gain**2 / fan``; arguments as for :func:`kaiming_uniform`.

    >>> kaiming_normal(0, (2, 4)).shape
    (2, 4)
    """
    return normal(rng, shape, 0.0, _kaiming_deviation(shape, a, mode, nonlinearity), dtype)


@checked
def orthogonal(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = float) -> Any:
    """A matrix with orthonormal rows or columns, times ``gain``; further axes count as columns.

    Saxe and others, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", 2013; the signs make every orthogonal matrix equally likely (Mezzadri, 2007).

    >>> q = orthogonal(0, (3, 5))
    >>> np.allclose(q @ q.T, np.eye(3))
    True
    """
    need_shape(np.ndim(shape) == 1 and len(shape) >= 2, f"shape={shape} has fewer than two axes")
    rows, columns = shape[0], math.prod(shape[1:])
    drawn = np.random.default_rng(rng).normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return (gain * (q.T if rows < columns else q)).reshape(shape).astype(dtype)


@checked
def default(rng: Any, shape: Shape, fan_in: int, dtype: Any = float) -> Any:
    """PyTorch's default for weights and biases: uniform numbers up to ``1 / sqrt(fan_in)``.

    For weights it is :func:`kaiming_uniform` with ``a = sqrt(5)``.

    >>> bool(np.abs(default(0, (100,), 16)).max() <= 0.25)
    True
    """
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return uniform(rng, shape, -bound, bound, dtype)


_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "sigmoid"), 1.0),
    "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


@checked
def calculate_gain(nonlinearity: str, a: float = 0.01) -> float:
    """The recommended factor of the weights before a nonlinearity, as in PyTorch.

    >>> calculate_gain("linear")
    1.0
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + a * a))
    need_value(
        nonlinearity in _GAINS,
        f"nonlinearity={nonlinearity!r} is not one of {', '.join(map(repr, _GAINS))}, 'leaky_relu'",
    )
    return _GAINS[nonlinearity]


@named
def fans(shape: Shape) -> tuple[int, int]:
    """The fan-in and fan-out of a weight of shape (outputs, inputs, …).

    >>> fans((16, 3, 5, 5))
    (75, 400)
    """
    need_shape(
        np.ndim(shape) == 1 and len(shape) >= 2,
        f"shape={shape} has fewer than two axes, so no fans",
    )
    places = math.prod(shape[2:])
    return shape[1] * places, shape[0] * places


def _kaiming_deviation(shape: Shape, a: float, mode: str, nonlinearity: str) -> float:
    need_value(mode in ("fan_in", "fan_out"), f"mode={mode!r} is not 'fan_in' or 'fan_out'")
    fan = fans(shape)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def __getattr__(name: str) -> Any:
    """Find PyTorch's names, such as ``init.xavier_uniform_``, in ``autojit.torch``."""
    return hooks.class_named(__name__, name)
