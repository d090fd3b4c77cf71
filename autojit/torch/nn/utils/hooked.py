"""``torch.nn.utils.weight_norm``, which computes a weight in a hook before each call."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.nn.module import Module
from autojit.torch.nn.parameter import Parameter

from .parametrizations import by_length, norm_except_dim


class _WeightNorm:
    """Computes a weight from its direction and its lengths, before each call of a module."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def weight(self, module: Any) -> Tensor:
        """The weight of a module."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return by_length(g, v, self.dim)

    def __call__(self, module: Any, args: Any) -> None:
        setattr(module, self.name, self.weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Describe a weight by its direction and its length: ``weight = g * v / |v|``.

    The arguments are those of :func:`torch.nn.utils.parametrizations.weight_norm`, which PyTorch
    recommends. Here g and v are parameters of the module itself, ``weight_g`` and ``weight_v``.

    >>> from autojit import torch
    >>> layer = weight_norm(torch.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = module._parameters.pop(name)
    assert weight is not None
    hook = _WeightNorm(name, -1 if dim is None else dim)
    lengths = norm_except_dim(weight, hook.dim).detach()
    module.register_parameter(f"{name}_g", Parameter(lengths))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again, and return the module."""
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook: Any = module._before.pop(key)
    weight = hook.weight(module).detach()
    for each in (name, f"{name}_g", f"{name}_v"):
        delattr(module, each)
    module.register_parameter(name, Parameter(weight))
    return module


def _hook_of(module: Module, name: str) -> int | None:
    found = (k for k, h in module._before.items() if isinstance(h, _WeightNorm) and h.name == name)
    return next(found, None)
