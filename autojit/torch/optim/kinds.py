"""PyTorch's optimisers: settings for the optimisers of ``autojit.optim``."""

from __future__ import annotations

from typing import Any

from autojit import optim

from .optimizer import Group, Optimizer


class SGD(Optimizer):
    """Gradient descent, with momentum.

    >>> from autojit import torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.5)
    >>> (x**2).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.], requires_grad=True)
    """

    names: tuple[str, ...] = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
    counts = False

    def __init__(self, params: Any, lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: Any = None, differentiable: bool = False,
                 fused: Any = None) -> None:  # fmt: skip
        plain(differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
            nesterov=nesterov, maximize=maximize, foreach=foreach, differentiable=differentiable,
            fused=fused,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        not_negative(momentum=group["momentum"], weight_decay=group["weight_decay"])

    def _made(self, group: Group) -> Any:
        return optim.sgd(**{name: group[name] for name in self.names})


class Adam(Optimizer):
    """Adam: running means of gradients divided by the root of the running means of squares."""

    names: tuple[str, ...] = ("betas", "eps", "weight_decay", "amsgrad", "maximize")
    _pure = staticmethod(optim.adam)

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
                 foreach: Any = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: Any = None,
                 decoupled_weight_decay: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        not_negative(epsilon=group["eps"])
        for k, beta in enumerate(group["betas"]):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
        not_negative(weight_decay=group["weight_decay"])

    def _steps_of(self, group: Group) -> Any:
        group["betas"] = tuple(group["betas"])
        return super()._steps_of(group)

    def _made(self, group: Group) -> Any:
        pure = optim.adamw if group["decoupled_weight_decay"] else optim.adam
        return pure(**{name: group[name] for name in Adam.names})


class AdamW(Adam):
    """Adam with weight decay that does not enter the running means."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False,
                 **more: Any) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, decoupled_weight_decay=True, **more
        )


class RMSprop(Optimizer):
    """Gradients divided by the root of the running mean of their squares."""

    names: tuple[str, ...] = ("alpha", "eps", "weight_decay", "momentum", "centered", "maximize")

    def __init__(self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, *,
                 capturable: bool = False, foreach: Any = None, maximize: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
            weight_decay=weight_decay, capturable=capturable, foreach=foreach, maximize=maximize,
            differentiable=differentiable,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        not_negative(
            epsilon=group["eps"], **{n: group[n] for n in ("alpha", "momentum", "weight_decay")}
        )

    def _made(self, group: Group) -> Any:
        return optim.rmsprop(**{name: group[name] for name in self.names})


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares."""

    names: tuple[str, ...] = (
        "lr_decay",
        "weight_decay",
        "initial_accumulator_value",
        "eps",
        "maximize",
    )

    def __init__(self, params: Any, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: Any = None, *,
                 maximize: bool = False, differentiable: bool = False,
                 fused: Any = None) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach,
            maximize=maximize, differentiable=differentiable, fused=fused,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        names = "lr_decay", "weight_decay", "initial_accumulator_value"
        not_negative(epsilon=group["eps"], **{n: group[n] for n in names})

    def _made(self, group: Group) -> Any:
        return optim.adagrad(**{name: group[name] for name in self.names})


def plain(differentiable: bool) -> None:
    """Raise if ``differentiable`` is set: updates are not recorded."""
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not covered. The updates of autojit.optim are pure functions, "
            "which can be differentiated:\n"
            "    params, state = autojit.optim.sgd(lr).update(params, grads, state)"
        )


def not_negative(**given: float) -> None:
    """Raise if a setting is negative or NaN."""
    for name, value in given.items():
        if not value >= 0:  # also true for NaN
            raise ValueError(f"Invalid {name} value: {value}")
