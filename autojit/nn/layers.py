"""Layers that create their parameters: pairs of functions.

>>> from functools import partial
>>> from autojit import nn
>>> from autojit.nn import layers
>>> net = nn.sequential(
...     layers.conv2d(1, 4, 3), nn.relu, partial(nn.max_pool2d, kernel_size=2), layers.flatten,
...     layers.linear(4 * 3 * 3, 10),
... )
>>> params = net.init(np.random.default_rng(0))
>>> net.apply(params, np.ones((2, 1, 8, 8))).shape
(2, 10)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.arguments import checked, named

from . import basic, convolution, init, normalization, parameters
from .checks import given_function


class Layer(NamedTuple):
    """A layer: ``init(rng)`` creates its parameters, ``apply(params, x)`` applies it."""

    init: Callable[[Any], Any]
    apply: Callable[[Any, Any], Any]


@checked
def sequential(*layers: Layer | Callable[[Any], Any]) -> Layer:
    """Layers and functions applied in sequence; the parameters are a list of the layers'
    parameters.

    A function has no parameters; its entry is None.

    >>> from autojit import nn
    >>> from autojit.nn import layers
    >>> net = nn.sequential(layers.linear(2, 3), np.tanh, layers.linear(3, 1))
    >>> net.apply(net.init(0), np.ones((4, 2))).shape
    (4, 1)
    """

    def make(rng: Any) -> list[Any]:
        rng = np.random.default_rng(rng)
        return [layer.init(rng) if isinstance(layer, Layer) else None for layer in layers]

    def apply(params: Any, x: Any) -> Any:
        for own, layer in zip(params, layers, strict=True):
            f = layer.apply if isinstance(layer, Layer) else layer
            f = given_function(f, "a layer", "sequential")
            x = f(own, x) if isinstance(layer, Layer) else f(x)
        return x

    return Layer(make, apply)


@checked
def linear(inputs: int, outputs: int, bias: bool = True, dtype: Any = float) -> Layer:
    """A layer of :func:`autojit.nn.linear`.

    >>> linear(3, 2).apply({"weight": np.ones((2, 3))}, np.ones(3))
    array([3., 3.])
    """
    return Layer(
        lambda rng: parameters.init_linear(rng, inputs, outputs, bias, dtype),
        lambda params, x: basic.linear(x, **params),
    )


@checked
def conv1d(
    channels: int, filters: int, kernel_size: int, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: Any = float,
) -> Layer:  # fmt: skip
    """A layer of :func:`autojit.nn.conv1d`.

    >>> layer = conv1d(1, 2, 3)
    >>> layer.apply(layer.init(0), np.ones((1, 1, 5))).shape
    (1, 2, 3)
    """
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return Layer(
        lambda rng: parameters.init_conv(
            rng, channels, filters, (kernel_size,), groups, bias, dtype
        ),
        lambda params, x: convolution.conv1d(x, **params, **settings),
    )


@checked
def conv2d(
    channels: int, filters: int, kernel_size: int | tuple[int, int], stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: Any = float,
) -> Layer:  # fmt: skip
    """A layer of :func:`autojit.nn.conv2d`.

    >>> layer = conv2d(1, 2, 3, padding="same")
    >>> layer.apply(layer.init(0), np.ones((1, 1, 5, 5))).shape
    (1, 2, 5, 5)
    """
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return Layer(
        lambda rng: parameters.init_conv(rng, channels, filters, kernel_size, groups, bias, dtype),
        lambda params, x: convolution.conv2d(x, **params, **settings),
    )


@checked
def embedding(rows: int, width: int, dtype: Any = float) -> Layer:
    """A layer of :func:`autojit.nn.embedding`; its table starts with normal random numbers.

    >>> layer = embedding(10, 4)
    >>> layer.apply(layer.init(0), np.array([3, 1])).shape
    (2, 4)
    """
    return Layer(
        lambda rng: {"weight": init.normal(rng, (rows, width), dtype=dtype)},
        lambda params, x: basic.embedding(x, params["weight"]),
    )


@checked
def layer_norm(
    normalized_shape: int | tuple[int, ...], eps: float = 1e-5, dtype: Any = float
) -> Layer:
    """A layer of :func:`autojit.nn.layer_norm`.

    >>> layer = layer_norm(2, eps=0.0)
    >>> layer.apply(layer.init(0), np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    return Layer(
        lambda rng: parameters.init_norm(normalized_shape, dtype),
        lambda params, x: normalization.layer_norm(x, normalized_shape, **params, eps=eps),
    )


@named
def flatten(x: Any) -> Any:
    """Merge all axes but the first into one.

    >>> flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """
    return x.reshape(x.shape[0], -1)
