"""Searches between bounds, and the derivatives of their results.

The searches are projected Newton steps (Bertsekas, "Projected Newton methods for optimization
problems with simple constraints", SIAM J. Control Optim. 20 (1982), 221-246). An element at a bound
stays there if the gradient pushes it outwards; the others take a Newton step, which is clipped at
the bounds. In the derivative, elements at bounds move with their bounds, and the gradient by the
others stays 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import at_hand, floating
from autojit.solvers.searching import Function, damped, newton_steps, rooted
from autojit.transformations.derivatives import stop_gradient
from autojit.transformations.gradients import grad
from autojit.transformations.jacobians import jacfwd


def limits(bounds: Any, n: int) -> tuple[Any, Any] | None:
    """``(lower, upper)`` of n elements, from SciPy's ``Bounds`` or a pair; None if all are free."""
    if hasattr(bounds, "lb"):
        bounds = (bounds.lb, bounds.ub)
    low, high = (np.broadcast_to(floating(b), (n,)) for b in bounds)
    known = [at_hand(b) for b in bounds]
    if all(b is not None and not np.any(np.isfinite(b)) for b in known):
        return None
    return low, high


def pairs(bounds: Any, n: int) -> tuple[Any, Any] | None:
    """``(lower, upper)`` from a pair for each element, as in ``minimize``; None means no bound."""
    if bounds is None or hasattr(bounds, "lb"):
        return None if bounds is None else limits(bounds, n)
    if len(bounds) != n:
        raise ValueError("length of x0 != length of bounds")
    low = [-np.inf if b[0] is None else b[0] for b in bounds]
    high = [np.inf if b[1] is None else b[1] for b in bounds]
    return limits((floating(low), floating(high)), n)


def _held(x: Any, slope: Any, low: Any, high: Any) -> Any:
    """Which elements are at a bound and pushed outwards by the gradient."""
    below = np.logical_and(x <= low, slope > 0)
    return np.logical_or(below, np.logical_and(x >= high, slope < 0))


def search(
    f: Function, curvature: Callable[[Any], Any], x0: Any, low: Any, high: Any, tolerance: Any
) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` for the minimum of f between bounds.

    ``curvature`` returns the Hessian matrix, or a matrix that replaces it in a step.
    """
    slope = grad(f)
    lowest, highest = stop_gradient(low), stop_gradient(high)

    def step(x: Any, damping: Any) -> tuple[Any, Any]:
        g = slope(x)
        free = np.logical_not(_held(x, g, lowest, highest))
        both = np.logical_and(free[:, None], free)
        g = np.where(free, g, 0.0)
        # Use the absolute values of curvatures, so that each step goes downhill.
        curvatures, axes = np.linalg.eigh(np.where(both, curvature(x), 0.0))
        sizes = np.abs(curvatures)
        sizes = sizes + damping * np.max(sizes) + 1e-300
        move = np.where(free, -axes @ ((axes.T @ g) / sizes), 0.0)
        return np.clip(x + move, lowest, highest) - x, np.max(np.abs(g))

    def off(x: Any) -> Any:
        """The length of a step downhill, clipped at the bounds: 0 at a minimum."""
        return np.max(np.abs(x - np.clip(x - slope(x), lowest, highest)))

    start = np.clip(stop_gradient(x0), lowest, highest)
    x, n = damped(start, f, step, 1e-9)
    held = _held(x, slope(x), lowest, highest)
    at_low = np.logical_and(held, x <= lowest)

    def equations(x: Any) -> Any:
        at_high = np.logical_and(held, np.logical_not(at_low))
        low_or_high = np.where(at_low, x - np.where(at_low, low, 0.0),
                               x - np.where(at_high, high, 0.0))  # fmt: skip
        return np.where(held, low_or_high, slope(x))

    polished = np.clip(newton_steps(equations, x)[0], lowest, highest)
    x = np.where(off(polished) <= off(x), polished, x)
    found = off(x) <= tolerance
    return rooted(equations, np.where(found, x, np.nan)), found, n


def minimum_between(f: Function, x0: Any, limits: Any, tolerance: float) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` for the minimum of f between bounds."""
    low, high = limits
    return search(f, jacfwd(grad(f)), x0, low, high, tolerance)


def least_squares_between(
    r: Function, x0: Any, limits: Any, tolerance: float
) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` for the least sum of squares between bounds."""

    def normal(x: Any) -> Any:
        jacobian = jacfwd(r)(x)
        return jacobian.T @ jacobian

    start = stop_gradient(x0)
    size = np.max(np.abs(jacfwd(r)(start))) * np.sqrt(np.sum(r(start) ** 2))
    bound = stop_gradient(tolerance * (1.0 + size))
    low, high = limits
    return search(lambda x: np.sum(r(x) ** 2) / 2, normal, x0, low, high, bound)
