"""Optimisers with a step size for each number, with PyTorch's formulas and defaults.

``lr``, ``weight_decay`` and ``maximize`` are as for all optimisers (``autojit.optim.rules``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import checked
from autojit.protocols.lifting import dtype_of

from .optimizer import Number, Optimizer, Rate, Slots, by_leaf, need
from .rules import gradient_of
from .trees import cast


@checked
def adadelta(
    lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0,
    maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Gradients times the root mean square of the steps, divided by that of the gradients.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        rho: the share of the running means that is kept.
        eps: added under the roots.

    Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1.

    >>> opt = adadelta(eps=1.0)
    >>> params, state = opt.update([np.array([1.0])], [np.array([0.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([1.])]
    """
    need(0 <= rho <= 1, f"rho={rho} is not in [0, 1]")
    need(eps >= 0, f"eps={eps} is negative")

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, weight_decay, maximize)
        squares = rho * slots["square_avg"] + (1.0 - rho) * (g * g)
        delta = np.sqrt(slots["acc_delta"] + eps) / np.sqrt(squares + eps) * g
        steps = rho * slots["acc_delta"] + (1.0 - rho) * (delta * delta)
        return p - lr * delta, {"square_avg": squares, "acc_delta": steps}

    return by_leaf(lr, {"square_avg": 0.0, "acc_delta": 0.0}, rule)


@checked
def adamax(
    lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0.0, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Adam with a decaying maximum of the absolute gradients instead of the root mean square.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        betas: the shares that are kept of the running mean and of the maximum.
        eps: added to the absolute values of the gradients.

    Kingma and Ba, "Adam: a method for stochastic optimization", 2014, algorithm 2.

    >>> opt = adamax(lr=0.5)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params[0].round(6)
    array([0.5])
    """
    beta1, beta2 = _betas(betas, eps)

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g = gradient_of(p, g, weight_decay, maximize)
        mean = slots["exp_avg"] + (1.0 - beta1) * (g - slots["exp_avg"])
        largest = np.maximum(slots["exp_inf"] * beta2, np.abs(g) + eps)
        rate = lr / cast(1.0 - beta1**step, dtype_of(p))
        return p - rate * (mean / largest), {"exp_avg": mean, "exp_inf": largest}

    return by_leaf(lr, {"exp_avg": 0.0, "exp_inf": 0.0}, rule)


@checked
def nadam(
    lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0.0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False,
    maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Adam with Nesterov's momentum.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        betas: the shares of the running means that are kept.
        eps: added to the root.
        momentum_decay: how fast the momentum approaches its final value.
        decoupled_weight_decay: whether weight decay bypasses the running means, as in AdamW.

    Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    >>> opt = nadam(lr=0.1)
    >>> params, state = opt.update([np.array([1.0])], [np.array([0.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([1.])]
    """
    beta1, beta2 = _betas(betas, eps)
    need(momentum_decay >= 0, f"momentum_decay={momentum_decay} is negative")

    def momentum(step: Any, dtype: Any) -> Any:
        return cast(beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay)), dtype)

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        p, g = _decayed(p, g, lr, weight_decay, decoupled_weight_decay, maximize)
        dtype = dtype_of(p)
        now, following = momentum(step, dtype), momentum(step + 1, dtype)
        product = slots["mu_product"] * now
        mean = slots["exp_avg"] + (1.0 - beta1) * (g - slots["exp_avg"])
        squares = beta2 * slots["exp_avg_sq"] + (1.0 - beta2) * (g * g)
        root = np.sqrt(squares / cast(1.0 - beta2**step, dtype)) + eps
        p = p - lr * (1.0 - now) / (1.0 - product) * (g / root)
        p = p - lr * following / (1.0 - product * following) * (mean / root)
        return p, {"mu_product": product, "exp_avg": mean, "exp_avg_sq": squares}

    return by_leaf(lr, {"mu_product": Number(1.0), "exp_avg": 0.0, "exp_avg_sq": 0.0}, rule)


@checked
def radam(
    lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0.0, decoupled_weight_decay: bool = False, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Adam without division by the root until the variance of the step size is small enough.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        betas: the shares of the running means that are kept.
        eps: added to the root.
        decoupled_weight_decay: whether weight decay bypasses the running means, as in AdamW.

    Liu and others, "On the variance of the adaptive learning rate and beyond", 2019, algorithm 2.

    >>> opt = radam(lr=0.1)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params[0].round(6)
    array([0.5])
    """
    beta1, beta2 = _betas(betas, eps)
    last = 2.0 / (1.0 - beta2) - 1.0

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        p, g = _decayed(p, g, lr, weight_decay, decoupled_weight_decay, maximize)
        dtype = dtype_of(p)
        mean = slots["exp_avg"] + (1.0 - beta1) * (g - slots["exp_avg"])
        squares = beta2 * slots["exp_avg_sq"] + (1.0 - beta2) * (g * g)
        made = {"exp_avg": mean, "exp_avg_sq": squares}
        p_step = lr / cast(1.0 - beta1**step, dtype) * mean
        if last <= 5.0:  # the variance is never small enough
            return p - p_step, made
        share = 1.0 - beta2**step
        length = last - 2.0 * step * beta2**step / share
        is_sure = length > 5.0
        sure = np.where(is_sure, length, 6.0)  # keeps the root real
        above = (sure - 4.0) * (sure - 2.0) * last
        factor = np.sqrt(share * above / ((last - 4.0) * (last - 2.0) * sure))
        scale = np.where(is_sure, cast(factor, dtype) / (np.sqrt(squares) + eps), 1.0)
        return p - p_step * cast(scale, dtype), made

    return by_leaf(lr, {"exp_avg": 0.0, "exp_avg_sq": 0.0}, rule)


@checked
def asgd(
    lr: Rate = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
    weight_decay: float = 0.0, maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Gradient descent that also averages the parameters, in ``state["ax"]``.

    Args:
        lr, weight_decay, maximize: as for all optimisers.
        lambd: update t uses the rate ``lr / (1 + lambd * lr * (t - 1)) ** alpha``.
        alpha: the exponent of this formula.
        t0: the number of steps after which averaging begins.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.

    >>> opt = asgd(lr=0.5, lambd=0.0)
    >>> params, state = opt.update([np.array([1.0])], [np.array([1.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([0.5])]
    """

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g, dtype = gradient_of(p, g, weight_decay, maximize), dtype_of(p)
        is_first = step == 1
        eta = cast(np.where(is_first, lr, slots["eta"]), dtype)
        share = cast(np.where(is_first, 1.0, slots["mu"]), dtype)
        p = p * (1.0 - lambd * eta) - eta * g
        average = slots["ax"] + (p - slots["ax"]) * share
        average = np.where(share == 1.0, p, average)
        eta = cast(lr / (1.0 + lambd * lr * step) ** alpha, dtype)
        return p, {"eta": eta, "mu": cast(1.0 / np.maximum(1.0, step - t0), dtype), "ax": average}

    return by_leaf(lr, {"eta": Number(0.0), "mu": Number(1.0), "ax": 0.0}, rule)


@checked
def rprop(
    lr: Rate = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
    step_sizes: tuple[float, float] = (1e-6, 50.0), maximize: bool = False,
) -> Optimizer:  # fmt: skip
    """Steps by the signs of the gradients; the step sizes grow until a sign changes.

    Args:
        lr: the initial step size; otherwise as for all optimisers.
        etas: the factors of a step size after a change of sign, and without one.
        step_sizes: the smallest and the largest step size.
        maximize: as for all optimisers.

    Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP
    algorithm", 1993.

    >>> opt = rprop(lr=0.1)
    >>> params, state = opt.update([np.array([1.0])], [np.array([5.0])], opt.init([np.zeros(1)]))
    >>> params
    [array([0.9])]
    """
    (less, more), (smallest, largest) = etas, step_sizes
    need(0.0 < less < 1.0 < more, f"etas={etas} are not below and above 1")

    def rule(p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]:
        g, dtype = -g if maximize else g, dtype_of(p)
        sign = np.sign(g * slots["prev"])
        factor = cast(np.where(sign > 0, more, np.where(sign < 0, less, 1.0)), dtype)
        size = cast(np.where(step == 1, lr, slots["step_size"]), dtype)
        size = np.clip(size * factor, smallest, largest)
        g = cast(np.where(sign < 0, 0.0, g), dtype)
        return p - np.sign(g) * size, {"prev": g, "step_size": size}

    return by_leaf(lr, {"prev": 0.0, "step_size": 0.0}, rule)


def _betas(betas: tuple[float, float], eps: float) -> tuple[float, float]:
    need(all(0 <= beta < 1 for beta in betas), f"betas={betas} are not in [0, 1)")
    need(eps >= 0, f"eps={eps} is negative")
    return betas


def _decayed(
    p: Any, g: Any, lr: Any, weight_decay: float, decoupled: bool, maximize: bool
) -> tuple[Any, Any]:
    """Apply weight decay to the parameters if it is decoupled, otherwise to the gradients."""
    if decoupled and weight_decay != 0:
        return p * (1.0 - lr * weight_decay), -g if maximize else g
    return p, gradient_of(p, g, weight_decay, maximize)
