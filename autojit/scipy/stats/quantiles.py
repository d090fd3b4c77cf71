"""Quantiles of families that have a formula for the distribution function, but not for its inverse.

They are found by bisection, to the precision of float64. Their derivatives come from the equation
``cdf(x, shapes) = q``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.solvers.implicit import custom_root
from autojit.transformations.derivatives import stop_gradient

Function = Callable[[Any], Any]
#: The most halvings of an interval; this many lead from the greatest number to the smallest.
MOST = 2200


def quantile(cdf: Callable[..., Any], bounds: tuple[Any, Any], q: Any, shapes: Any) -> Any:
    """The x with ``cdf(x, *shapes) = q`` between two ends, either of which may be infinite.

    >>> from autojit import grad
    >>> found = lambda k: quantile(lambda x, k: 1 - np.exp(-k * x), (0.0, np.inf), 0.5, (k,))
    >>> round(float(grad(found)(2.0)), 9)                       # -log(2) / k ** 2
    -0.173286795
    """
    lower, upper = bounds
    inside = np.logical_and(q > 0, q < 1)
    shape = np.broadcast_shapes(np.shape(q), *map(np.shape, shapes))
    wanted = np.broadcast_to(np.where(inside, q, 0.5), shape)
    start = 0.0 * stop_gradient(wanted)

    def off(x: Any) -> Any:
        return cdf(x, *shapes) - wanted

    def solve(f: Function, x: Any) -> Any:
        return _bisected(f, _beyond(f, x, lower, -1.0), _beyond(f, x, upper, 1.0))

    found = custom_root(off, start, solve, lambda g, y: y / g(np.ones(shape)))
    ends = np.where(q == 0, lower, np.where(q == 1, upper, np.nan))
    return np.where(inside, found, ends)


def _beyond(f: Function, x: Any, end: Any, side: float) -> Any:
    """A point beyond the root on one side.

    It is the end of the support or, if that is infinite, the first such point that steps of
    doubling length reach from 0.
    """
    at_end = x + stop_gradient(end)
    steps = np.where(np.isfinite(at_end), 0.0, side)

    def short(state: Any) -> Any:
        return np.logical_and(side * f(state[0]) < 0, np.isfinite(state[0]))

    def further(state: Any) -> Any:
        at, step = state
        missed = np.logical_and(short(state), step != 0)
        return np.where(missed, at + step, at), 2 * step

    first = np.where(np.isfinite(at_end), at_end, x), steps
    unfinished = lambda s: np.any(np.logical_and(short(s), s[1] != 0))  # noqa: E731
    return while_loop(unfinished, further, first)[0]


def _bisected(f: Function, low: Any, high: Any) -> Any:
    """The root between two points, by bisection down to neighbouring floating-point numbers."""

    def middle(state: Any) -> Any:
        return state[0] + (state[1] - state[0]) / 2

    def step(state: Any) -> Any:
        at = middle(state)
        below = f(at) < 0
        return np.where(below, at, state[0]), np.where(below, state[1], at), state[2] + 1

    def unfinished(state: Any) -> Any:
        at = middle(state)
        between = np.logical_and(at != state[0], at != state[1])
        return np.logical_and(np.any(between), state[2] < MOST)

    return middle(while_loop(unfinished, step, (low, high, np.int64(0))))
