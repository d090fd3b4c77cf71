"""Norms of gradients, and gradients clipped to a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import named
from autojit.ir.core.halves import kind_of
from autojit.protocols.lifting import dtype_of
from autojit.staging import pytrees

from .checks import need_value


@named
def global_norm(tree: Any) -> Any:
    """The Euclidean norm of all numbers in a tree.

    >>> float(global_norm({"a": np.array([3.0]), "b": [np.array([[4.0]])]}))
    5.0
    """
    leaves, _ = pytrees.flatten(tree)
    need_value(len(leaves) > 0, "the tree has no arrays")
    return np.sqrt(sum(np.sum(np.abs(x) ** 2) for x in leaves))


@named
def clip_by_global_norm(tree: Any, max_norm: float, eps: float = 1e-6) -> tuple[Any, Any]:
    """Scale a tree down to a norm of at most ``max_norm``; return it with its original norm.

    Args:
        tree: gradients.
        max_norm: the bound.
        eps: added to the norm before the division, as in PyTorch's ``clip_grad_norm_``.

    Returns:
        ``(clipped, norm)``. If the norm is not finite, neither is the result.

    Pascanu and others, "On the difficulty of training recurrent neural networks", 2013,
    section 3.2.

    >>> clipped, norm = clip_by_global_norm({"w": np.array([3.0, 4.0])}, 1.0, eps=0.0)
    >>> clipped, float(norm)
    ({'w': array([0.6, 0.8])}, 5.0)
    """
    norm = global_norm(tree)
    factor = max_norm / (norm + eps)
    factor = np.where(factor >= 1.0, 1.0, factor)
    leaves, structure = pytrees.flatten(tree)
    return pytrees.unflatten(structure, [_scaled(x, factor) for x in leaves]), norm


def _scaled(x: Any, factor: Any) -> Any:
    """An array or number times a factor, in the precision of the former."""
    dtype = dtype_of(x)
    return x * (factor.astype(dtype) if kind_of(dtype) in "fc" else factor)


@named
def clip_by_value(tree: Any, clip_value: float) -> Any:
    """A tree with every number clipped to ``-clip_value`` and ``clip_value``.

    >>> clip_by_value([np.array([-3.0, 0.5])], 1.0)
    [array([-1. ,  0.5])]
    """
    leaves, structure = pytrees.flatten(tree)
    return pytrees.unflatten(structure, [np.clip(x, -clip_value, clip_value) for x in leaves])
