"""``torch.func``: autojit's transformations of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from autojit.staging.pytrees import NAMESPACE, WRAPPERS
from autojit.tracing.tracer import Tracer
from autojit.transformations import batching, derivatives, gradients, jacobians

from .engine.recording import wrap
from .engine.tensor import Tensor


def _array_of(x: Any) -> Any:
    return ((x._data,), None, ("data",))


def _tensor_of(_: Any, children: Any) -> Any:
    (data,) = children
    if isinstance(data, Tensor):  # the derivative with respect to a tensor, in place of its array
        return data
    return wrap(data if isinstance(data, (np.ndarray, Tracer)) else np.asarray(data))


def register(kind: type) -> None:
    """Register a class of tensors as a tree with one array as its leaf."""
    optree.register_pytree_node(kind, _array_of, _tensor_of, namespace=NAMESPACE)
    WRAPPERS[kind] = lambda x: x._data


register(Tensor)

Argnums = Any


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are arrays instead of tensors.  Its derivatives are then tensors, as
    its arguments are, and not tensors of tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _bare(function(*args, **kwargs))

    call.__name__ = getattr(function, "__name__", type(function).__name__)
    return call


def _bare(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result._data
    if isinstance(result, tuple) and not hasattr(result, "_fields"):
        return tuple(map(_bare, result))
    return result


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else _tensor_of(None, (x,))


def _tensors(result: Any) -> Any:
    """Arrays as tensors."""
    return optree.tree_map(
        _tensor, result,
        is_leaf=lambda x: isinstance(x, Tensor), namespace=NAMESPACE,
    )  # fmt: skip


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a function whose result is a single number.

    >>> from autojit import torch
    >>> torch.func.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    if not has_aux:
        return gradients.grad(bare(func), argnums)
    both = gradients.grad(bare(func), argnums, has_aux=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        gradient, aux = both(*args, **kwargs)
        return gradient, _tensors(aux)

    return call


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """The gradient and the value."""
    both = gradients.value_and_grad(bare(func), argnums, has_aux=has_aux)

    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return gradient, _tensors(value)

    return call


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
         *, chunk_size: int | None = None) -> Callable[..., Any]:  # fmt: skip
    """Map a function over a batch."""
    return batching.vmap(func, in_dims, out_dims)


def _without_aux(name: str, has_aux: bool) -> None:
    if has_aux:
        raise NotImplementedError(
            f"torch.func.{name} with has_aux=True is not covered. Call the function once more to "
            "get the auxiliary result, or use torch.func.grad or torch.func.vjp."
        )


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, **_: Any
) -> Callable[..., Any]:
    """The Jacobian, by reverse mode."""
    _without_aux("jacrev", has_aux)
    return jacobians.jacrev(bare(func), argnums)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **_: Any
) -> Callable[..., Any]:
    """The Jacobian, by forward mode."""
    _without_aux("jacfwd", has_aux)
    return jacobians.jacfwd(bare(func), argnums)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives."""
    return jacobians.hessian(bare(func), argnums)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The results, and a function from their cotangents to the cotangents of the arguments."""
    made = derivatives.vjp(func, *primals, has_aux=has_aux)
    if len(primals) != 1:
        return made
    output, pullback, *aux = made

    def single(*cotangents: Any) -> Any:
        return pullback(*cotangents)

    return (output, single, *aux)


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False, **_: Any
) -> Any:
    """The results, and their tangents."""
    _without_aux("jvp", has_aux)
    return derivatives.jvp(func, primals, tangents)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """The results, and the linear map from tangents of the arguments to those of the results."""
    return derivatives.linearize(func, *primals)


def functional_call(module: Any, parameters: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a module with other tensors in place of its parameters and buffers."""
    given: dict[str, Any] = {}
    for part in parameters if isinstance(parameters, (tuple, list)) else (parameters,):
        given.update(part)
    places = []
    for path, tensor in given.items():
        *owners, name = path.split(".")
        owner = module
        for step in owners:
            owner = (
                owner[int(step)]
                if step.isdigit() and hasattr(owner, "__getitem__")
                else getattr(owner, step)
            )
        table = next(
            (
                t
                for t in (getattr(owner, "_parameters", {}), getattr(owner, "_buffers", {}))
                if name in t
            ),
            owner.__dict__,
        )
        places.append((table, name, table[name]))
        table[name] = tensor
    try:
        arguments = args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for table, name, before in places:
            table[name] = before
