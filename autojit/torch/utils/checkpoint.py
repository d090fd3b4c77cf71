"""Memory for time: what a function computed is not kept, and computed again for the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.torch.autograd.gradients import grad
from autojit.torch.engine.modes import enable_grad, modes
from autojit.torch.engine.nodes import SECOND_TIME, AccumulateGrad, Edge, Node
from autojit.torch.engine.recording import edge_of, wrap
from autojit.torch.functions.factories import default_generator
from autojit.torch.tensor import Tensor


class CheckpointFunctionBackward(Node):
    """The node of a function that is run again."""

    __slots__ = ("run", "types")

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        return self.types  # type: ignore[no-any-return]

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


class _end:  # noqa: N801 - stands for a tensor in a list of inputs
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
    if not modes.grad:
        return function(*args, **kwargs)
    state = default_generator.get_state() if preserve_rng_state else None

    def run() -> tuple[list[Any], list[Any], list[Edge]]:
        # `x * 1` would copy: a detached leaf, whose edge tells where the function begins.
        inside = [
            a.detach().requires_grad_() if isinstance(a, Tensor) and a.requires_grad else a
            for a in args
        ]
        stand_ins = [x for x, a in zip(inside, args, strict=True) if x is not a]
        made = function(*inside, **kwargs)
        outputs = [o for o in (made if isinstance(made, tuple) else (made,)) if isinstance(o, Tensor)]
        own = {edge_of(x)[0] for x in stand_ins}
        run.made = made  # type: ignore[attr-defined]
        moving = [o for o in outputs if o.requires_grad]
        return moving, stand_ins, _outside(moving, own, run.first)  # type: ignore[attr-defined]

    def again() -> Any:
        now = default_generator.get_state()
        if state is not None:
            default_generator.set_state(state)
        try:
            return run()
        finally:
            if state is not None:
                default_generator.set_state(now)

    run.first = Node(None, (), ()).number  # type: ignore[attr-defined]
    outputs, _, outside = run()
    made = run.made  # type: ignore[attr-defined]
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
