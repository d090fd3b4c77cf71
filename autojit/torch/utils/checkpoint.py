"""Checkpointing: saved arrays are dropped, and recomputed in the backward pass, to save memory."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import optree

from autojit.torch.engine.modes import enable_grad, recording
from autojit.torch.engine.nodes import (
    SECOND_TIME,
    AccumulateGrad,
    Node,
    Refill,
    changed_in_place,
    numbers,
)
from autojit.torch.engine.recording import counter_of, edge_of
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.factories import default_generator
from autojit.torch.precision.autocasting import casting


class CheckpointError(RuntimeError):
    """The second run of a function saved other tensors than the first."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args)``, whose intermediate values are recomputed in the backward pass.

    The graph is the function's own: hooks in it and on its arguments run once.

    Raises:
        CheckpointError: in the backward pass, if the function then saves other tensors.
    """
    if not recording():
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve_rng_state)
    first = next(numbers)
    made = function(*args, **kwargs)
    Frame(call, _nodes_of(made, first))
    return made


class _Call:
    """A call of a function, with the state in which it began."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, preserve: bool
    ) -> None:
        self.function = function
        self.args = tuple(map(_apart, args))
        self.kwargs = {name: _apart(a) for name, a in kwargs.items()}
        tensors = [a for a in (*self.args, *self.kwargs.values()) if isinstance(a, Tensor)]
        self.versions = [(a, counter_of(a)[0]) for a in tensors]
        self.state = default_generator.get_state() if preserve else None
        self.casting = casting.dtype

    def again(self) -> list[Node]:
        """Run the function again, and return the nodes of this run."""
        for a, version in self.versions:
            _check(AccumulateGrad(a), version)
        with enable_grad(), _as_before(self.state, self.casting):
            args = tuple(map(_apart, self.args))
            kwargs = {name: _apart(a) for name, a in self.kwargs.items()}
            first = next(numbers)
            return _nodes_of(self.function(*args, **kwargs), first)


def _check(node: AccumulateGrad, version: int) -> None:
    """Raise if a tensor has been changed in place."""
    array, now = node.variable._data, counter_of(node.variable)[0]
    if now != version:
        raise RuntimeError(changed_in_place(node, array, now, version, (node, 0)))


def _apart(a: Any) -> Any:
    """A tensor that shares memory but has its own graph; any other object unchanged."""
    return a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a


@contextlib.contextmanager
def _as_before(state: Any, half: Any) -> Iterator[None]:
    """A context with the random generator and autocasting in the state of the first run."""
    now, now_half = default_generator.get_state(), casting.dtype
    casting.dtype = half
    if state is not None:
        default_generator.set_state(state)
    try:
        yield
    finally:
        casting.dtype = now_half
        if state is not None:
            default_generator.set_state(now)


def _nodes_of(made: Any, first: int) -> list[Node]:
    """The nodes behind results, from number ``first`` on, in the order in which they were made."""
    todo = [
        edge_of(o)[0] for o in optree.tree_leaves(made) if isinstance(o, Tensor) and o.requires_grad
    ]
    found: set[Node] = set()
    while todo:
        node = todo.pop()
        if node.number >= first and node not in found:
            found.add(node)
            todo += [e[0] for e in node.edges if e is not None]
    return sorted(found, key=lambda node: node.number)


class _Dropped(NamedTuple):
    """The remains of a saved array; ``rest`` are the notes of a user's node about it."""

    shape: tuple[int, ...]
    dtype: Any
    counter: Any
    version: int
    rest: tuple[Any, ...]


class Frame(Refill):
    """The nodes of a function whose saved arrays are dropped until one of them is visited."""

    def __init__(self, call: _Call, nodes: list[Node]) -> None:
        self.call: _Call | None = call
        #: Weak references, because the nodes refer to this frame.
        self.nodes = [weakref.ref(node) for node in nodes]
        self.dropped: list[list[Any] | None] = []
        ends = {
            e[0] for node in nodes for e in node.edges if e and isinstance(e[0], AccumulateGrad)
        }
        #: Leaves from outside the function, with their versions at the first run.
        self.leaves = [(end, counter_of(end.variable)[0]) for end in ends]
        #: Frames inside this one; their arguments are dropped as well.
        self.inner: list[Frame] = []
        for node in nodes:
            frame = None if node.extras is None else node.extras.refill
            if isinstance(frame, Frame):
                if frame not in self.inner:
                    self.inner.append(frame)
                    frame.call = None
                self.dropped.append(None)
            elif node.saved:
                self.dropped.append(list(map(_without_memory, node.saved)))
                node.saved = ()
                node.extra().refill = self
            else:
                self.dropped.append(None)

    def fill(self) -> None:
        """Run the function again, and restore the saved arrays."""
        call, self.call = self.call, None
        if call is None:
            raise RuntimeError(SECOND_TIME)
        for end, version in self.leaves:
            _check(end, version)
        again = call.again()
        if len(again) != len(self.nodes):
            raise CheckpointError(_COUNT.format(len(self.nodes), len(again)))
        inner: list[Frame] = []
        for k, (reference, other, dropped) in enumerate(
            zip(self.nodes, again, self.dropped, strict=True)
        ):
            frame = None if other.extras is None else other.extras.refill
            if isinstance(frame, Frame) and frame not in inner:
                inner.append(frame)
            node = reference()
            if dropped is None or node is None:
                continue
            if other.name() != node.name():
                raise CheckpointError(_OTHER.format(k, node.name(), other.name()))
            node.extra().refill = None
            node.saved = _filled(node, dropped, other.saved or ())
        for frame, other_frame in zip(self.inner, inner, strict=True):
            frame.call = other_frame.call


def _without_memory(saved: Any) -> Any:
    """A saved array without its memory."""
    if not isinstance(saved, tuple):
        return saved
    array, counter, version, *rest = saved
    return _Dropped(tuple(array.shape), array.dtype, counter, version, tuple(rest))


def _filled(node: Node, dropped: list[Any], again: Any) -> list[Any]:
    if len(dropped) != len(again):
        raise CheckpointError(_COUNT.format(len(dropped), len(again)))
    filled = []
    for k, (old, new) in enumerate(zip(dropped, again, strict=True)):
        if not isinstance(old, _Dropped):
            filled.append(new)
            continue
        array, counter, version, *_ = new
        if (old.shape, old.dtype) != (tuple(array.shape), array.dtype):
            found = f"{list(array.shape)} of {array.dtype}"
            raise CheckpointError(
                _METADATA.format(k, node.name(), f"{list(old.shape)} of {old.dtype}", found)
            )
        if old.counter[0] != old.version:
            raise RuntimeError(changed_in_place(node, array, old.counter[0], old.version, None))
        filled.append((array, counter, version, *old.rest))
    return filled


_FIX = (
    " A function that is checkpointed must do the same each time that it is called with the same "
    "arguments. Take what changes out of it:\n"
    "    scale = next(scales)\n"
    "    y = checkpoint(lambda x: (x * scale).sin(), x, use_reentrant=False)"
)
_COUNT = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
    "and recomputation.\nNumber of tensors saved during forward: {}\nNumber of tensors saved "
    "during recomputation: {}." + _FIX
)
_OTHER = (
    "torch.utils.checkpoint: Recomputed values are not those of the forward pass: operation {} was "
    "{} and is now {}." + _FIX
)
_METADATA = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
    "than during the forward pass.\ntensor at position {} of {}:\nsaved metadata: {}\n"
    "recomputed metadata: {}." + _FIX
)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **options: Any) -> Any:
    """The composition of functions, in checkpointed segments."""
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
