"""L-BFGS over all parameters together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit import optim
from autojit.ir.core.halves import in_dtype as as_dtype
from autojit.torch.engine.modes import enable_grad
from autojit.torch.engine.recording import counter_of, wrap
from autojit.torch.engine.tensor import Tensor

from .optimizer import Optimizer

_NAMES = (
    "lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size",
    "line_search_fn",
)  # fmt: skip


class LBFGS(Optimizer):
    """Limited-memory quasi-Newton steps; ``step`` needs a closure that evaluates the loss.

    >>> from autojit import torch
    >>> x = torch.zeros(2, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(18., grad_fn=<SumBackward0>)
    >>> x
    tensor([3., 3.], requires_grad=True)
    """

    def __init__(self, params: Any, lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
                 history_size: int = 100, line_search_fn: str | None = None) -> None:  # fmt: skip
        given = (lr, max_iter, max_iter * 5 // 4 if max_eval is None else max_eval,
                 tolerance_grad, tolerance_change, history_size, line_search_fn)  # fmt: skip
        super().__init__(params, dict(zip(_NAMES, given, strict=True)))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to ``max_iter`` steps, and return the loss at the beginning."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        (group,) = self.param_groups
        params = group["params"]
        rule = optim.lbfgs(**{name: group[name] for name in _NAMES})
        losses: list[Any] = []

        def objective(arrays: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
            _put(params, arrays)
            with enable_grad():
                losses.append(closure())
            grads = [
                np.zeros_like(p._data) if p.grad is None else p.grad._data.copy() for p in params
            ]
            return float(losses[-1]), grads

        arrays = [p._data.copy() for p in params]
        kept = self.state[params[0]]
        state = {k: v._data if isinstance(v, Tensor) else v for k, v in kept.items()}
        made, state, _ = rule.step(objective, arrays, state or rule.init(arrays))
        _put(params, made)
        self.state[params[0]] = {
            k: wrap(v) if isinstance(v, np.ndarray) else v for k, v in state.items()
        }
        return losses[0]


def _put(params: list[Any], arrays: list[Any]) -> None:
    for p, array in zip(params, arrays, strict=True):
        p._data[...] = as_dtype(array, p._data.dtype)
        counter_of(p)[0] += 1
