"""The base class of learning-rate schedulers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Schedule = Callable[[Any], Any]


class LRScheduler:
    """The learning rates of all groups as functions of the number of steps."""

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
        """The rates that were last set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step, or to a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._put(self.get_lr())

    def _put(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)

    def state_dict(self) -> dict[str, Any]:
        """The attributes, except the optimiser and functions."""
        return {
            k: v for k, v in self.__dict__.items()
            if k not in ("optimizer", "_schedules", "_schedulers", "_plateau") and not callable(v)
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state that ``state_dict`` returned."""
        self.__dict__.update(state_dict)
        self._schedules = [self._schedule(lr, k) for k, lr in enumerate(self.base_lrs)]


def each_of(x: Any, optimizer: Any, name: str) -> list[Any]:
    """A list with a setting for each group, from one setting for all or a list."""
    count = len(optimizer.param_groups)
    listed = list(x) if isinstance(x, (list, tuple)) else [x] * count
    if len(listed) != count:
        raise ValueError(f"Expected {count} {name}, but got {len(listed)}")
    return listed
