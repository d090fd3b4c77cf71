"""Weighted sums of Values as single nodes.

A neuron's sum has two operations per weight. It becomes one node that computes and differentiates
all of them in one go. The nodes of the operations are made when somebody looks at the graph, with
the numbers that they had.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import accumulate, tee
from operator import attrgetter, mul
from typing import Any

from .operations import sum_pull
from .value import ADD, MUL, Value, as_value, made_node, own_epoch, pushed
from .words import no_number

_data = attrgetter("data")
_VALUES = {Value}


class WeightedSum:
    """The operation of a node ``total + w0 * x0 + w1 * x1 + ...``; its operand is the total.

    ``products``  the numbers ``w0 * x0``, ``w1 * x1``, ...
    ``sums``      the number of the total, and the sum after each product
    ``passed``    the cotangents that have passed through the node: those of all its operations
    """

    __slots__ = ("inputs", "passed", "products", "sums", "weights")
    name = "+"

    def __init__(self, weights: list[Value], inputs: list[Value], total: Value) -> None:
        self.weights = weights
        self.inputs = inputs
        kept, used = tee(map(mul, map(_data, weights), map(_data, inputs)))
        self.sums = list(accumulate(used, initial=total.data))
        self.products = list(kept)
        self.passed: Any = 0.0

    @property
    def more(self) -> tuple[Value, ...]:
        """The operands besides the total."""
        return (*self.weights, *self.inputs)

    def pull(self, node: Value, cotangent: Any) -> None:
        """Add to the gradients of the operands."""
        self.passed += cotangent
        _pull()(node, cotangent)

    def unfold(self, node: Value) -> None:
        """Replace the node's operation by its last addition, on nodes of all the others."""
        total, products = node._a, []
        for w, x, product in zip(self.weights, self.inputs, self.products, strict=True):
            products.append(made_node(MUL, product, w, x, grad=self.passed))
        for product, partial in zip(products[:-1], self.sums[1:-1], strict=True):
            total = made_node(ADD, partial, total, product, grad=self.passed)
        node._operation, node._a, node._b = ADD, total, products[-1]


@functools.cache
def _pull() -> Callable[[Value, Any], None]:
    return sum_pull(MUL)


def weighted_sum(weights: Iterable[Value], inputs: Iterable[Any], total: Value) -> Value:
    """``total + w0 * x0 + w1 * x1 + ...``, with the values and gradients of the operators.

    Raises:
        ValueError: if there are more weights than inputs, or fewer.

    >>> w, x, b = Value(2.0), Value(3.0), Value(1.0)
    >>> y = weighted_sum([w], [x], b)
    >>> y.backward()
    >>> y.data, w.grad, x.grad, b.grad
    (7.0, 3.0, 2.0, 1.0)
    """
    ws, xs = list(weights), [x if x.__class__ is Value else _input(x) for x in inputs]
    if len(ws) != len(xs):
        raise ValueError(f"{len(ws)} weights and {len(xs)} inputs")
    if not ws:
        return total
    operands = (total, *ws, *xs)
    if not _VALUES.issuperset(map(type, operands)):  # a subclass may have operators of its own
        for w, x in zip(ws, xs, strict=True):
            total = total + w * x
        return total
    operation = WeightedSum(ws, xs, total)
    return pushed(made_node(operation, operation.sums[-1], total, epoch=own_epoch(operands)))


def _input(x: Any) -> Value:
    made = as_value(x)
    if made is NotImplemented:
        raise no_number(x, "an input")
    return made
