"""Traversal of graphs of Values: operands, and the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A Value; its class imports this module.
Node = Any

#: The gradient of nodes that no backward pass has reached; recognised by identity.
ZERO = 0.0


class Own:
    """A user's operation, with its own ``_backward``."""

    #: The operands besides the node's own.
    more: tuple[Node, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.function: Callable[[], None] | None = None

    def unfold(self, node: Node) -> None:
        """Do nothing: the node has no hidden operands."""

    def pull(self, node: Node, cotangent: Any) -> None:
        """Call the function, which reads the node's ``grad``."""
        if self.function is not None:
            self.function()
        elif node._b:
            raise RuntimeError(
                f"{node!r} was computed from other Values (_op={self.name!r}) but has no "
                "_backward, so their gradients are unknown. Set it:\n"
                "    out = Value(x.data ** 2, (x,), 'op')\n"
                "    def _backward(): x.grad += 2 * x.data * out.grad\n"
                "    out._backward = _backward"
            )


def operands_of(v: Node) -> tuple[Node, ...]:
    """The nodes that a node was computed from."""
    if v._a is None:
        return v._b or ()
    return (v._a, *v._operation.more) if v._b is None else (v._a, v._b)


def walk_back(root: Node) -> None:
    """Run the backward pass over a graph by walking it.

    While it runs, the ``grad`` of computed numbers holds only the cotangent of this pass; gradients
    of earlier passes are added afterwards.
    """
    nodes = _topological(root)
    before = [v.grad for v in nodes]
    for v in nodes:
        v.grad = ZERO
    root.grad = 1.0
    try:
        for v in reversed(nodes):
            if v.grad is not ZERO:
                v._operation.pull(v, v.grad)
    finally:
        for v, grad in zip(nodes, before, strict=True):
            if grad is not ZERO and v is not root:
                v.grad = v.grad + grad


def _topological(root: Node) -> list[Node]:
    """The computed nodes, operands first, without the given numbers."""
    order: list[Node] = []
    seen: set[Node] = set()
    todo = [(root, False)]
    while todo:
        v, is_ready = todo.pop()
        if is_ready:
            order.append(v)
        elif v not in seen:
            seen.add(v)
            if v._operation is not None:
                todo.append((v, True))
                todo += [(u, False) for u in operands_of(v)]
            elif v is root:
                v.grad = 1.0
    return order
