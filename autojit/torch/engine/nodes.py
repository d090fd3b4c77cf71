"""Nodes of recorded graphs.

A node refers to what it came from by edges, and to the arrays that its rule reads.  It does not
refer to tensors, so that nothing refers to itself.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .rules import Operation, Rule

#: A node and the number of one of its results.
Edge = tuple["Node", int]
#: Nodes are numbered as they are made: operands before what is computed from them.
numbers: itertools.count[int] = itertools.count()

SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward.\n"
    "    y.backward(retain_graph=True)      # the first time"
)


#: What the backward pass reads: an array, the counter of its changes and where that stood, and the
#: edge of its tensor if gradients go on there.
Saved = tuple[Any, list[int], int, Edge | None]


class Handle:
    """What takes a hook off again."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Callable[..., Any]]) -> None:
        self._hooks = hooks
        self.id: int = next(Handle._ids)

    def remove(self) -> None:
        """Take the hook off."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> Handle:
    """Add a hook to others."""
    handle = Handle(hooks)
    hooks[handle.id] = hook
    return handle


class Node:
    """An operation of a recorded graph."""

    __slots__ = (
        "__weakref__", "edges", "hooks", "metadata", "number", "outputs", "retained", "rule",
        "saved", "tensor_hooks", "traceback",
    )  # fmt: skip

    def __init__(self, rule: Any, edges: Sequence[Edge | None], saved: Any) -> None:
        self.rule: Any = rule
        self.edges: Sequence[Edge | None] = edges
        self.saved: Any = saved
        self.number: int = next(numbers)
        #: Hooks on the node, hooks on its results, and results that keep their gradients.
        self.hooks: dict[int, Callable[..., Any]] | None = None
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] | None = None
        self.retained: list[tuple[int, Any]] | None = None
        self.traceback: str | None = None
        self.metadata: dict[str, Any] | None = None

    def retains(self, k: int, tensor: Any) -> bool:
        """Whether a tensor that is its result k keeps its gradient."""
        return any(n == k and found() is tensor for n, found in self.retained or ())

    def give_up(self, k: int, tensor: Any) -> None:
        """A tensor is its result k no more."""
        kept = [(n, found) for n, found in self.retained or () if n != k or found() is not tensor]
        self.retained = kept or None

    def name(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that it came from, and the numbers of their results."""
        return tuple((None, 0) if e is None else e for e in self.edges)

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` when cotangents have passed."""
        if self.hooks is None:
            self.hooks = {}
        return add_hook(self.hooks, hook)

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """The shapes and dtypes of its results."""
        return [(t.shape, t.dtype) for t in self.rule.out_types]

    def check_saved(self, saved: Any) -> None:
        """Raise if what it saved has been freed, or changed in place."""
        if saved is None:
            raise RuntimeError(SECOND_TIME)
        for array, counter, version, edge in saved:
            if counter[0] != version:
                raise RuntimeError(changed_in_place(self, array, counter[0], version, edge))

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands, arrays from arrays."""
        rule: Rule = self.rule
        held = self.saved
        if held and rule.read < len(held):
            held = held[: rule.read]
        if held is None or any([counter[0] != version for _, counter, version, _ in held]):
            self.check_saved(held)  # which raises
        saved = iter(held)
        arguments = [
            cotangents[k] if kind == "cotangent" else next(saved)[0]
            for kind, k in rule.sources
        ]  # fmt: skip
        results = rule.run(arguments)
        return results if len(results) == len(self.edges) else self._placed(results)

    def pull_recorded(self, cotangents: Sequence[Any], record: Any, as_tensor: Any) -> list[Any]:
        """The same, tensors from tensors, and recorded in turn."""
        self.check_saved(self.saved)
        rule: Rule = self.rule
        saved = dict(zip(rule.saved, self.saved, strict=True))
        arguments = []
        for source in rule.pull_sources:
            kind, k = source
            if kind == "cotangent":
                arguments.append(cotangents[k])
            else:
                s = saved[source]
                arguments.append(as_tensor(s, (self, k) if kind == "out" else s[3]))
        results = record(rule.pull, arguments)
        return self._placed(results if isinstance(results, tuple) else (results,))

    def _placed(self, results: Sequence[Any]) -> list[Any]:
        placed: list[Any] = [None] * len(self.edges)
        for k, result in zip(self.rule.wrt, results, strict=True):
            placed[k] = result
        return placed

    def release(self) -> None:
        """Free what was saved; a node that saves nothing can be passed again, as in PyTorch."""
        if self.saved:
            self.saved = None


class AccumulateGrad(Node):
    """Where the gradient of a leaf is added to its ``grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        super().__init__(None, (), ())
        self.number = -1
        self.variable: Any = variable

    def name(self) -> str:
        """As PyTorch's nodes in C++ call themselves."""
        return "torch::autograd::AccumulateGrad"

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        return [(self.variable._data.shape, self.variable._data.dtype)]


def node_class(operation: Operation) -> type[Node]:
    """The class of an operation's nodes, named as PyTorch names it."""
    if operation.node is None:
        operation.node = type(operation.node_name, (Node,), {"__slots__": ()})
    made: type[Node] = operation.node
    return made


def accumulator(tensor: Any) -> AccumulateGrad:
    """The node of a leaf, one at a time."""
    found = tensor._accumulate_ref and tensor._accumulate_ref()
    if found is None:
        found = AccumulateGrad(tensor)
        tensor._accumulate_ref = weakref.ref(found)
    return found


_TENSOR_NAMES = {"f": "Float", "d": "Double", "l": "Long", "q": "Long", "i": "Int", "?": "Bool"}


def changed_in_place(node: Node, array: Any, now: int, version: int, edge: Edge | None) -> str:
    """What is wrong where an array that a node saved has changed."""
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
