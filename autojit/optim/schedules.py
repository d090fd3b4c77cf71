"""Learning rates as pure functions of the number of previous updates, which counts from 0.

The formulas are those of ``torch.optim.lr_scheduler``. A schedule takes the place of a rate:

>>> from autojit import optim
>>> opt = optim.sgd(lr=optim.cosine_annealing(0.1, t_max=100))

Schedules work on Python numbers, arrays of steps, and traced values:

>>> optim.step_lr(1.0, 2, 0.5)(np.arange(5))
array([1.  , 1.  , 0.5 , 0.5 , 0.25])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.arguments import checked

from .optimizer import Rate, need, rate_at

Schedule = Callable[[Any], Any]


@checked
def lambda_lr(lr: float, factor: Schedule) -> Schedule:
    """``lr * factor(step)``.

    >>> lambda_lr(0.5, lambda step: 1 / (1 + step))(1)
    0.25
    """
    return lambda step: lr * rate_at(factor, step)


@checked
def step_lr(lr: float, step_size: int, gamma: float = 0.1) -> Schedule:
    """``lr``, multiplied by gamma after every ``step_size`` steps.

    >>> float(step_lr(1.0, 10)(25).round(6))
    0.01
    """
    need(step_size >= 1, f"step_size={step_size} is less than 1")
    return lambda step: lr * gamma ** np.floor_divide(step, step_size)


@checked
def multi_step_lr(lr: float, milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """``lr``, multiplied by gamma at each milestone.

    >>> multi_step_lr(1.0, [2, 3])(np.arange(5)).round(6)
    array([1.  , 1.  , 0.1 , 0.01, 0.01])
    """
    return lambda step: lr * gamma ** sum(np.greater_equal(step, m).astype(int) for m in milestones)


@checked
def exponential_lr(lr: float, gamma: float) -> Schedule:
    """``lr * gamma**step``.

    >>> float(exponential_lr(1.0, 0.5)(3))
    0.125
    """
    return lambda step: lr * np.power(gamma, step)


@checked
def constant_lr(lr: float, factor: float = 1 / 3, total_iters: int = 5) -> Schedule:
    """``lr * factor`` for ``total_iters`` steps, then ``lr``.

    >>> constant_lr(1.0, 0.5, 2)(np.arange(4))
    array([0.5, 0.5, 1. , 1. ])
    """
    return lambda step: lr * np.where(np.less(step, total_iters), factor, 1.0)


@checked
def linear_lr(
    lr: float, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
) -> Schedule:
    """``lr`` times a factor that changes linearly from one number to another in ``total_iters``
    steps.

    >>> linear_lr(1.0, 0.5, 1.0, 2)(np.arange(4))
    array([0.5 , 0.75, 1.  , 1.  ])
    """
    need(total_iters >= 1, f"total_iters={total_iters} is less than 1")

    def schedule(step: Any) -> Any:
        share = np.minimum(step, total_iters) / total_iters
        return lr * (start_factor + (end_factor - start_factor) * share)

    return schedule


@checked
def polynomial_lr(lr: float, total_iters: int = 5, power: float = 1.0) -> Schedule:
    """``lr * (1 - step / total_iters)**power``, then 0.

    >>> polynomial_lr(1.0, 2)(np.arange(4))
    array([1. , 0.5, 0. , 0. ])
    """
    return lambda step: lr * (1.0 - np.minimum(step, total_iters) / total_iters) ** power


@checked
def cosine_annealing(lr: float, t_max: int, eta_min: float = 0.0) -> Schedule:
    """From ``lr`` to ``eta_min`` along half a period of a cosine, in ``t_max`` steps, and back.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, equation 5.

    >>> cosine_annealing(1.0, 2)(np.arange(4)).round(6)
    array([1. , 0.5, 0. , 0.5])
    """
    return lambda step: eta_min + (lr - eta_min) * (1.0 + np.cos(np.pi * step / t_max)) / 2.0


@checked
def cosine_warm_restarts(lr: float, t_0: int, t_mult: int = 1, eta_min: float = 0.0) -> Schedule:
    """Half periods of a cosine from ``lr`` to ``eta_min``, in sequence.

    Args:
        lr, eta_min: the start and the end of each.
        t_0: the length of the first.
        t_mult: an integer; each is this many times as long as the one before.

    Loshchilov and Hutter, 2017, as for :func:`cosine_annealing`.

    >>> cosine_warm_restarts(1.0, 1, 2)(np.arange(4)).round(6)
    array([1. , 1. , 0.5, 1. ])
    """
    need(t_0 >= 1 and t_mult >= 1, f"t_0={t_0} and t_mult={t_mult} must be at least 1")

    def schedule(step: Any) -> Any:
        if t_mult == 1:
            return annealed(np.remainder(step, t_0) / t_0)
        periods = math.ceil(math.log(2**53 / t_0, t_mult))
        lengths = t_0 * float(t_mult) ** np.arange(periods)
        over = np.expand_dims(step, -1) >= np.cumsum(lengths)[:-1]  # the periods that have ended
        start = np.sum(np.where(over, lengths[:-1], 0.0), axis=-1)
        length = t_0 + np.sum(np.where(over, np.diff(lengths), 0.0), axis=-1)
        return annealed((step - start) / length)

    def annealed(share: Any) -> Any:
        return eta_min + (lr - eta_min) * (1.0 + np.cos(np.pi * share)) / 2.0

    return schedule


@checked
def one_cycle(
    max_lr: float, total_steps: int, pct_start: float = 0.3, anneal_strategy: str = "cos",
    div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
) -> Schedule:  # fmt: skip
    """A rise from ``max_lr / div_factor`` to ``max_lr``, and a fall far below the initial rate.

    Args:
        max_lr: the highest rate.
        total_steps: the number of steps after which the rate reaches its final value, and stays.
        pct_start: the share of the steps in which the rate rises.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        div_factor: the ratio of the highest to the initial rate.
        final_div_factor: the ratio of the initial to the final rate.
        three_phase: whether the rate falls to the initial rate in as many steps as it rose, then
        on.

    Smith and Topin, "Super-convergence", 2017, in PyTorch's version.

    >>> rates = one_cycle(1.0, 10)(np.arange(10))
    >>> rates.argmax(), rates[0].round(6)
    (np.int64(2), np.float64(0.04))
    """
    need(
        anneal_strategy in ("cos", "linear"),
        f"anneal_strategy={anneal_strategy!r} is not 'cos' or 'linear'",
    )
    first = max_lr / div_factor
    last = first / final_div_factor
    top = pct_start * total_steps - 1.0
    if three_phase:
        ends, rates = [top, 2.0 * top, total_steps - 1.0], [first, max_lr, first, last]
    else:
        ends, rates = [top, total_steps - 1.0], [first, max_lr, last]

    def schedule(step: Any) -> Any:
        made, begin = None, 0.0
        for end, a, b in zip(ends, rates, rates[1:], strict=False):
            share = np.clip((step - begin) / (end - begin), 0.0, 1.0)
            rest = (1.0 + np.cos(np.pi * share)) / 2.0 if anneal_strategy == "cos" else 1.0 - share
            rate = b + (a - b) * rest
            made = rate if made is None else np.where(np.greater(step, begin), rate, made)
            begin = end
        return made

    return schedule


@checked
def warmup(lr: Rate, steps: int) -> Schedule:
    """A rate or a schedule, times ``(step + 1) / steps`` in the first steps.

    >>> warmup(1.0, 4)(np.arange(5))
    array([0.25, 0.5 , 0.75, 1.  , 1.  ])
    """
    need(steps >= 1, f"steps={steps} is less than 1")

    def schedule(step: Any) -> Any:
        return rate_at(lr, step) * np.minimum((step + 1) / steps, 1.0)

    return schedule
