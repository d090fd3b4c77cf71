"""Recurrent layers as modules."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories

from . import init
from .functional.activations import dropout
from .functional.packed import PackedSequence, run_packed
from .functional.recurrent import CELLS, LAYERS, STEPS
from .linear import fresh
from .module import Module


class RNNBase(Module):
    """Recurrent layers of one kind: all steps of all layers."""

    #: The kind of the cells, by PyTorch's name.
    mode = ""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 proj_size: int = 0, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if proj_size:
            raise NotImplementedError(
                f"{type(self).__name__}: proj_size is not covered; use a Linear behind it"
            )
        self.input_size: int = input_size
        self.hidden_size: int = hidden_size
        self.num_layers: int = num_layers
        self.bias: bool = bias
        self.batch_first: bool = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        self._names: list[list[str]] = []
        rows = CELLS[self.mode].gates * hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
            for end in ("", "_reverse")[: 2 if bidirectional else 1]:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, inputs), "weight_hh": (rows, hidden_size)
                }  # fmt: skip
                if bias:
                    shapes |= dict.fromkeys(("bias_ih", "bias_hh"), (rows,))
                named = {f"{name}_l{layer}{end}": shape for name, shape in shapes.items()}
                for name, shape in named.items():
                    setattr(self, name, fresh(*shape, dtype=dtype))
                self._names.append(list(named))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        for p in self.parameters():
            init.default_(p, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters need no special memory layout."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        batched = input.ndim == 3
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )
        batch_axis = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_axis)
        y, *last = self._steps(x, self._states(x, hx, batched, batch_axis), self.batch_first)
        if not batched:
            y, last = y.squeeze(batch_axis), [s.squeeze(1) for s in last]
        return y, (tuple(last) if len(last) > 1 else last[0])

    def _steps(self, x: Tensor, states: list[Any], batch_first: bool) -> Any:
        if self.dropout and self.training and self.num_layers > 1:
            return self._by_layers(x, states, batch_first)
        return self._run(x, states, 0, self.num_layers, batch_first)

    def _packed(self, sequence: PackedSequence, hx: Any) -> Any:
        def run(x: Tensor, states: Any) -> Any:
            given = states if states is None or len(states) > 1 else states[0]
            y, *last = self._steps(x, self._states(x, given, True, 1), False)
            return y, last

        several = CELLS[self.mode].states > 1
        made, last = run_packed(run, sequence, hx if hx is None or several else (hx,))
        return made, (tuple(last) if several else last[0])

    def _states(self, x: Tensor, hx: Any, batched: bool, axis: int) -> list[Any]:
        shape = (len(self._names), x.shape[axis], self.hidden_size)
        count = CELLS[self.mode].states
        if hx is None:
            return [factories.zeros(*shape, dtype=x.dtype)] * count
        states = [s if batched else s.unsqueeze(1) for s in (hx if count > 1 else (hx,))]
        for s in states:
            if tuple(s.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(s.shape)}")
        return states

    def _run(self, x: Tensor, states: list[Any], first: int, last: int, batch_first: bool) -> Any:
        directions = 2 if self.bidirectional else 1
        form = (last - first, directions, self.bias, batch_first)
        weights = self.all_weights[first * directions : last * directions]
        return LAYERS[self.mode](x, form, *states, *(w for part in weights for w in part))

    def _by_layers(self, x: Tensor, states: list[Any], batch_first: bool) -> Any:
        """Run layer by layer, with dropout between the layers."""
        directions = 2 if self.bidirectional else 1
        lasts = []
        for layer in range(self.num_layers):
            own = slice(layer * directions, (layer + 1) * directions)
            x, *last = self._run(x, [s[own] for s in states], layer, layer + 1, batch_first)
            lasts.append(last)
            if layer < self.num_layers - 1:
                x = dropout(x, self.dropout, training=True)
        from autojit.torch.functions.shaping import FUNCTIONS

        return x, *(FUNCTIONS["cat"](parts) for parts in map(list, zip(*lasts, strict=True)))

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


class LSTM(RNNBase):
    """Long short-term memory: all steps of all layers.

    >>> from autojit import torch
    >>> y, (h, c) = torch.nn.LSTM(3, 5, num_layers=2)(torch.ones(7, 2, 3))
    >>> y.shape, h.shape, c.shape
    (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    mode = "LSTM"


class GRU(RNNBase):
    """Gated recurrent units: all steps of all layers.

    >>> from autojit import torch
    >>> y, h = torch.nn.GRU(3, 5, batch_first=True)(torch.ones(2, 7, 3))
    >>> y.shape, h.shape
    (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    mode = "GRU"


class RNN(RNNBase):
    """An Elman network: all steps of all layers."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1,
                 nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        _check_nonlinearity(nonlinearity)
        object.__setattr__(self, "mode", f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, device=device, dtype=dtype)  # fmt: skip
        self.nonlinearity = nonlinearity


class RNNCellBase(Module):
    """One step of a recurrent layer."""

    mode = ""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.input_size: int = input_size
        self.hidden_size: int = hidden_size
        self.bias: bool = bias
        rows = CELLS[self.mode].gates * hidden_size
        self.weight_ih: Any = fresh(rows, input_size, dtype=dtype)
        self.weight_hh: Any = fresh(rows, hidden_size, dtype=dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, fresh(rows, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        for p in self.parameters():
            init.default_(p, self.hidden_size)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        count = CELLS[self.mode].states
        if hx is None:
            states = [factories.zeros(x.shape[0], self.hidden_size, dtype=x.dtype)] * count
        else:
            states = [s if batched else s.unsqueeze(0) for s in (hx if count > 1 else (hx,))]
        weights = [self.weight_ih, self.weight_hh]
        weights += [self.bias_ih, self.bias_hh] if self.bias else []
        made = STEPS[self.mode](x, *states, *weights)
        if count > 1:
            return tuple(s if batched else s.squeeze(0) for s in made)
        return made if batched else made.squeeze(0)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class LSTMCell(RNNCellBase):
    """One step of long short-term memory: the next ``(h, c)`` from a row of inputs and
    ``(h, c)``."""

    mode = "LSTM"


class GRUCell(RNNCellBase):
    """One step of gated recurrent units: the next ``h`` from a row of inputs and ``h``."""

    mode = "GRU"


class RNNCell(RNNCellBase):
    """One step of an Elman network: the next ``h`` from a row of inputs and ``h``."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True,
                 nonlinearity: str = "tanh", device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        _check_nonlinearity(nonlinearity)
        object.__setattr__(self, "mode", f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


def _check_nonlinearity(nonlinearity: str) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
