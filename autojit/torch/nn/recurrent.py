"""Long short-term memory as a module."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories

from . import init
from .functional.activations import dropout
from .functional.recurrent import lstm
from .linear import fresh
from .module import Module


class LSTM(Module):
    """Long short-term memory: all steps of all layers.

    >>> from autojit import torch
    >>> y, (h, c) = torch.nn.LSTM(3, 5, num_layers=2)(torch.ones(7, 2, 3))
    >>> y.shape, h.shape, c.shape
    (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 proj_size: int = 0, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if proj_size:
            raise NotImplementedError("LSTM: proj_size is not covered; use a Linear behind it")
        self.input_size: int = input_size
        self.hidden_size: int = hidden_size
        self.num_layers: int = num_layers
        self.bias: bool = bias
        self.batch_first: bool = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
            for end in ("", "_reverse")[: 2 if bidirectional else 1]:
                shapes = {"weight_ih": (4 * hidden_size, inputs),
                          "weight_hh": (4 * hidden_size, hidden_size)}  # fmt: skip
                if bias:
                    shapes |= dict.fromkeys(("bias_ih", "bias_hh"), (4 * hidden_size,))  # type: ignore[arg-type]
                named = {f"{name}_l{layer}{end}": shape for name, shape in shapes.items()}
                for name, shape in named.items():
                    setattr(self, name, fresh(*shape, dtype=dtype))
                self._names.append(list(named))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for p in self.parameters():
            init.default_(p, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Nothing: parameters are used as they lie."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        batched = input.ndim == 3
        if input.ndim not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )
        batch_axis = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_axis)
        h, c = self._states(x, hx, batched, batch_axis)
        if self.dropout and self.training and self.num_layers > 1:
            y, h, c = self._by_layers(x, h, c)
        else:
            y, h, c = self._run(x, h, c, 0, self.num_layers)
        if batched:
            return y, (h, c)
        return y.squeeze(batch_axis), (h.squeeze(1), c.squeeze(1))

    def _states(self, x: Tensor, hx: Any, batched: bool, axis: int) -> Any:
        shape = (len(self._names), x.shape[axis], self.hidden_size)
        if hx is None:
            zeros = factories.zeros(*shape, dtype=x.dtype)
            return zeros, zeros
        states = [s if batched else s.unsqueeze(1) for s in hx]
        for s in states:
            if tuple(s.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(s.shape)}")
        return states

    def _run(self, x: Tensor, h: Tensor, c: Tensor, first: int, last: int) -> Any:
        directions = 2 if self.bidirectional else 1
        form = (last - first, directions, self.bias, self.batch_first)
        weights = self.all_weights[first * directions : last * directions]
        return lstm(x, h, c, form, *(w for part in weights for w in part))

    def _by_layers(self, x: Tensor, h: Tensor, c: Tensor) -> Any:
        """With dropout between the layers."""
        directions = 2 if self.bidirectional else 1
        states = []
        for layer in range(self.num_layers):
            own = slice(layer * directions, (layer + 1) * directions)
            x, *state = self._run(x, h[own], c[own], layer, layer + 1)
            states.append(state)
            if layer < self.num_layers - 1:
                x = dropout(x, self.dropout, training=True)
        from autojit.torch.functions.shaping import FUNCTIONS

        return x, *(FUNCTIONS["cat"]([s[k] for s in states]) for k in range(2))

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += ", bias=False"
        if self.batch_first:
            text += ", batch_first=True"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return f"{text}, bidirectional=True" if self.bidirectional else text
