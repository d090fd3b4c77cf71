"""``torch.nn.utils.parametrizations``: weights by direction and length, or of spectral norm 1."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories
from autojit.torch.nn.functional import _FUNCTIONS as F
from autojit.torch.nn.module import Module

from .parametrize import register_parametrization


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The Euclidean norms of the slices along an axis, which keep their axes; -1 for the norm of
    all elements."""
    squares = v * v
    if dim == -1:
        return squares.sum().sqrt()
    axes = [k for k in range(v.ndim) if k != dim % v.ndim]
    return (squares.sum(axes, keepdim=True) if axes else squares).sqrt()


def by_length(g: Tensor, v: Tensor, dim: int) -> Tensor:
    """``v``, scaled so that the norms of its slices along an axis are g."""
    made: Tensor = v * (g / norm_except_dim(v, dim))
    return made


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim: int = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return by_length(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Describe a weight by its direction and its length: ``weight = g * v / |v|``.

    Args:
        module: the module, which is returned.
        name: the name of the parameter; g and v become ``parametrizations.weight.original0`` and
            ``original1``.
        dim: the axis whose slices have a length each; None for one length of the whole weight.

    Salimans and Kingma, "Weight normalization", 2016.

    >>> from autojit import torch
    >>> layer = weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([2, 1])
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0,
                 eps: float = 1e-12) -> None:  # fmt: skip
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim: int = dim % weight.ndim
        self.eps: float = eps
        self.n_power_iterations: int = n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for k, name in enumerate(("_u", "_v")):
                drawn = factories.randn(matrix.shape[k], dtype=weight.dtype)
                self.register_buffer(name, F["normalize"](drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        axes = [self.dim, *(k for k in range(weight.ndim) if k != self.dim)]
        return weight.permute(*axes).flatten(1)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        with no_grad():
            for _ in range(steps):
                self._u.copy_(F["normalize"](matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F["normalize"](matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            made: Tensor = F["normalize"](weight, dim=0, eps=self.eps)
            return made
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1,
                  eps: float = 1e-12, dim: int | None = None) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value, which power iterations estimate.

    Args:
        module: the module, which is returned.
        name: the name of the parameter.
        n_power_iterations: the number of iterations in each call in training.
        eps: the least length of a vector that is normalised.
        dim: the axis of the outputs; by default 0, and 1 for transposed convolutions.

    Miyato and others, "Spectral normalization for generative adversarial networks", 2018.

    >>> from autojit import torch
    >>> layer = spectral_norm(torch.nn.Linear(3, 2), n_power_iterations=20)
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 4)
    1.0
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)
