"""Parameters of layers: dicts of arrays with PyTorch's names, shapes and initial values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autojit.arguments import checked, named

from . import init
from .activations import relu
from .basic import linear
from .checks import given_function, need_value, pair

Params = dict[str, Any]


@checked
def init_linear(
    rng: Any, inputs: int, outputs: int, bias: bool = True, dtype: Any = float
) -> Params:
    """``weight`` (outputs, inputs) and ``bias`` (outputs,) of :func:`linear`.

    >>> {name: x.shape for name, x in init_linear(0, 3, 2).items()}
    {'weight': (2, 3), 'bias': (2,)}
    """
    return _weight_and_bias(np.random.default_rng(rng), (outputs, inputs), inputs, bias, dtype)


@checked
def init_conv(
    rng: Any, channels: int, filters: int, kernel_size: int | tuple[int, ...], groups: int = 1,
    bias: bool = True, dtype: Any = float,
) -> Params:  # fmt: skip
    """``weight`` (filters, channels / groups, *kernel_size) and ``bias`` (filters,).

    Args:
        rng: a Generator or a seed.
        channels, filters: their numbers.
        kernel_size: a number for :func:`conv2d`, with as many taps along both axes; a 1-tuple for
            :func:`conv1d`, or a 2-tuple for :func:`conv2d`.
        groups: a divisor of both.
        bias: whether there is a bias.
        dtype: the dtype.

    >>> {name: x.shape for name, x in init_conv(0, 3, 16, 5).items()}
    {'weight': (16, 3, 5, 5), 'bias': (16,)}
    """
    need_value(
        channels % groups == 0 and filters % groups == 0,
        f"groups={groups} must divide channels={channels} and filters={filters}",
    )
    taps = kernel_size if isinstance(kernel_size, tuple) else pair(kernel_size, 2, "kernel_size")
    shape = (filters, channels // groups, *taps)
    return _weight_and_bias(np.random.default_rng(rng), shape, init.fans(shape)[0], bias, dtype)


@checked
def init_norm(shape: int | tuple[int, ...], dtype: Any = float) -> Params:
    """``weight`` (ones) and ``bias`` (zeros) of a normalisation.

    >>> init_norm(2)
    {'weight': array([1., 1.]), 'bias': array([0., 0.])}
    """
    return {"weight": np.ones(shape, dtype), "bias": np.zeros(shape, dtype)}


@checked
def init_lstm(
    rng: Any, inputs: int, hidden: int, num_layers: int = 1, bidirectional: bool = False,
    bias: bool = True, dtype: Any = float,
) -> list[Any]:  # fmt: skip
    """The layers of :func:`lstm`: dicts, or pairs of them with ``bidirectional``.

    >>> (layer,) = init_lstm(0, 3, 5)
    >>> {name: x.shape for name, x in layer.items()}
    {'weight_ih': (20, 3), 'weight_hh': (20, 5), 'bias_ih': (20,), 'bias_hh': (20,)}
    """
    rng = np.random.default_rng(rng)
    directions = 2 if bidirectional else 1
    layers: list[Any] = []
    for k in range(num_layers):
        columns = inputs if k == 0 else hidden * directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (4 * hidden, columns),
            "weight_hh": (4 * hidden, hidden),
            **(dict.fromkeys(("bias_ih", "bias_hh"), (4 * hidden,)) if bias else {}),
        }
        made = [
            {name: init.default(rng, shape, hidden, dtype) for name, shape in shapes.items()}
            for _ in range(directions)
        ]
        layers.append(tuple(made) if bidirectional else made[0])
    return layers


@checked
def init_multi_head_attention(
    rng: Any, width: int, bias: bool = True, dtype: Any = float
) -> Params:
    """The parameters of :func:`multi_head_attention`.

    >>> {name: x.shape for name, x in init_multi_head_attention(0, 4, bias=False).items()}
    {'in_proj_weight': (12, 4), 'out_proj_weight': (4, 4)}
    """
    rng = np.random.default_rng(rng)
    made = {
        "in_proj_weight": init.xavier_uniform(rng, (3 * width, width), dtype=dtype),
        "out_proj_weight": init.default(rng, (width, width), width, dtype),
    }
    if bias:
        made["in_proj_bias"] = np.zeros(3 * width, dtype)
        made["out_proj_bias"] = np.zeros(width, dtype)
    return made


@checked
def init_transformer_encoder_layer(
    rng: Any, width: int, feedforward: int = 2048, bias: bool = True, dtype: Any = float
) -> dict[str, Params]:
    """The parameters of :func:`transformer_encoder_layer`, by the names of its parts.

    >>> sorted(init_transformer_encoder_layer(0, 4, 8))
    ['linear1', 'linear2', 'norm1', 'norm2', 'self_attn']
    """
    rng = np.random.default_rng(rng)
    return {
        "self_attn": init_multi_head_attention(rng, width, bias, dtype),
        "linear1": init_linear(rng, width, feedforward, bias, dtype),
        "linear2": init_linear(rng, feedforward, width, bias, dtype),
        "norm1": init_norm(width, dtype),
        "norm2": init_norm(width, dtype),
    }


@checked
def init_mlp(rng: Any, sizes: Sequence[int], bias: bool = True, dtype: Any = float) -> list[Params]:
    """The layers of :func:`mlp`, for sizes from the number of inputs to the number of outputs.

    >>> [layer["weight"].shape for layer in init_mlp(0, [784, 256, 128, 10])]
    [(256, 784), (128, 256), (10, 128)]
    """
    need_value(len(sizes) >= 2, f"sizes={list(sizes)} needs two numbers at least")
    rng = np.random.default_rng(rng)
    return [init_linear(rng, a, b, bias, dtype) for a, b in pairwise(sizes)]


@named
def mlp(params: Sequence[Params], x: Any, activation: Any = relu) -> Any:
    """Linear maps with an activation between consecutive ones.

    Args:
        params: a list of dicts with ``weight`` and optionally ``bias``; see :func:`init_mlp`.
        x: an array of shape (…, inputs).
        activation: a function.

    >>> mlp(init_mlp(0, [3, 8, 2]), np.ones((5, 3))).shape
    (5, 2)
    """
    activation = given_function(activation, "activation", "mlp")
    for layer in params[:-1]:
        x = activation(linear(x, **layer))
    return linear(x, **params[-1])


def _weight_and_bias(
    rng: Any, shape: tuple[int, ...], fan_in: int, bias: bool, dtype: Any
) -> Params:
    weight = {"weight": init.default(rng, shape, fan_in, dtype)}
    return weight | ({"bias": init.default(rng, shape[:1], fan_in, dtype)} if bias else {})
