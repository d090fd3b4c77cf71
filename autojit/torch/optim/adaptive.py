"""Optimisers that adapt the step size of each number, built on ``autojit.optim.adaptive``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit import optim

from .kinds import not_negative, plain
from .optimizer import Group, Optimizer


class _Adaptive(Optimizer):
    _pure: Callable[..., Any]

    def _made(self, group: Group) -> Any:
        return type(self)._pure(**{name: group[name] for name in self.names})


class Adadelta(_Adaptive):
    """Gradients times the root mean square of the steps, divided by that of the gradients."""

    names = ("rho", "eps", "weight_decay", "maximize")
    _pure = staticmethod(optim.adadelta)

    def __init__(self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: Any = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
            capturable=capturable, foreach=foreach, differentiable=differentiable,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        if not 0.0 <= group["rho"] <= 1.0:
            raise ValueError(f"Invalid rho value: {group['rho']}")
        not_negative(epsilon=group["eps"], weight_decay=group["weight_decay"])


class _WithBetas(_Adaptive):
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


class Adamax(_WithBetas):
    """Adam with a decaying maximum of the absolute gradients instead of the root mean square."""

    names = ("betas", "eps", "weight_decay", "maximize")
    _pure = staticmethod(optim.adamax)

    def __init__(self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: Any = None, *,
                 maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip


class NAdam(_WithBetas):
    """Adam with Nesterov's momentum."""

    names = (
        "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize",
    )  # fmt: skip
    _pure = staticmethod(optim.nadam)

    def __init__(self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: Any = None,
                 maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        not_negative(momentum_decay=group["momentum_decay"])


class RAdam(_WithBetas):
    """Adam without division by the root until the variance of the step size is small enough."""

    names = ("betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")
    _pure = staticmethod(optim.radam)

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False,
                 *, foreach: Any = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
            foreach=foreach, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable,
        ))  # fmt: skip


class ASGD(_Adaptive):
    """Gradient descent that averages the parameters of its steps."""

    names = ("lambd", "alpha", "t0", "weight_decay", "maximize")
    _pure = staticmethod(optim.asgd)

    def __init__(self, params: Any, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: Any = None,
                 maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        not_negative(weight_decay=group["weight_decay"])


class Rprop(_Adaptive):
    """Steps along the signs of the gradients, which grow until a sign changes."""

    names = ("etas", "step_sizes", "maximize")
    _pure = staticmethod(optim.rprop)

    def __init__(self, params: Any, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: Any = None, maximize: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        plain(differentiable)
        super().__init__(params, dict(
            lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        ))  # fmt: skip

    def _check(self, group: Group) -> None:
        super()._check(group)
        less, more = group["etas"]
        if not 0.0 < less < 1.0 < more:
            raise ValueError(f"Invalid eta values: {less}, {more}")
