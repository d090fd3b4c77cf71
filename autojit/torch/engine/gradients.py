"""``backward`` and ``grad``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .backward import initial, run_backward
from .recording import Kind, edge_of, wrap


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, Iterable) and not isinstance(x, Kind.tensor) else [x]


def _check_tensors(what: str, given: Sequence[Any]) -> None:
    for k, x in enumerate(given):
        if not hasattr(x, "requires_grad"):
            raise TypeError(f"element {k} of {what} must be Tensor, not {type(x).__name__}")


def _cotangents(outputs: Sequence[Any], given: Any) -> list[Any]:
    given = [None] * len(outputs) if given is None else _listed(given)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    for g in given:
        if g is not None and not isinstance(g, Kind.tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(g).__name__}. "
                "Make a tensor of it: torch.as_tensor(x)"
            )
    _check_tensors("outputs", outputs)
    for i, t in enumerate(outputs):
        if not t.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. Call "
                "this on a tensor that it is computed from, before the computation:\n"
                "    x.requires_grad_()"
            )
    return [initial(t, g) for t, g in zip(outputs, given, strict=True)]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors to the ``grad`` of the leaves that they were computed from."""
    outputs = _listed(tensors)
    cotangents = _cotangents(outputs, grad_tensors)
    if inputs is None:
        run_backward(outputs, cotangents, retain_graph=retain_graph, create_graph=create_graph)
        return
    wanted = _listed(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    found = grad(outputs, wanted, cotangents, retain_graph, create_graph, allow_unused=True)
    for x, g in zip(wanted, found, strict=True):
        if g is not None:
            x._grad = g if x._grad is None else x._grad + g


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of outputs with respect to inputs, as a tuple; no tensor's ``grad`` changes.

    >>> from autojit import torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x**2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        raise NotImplementedError(
            "only_inputs=False is not covered, as in PyTorch. Call backward()"
        )
    if is_grads_batched:
        raise NotImplementedError(
            "is_grads_batched=True is not covered. Use torch.func.vmap over torch.func.vjp."
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    ends, wanted = _listed(outputs), _listed(inputs)
    _check_tensors("inputs", wanted)
    cotangents = _cotangents(ends, grad_outputs)
    for x in wanted:
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    edges = [edge_of(x) for x in wanted]
    found = run_backward(
        ends, cotangents, retain_graph=retain_graph, create_graph=create_graph, targets=edges
    )
    results = []
    for i, (x, edge) in enumerate(zip(wanted, edges, strict=True)):
        g = found.get(edge)
        if g is None and materialize_grads:
            g = wrap(np.zeros(x._data.shape, x._data.dtype)).requires_grad_(create_graph)
        elif g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
        results.append(g if g is None or isinstance(g, Kind.tensor) else wrap(g))
    return tuple(results)
