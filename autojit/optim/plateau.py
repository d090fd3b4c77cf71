"""A learning rate that is reduced when a metric no longer improves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.arguments import checked

from .optimizer import need


class Plateau(NamedTuple):
    """Two functions, ``init()`` and ``update(metric, state)``, that return a state.

    The state's ``"lr"`` is the rate.
    """

    init: Callable[[], dict[str, Any]]
    update: Callable[[Any, dict[str, Any]], dict[str, Any]]


@checked
def reduce_on_plateau(
    lr: float, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
    threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0.0, eps: float = 1e-8,
) -> Plateau:  # fmt: skip
    """PyTorch's ``ReduceLROnPlateau`` as two pure functions.

    Args:
        lr: the initial rate.
        mode: ``"min"`` if less is better, else ``"max"``.
        factor: the rate is multiplied by it after more than ``patience`` updates without an
            improvement.
        patience: see ``factor``.
        threshold: an improvement must exceed this share of the best metric, or with
            ``threshold_mode="abs"`` this number.
        threshold_mode: ``"rel"`` or ``"abs"``.
        cooldown: the number of updates after a reduction that do not count.
        min_lr: the lowest rate.
        eps: a reduction by less is not made.

    >>> from autojit import optim
    >>> plateau = optim.reduce_on_plateau(1.0, factor=0.5, patience=1)
    >>> state = plateau.init()
    >>> for metric in (3.0, 2.0, 2.0, 2.0):
    ...     state = plateau.update(metric, state)
    >>> float(state["lr"])                       # opt.update(params, grads, s, lr=state["lr"])
    0.5
    """
    need(mode in ("min", "max"), f"mode={mode!r} is not 'min' or 'max'")
    need(threshold_mode in ("rel", "abs"), f"threshold_mode={threshold_mode!r}: 'rel' or 'abs'")
    need(factor < 1, f"factor={factor} is not less than 1")
    sign = 1.0 if mode == "min" else -1.0

    def init() -> dict[str, Any]:
        return {
            "lr": np.float64(lr), "best": np.float64(sign * np.inf),
            "bad": np.int64(0), "cooldown": np.int64(0),
        }  # fmt: skip

    def update(metric: Any, state: dict[str, Any]) -> dict[str, Any]:
        best = state["best"]
        bound = best * (1.0 - sign * threshold) if threshold_mode == "rel" else (
            best - sign * threshold
        )  # fmt: skip
        better = sign * metric < sign * bound
        cooling = state["cooldown"] > 0
        bad = np.where(better | cooling, 0, state["bad"] + 1)
        rest = np.where(cooling, state["cooldown"] - 1, 0)
        tired = bad > patience
        lower = np.maximum(state["lr"] * factor, min_lr)
        return {
            "lr": np.where(tired & (state["lr"] - lower > eps), lower, state["lr"])[()],
            "best": np.where(better, metric, best)[()],
            "bad": np.where(tired, 0, bad)[()],
            "cooldown": np.where(tired, cooldown, rest)[()],
        }

    return Plateau(init, update)
