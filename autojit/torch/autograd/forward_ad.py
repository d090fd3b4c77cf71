"""``torch.autograd.forward_ad``: tensors with tangents."""

from __future__ import annotations

from typing import Any, NamedTuple

from autojit.ir.core.halves import kind_of
from autojit.torch.engine.modes import enable_grad
from autojit.torch.engine.tensor import Tensor

from .functional import pushed


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


_levels: list[list[tuple[Tensor, Tensor]]] = []


class dual_level:
    """A context in which tensors may have tangents."""

    def __enter__(self) -> int:
        _levels.append([])
        return len(_levels) - 1

    def __exit__(self, *error: object) -> None:
        _levels.pop()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: Any = None) -> Tensor:
    """A tensor with a tangent."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if kind_of(given._data.dtype) not in "fc":
            raise ValueError(
                f"Expected {what} to be floating point or complex, but got: {given.dtype!r}. "
                f"Convert it: {what}.to(torch.float32)"
            )
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    with enable_grad():
        dual = tensor * 1 if tensor.requires_grad else tensor.detach().requires_grad_()
    _levels[-1].append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: Any = None) -> UnpackedDualTensor:
    """A tensor and its tangent; the tangent is None if the tensor depends on no dual tensor."""
    if not _levels or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    duals = _levels[-1]
    for dual, tangent in duals:
        if dual is tensor:
            return UnpackedDualTensor(tensor.detach(), tangent)
    (made,) = pushed((tensor,), [d for d, _ in duals], [t for _, t in duals], False)
    return UnpackedDualTensor(tensor.detach(), made)
