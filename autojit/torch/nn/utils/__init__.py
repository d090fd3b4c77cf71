"""``torch.nn.utils``: gradient clipping, and parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autojit import nn
from autojit.ir.core.halves import in_dtype as as_dtype
from autojit.torch.engine.recording import counter_of, wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.engine.widening import wide
from autojit.torch.functions.shaping import FUNCTIONS

from . import parametrizations as parametrizations
from . import parametrize as parametrize
from . import rnn as rnn
from .hooked import remove_weight_norm as remove_weight_norm
from .hooked import weight_norm as weight_norm


def _gradients(parameters: Any) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in listed if p.grad is not None]


def _replace(tensors: list[Tensor], arrays: Iterable[Any]) -> None:
    for t, new in zip(tensors, arrays, strict=True):
        t._data[...] = as_dtype(new, t._data.dtype)
        counter_of(t)[0] += 1


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: Any = None) -> Tensor:  # fmt: skip
    """Scale gradients down to a norm of at most ``max_norm``, and return their former norm."""
    grads = _gradients(parameters)
    max_norm, norm_type = float(max_norm), float(norm_type)
    if not grads:
        made: Tensor = wrap(np.zeros((), np.float32))
        return made
    arrays = [wide(g._data) for g in grads]
    clipped: Any = None
    if norm_type == 2.0:
        clipped, norm = nn.clip_by_global_norm(arrays, max_norm)
    else:
        norm = _norm(arrays, norm_type)
        factor = np.minimum(max_norm / (norm + 1e-6), 1.0)
        clipped = [a * factor.astype(a.dtype) for a in arrays]
    if error_if_nonfinite and not np.isfinite(norm):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    _replace(grads, clipped)
    whole: Tensor = wrap(np.asarray(norm))
    return whole


def _norm(arrays: list[Any], p: float) -> Any:
    parts = [np.linalg.norm(a.ravel(), p) for a in arrays]
    return np.asarray(np.linalg.norm(parts, p), arrays[0].dtype)


def get_total_norm(tensors: Any, norm_type: float = 2.0) -> Tensor:
    """The norm of all numbers of the tensors together."""
    made: Tensor = wrap(_norm([wide(t._data) for t in tensors], float(norm_type)))
    return made


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Clip all gradients to ``-clip_value`` and ``clip_value``."""
    grads = _gradients(parameters)
    _replace(grads, nn.clip_by_value([g._data for g in grads], float(clip_value)))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of parameters as one vector."""
    made: Tensor = FUNCTIONS["cat"]([p.reshape(-1) for p in parameters])
    return made


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the numbers of a vector into parameters."""
    start = 0
    for p in parameters:
        end = start + p.numel()
        p.data = vec[start:end].reshape(*p.shape).detach()
        start = end
