"""Long short-term memory of tensors."""

from __future__ import annotations

from typing import Any

from autojit import nn

from .shells import shell

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _lstm(x: Any, h: Any, c: Any, form: tuple[int, int, bool, bool], *weights: Any) -> Any:
    layers, directions, bias, batch_first = form
    count = 4 if bias else 2
    parts = [
        dict(zip(_NAMES, weights[k : k + count], strict=False))
        for k in range(0, len(weights), count)
    ]
    params = [tuple(parts[k : k + directions]) for k in range(0, layers * directions, directions)]
    y, (h, c) = nn.lstm(x, params, (h, c), batch_first=batch_first)
    return y, h, c


#: ``lstm(x, h, c, (layers, directions, bias, batch_first), *weights)``: the results and the last
#: states.
lstm = shell("Lstm", _lstm)
