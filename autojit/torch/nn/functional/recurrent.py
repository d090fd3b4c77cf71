"""Recurrent layers of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.nn.recurrent import GRU, LSTM, RNNS, Cell, one_step, recurrent

from .shells import shell

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
#: The kinds of layers, by PyTorch's names.
CELLS: dict[str, Cell] = {
    "LSTM": LSTM, "GRU": GRU, "RNN_TANH": RNNS["tanh"], "RNN_RELU": RNNS["relu"]
}  # fmt: skip


def _layers(cell: Cell) -> Callable[..., Any]:
    def call(x: Any, form: tuple[int, int, bool, bool], *arrays: Any) -> Any:
        layers, directions, bias, batch_first = form
        state, weights = arrays[: cell.states], arrays[cell.states :]
        count = 4 if bias else 2
        parts = [
            dict(zip(_NAMES, weights[k : k + count], strict=False))
            for k in range(0, len(weights), count)
        ]
        params = [
            tuple(parts[k : k + directions]) for k in range(0, layers * directions, directions)
        ]
        y, last = recurrent(cell, x, params, state, batch_first=batch_first)
        return (y, *last)

    return call


def _cell(cell: Cell) -> Callable[..., Any]:
    def call(x: Any, *arrays: Any) -> Any:
        state, weights = arrays[: cell.states], arrays[cell.states :]
        made = one_step(cell, x, state, dict(zip(_NAMES, weights, strict=False)))
        return made if cell.states > 1 else made[0]

    return call


#: ``LAYERS[kind](x, (layers, directions, bias, batch_first), *states, *weights)`` returns the
#: results and the last states.
LAYERS = {kind: shell(kind.split("_")[0].title(), _layers(cell)) for kind, cell in CELLS.items()}
#: ``STEPS[kind](x, *states, *weights)`` returns the next states.
STEPS = {kind: shell(f"{kind.split('_')[0].title()}Cell", _cell(c)) for kind, c in CELLS.items()}
