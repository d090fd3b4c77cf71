"""Learning-rate schedulers for optimisers' groups, by the schedules of ``autojit.optim``.

A rate is a function of the number of steps so far, so it does not depend on other changes of the
groups.

>>> from autojit import torch
>>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for epoch in range(4):
...     optimizer.step()
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.25]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from autojit import optim

from .cycles import CyclicLR, OneCycleLR
from .scheduling import LRScheduler, Schedule, each_of

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    """The base rate times a function of the step."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._factors = each_of(lr_lambda, optimizer, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.lambda_lr(lr, self._factors[k])

    def state_dict(self) -> dict[str, Any]:
        return {k: v for k, v in super().state_dict().items() if k != "_factors"}


class MultiplicativeLR(LambdaLR):
    """The previous rate times a function of the step."""

    def _schedule(self, lr: float, k: int) -> Schedule:
        factor = self._factors[k]

        def schedule(step: int) -> float:
            rate = lr
            for n in range(1, step + 1):
                rate *= factor(n)
            return rate

        return schedule


class StepLR(LRScheduler):
    """The rate is multiplied by gamma after every ``step_size`` steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.step_size: int = step_size
        self.gamma: float = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.step_lr(lr, self.step_size, self.gamma)


class MultiStepLR(LRScheduler):
    """The rate is multiplied by gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.milestones: list[int] = list(milestones)
        self.gamma: float = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.multi_step_lr(lr, self.milestones, self.gamma)


class ExponentialLR(LRScheduler):
    """The rate is multiplied by gamma after every step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.exponential_lr(lr, self.gamma)


class ConstantLR(LRScheduler):
    """The rate is multiplied by a factor in the first steps."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.factor: float = factor
        self.total_iters: int = total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.constant_lr(lr, self.factor, self.total_iters)


class LinearLR(LRScheduler):
    """The rate is multiplied by a factor that changes linearly from one number to another."""

    def __init__(self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:  # fmt: skip
        self.start_factor: float = start_factor
        self.end_factor: float = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.linear_lr(lr, self.start_factor, self.end_factor, self.total_iters)


class PolynomialLR(LRScheduler):
    """The rate falls to 0 along a power of the step."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.total_iters: int = total_iters
        self.power: float = power
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.polynomial_lr(lr, self.total_iters, self.power)


class CosineAnnealingLR(LRScheduler):
    """The rate follows half a period of a cosine, and back."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.T_max: int = T_max
        self.eta_min: float = eta_min
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.cosine_annealing(lr, self.T_max, self.eta_min)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate follows half a period of a cosine, and restarts after each."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.T_0 = T_0
        self.T_mult: int = T_mult
        self.eta_min: float = eta_min
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.cosine_warm_restarts(lr, self.T_0, self.T_mult, self.eta_min)


class SequentialLR(LRScheduler):
    """One scheduler after the other."""

    def __init__(self, optimizer: Any, schedulers: Sequence[Any], milestones: Sequence[int],
                 last_epoch: int = -1) -> None:  # fmt: skip
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        def schedule(step: int) -> Any:
            which = bisect_right(self._milestones, step)
            start = self._milestones[which - 1] if which else 0
            return self._schedulers[which]._schedules[k](step - start)

        return schedule


class ChainedScheduler(LRScheduler):
    """Several schedulers, whose factors are multiplied."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Any = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained")
        for s in schedulers:
            if not isinstance(s, (LambdaLR, StepLR, MultiStepLR, ExponentialLR, ConstantLR,
                                  LinearLR, PolynomialLR)):  # fmt: skip
                raise NotImplementedError(
                    f"ChainedScheduler does not cover {type(s).__name__}, which does not "
                    "multiply the rate by a factor. Use SequentialLR"
                )
        self._schedulers = list(schedulers)
        super().__init__(optimizer or schedulers[0].optimizer)

    def _schedule(self, lr: float, k: int) -> Schedule:
        def schedule(step: int) -> Any:
            rate = lr
            for s in self._schedulers:
                rate = rate * (s._schedules[k](step) / lr) if lr else rate
            return rate

        return schedule


class ReduceLROnPlateau(LRScheduler):
    """A rate that is reduced when a metric no longer improves."""

    def __init__(self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: Any = 0, eps: float = 1e-8) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.optimizer: Any = optimizer
        self.last_epoch: int = 0
        lows = each_of(min_lr, optimizer, "min_lrs")
        self._plateau = [
            optim.reduce_on_plateau(
                float(group["lr"]), mode, factor, patience, threshold, threshold_mode, cooldown,
                low, eps,
            )
            for group, low in zip(optimizer.param_groups, lows, strict=True)
        ]  # fmt: skip
        self._states = [p.init() for p in self._plateau]
        self._last_lr = [float(group["lr"]) for group in optimizer.param_groups]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record a metric, and reduce the rate if it is due."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for state, group in zip(self._states, self.optimizer.param_groups, strict=True):
            state["lr"] = type(state["lr"])(group["lr"])
        self._states = [
            p.update(float(metrics), s) for p, s in zip(self._plateau, self._states, strict=True)
        ]
        self._put([float(s["lr"]) for s in self._states])

    @property
    def num_bad_epochs(self) -> int:
        """The number of steps without an improvement."""
        return int(self._states[0]["bad"])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
