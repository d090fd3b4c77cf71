"""Cyclic learning rates, with a momentum that goes the opposite way."""

from __future__ import annotations

from typing import Any

from autojit import optim

from .scheduling import LRScheduler, Schedule, each_of


class _Cycles(LRScheduler):
    """A schedule with a momentum that goes the opposite way: a group's momentum or first beta."""

    _momenta: list[Schedule] | None = None

    def _check_momentum(self, optimizer: Any) -> None:
        if not ("momentum" in optimizer.defaults or "betas" in optimizer.defaults):
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )

    def step(self, epoch: int | None = None) -> None:
        super().step(epoch)
        for group, momentum in zip(self.optimizer.param_groups, self._momenta or (), strict=False):
            value = float(momentum(self.last_epoch))
            if "betas" in group:
                group["betas"] = (value, *group["betas"][1:])
            else:
                group["momentum"] = value

    def state_dict(self) -> dict[str, Any]:
        return {k: v for k, v in super().state_dict().items() if k != "_momenta"}


class OneCycleLR(_Cycles):
    """A rate that rises to a maximum and falls far below its initial value; momentum falls and
    rises.

    >>> from autojit import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(scheduler.get_last_lr()[0], 6), optimizer.param_groups[0]["momentum"]
    (0.04, 0.95)
    """

    def __init__(self, optimizer: Any, max_lr: Any, total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None,
                 pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: float = 0.85,
                 max_momentum: float = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "You must define either total_steps OR (epochs AND steps_per_epoch)"
                )
            total_steps = epochs * steps_per_epoch
        self.total_steps: int = total_steps
        self._most = each_of(max_lr, optimizer, "max_lr")
        strategy = "linear" if anneal_strategy == "linear" else "cos"
        self._shape = (pct_start, strategy, div_factor, final_div_factor, three_phase)
        if cycle_momentum:
            self._check_momentum(optimizer)
            groups = len(optimizer.param_groups)
            low, high = (
                each_of(m, optimizer, name)
                for m, name in ((base_momentum, "base_momentum"), (max_momentum, "max_momentum"))
            )
            # From the highest momentum to the lowest and back: an inverted cycle.
            self._momenta = [
                optim.one_cycle(low[k], total_steps, pct_start, strategy, low[k] / high[k], 1.0,
                                three_phase)
                for k in range(groups)
            ]  # fmt: skip
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


class CyclicLR(_Cycles):
    """A rate that cycles between two bounds, while momentum goes the opposite way.

    Smith, "Cyclical learning rates for training neural networks", 2017.

    >>> from autojit import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, 2, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer: Any, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Any = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:  # fmt: skip
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self._up: int = step_size_up
        self._whole: int = step_size_up + (
            step_size_up if step_size_down is None else step_size_down
        )
        self._most = each_of(max_lr, optimizer, "max_lr")
        self._mode, self._gamma, self._scale = mode, gamma, scale_fn
        self._by_step = scale_mode == "iterations" if scale_fn else mode == "exp_range"
        bases = each_of(base_lr, optimizer, "base_lr")
        for group, base in zip(optimizer.param_groups, bases, strict=True):
            group.update(lr=base, initial_lr=base)
        if cycle_momentum:
            self._check_momentum(optimizer)
            low, high = (
                each_of(m, optimizer, name)
                for m, name in ((base_momentum, "base_momentum"), (max_momentum, "max_momentum"))
            )
            self._momenta = [
                lambda step, a=a, b=b: b - (b - a) * self._share(step)  # type: ignore[misc]
                for a, b in zip(low, high, strict=True)
            ]
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """The share of the upper rate at a step, from 0 to 1, times the height of its cycle."""
        cycle, place = divmod(step, self._whole)
        up = place / self._up if place <= self._up else (
            (self._whole - place) / (self._whole - self._up)
        )  # fmt: skip
        return up * float(self._height(step if self._by_step else cycle + 1))

    def _height(self, x: int) -> Any:
        if self._scale is not None:
            return self._scale(x)
        if self._mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self._gamma**x if self._mode == "exp_range" else 1.0

    def _schedule(self, lr: float, k: int) -> Schedule:
        return lambda step: lr + (self._most[k] - lr) * self._share(step)
