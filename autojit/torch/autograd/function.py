"""User-defined operations with their own backward passes."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.torch.engine.modes import no_grad, recording
from autojit.torch.engine.nodes import SECOND_TIME, Node, changed_in_place
from autojit.torch.engine.recording import counter_of, edge_of, from_saved, wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.views import rebase
from autojit.tracing.tracer import Tracer


class Context:
    """The state that ``forward`` passes to ``backward``."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self.to_save: tuple[Any, ...] = ()
        self.node: OwnNode | None = None
        self.not_differentiable: list[int] = []
        self.materialize: bool = True
        self.dirty: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save inputs or results for ``backward``."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        return self.to_save if self.node is None else self.node.saved_tensors()

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare that results have no derivative."""
        self.not_differentiable = [id(t) for t in tensors]

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare that inputs were changed in place."""
        self.dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether ``backward`` gets zeros instead of None."""
        self.materialize = value


class OwnNode(Node):
    """The node of a user-defined operation."""

    __slots__ = ("context", "function", "types")
    context: Any
    function: Any
    types: Any

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        types: Sequence[tuple[tuple[int, ...], np.dtype]] = self.types
        return types

    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, linked into the graph."""
        if self.saved is None:
            raise RuntimeError(SECOND_TIME)
        found = []
        for s in self.saved:
            if isinstance(s, tuple):
                array, counter, version, edge, output = s
                if counter[0] != version:
                    raise RuntimeError(changed_in_place(self, array, counter[0], version, edge))
                found.append(
                    from_saved(
                        (array, counter, version), edge if output is None else (self, output)
                    )
                )
            else:
                found.append(s)
        return tuple(found)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        with no_grad():
            made = self._called([wrap(c) for c in cotangents])
        return [None if g is None else g._data for g in made]

    def pull_recorded(self, cotangents: Sequence[Any], record: Any, as_tensor: Any) -> list[Any]:
        return self._called(cotangents)

    def _called(self, cotangents: Sequence[Any]) -> list[Any]:
        if self.saved is None:
            raise RuntimeError(SECOND_TIME)
        made = self.function.backward(self.context, *cotangents)
        given = list(made) if isinstance(made, tuple) else [made]
        expected = len(self.edges)
        if len(given) != expected:
            while len(given) > expected and given[-1] is None:
                given.pop()
            if len(given) != expected:
                raise RuntimeError(
                    f"function {self.name()} returned an incorrect number of gradients (expected "
                    f"{expected}, got {len(given)})"
                )
        return [
            self._checked(g, e, k) for k, (g, e) in enumerate(zip(given, self.edges, strict=True))
        ]

    def _checked(self, g: Any, edge: Any, k: int) -> Any:
        if g is None or edge is None:
            return None
        shape, dtype = edge[0].out_types()[edge[1]]
        if tuple(g.shape) != tuple(shape):
            if np.broadcast_shapes(tuple(g.shape), tuple(shape)) == tuple(g.shape):
                return g.sum_to_size(*shape)
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {k} - got "
                f"{list(g.shape)} but expected shape compatible with {list(shape)}"
            )
        return g if g._data.dtype == dtype else g.to(dtype)

    def release(self) -> None:
        self.saved = None


class Function:
    """An operation with user-defined ``forward`` and ``backward``.

    >>> from autojit import torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * grad_output
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of ``forward``'s arguments, one each; None for an argument without one."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Compute the results, and record the operation."""
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        context = Context(needs if recording() else (False,) * len(args))
        separate = hasattr(cls, "setup_context")
        with no_grad():
            made = cls.forward(*args) if separate else cls.forward(context, *args)
            if separate:
                getattr(cls, "setup_context")(context, args, made)  # noqa: B009
        if any(isinstance(a, Tensor) and isinstance(a._data, Tracer) for a in args):
            raise RuntimeError(
                f"{cls.__name__}.backward would be ignored in a compiled or transformed "
                "function, which computes its own derivatives. Call it outside the function, or "
                "define the derivative with autojit's rule for arrays:\n"
                "    @autojit.custom_vjp\n"
                "    def f(x): ...\n"
                "    f.defvjp(forward, backward)"
            )
        if not (recording() and any(needs)):
            return made
        return _linked(cls, context, args, needs, made)


_classes: dict[type, type[OwnNode]] = {}


def _linked(cls: Any, context: Context, args: Any, needs: Any, made: Any) -> Any:
    results = made if isinstance(made, tuple) else (made,)
    kind = _classes.get(cls)
    if kind is None:
        kind = type(f"{cls.__name__}Backward", (OwnNode,), {"__slots__": ()})
        _classes[cls] = kind
    edges = [edge_of(a) if n else None for a, n in zip(args, needs, strict=True)]
    node = kind(None, edges, None)
    node.function, node.context = cls, context
    tensors = [r for r in results if isinstance(r, Tensor)]
    node.types = [(tuple(t._data.shape), t._data.dtype) for t in tensors]
    inputs = {id(a): a for a in args if isinstance(a, Tensor)}
    dirty = {id(t) for t in context.dirty}
    linked: list[Any] = []
    saved_as: dict[int, int] = {}
    for r in results:
        if not isinstance(r, Tensor):
            linked.append(r)
            continue
        k = sum(isinstance(x, Tensor) for x in linked)
        if id(r) in inputs and id(r) not in dirty:
            out = wrap(r._data)
            out._counter = counter_of(r)
        else:
            out = r
            saved_as[id(r)] = k
        if id(r) not in context.not_differentiable and kind_of(r._data.dtype) in "fc":
            if id(r) in dirty and out._base is not None:  # the base has taken this history
                new = wrap(out._data)
                new._edge, new._needs = (node, k), True
                rebase(out, new)
            else:
                out._edge, out._needs = (node, k), True
        linked.append(out)
    node.saved = [_kept(t, saved_as) for t in context.to_save]
    context.to_save = ()
    node.context = _linked_context(context, node)
    return tuple(linked) if isinstance(made, tuple) else linked[0]


def _linked_context(context: Context, node: OwnNode) -> Context:
    context.__dict__.pop("node")
    context.__class__ = _Linked
    context.__dict__["_node"] = weakref.ref(node)
    return context


class _Linked(Context):
    """The context of a node; it refers to the node weakly."""

    @property
    def node(self) -> Any:  # type: ignore[override]
        return self.__dict__["_node"]()


def _kept(t: Any, outputs: dict[int, int]) -> Any:
    if not isinstance(t, Tensor):
        return t
    if id(t) in outputs:
        return (t._data, counter_of(t), counter_of(t)[0], None, outputs[id(t)])
    edge = edge_of(t) if t.requires_grad else None
    return (t._data, counter_of(t), counter_of(t)[0], edge, None)


class _Once(Node):
    """The node of a gradient that cannot be differentiated itself."""

    __slots__ = ("types",)
    types: Any

    def out_types(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        types: Sequence[tuple[tuple[int, ...], np.dtype]] = self.types
        return types

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

    def pull_recorded(self, cotangents: Sequence[Any], record: Any, as_tensor: Any) -> list[Any]:
        return self.pull(cotangents)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a ``backward`` that must not be differentiated: nothing in it is recorded,
    and differentiating its results is an error.

    >>> from autojit import torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad_output
    """

    @functools.wraps(backward)
    def wrapped(context: Any, *cotangents: Any) -> Any:
        with no_grad():
            made = backward(context, *cotangents)
        inputs = [*cotangents, *context.saved_tensors]
        sources = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
        if not (recording() and sources):
            return made
        results = made if isinstance(made, tuple) else (made,)
        linked = [r if r is None else wrap(r._data) for r in results]
        given = [t for t in linked if t is not None and kind_of(t._data.dtype) in "fc"]
        node = _Once(None, [edge_of(t) for t in sources], ())
        node.types = [(tuple(t._data.shape), t._data.dtype) for t in given]
        for k, t in enumerate(given):
            t._edge, t._needs = (node, k), True
        return tuple(linked) if isinstance(made, tuple) else linked[0]

    return wrapped


__all__ = ["Context", "Function", "once_differentiable"]
