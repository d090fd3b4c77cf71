"""``torch.autograd.functional``: Jacobians, Hessians and products with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.torch.engine.gradients import grad
from autojit.torch.engine.modes import enable_grad
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.factories import FUNCTIONS as FACTORIES
from autojit.torch.functions.shaping import reshape, stack


def _leaves(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    if create_graph:
        return tuple(x if x.requires_grad else x.detach().requires_grad_() for x in given)
    return tuple(x.detach().requires_grad_() for x in given)


def _zeros(x: Tensor) -> Tensor:
    made: Tensor = FACTORIES["zeros_like"](x)
    return made


def _listed(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _like(given: Any, model: Any) -> Any:
    return given if isinstance(model, (tuple, list)) else given[0]


def _not_strict(strict: bool) -> None:
    if strict:
        raise NotImplementedError(
            "strict=True is not covered: results that do not depend on an input have a derivative "
            "of zeros. Leave strict out."
        )


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivatives of all elements of the results with respect to all elements of the inputs."""
    _not_strict(strict)
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        outputs = func(*leaves)
        rows = [_of_one(o, leaves, create_graph) for o in _listed(outputs)]
    picked = [row if isinstance(inputs, tuple) else row[0] for row in rows]
    return _like(tuple(picked), outputs)


def _of_one(output: Tensor, leaves: tuple[Tensor, ...], create_graph: bool) -> tuple[Any, ...]:
    n = output._data.size
    if not output.requires_grad:
        return tuple(FACTORIES["zeros"]((*output.shape, *x.shape), dtype=x.dtype) for x in leaves)
    flat = reshape(output, -1)
    found = [
        grad(flat[i], list(leaves), retain_graph=True, create_graph=create_graph, allow_unused=True)
        for i in range(n)
    ]
    columns = zip(*found, strict=True)
    return tuple(
        reshape(stack([_zeros(x) if g is None else g for g in column]), *output.shape, *x.shape)
        for column, x in zip(columns, leaves, strict=True)
    )


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, **_: Any) -> Any:
    """The second derivatives of a function whose result is a single number."""
    is_tuple = isinstance(inputs, tuple)

    def first(*leaves: Tensor) -> tuple[Any, ...]:
        return jacobian_of_number(func, leaves)

    made = jacobian(first, inputs if is_tuple else (inputs,), create_graph)
    return made if is_tuple else made[0][0]


def jacobian_of_number(func: Callable[..., Any], leaves: tuple[Tensor, ...]) -> tuple[Any, ...]:
    """The gradients of a function, recorded."""
    output = func(*leaves)
    if output._data.size != 1:
        raise RuntimeError(
            "The Tensor returned by the function given to hessian should contain a single element"
        )
    if not output.requires_grad:
        return tuple(map(_zeros, leaves))
    found = grad(output.sum(), list(leaves), create_graph=True, allow_unused=True)
    return tuple(_zeros(x) if g is None else g for g, x in zip(found, leaves, strict=True))


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """The results, and the vector-Jacobian product."""
    _not_strict(strict)
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        outputs = func(*leaves)
        given = None if v is None else list(_listed(v))
        found = grad(list(_listed(outputs)), list(leaves), given, create_graph=create_graph,
                     allow_unused=True)  # fmt: skip
    made = tuple(_zeros(x) if g is None else g for g, x in zip(found, leaves, strict=True))
    return _cut(outputs, create_graph), _like(made, inputs)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """The results, and the Jacobian-vector product, by two backward passes."""
    _not_strict(strict)
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        outputs = func(*leaves)
        tangents = [FACTORIES["ones_like"](x) for x in leaves] if v is None else list(_listed(v))
        made = pushed(_listed(outputs), leaves, tangents, create_graph)
    return _cut(outputs, create_graph), _like(made, outputs)


def pushed(outputs: Any, leaves: Any, tangents: Any, create_graph: bool) -> tuple[Any, ...]:
    """The tangents of outputs, by the pullback of the pullback, which is linear in its
    cotangents."""
    seeds = [_zeros(o).requires_grad_() for o in outputs]
    back = grad(list(outputs), list(leaves), seeds, create_graph=True, allow_unused=True)
    pairs = [
        (g, t) for g, t in zip(back, tangents, strict=True) if g is not None and g.requires_grad
    ]
    if not pairs:
        return tuple(map(_zeros, outputs))
    found = grad([g for g, _ in pairs], seeds, [t for _, t in pairs], create_graph=create_graph,
                 retain_graph=True, allow_unused=True)  # fmt: skip
    return tuple(_zeros(o) if g is None else g for g, o in zip(found, outputs, strict=True))


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:  # fmt: skip
    """The result, and the product of the Hessian with a vector."""
    _not_strict(strict)
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        output = func(*leaves)
        first = grad(output, list(leaves), create_graph=True, allow_unused=True)
        tangents = [FACTORIES["ones_like"](x) for x in leaves] if v is None else list(_listed(v))
        pairs = [(g, t) for g, t in zip(first, tangents, strict=True) if g is not None]
        pairs = [(g, t) for g, t in pairs if g.requires_grad]
        found: tuple[Any, ...] = (None,) * len(leaves)
        if pairs:
            found = grad([g for g, _ in pairs], list(leaves), [t for _, t in pairs],
                         create_graph=create_graph, allow_unused=True)  # fmt: skip
    made = tuple(_zeros(x) if g is None else g for g, x in zip(found, leaves, strict=True))
    return _cut(output, create_graph), _like(made, inputs)


vhp = hvp


def _cut(outputs: Any, create_graph: bool) -> Any:
    if create_graph:
        return outputs
    return _like(tuple(wrap(o._data) for o in _listed(outputs)), outputs)
