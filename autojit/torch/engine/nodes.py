"""Nodes of recorded graphs.

A node refers by edges to the nodes of its operands, and to the arrays that its rule reads.  It does
not refer to tensors, so there are no reference cycles.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .rules import Operation, Rule
from .running import Source

#: A node and the number of one of its results.
Edge = tuple["Node", int]
#: The edge of an operand that needs no gradient.
NOWHERE = (None, 0)
#: Nodes are numbered in the order of their creation: operands before the results.
numbers: itertools.count[int] = itertools.count()

SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward.\n"
    "    y.backward(retain_graph=True)      # the first time"
)


#: A saved array: the array, the counter of its changes, and the count when it was saved.
Saved = tuple[Any, Sequence[int], int]
_new = object.__new__


class Handle:
    """A handle that removes a hook."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Callable[..., Any]]) -> None:
        self._hooks = hooks
        self.id: int = next(Handle._ids)

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> Handle:
    """Add a hook to a dict of hooks."""
    handle = Handle(hooks)
    hooks[handle.id] = hook
    return handle


class Refill:
    """An object that restores the saved arrays that nodes have dropped."""

    def fill(self) -> None:
        """Restore the arrays."""
        raise NotImplementedError


class Extras:
    """Attributes that few nodes have."""

    __slots__ = ("hooks", "metadata", "prehooks", "refill", "retained", "tensor_hooks", "traceback")

    def __init__(self) -> None:
        #: Hooks that run before and after the node's rule, hooks on its results, and the results
        #: that keep their gradients.
        self.prehooks: dict[int, Callable[..., Any]] = {}
        self.hooks: dict[int, Callable[..., Any]] = {}
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] = {}
        self.retained: list[tuple[int, Any]] = []
        #: Restores the saved arrays if they were dropped.
        self.refill: Refill | None = None
        #: Where the node was recorded, and the user's notes.
        self.traceback: str | None = None
        self.metadata: dict[str, Any] = {}

    def is_watched(self) -> bool:
        """Whether hooks, retained gradients or dropped arrays need work besides the rule."""
        return bool(
            self.prehooks or self.hooks or self.tensor_hooks or self.retained or self.refill
        )


class Node:
    """An operation of a recorded graph."""

    # Graphs are long, and the garbage collector visits each object of a node.
    __slots__ = ("__weakref__", "extras", "links", "number", "rule", "saved")
    rule: Any
    #: The edges, flattened: a node and the number of one of its results, or None and 0.
    links: Sequence[Any]
    saved: Any
    number: int
    extras: Extras | None

    def __init__(self, rule: Any, edges: Sequence[Edge | None], saved: Any) -> None:
        self.rule = rule
        self.links = tuple(x for edge in edges for x in edge or NOWHERE)
        self.saved = saved
        self.number = next(numbers)
        self.extras = None

    @property
    def edges(self) -> list[Edge | None]:
        """The operands' nodes, with the numbers of their results; None for an operand that needs no
        gradient."""
        links = self.links
        return [
            None if node is None else (node, k)
            for node, k in zip(links[::2], links[1::2], strict=True)
        ]

    def extra(self) -> Extras:
        """The attributes that few nodes have, made on first use."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's notes."""
        return self.extra().metadata

    def retains(self, k: int, tensor: Any) -> bool:
        """Whether a tensor, as result k of this node, keeps its gradient."""
        if self.extras is None:
            return False
        return any(n == k and found() is tensor for n, found in self.extras.retained)

    def give_up(self, k: int, tensor: Any) -> None:
        """Forget a tensor that is no longer result k of this node."""
        extra = self.extra()
        extra.retained = [
            (n, found) for n, found in extra.retained if n != k or found() is not tensor
        ]

    def name(self) -> str:
        """The name of the node's class."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The operands' nodes, and the numbers of their results."""
        return tuple((None, 0) if e is None else e for e in self.edges)

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node's rule."""
        return add_hook(self.extra().hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_outputs)`` before the node's rule; its result replaces them."""
        return add_hook(self.extra().prehooks, hook)

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """The shapes and dtypes of the results."""
        return [(t.shape, t.dtype) for t in self.rule.out_types]

    def check_saved(self, saved: Any) -> None:
        """Raise if a saved array has been freed, or changed in place."""
        if saved is None:
            raise RuntimeError(SECOND_TIME)
        for source, (array, counter, version) in zip(self.rule.saved, saved, strict=False):
            if counter[0] != version:
                raise RuntimeError(
                    changed_in_place(self, array, counter[0], version, self._edge_of(source))
                )

    def _edge_of(self, source: Source) -> Edge | None:
        """The edge along which the gradient of a saved array continues."""
        kind, k = source
        if kind == "out":
            return (self, k)
        return self.edges[k] if kind == "in" else None

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Compute the cotangents of the operands, as arrays, from arrays."""
        return self._placed(self.pulled(cotangents))

    def pulled(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands in the rule's ``wrt``."""
        rule: Rule = self.rule
        held = self.saved
        if held is None:
            self.check_saved(held)  # which raises
        if rule.is_straight:
            arguments = [cotangents[0]]
            left = rule.read
            for array, counter, version in held:
                if not left:
                    break
                left -= 1
                if counter[0] != version:
                    self.check_saved(held[: rule.read])
                arguments.append(array)
            return rule.run(arguments)
        if rule.read < len(held):
            held = held[: rule.read]
        self.check_saved(held)
        saved = iter(held)
        return rule.run(
            [cotangents[k] if kind == "cotangent" else next(saved)[0] for kind, k in rule.sources]
        )

    def pull_recorded(self, cotangents: Sequence[Any], record: Any, as_tensor: Any) -> list[Any]:
        """The same as :meth:`pull`, but from tensors to tensors, and recorded."""
        self.check_saved(self.saved)
        rule: Rule = self.rule
        saved = dict(zip(rule.saved, self.saved, strict=True))
        arguments = [
            cotangents[source[1]]
            if source[0] == "cotangent"
            else as_tensor(saved[source], self._edge_of(source))
            for source in rule.pull_sources
        ]
        results = record(rule.pull, arguments)
        return self._placed(results if isinstance(results, tuple) else (results,))

    def _placed(self, results: Sequence[Any]) -> list[Any]:
        placed: list[Any] = [None] * (len(self.links) // 2)
        for k, result in zip(self.rule.wrt, results, strict=True):
            placed[k] = result
        return placed

    def release(self) -> None:
        """Free the saved arrays; a node that saved none can be visited again, as in PyTorch."""
        if self.saved:
            self.saved = None


class AccumulateGrad(Node):
    """The node that adds the gradient of a leaf to its ``grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        super().__init__(None, (), ())
        self.number = -1
        self.variable: Any = variable

    def name(self) -> str:
        """The name that PyTorch's C++ nodes give themselves."""
        return "torch::autograd::AccumulateGrad"

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        return [(self.variable._data.shape, self.variable._data.dtype)]


def node_class(operation: Operation) -> type[Node]:
    """The class of an operation's nodes, named as PyTorch names it."""
    if operation.node is None:
        operation.node = type(operation.node_name, (Node,), {"__slots__": ()})
    made: type[Node] = operation.node
    return made


def recorded(operation: Operation, rule: Rule, links: Sequence[Any]) -> Node:
    """A new node of an operation; the caller sets the arrays that it saves."""
    made: Node = _new(operation.node or node_class(operation))
    made.rule = rule
    made.links = links
    made.number = next(numbers)
    made.extras = None
    return made


def accumulator(tensor: Any) -> AccumulateGrad:
    """The node of a leaf; at any time there is only one."""
    found = tensor._accumulate_ref and tensor._accumulate_ref()
    if found is None:
        found = AccumulateGrad(tensor)
        tensor._accumulate_ref = weakref.ref(found)
    return found


_TENSOR_NAMES = {"f": "Float", "d": "Double", "l": "Long", "q": "Long", "i": "Int", "?": "Bool"}


def changed_in_place(node: Node, array: Any, now: int, version: int, edge: Edge | None) -> str:
    """The error message for a saved array that was changed in place."""
    kind = _TENSOR_NAMES.get(array.dtype.char, str(array.dtype))
    maker, k = edge or (node, 0)
    given = isinstance(maker, AccumulateGrad)
    origin = "" if given else f", which is output {k} of {maker.name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind}Tensor {list(array.shape)}]{origin} is at version {now}; "
        f"expected version {version} instead. Hint: enable anomaly detection to find the operation "
        "that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
    )
