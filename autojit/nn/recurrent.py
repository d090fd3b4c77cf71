"""Recurrent layers: one loop over time, compiled once for any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.arguments import check_flag, named
from autojit.control_flow.control import scan

from .activations import relu, sigmoid
from .checks import need_shape, need_value

State = tuple[Any, ...]


class Cell(NamedTuple):
    """One step of a recurrent layer.

    ``name``    of the layer
    ``gates``   the number of rows of the weights that belong to one hidden unit
    ``states``  the number of arrays carried from step to step; the first is the result
    ``step``    ``step(state, inputs, products)``: the next state, from the gates' parts that are
                computed from the inputs and from the state
    """

    name: str
    gates: int
    states: int
    step: Callable[[State, Any, Any], State]


def _lstm_step(state: State, inputs: Any, products: Any) -> State:
    _, c = state
    enter, forget, candidate, leave = _parts(inputs + products, 4)
    c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(candidate)
    return sigmoid(leave) * np.tanh(c), c


def _gru_step(state: State, inputs: Any, products: Any) -> State:
    (h,) = state
    ours, theirs = _parts(inputs, 3), _parts(products, 3)
    reset, update = sigmoid(ours[0] + theirs[0]), sigmoid(ours[1] + theirs[1])
    candidate = np.tanh(ours[2] + reset * theirs[2])
    return ((1 - update) * candidate + update * h,)


def _parts(gates: Any, count: int) -> list[Any]:
    n = gates.shape[-1] // count
    return [gates[..., k * n : (k + 1) * n] for k in range(count)]


LSTM = Cell("lstm", 4, 2, _lstm_step)
GRU = Cell("gru", 3, 1, _gru_step)
RNNS = {
    "tanh": Cell("rnn", 1, 1, lambda state, inputs, products: (np.tanh(inputs + products),)),
    "relu": Cell("rnn", 1, 1, lambda state, inputs, products: (relu(inputs + products),)),
}


@named
def lstm(
    x: Any, params: Sequence[Any], state: tuple[Any, Any] | None = None, *,
    batch_first: bool = False,
) -> tuple[Any, tuple[Any, Any]]:  # fmt: skip
    """Long short-term memory: all steps of all layers.

    Args:
        x: an array of shape (steps, N, inputs); (N, steps, inputs) with ``batch_first``.
        params: one entry per layer: a dict with ``weight_ih`` of shape (4 hidden, inputs),
            ``weight_hh`` of shape (4 hidden, hidden) and optionally ``bias_ih`` and ``bias_hh`` of
            shape (4 hidden,), with gates in the order input, forget, cell, output; or a pair of
            such dicts, the second of which reads backwards. :func:`init_lstm` makes them.
        state: the initial hidden states and cells, each of shape (layers * directions, N, hidden);
            None for zeros.
        batch_first: whether N comes before the steps in x and in the result.

    Returns:
        ``(y, (h, c))``: the hidden states of the last layer at all steps, of shape (steps, N,
        directions * hidden), and the last states.

    Raises:
        ShapeError: if the shapes do not match.

    Hochreiter and Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers and
    others, 2000.

    >>> from autojit import nn
    >>> params = nn.init_lstm(0, 3, 5, num_layers=2)
    >>> y, (h, c) = lstm(np.ones((7, 2, 3)), params)
    >>> y.shape, h.shape, c.shape
    ((7, 2, 5), (2, 2, 5), (2, 2, 5))
    """
    y, (h, c) = recurrent(LSTM, x, params, state, batch_first=batch_first)
    return y, (h, c)


@named
def gru(
    x: Any, params: Sequence[Any], state: Any = None, *, batch_first: bool = False
) -> tuple[Any, Any]:
    """Gated recurrent units: all steps of all layers.

    Args:
        x: an array of shape (steps, N, inputs); (N, steps, inputs) with ``batch_first``.
        params: as for :func:`lstm`, with three gates: reset, update, candidate.
        state: the initial hidden states, of shape (layers * directions, N, hidden); None for zeros.
        batch_first: whether N comes before the steps in x and in the result.

    Returns:
        ``(y, h)``: the hidden states of the last layer at all steps, of shape (steps, N,
        directions * hidden), and the last states.

    Raises:
        ShapeError: if the shapes do not match.

    Cho and others, "Learning phrase representations using RNN encoder-decoder", 2014; the reset
    gate scales the product of the hidden state, as in PyTorch and cuDNN.

    >>> weights = {"weight_ih": np.ones((6, 3)), "weight_hh": np.zeros((6, 2))}
    >>> y, h = gru(np.zeros((4, 1, 3)), [weights])
    >>> y.shape, h.shape
    ((4, 1, 2), (1, 1, 2))
    """
    first = None if state is None else (state,)
    y, (h,) = recurrent(GRU, x, params, first, batch_first=batch_first)
    return y, h


@named
def rnn(
    x: Any, params: Sequence[Any], state: Any = None, *, nonlinearity: str = "tanh",
    batch_first: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Elman's recurrent layer: ``h = tanh(x @ weight_ih.T + h @ weight_hh.T + biases)``.

    Args:
        x, params, state, batch_first: as for :func:`gru`, without gates.
        nonlinearity: ``"tanh"`` or ``"relu"``.

    Raises:
        ShapeError: if the shapes do not match.

    Elman, "Finding structure in time", 1990.

    >>> weights = {"weight_ih": np.ones((1, 1)), "weight_hh": np.ones((1, 1))}
    >>> rnn(np.ones((3, 1, 1)), [weights], nonlinearity="relu")[0].ravel()
    array([1., 2., 3.])
    """
    need_value(
        nonlinearity in RNNS, f"nonlinearity={nonlinearity!r} is not one of {', '.join(RNNS)}"
    )
    state = None if state is None else (state,)
    y, (h,) = recurrent(RNNS[nonlinearity], x, params, state, batch_first=batch_first)
    return y, h


def recurrent(
    cell: Cell, x: Any, params: Sequence[Any], state: State | None, *, batch_first: bool
) -> tuple[Any, State]:
    """Run all steps of all layers of one kind; return the results and the last states."""
    check_flag(batch_first, "batch_first", cell.name)
    need_shape(x.ndim == 3, f"x has shape {x.shape}; {cell.name} needs (steps, N, inputs)")
    y = np.swapaxes(x, 0, 1) if batch_first else x
    layers = [layer if isinstance(layer, (tuple, list)) else (layer,) for layer in params]
    count = sum(len(layer) for layer in layers)
    hidden = layers[0][0]["weight_hh"].shape[1]
    expected = (count, y.shape[1], hidden)
    for part in state or ():
        need_shape(
            part.shape == expected, f"state has an array of shape {part.shape}; it needs {expected}"
        )
    lasts: list[State] = []
    for layer in layers:
        results = []
        for reverse, weights in enumerate(layer):
            first = None if state is None else tuple([s[len(lasts)] for s in state])
            outputs, last = _direction(cell, y, weights, first, bool(reverse))
            results.append(outputs)
            lasts.append(last)
        y = results[0] if len(results) == 1 else np.concatenate(results, axis=-1)
    y = np.swapaxes(y, 0, 1) if batch_first else y
    return y, tuple([np.stack(parts) for parts in zip(*lasts, strict=True)])


def _direction(
    cell: Cell, x: Any, weights: Any, state: State | None, reverse: bool
) -> tuple[Any, State]:
    """Run one direction of a layer; return the hidden states at all steps, and the last state."""
    weight, recurrent = weights["weight_ih"], weights["weight_hh"]
    hidden = recurrent.shape[1]
    rows = cell.gates * hidden
    named = "(hidden, {})" if cell.gates == 1 else f"({cell.gates} hidden, {{}})"
    need_shape(
        weight.shape == (rows, x.shape[-1]) and recurrent.shape == (rows, hidden),
        f"weight_ih has shape {weight.shape} and weight_hh {recurrent.shape}; a layer of "
        f"{cell.name} with {x.shape[-1]} inputs needs {named.format(x.shape[-1])} and "
        f"{named.format('hidden')}",
    )
    inputs = x @ weight.T
    if weights.get("bias_ih") is not None:
        inputs = inputs + weights["bias_ih"]
    if state is None:
        zeros = np.zeros((x.shape[1], hidden), np.result_type(x.dtype, weight.dtype))
        state = (zeros,) * cell.states
    bias = weights.get("bias_hh")

    def step(carry: State, row: Any) -> tuple[State, Any]:
        products = carry[0] @ recurrent.T
        carry = cell.step(carry, row, products if bias is None else products + bias)
        return carry, carry[0]

    last, outputs = scan(step, state, inputs, reverse=reverse)
    return outputs, last


def one_step(cell: Cell, x: Any, state: State, weights: Any) -> State:
    """The next state of a layer, from one row of inputs per sample."""
    inputs, products = x @ weights["weight_ih"].T, state[0] @ weights["weight_hh"].T
    if weights.get("bias_ih") is not None:
        inputs, products = inputs + weights["bias_ih"], products + weights["bias_hh"]
    return cell.step(state, inputs, products)
