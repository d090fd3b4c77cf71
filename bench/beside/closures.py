"""A scalar engine as in tutorials: each operation keeps a closure for its derivatives."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any


class Number:
    """A number that keeps references to the numbers that it was computed from."""

    def __init__(self, data: float, parents: tuple[Number, ...] = ()) -> None:
        self.data, self.grad = data, 0.0
        self.parents = parents
        self.push: Callable[[], None] = lambda: None

    def __add__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(other)
        out = Number(self.data + other.data, (self, other))

        def push() -> None:
            self.grad += out.grad
            other.grad += out.grad

        out.push = push
        return out

    def __mul__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(other)
        out = Number(self.data * other.data, (self, other))

        def push() -> None:
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.push = push
        return out

    __radd__, __rmul__ = __add__, __mul__

    def tanh(self) -> Number:
        value = math.tanh(self.data)
        out = Number(value, (self,))

        def push() -> None:
            self.grad += (1 - value * value) * out.grad

        out.push = push
        return out

    def backward(self) -> None:
        order: list[Number] = []
        seen: set[Number] = set()
        stack: list[tuple[Number, bool]] = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((parent, False) for parent in node.parents)
        self.grad = 1.0
        for node in reversed(order):
            node.push()


class Network:
    """Layers of neurons with tanh, in the interface of ``autojit.scalar.MLP``."""

    def __init__(self, inputs: int, sizes: Sequence[int]) -> None:
        widths = [inputs, *sizes]
        self.layers = [
            [[Number(random.uniform(-1, 1)) for _ in range(width + 1)] for _ in range(size)]
            for width, size in zip(widths, sizes, strict=False)
        ]

    def parameters(self) -> list[Number]:
        return [p for layer in self.layers for neuron in layer for p in neuron]

    def __call__(self, values: Sequence[Any]) -> Any:
        for layer in self.layers:
            values = [
                sum((w * v for w, v in zip(neuron, values, strict=False)), neuron[-1]).tanh()
                for neuron in layer
            ]
        return values[0] if len(values) == 1 else values
