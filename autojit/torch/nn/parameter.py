"""Tensors that belong to modules."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.recording import counter_of, wrap
from autojit.torch.engine.tensor import Tensor


class Parameter(Tensor):
    """A tensor that its module lists among its parameters.

    Args:
        data: a tensor whose memory it shares; None for an empty tensor.
        requires_grad: whether operations on it are recorded.

    >>> from autojit import torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        return object.__new__(cls)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        given = Tensor() if data is None else data
        fresh = wrap(given._data)
        for name in ("_data", "_edge", "grad", "_base", "_accumulate_ref", "_hooks"):
            setattr(self, name, getattr(fresh, name))
        self._counter, self._needs = counter_of(given), False
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Parameter, (self.detach(), self._needs)


class Buffer(Tensor):
    """A tensor that its module lists among its buffers.

    Args:
        data: a tensor whose memory it shares.
        persistent: whether it is part of the module's state.
    """

    __slots__ = ("persistent",)

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        return object.__new__(cls)

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        given = Tensor() if data is None else data
        fresh = wrap(given._data)
        for name in ("_data", "_edge", "grad", "_base", "_accumulate_ref", "_hooks", "_needs"):
            setattr(self, name, getattr(fresh, name))
        self._counter = counter_of(given)
        self.persistent: bool = persistent
