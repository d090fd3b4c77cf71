"""Tensors that share memory, and assignment to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.tracing.tracer import Tracer

from .modes import modes, recording
from .recording import attach, constants, counter_of, edge_of, record, wrap
from .rules import Operation
from .tensor import Tensor


def view(operation: Operation, base: Tensor, static: tuple[Any, ...] = ()) -> Tensor:
    """A result that shares its base's memory and changes with it."""
    operation.is_view = True
    off, modes.off = modes.off, None  # a constant would be a copy
    try:
        made: Tensor = record(operation, (base,), static)
    finally:
        modes.off = off
    if isinstance(made._data, Tracer) or np.may_share_memory(made._data, base._data):
        made._counter = counter_of(base)
        if operation.is_strided and isinstance(made._data, Tracer):
            made._counter[1:] = [1]
        root, steps = (base, ()) if base._base is None else base._base[:2]
        made._base = (root, (*steps, (operation, static)), root._edge)
    return made


def strided(name: str, impl: Any, eager: Any) -> Operation:
    """An operation whose results are strided views in NumPy, but copies of traced arrays."""
    made = Operation(name, impl, eager=eager)
    made.is_strided = True
    return made


def check_in_place(x: Tensor) -> None:
    """Raise if a tensor must not be changed in place here."""
    if not modes.grad:
        return
    root = None if x._base is None else x._base[0]
    if root is not None and root._edge is None and (root._needs or x.requires_grad):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    if x.requires_grad and x.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Change "
            "it where nothing is recorded, as a step of gradient descent does:\n"
            "    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad"
        )


def assign(x: Tensor, new: Tensor) -> Tensor:
    """Assign new values to a tensor in place, and record the assignment."""
    check_in_place(x)
    if (x if x._base is None else x._base[0]).__dict__.get("is_copy"):
        raise RuntimeError(
            "a detached tensor is changed in place in a compiled or transformed function, where it "
            "is a copy: the tensor that it was detached from would not change. Change that one:\n"
            "    with torch.no_grad():\n"
            "        x.mul_(2)                      # not: x.detach().mul_(2), x.data.mul_(2)"
        )
    if np.ndim(new._data):
        check_overlap(x)
    if isinstance(x._data, Tracer) and len(counter_of(x)) > 1:
        raise NotImplementedError(_STRIDED)
    needs = recording() and (x.requires_grad or new.requires_grad)
    if needs and x._base is not None:
        with _keeping(x), _keeping(x._base[0]):
            rebase(x, new)
    elif needs:
        with _keeping(x):
            kept = new if new._needs else record(_FILL, (alias(x), shaped(new, x)))
            x._edge, x._needs = edge_of(kept), True
    x._data[...] = new._data if modes.off is None else constants(new._data)
    counter_of(x)[0] += 1
    return x


_STRIDED = (
    "a tensor, or its diagonal() or unfold(), is changed in place in a compiled or transformed "
    "function, where these are copies: the other one would not change. Make another tensor:\n"
    "    y = x + torch.diag_embed(d)        # not: x.diagonal().add_(d)\n"
    "    y = x * 2                          # not: x.mul_(2), after w = x.unfold(0, 2, 1)"
)


@contextmanager
def _keeping(x: Tensor) -> Iterator[None]:
    """A context for a change of a tensor's history; if the tensor keeps its gradient, it then keeps
    the gradient of its new value."""
    before = None if x.is_leaf or not x.retains_grad else edge_of(x)
    yield
    if before is not None:
        before[0].give_up(before[1], x)
        x.retain_grad()


def check_overlap(x: Tensor) -> None:
    """Raise if elements of a tensor share memory, like those that `expand` repeats."""
    data = x._data
    if not isinstance(data, np.ndarray) or 0 not in data.strides:
        return
    if any(n > 1 and not step for n, step in zip(data.shape, data.strides, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation:\n"
            "    y = x.expand(3, 2).clone()\n"
            "    y.add_(1)"
        )


def needs_gradient(*operands: Any) -> bool:
    """Whether any tensor among operands requires a gradient."""
    return any([x.requires_grad for x in operands if isinstance(x, Tensor)])


def alias(x: Tensor) -> Tensor:
    """A copy with the same history: the tensor as it was before an in-place change."""
    made: Tensor = wrap(x._data.copy())
    if x.requires_grad:
        made._edge, made._needs = edge_of(x), True
    return made


def shaped(new: Tensor, x: Tensor) -> Tensor:
    """New values, broadcast to the shape of a tensor."""
    same = tuple(new.shape) == tuple(x.shape)
    return new if same else wrap(np.broadcast_to(new._data, x._data.shape))


def rebase(x: Tensor, new: Tensor) -> None:
    """Record the history of a base after an assignment to its view."""
    root, steps, _ = x._base
    operands = (root, new)
    needs = (root._needs, bool(new._needs))
    result = wrap(root._data)
    arrays = [root._data, new._data]
    attach(_COPY_SLICES, operands, arrays, (steps, new._data.dtype.char), needs, (result,))
    root._edge, root._needs = result._edge, True


def _copy_slices(base: Any, new: Any, steps: Any, dtype: Any) -> Any:
    made = np.copy(base, order="C")
    if any(operation.is_strided for operation, _ in steps):
        places = np.arange(made.size).reshape(made.shape)
        for operation, static in steps:
            places = operation.eager(places, *static)
        flat = np.reshape(made, -1)
        flat[places] = new
        return np.reshape(flat, made.shape)
    part = made
    for operation, static in steps:
        part = operation.impl(part, *static)
    part[...] = new
    return made


_COPY_SLICES = Operation("CopySlices", _copy_slices, "CopySlices")
_FILL = Operation("Fill", lambda x, new: new + 0)
