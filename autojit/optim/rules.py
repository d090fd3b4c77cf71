"""Optimisers with PyTorch's formulas and defaults.

Each function takes settings and returns an :class:`Optimizer`. In all of them, ``lr`` is a number
or a schedule (a function of the number of previous updates, see ``autojit.optim.schedules``),
``weight_decay`` adds this multiple of the parameters to the gradients, and ``maximize`` ascends
instead of descending.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import checked
from autojit.protocols.lifting import dtype_of

from .optimizer import Optimizer, Rate, Slots, by_leaf, need
from .trees import cast


@checked
def sgd(
    lr: Rate = 1e-3, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0,
    nesterov: bool = False, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Gradient descent, with optional momentum.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        momentum: the share of the previous direction that is kept.
        dampening: the share of the gradient left out of the direction, except in the first step.
        nesterov: whether the step is the gradient plus ``momentum`` times the new direction.

    Sutskever and others, "On the importance of initialization and momentum in deep learning",
    2013, in PyTorch's form: the rate multiplies the direction, not the gradient.

    >>> opt = sgd(lr=0.5, momentum=0.9)
    >>> params, state = opt.update([np.array([1.0])], [np.array([1.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([0.5])]
    """
    need(momentum >= 0, f"momentum={momentum} is negative")
    need(
        not nesterov or (momentum > 0 and dampening == 0),
        "nesterov=True needs momentum > 0 and dampening=0",
    )

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, weight_decay, maximize)
        if momentum == 0:
            return p - lr * g, slots
        fresh = g
        if dampening != 0:
            fresh = np.where(step == 1, 1.0, 1.0 - dampening).astype(dtype_of(p)) * g
        direction = momentum * slots["momentum_buffer"] + fresh
        used = g + momentum * direction if nesterov else direction
        return p - lr * used, {"momentum_buffer": direction}

    return by_leaf(lr, {"momentum_buffer": 0.0} if momentum else {}, rule)


@checked
def adam(
    lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0.0, amsgrad: bool = False, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Adam: running means of gradients, divided by the root of running means of squared gradients.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        betas: the shares of the running means that are kept.
        eps: added to the root.
        amsgrad: whether to use the largest mean of squares so far.

    Kingma and Ba, "Adam: a method for stochastic optimization", 2014, algorithm 1; ``amsgrad``:
    Reddi and others, "On the convergence of Adam and beyond", 2018.

    >>> opt = adam(lr=0.1)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params[0].round(6)
    array([0.9])
    """
    return _adam(lr, betas, eps, (weight_decay, 0.0), amsgrad, maximize)


@checked
def adamw(
    lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 1e-2, amsgrad: bool = False, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Adam with weight decay outside of the running means.

    Settings are as for :func:`adam`. Each step first subtracts ``lr * weight_decay`` times the
    parameters.

    Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.

    >>> opt = adamw(lr=0.1, weight_decay=0.5)
    >>> params, state = opt.update([np.array([1.0])], [np.array([0.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([0.95])]
    """
    return _adam(lr, betas, eps, (0.0, weight_decay), amsgrad, maximize)


def _adam(
    lr: Rate, betas: tuple[float, float], eps: float, decays: tuple[float, float], amsgrad: bool,
    maximize: bool,
) -> Optimizer:  # fmt: skip
    """Adam with two ``decays``: one through the gradient, the other of the parameters directly."""
    (beta1, beta2), (coupled, decoupled) = betas, decays
    need(0 <= beta1 < 1 and 0 <= beta2 < 1, f"betas={betas} are not in [0, 1)")
    need(eps >= 0, f"eps={eps} is negative")

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, coupled, maximize)
        dtype = dtype_of(p)
        if decoupled != 0:
            p = p * (1.0 - lr * decoupled)
        mean = slots["exp_avg"] + (1.0 - beta1) * (g - slots["exp_avg"])
        squares = beta2 * slots["exp_avg_sq"] + (1.0 - beta2) * (g * g)
        made, used = {"exp_avg": mean, "exp_avg_sq": squares}, squares
        if amsgrad:
            used = made["max_exp_avg_sq"] = np.maximum(slots["max_exp_avg_sq"], squares)
        root = cast(np.sqrt(1.0 - beta2**step), dtype)
        rate = lr / cast(1.0 - beta1**step, dtype)
        return p - rate * (mean / (np.sqrt(used) / root + eps)), made

    slots = dict.fromkeys(("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ())), 0.0)
    return by_leaf(lr, slots, rule)


@checked
def rmsprop(
    lr: Rate = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
    momentum: float = 0.0, centered: bool = False, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Gradients divided by the root of the running mean of their squares.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        alpha: the share of the running means that is kept.
        eps: added to the root.
        momentum: the share of the previous direction that is kept.
        centered: whether to subtract the square of the gradients' running mean.

    Tieleman and Hinton, "Neural networks for machine learning", lecture 6.5, 2012; ``centered``:
    Graves, "Generating sequences with recurrent neural networks", 2013.

    >>> opt = rmsprop(lr=0.1, alpha=0.75)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params[0].round(6)
    array([0.8])
    """
    need(eps >= 0, f"eps={eps} is negative")
    need(alpha >= 0, f"alpha={alpha} is negative")
    need(momentum >= 0, f"momentum={momentum} is negative")

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, weight_decay, maximize)
        made = {"square_avg": alpha * slots["square_avg"] + (1.0 - alpha) * (g * g)}
        variance = made["square_avg"]
        if centered:
            mean = made["grad_avg"] = slots["grad_avg"] + (1.0 - alpha) * (g - slots["grad_avg"])
            variance = variance - mean * mean
        direction = g / (np.sqrt(variance) + eps)
        if momentum > 0:
            direction = made["momentum_buffer"] = momentum * slots["momentum_buffer"] + direction
        return p - lr * direction, made

    names = ["square_avg", *["grad_avg"] * centered, *["momentum_buffer"] * (momentum > 0)]
    return by_leaf(lr, dict.fromkeys(names, 0.0), rule)


@checked
def adagrad(
    lr: Rate = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0, eps: float = 1e-10, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Gradients divided by the root of the sum of their squares.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        lr_decay: update t uses the rate ``lr / (1 + (t - 1) * lr_decay)``.
        initial_accumulator_value: the initial sum.
        eps: added to the root.

    Duchi and others, "Adaptive subgradient methods for online learning and stochastic
    optimization", 2011.

    >>> opt = adagrad(lr=0.1)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params[0].round(6)
    array([0.9])
    """
    need(eps >= 0, f"eps={eps} is negative")
    need(lr_decay >= 0, f"lr_decay={lr_decay} is negative")
    need(initial_accumulator_value >= 0, "initial_accumulator_value is negative")

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, weight_decay, maximize)
        rate = lr / cast(1.0 + (step - 1) * lr_decay, dtype_of(p))
        total = slots["sum"] + g * g
        return p - rate * (g / (np.sqrt(total) + eps)), {"sum": total}

    return by_leaf(lr, {"sum": initial_accumulator_value}, rule)


def gradient_of(p: Any, g: Any, weight_decay: float, maximize: bool) -> Any:
    """The gradient that a rule descends, including weight decay."""
    g = -g if maximize else g
    return g + weight_decay * p if weight_decay != 0 else g
