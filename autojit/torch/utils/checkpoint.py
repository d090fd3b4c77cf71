"""Memory for time: what a function computed is not kept, and computed again for the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.torch.engine.gradients import grad
from autojit.torch.engine.modes import enable_grad, recording
from autojit.torch.engine.nodes import SECOND_TIME, AccumulateGrad, Edge, Node, numbers
from autojit.torch.engine.recording import edge_of, wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.factories import default_generator


class CheckpointFunctionBackward(Node):
    """The node of a function that is run again."""

    __slots__ = ("run", "types")
    run: Any
    types: Any

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        types: Sequence[tuple[tuple[int, ...], np.dtype]] = self.types
        return types

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        found = self._again([wrap(c) for c in cotangents], False)
        return [None if g is None else g._data for g in found]

    def pull_recorded(self, cotangents: Sequence[Any], record: Any, as_tensor: Any) -> list[Any]:
        return self._again(list(cotangents), True)

    def _again(self, cotangents: list[Any], create_graph: bool) -> list[Any]:
        if self.saved is None:
            raise RuntimeError(SECOND_TIME)
        with enable_grad():
            outputs, stand_ins, outside = self.run()
            wanted = [*stand_ins, *map(_end, outside)]
            return list(grad(outputs, wanted, cotangents, create_graph=create_graph,
                             allow_unused=True))  # fmt: skip

    def release(self) -> None:
        self.saved = self.run = None


class _end:
    """An edge in the place of a tensor whose gradient is wanted."""

    requires_grad = True
    _base = None

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._data = np.zeros(())


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args)``, whose intermediate values are computed again in the backward pass."""
    if not recording():
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs)
    state = default_generator.get_state() if preserve_rng_state else None

    def again() -> Any:
        if state is None:
            return call.run()
        now = default_generator.get_state()
        default_generator.set_state(state)
        try:
            return call.run()
        finally:
            default_generator.set_state(now)

    outputs, _, outside = call.run()
    made, call.made = call.made, None
    if not outputs:
        return made
    moving = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    node = CheckpointFunctionBackward(None, [*map(edge_of, moving), *outside], ())
    node.run, node.types = again, [(tuple(o._data.shape), o._data.dtype) for o in outputs]
    places = {id(o): k for k, o in enumerate(outputs)}

    def linked(o: Any) -> Any:
        if id(o) not in places:
            return o
        out = wrap(o._data)
        out._edge, out._needs = (node, places[id(o)]), True
        return out

    return tuple(map(linked, made)) if isinstance(made, tuple) else linked(made)


class _Call:
    """A function and its arguments."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        #: What is made from here on is the function's.
        self.first = next(numbers)
        self.made: Any = None

    def run(self) -> tuple[list[Any], list[Any], list[Edge]]:
        """The results that need gradients, the arguments that do as leaves, and the other edges
        by which gradients leave the function."""
        inside = [
            a.detach().requires_grad_() if isinstance(a, Tensor) and a.requires_grad else a
            for a in self.args
        ]
        leaves = [x for x, a in zip(inside, self.args, strict=True) if x is not a]
        self.made = made = self.function(*inside, **self.kwargs)
        results = made if isinstance(made, tuple) else (made,)
        moving = [o for o in results if isinstance(o, Tensor) and o.requires_grad]
        own = {edge_of(x)[0] for x in leaves}
        return moving, leaves, _outside(moving, own, self.first)


def _outside(outputs: list[Any], own: set[Node], first: int) -> list[Edge]:
    """Where gradients leave what a function computed, other than through its arguments."""
    found: dict[Edge, None] = {}
    seen: set[Node] = set()
    todo = [edge_of(o)[0] for o in outputs]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for edge in node.edges:
            if edge is None or edge[0] in own:
                continue
            if isinstance(edge[0], AccumulateGrad) or edge[0].number < first:
                found[edge] = None
            else:
                todo.append(edge[0])
    return list(found)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **options: Any) -> Any:
    """Functions one after the other, in checkpointed segments."""
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(1, len(steps) // segments)

    def segment(part: list[Any]) -> Callable[[Any], Any]:
        def call(x: Any) -> Any:
            for step in part:
                x = step(x)
            return x

        return call

    for k in range(0, len(steps), size):
        input = checkpoint(segment(steps[k : k + size]), input, use_reentrant=False)
    return input
