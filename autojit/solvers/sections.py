"""The minimum of a function of one number, by golden sections and Newton steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.transformations.derivatives import stop_gradient
from autojit.transformations.gradients import grad

from .searching import Function, rooted_elements

GOLDEN = (np.sqrt(5.0) - 1) / 2
#: The number of golden sections, which narrow an interval to about the root of the machine epsilon,
#: the most steps that widen it, and the Newton steps at the end.
SECTIONS, WIDENINGS, LAST_STEPS = 40, 60, 2


def widened(f: Function, a: Any, b: Any) -> tuple[Any, Any]:
    """Ends between which f has a minimum, found by growing steps downhill."""
    a, b = stop_gradient(a), stop_gradient(b)
    downhill = f(b) < f(a)
    a, b = np.where(downhill, a, b), np.where(downhill, b, a)

    def step(state: Any) -> Any:
        _, b, c, n = state
        return b, c, c + (c - b) / GOLDEN, n + 1

    unfinished = lambda s: np.logical_and(s[3] < WIDENINGS, f(s[2]) < f(s[1]))  # noqa: E731
    a, _, c, _ = while_loop(unfinished, step, (a, b, b + (b - a) / GOLDEN, np.int64(0)))
    return np.minimum(a, c), np.maximum(a, c)


def least_number(f: Function, low: Any, high: Any) -> Any:
    """The number between two others where f is least, with the derivatives of a place where the
    slope of f is 0."""
    x = _narrowed(f, stop_gradient(low), stop_gradient(high))
    slope = grad(f)
    for _ in range(LAST_STEPS):
        bend = grad(slope)(x)
        x = np.where(bend > 0, x - slope(x) / np.where(bend > 0, bend, 1.0), x)
    return rooted_elements(slope, x)


def _narrowed(f: Function, a: Any, b: Any) -> Any:
    def step(state: Any) -> Any:
        a, b, n = state
        left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        lower = f(left) < f(right)
        return np.where(lower, a, left), np.where(lower, right, b), n + 1

    a, b, _ = while_loop(lambda s: s[2] < SECTIONS, step, (a, b, np.int64(0)))
    return (a + b) / 2
