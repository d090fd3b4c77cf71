"""Neurons, layers and networks of Values, with micrograd's interface."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from autojit.arguments import checked
from autojit.errors import SettingError, ShapeError, with_place
from autojit.ir.core.collection import seldom_collected
from autojit.tracing.source import user_source

from .sums import weighted_sum
from .value import Value


class Module:
    """The base class of objects with parameters."""

    def zero_grad(self) -> None:
        """Set the gradients of all parameters to 0."""
        for p in self.parameters():
            p.grad = 0.0

    def parameters(self) -> list[Value]:
        """The parameters, in order."""
        return []


class Neuron(Module):
    """``activation(w . x + b)``, with weights drawn from [-1, 1] by ``random``.

    Args:
        nin: the number of inputs.
        nonlin: whether the activation is applied.
        activation: the name of a method of Value: "tanh", "relu" or "sigmoid".
    """

    @checked
    def __init__(self, nin: int, nonlin: bool = True, activation: str = "tanh") -> None:
        if not callable(getattr(Value, activation, None)):
            raise SettingError(
                with_place(f"activation={activation!r}: Value has no such method", user_source())
            )
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(random.uniform(-1, 1))
        self.nonlin = nonlin
        self.activation = activation

    def __call__(self, x: Sequence[Any]) -> Value:
        try:
            total = weighted_sum(self.w, x, self.b)
        except ValueError:
            if len(x) == len(self.w):
                raise
            words = f"a neuron with {len(self.w)} inputs was called with {len(x)}"
            raise ShapeError(with_place(words, user_source())) from None
        return getattr(total, self.activation)() if self.nonlin else total

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        names = {"relu": "ReLU", "tanh": "Tanh"}
        kind = names.get(self.activation, self.activation.capitalize())
        return f"{kind if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """Neurons that read the same inputs; the result of a single neuron is not in a list."""

    @checked
    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Sequence[Any]) -> Any:
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        return [p for n in self.neurons for p in n.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module):
    """Layers applied in sequence.

    >>> import random; random.seed(0)
    >>> model = MLP(3, [4, 4, 1])
    >>> len(model.parameters())
    41
    >>> model([1.0, 2.0, -1.0]).backward()
    """

    @checked
    def __init__(self, nin: int, nouts: Sequence[int], **kwargs: Any) -> None:
        sizes = [nin, *nouts]
        self.layers = [Layer(a, b, **kwargs) for a, b in zip(sizes, nouts, strict=False)]

    def __call__(self, x: Any) -> Any:
        with seldom_collected():  # a graph has no cycles
            for layer in self.layers:
                x = layer(x if isinstance(x, (list, tuple)) else [x])
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"
