"""Learning rates of optimisers' groups: the schedules of ``autojit.optim``, step by step.

A rate is a function of the number of steps so far, so that it does not depend on what else changed
the groups.

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
from collections.abc import Callable, Sequence
from typing import Any

from autojit import optim

Schedule = Callable[[Any], Any]


class LRScheduler:
    """The rates of all groups, by the number of steps."""

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer: Any = optimizer
        self.last_epoch: int = last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", float(group["lr"]))
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self._schedules = [self._schedule(lr, k) for k, lr in enumerate(self.base_lrs)]
        self.step()

    def _schedule(self, lr: float, k: int) -> Schedule:
        """The schedule of group k with a base rate."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        return [float(schedule(self.last_epoch)) for schedule in self._schedules]

    def get_last_lr(self) -> list[float]:
        """The rates that the groups were given last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on by one step, or to a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._put(self.get_lr())

    def _put(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimiser and functions."""
        return {
            k: v for k, v in self.__dict__.items()
            if k not in ("optimizer", "_schedules", "_schedulers", "_plateau") and not callable(v)
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.__dict__.update(state_dict)
        self._schedules = [self._schedule(lr, k) for k, lr in enumerate(self.base_lrs)]


_LRScheduler = LRScheduler


def _each(x: Any, optimizer: Any, name: str) -> list[Any]:
    count = len(optimizer.param_groups)
    listed = list(x) if isinstance(x, (list, tuple)) else [x] * count
    if len(listed) != count:
        raise ValueError(f"Expected {count} {name}, but got {len(listed)}")
    return listed


class LambdaLR(LRScheduler):
    """The base rate times a function of the step."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._factors = _each(lr_lambda, optimizer, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.lambda_lr(lr, self._factors[k])

    def state_dict(self) -> dict[str, Any]:
        return {k: v for k, v in super().state_dict().items() if k != "_factors"}


class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the step."""

    def _schedule(self, lr: float, k: int) -> Schedule:
        factor = self._factors[k]

        def schedule(step: int) -> float:
            rate = lr
            for n in range(1, step + 1):
                rate *= factor(n)
            return rate

        return schedule


class StepLR(LRScheduler):
    """Times gamma after every ``step_size`` steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.step_size: int = step_size
        self.gamma: float = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.step_lr(lr, self.step_size, self.gamma)


class MultiStepLR(LRScheduler):
    """Times gamma from each milestone on."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.milestones: list[int] = list(milestones)
        self.gamma: float = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.multi_step_lr(lr, self.milestones, self.gamma)


class ExponentialLR(LRScheduler):
    """Times gamma after every step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.exponential_lr(lr, self.gamma)


class ConstantLR(LRScheduler):
    """Times a factor in the first steps."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.factor: float = factor
        self.total_iters: int = total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.constant_lr(lr, self.factor, self.total_iters)


class LinearLR(LRScheduler):
    """Times a factor that goes from one number to another."""

    def __init__(self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:  # fmt: skip
        self.start_factor: float = start_factor
        self.end_factor: float = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.linear_lr(lr, self.start_factor, self.end_factor, self.total_iters)


class PolynomialLR(LRScheduler):
    """Down to 0 along a power."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.total_iters: int = total_iters
        self.power: float = power
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.polynomial_lr(lr, self.total_iters, self.power)


class CosineAnnealingLR(LRScheduler):
    """Along half a period of a cosine, and back."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.T_max: int = T_max
        self.eta_min: float = eta_min
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.cosine_annealing(lr, self.T_max, self.eta_min)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Along half periods of a cosine, one after the other."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.T_0 = T_0
        self.T_mult: int = T_mult
        self.eta_min: float = eta_min
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.cosine_warm_restarts(lr, self.T_0, self.T_mult, self.eta_min)


class OneCycleLR(LRScheduler):
    """Up to the highest rate, and down to far less than the first; momentum stays as it is."""

    def __init__(self, optimizer: Any, max_lr: Any, total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None,
                 pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: float = 0.85,
                 max_momentum: float = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if cycle_momentum:
            raise NotImplementedError(
                "OneCycleLR: a momentum that changes is not covered; pass cycle_momentum=False"
            )
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "You must define either total_steps OR (epochs AND steps_per_epoch)"
                )
            total_steps = epochs * steps_per_epoch
        self.total_steps: int = total_steps
        self._most = _each(max_lr, optimizer, "max_lr")
        self._shape = (pct_start, "linear" if anneal_strategy == "linear" else "cos", div_factor,
                       final_div_factor, three_phase)  # fmt: skip
        for group, most in zip(optimizer.param_groups, self._most, strict=True):
            group.update(
                initial_lr=most / div_factor, max_lr=most,
                min_lr=most / div_factor / final_div_factor,
            )  # fmt: skip
        super().__init__(optimizer, last_epoch)

    def _schedule(self, lr: float, k: int) -> Schedule:
        return optim.one_cycle(self._most[k], self.total_steps, *self._shape)

    def step(self, epoch: int | None = None) -> None:
        following = self.last_epoch + 1 if epoch is None else epoch
        if following > self.total_steps:
            raise ValueError(
                f"Tried to step {following} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        super().step(epoch)


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
                    f"ChainedScheduler: {type(s).__name__} is no factor of the rate, and not "
                    "covered. SequentialLR takes it"
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
    """A rate that goes down when a measure no longer improves."""

    def __init__(self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: Any = 0, eps: float = 1e-8) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.optimizer: Any = optimizer
        self.last_epoch: int = 0
        lows = _each(min_lr, optimizer, "min_lrs")
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
        """Take a measure into account."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for state, group in zip(self._states, self.optimizer.param_groups, strict=True):
            state["lr"] = type(state["lr"])(group["lr"])
        self._states = [
            p.update(float(metrics), s) for p, s in zip(self._plateau, self._states, strict=True)
        ]
        self._put([float(s["lr"]) for s in self._states])

    @property
    def num_bad_epochs(self) -> int:
        """For how many steps there was no improvement."""
        return int(self._states[0]["bad"])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
