"""Recurrent layers: one loop over time, compiled once whatever the length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.control_flow.control import scan

from .activations import sigmoid
from .checks import need_shape


def lstm(
    x: Any, params: Sequence[Any], state: tuple[Any, Any] | None = None, *,
    batch_first: bool = False,
) -> tuple[Any, tuple[Any, Any]]:  # fmt: skip
    """Long short-term memory: all steps of all layers.

    Args:
        x: an array of shape (steps, N, inputs); (N, steps, inputs) with ``batch_first``.
        params: one entry a layer: a dict with ``weight_ih`` of shape (4 hidden, inputs),
            ``weight_hh`` of shape (4 hidden, hidden) and, or not, ``bias_ih`` and ``bias_hh`` of
            shape (4 hidden,); gates in the order input, forget, cell, output. Or a pair of such
            dicts, of which the second reads backwards. :func:`init_lstm` makes them.
        state: the first hidden states and cells, each of shape (layers * directions, N, hidden);
            None for zeros.
        batch_first: whether N comes before the steps in x and in the result.

    Returns:
        ``(y, (h, c))``: the hidden states of the last layer at all steps, of shape (steps, N,
        directions * hidden), and the last states.

    Raises:
        ShapeError: where the shapes do not fit.

    Hochreiter and Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers and
    others, 2000.

    >>> from autojit import nn
    >>> params = nn.init_lstm(0, 3, 5, num_layers=2)
    >>> y, (h, c) = lstm(np.ones((7, 2, 3)), params)
    >>> y.shape, h.shape, c.shape
    ((7, 2, 5), (2, 2, 5), (2, 2, 5))
    """
    need_shape(x.ndim == 3, f"x has shape {x.shape}; lstm needs (steps, N, inputs)")
    y = np.swapaxes(x, 0, 1) if batch_first else x
    layers = [layer if isinstance(layer, (tuple, list)) else (layer,) for layer in params]
    count = sum(len(layer) for layer in layers)
    hidden = layers[0][0]["weight_hh"].shape[1]
    expected = (count, y.shape[1], hidden)
    for part in state or ():
        need_shape(
            part.shape == expected, f"state has an array of shape {part.shape}; it needs {expected}"
        )
    lasts: list[Any] = []
    for layer in layers:
        results = []
        for reverse, weights in enumerate(layer):
            first = None if state is None else tuple([s[len(lasts)] for s in state])
            outputs, last = _direction(y, weights, first, bool(reverse))
            results.append(outputs)
            lasts.append(last)
        y = results[0] if len(results) == 1 else np.concatenate(results, axis=-1)
    y = np.swapaxes(y, 0, 1) if batch_first else y
    return y, (np.stack([h for h, _ in lasts]), np.stack([c for _, c in lasts]))


def _direction(x: Any, weights: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
    """The hidden states at all steps, and the last state."""
    weight, recurrent = weights["weight_ih"], weights["weight_hh"]
    hidden = recurrent.shape[1]
    need_shape(
        weight.shape == (4 * hidden, x.shape[-1]) and recurrent.shape == (4 * hidden, hidden),
        f"weight_ih has shape {weight.shape} and weight_hh {recurrent.shape}; a layer of lstm "
        f"with {x.shape[-1]} inputs needs (4 hidden, {x.shape[-1]}) and (4 hidden, hidden)",
    )
    inputs = x @ weight.T
    for name in ("bias_ih", "bias_hh"):
        if weights.get(name) is not None:
            inputs = inputs + weights[name]
    if state is None:
        zeros = np.zeros((x.shape[1], hidden), np.result_type(x.dtype, weight.dtype))
        state = (zeros, zeros)
    last, outputs = scan(
        lambda carry, row: _step(carry, row, recurrent), state, inputs, reverse=reverse
    )
    return outputs, last


def _step(carry: tuple[Any, Any], inputs: Any, recurrent: Any) -> tuple[tuple[Any, Any], Any]:
    h, c = carry
    gates = inputs + h @ recurrent.T
    n = recurrent.shape[1]
    enter, forget, candidate, leave = [gates[:, k * n : (k + 1) * n] for k in range(4)]
    c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(candidate)
    h = sigmoid(leave) * np.tanh(c)
    return (h, c), h
