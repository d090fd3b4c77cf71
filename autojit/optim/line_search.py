"""A step along a direction that satisfies the strong Wolfe conditions.

Nocedal and Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6, with the bounds on
steps that PyTorch took from Schmidt's minFunc.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: Wolfe's constants for quasi-Newton directions: the sufficient share of the predicted decrease,
#: and the share of the slope that may remain.
_DECREASE, _CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """A step, and the value, the gradient and the slope along the direction at that step."""

    step: float
    value: float
    gradient: np.ndarray
    slope: float


Evaluate = Callable[[float], Point]


def strong_wolfe(
    at: Evaluate, start: Point, step: float, shortest: float, most: int = 25
) -> tuple[Point, int]:
    """A point that satisfies the conditions, or the best point found, and the number of trials.

    Args:
        at: evaluates a step.
        start: the point of step 0.
        step: the first trial.
        shortest: brackets shorter than this are not divided.
        most: the most further trials.

    >>> def at(t):                                     # (t - 3)**2
    ...     return Point(t, (t - 3.0) ** 2, np.zeros(1), 2.0 * (t - 3.0))
    >>> point, trials = strong_wolfe(at, at(0.0), 1.0, 1e-9)
    >>> round(point.step, 6), trials
    (1.0, 1)
    """
    bracket, trials = _bracket(at, start, step, most)
    low, high = min(bracket, key=_value), max(reversed(bracket), key=_value)
    near = False
    while len(bracket) == 2 and trials <= most and not abs(high.step - low.step) < shortest:
        trial, near = _inside(low, high, near)
        point, trials = at(trial), trials + 1
        if _too_high(start, point) or point.value >= low.value:
            low, high = (low, point) if low.value <= point.value else (point, low)
            continue
        if _is_flat(start, point):
            return point, trials
        if point.slope * (high.step - low.step) >= 0:
            high = low
        low = point
    return low, trials


def _bracket(at: Evaluate, start: Point, step: float, most: int) -> tuple[tuple[Point, ...], int]:
    """Two points that enclose one that satisfies the conditions, or one such point."""
    before, point = start, at(step)
    for k in range(most):
        if _too_high(start, point) or (k > 1 and point.value >= before.value):
            return (before, point), k + 1
        if _is_flat(start, point):
            return (point,), k + 1
        if point.slope >= 0:
            return (before, point), k + 1
        bounds = (point.step + 0.01 * (point.step - before.step), 10.0 * point.step)
        before, point = point, at(_cubic_minimum(before, point, bounds))
    return (start, point), most + 1


def _too_high(start: Point, point: Point) -> bool:
    return point.value > start.value + _DECREASE * point.step * start.slope


def _is_flat(start: Point, point: Point) -> bool:
    return abs(point.slope) <= -_CURVATURE * start.slope


def _value(point: Point) -> float:
    return point.value


def _inside(a: Point, b: Point, near: bool) -> tuple[float, bool]:
    """A step between two points, and whether it is close to one of them.

    If that happens twice in a row, the step is moved away by a tenth of the distance.
    """
    left, right = min(a.step, b.step), max(a.step, b.step)
    step, margin = _cubic_minimum(a, b, (left, right)), 0.1 * (right - left)
    if min(right - step, step - left) >= margin:
        return step, False
    if not near and left < step < right:
        return step, True
    return (right - margin if right - step < step - left else left + margin), False


def _cubic_minimum(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """The minimiser, within bounds, of the cubic with the values and slopes of two points.

    Nocedal and Wright, equation 3.59.

    >>> a, b = (Point(t, (t - 3.0) ** 2, np.zeros(1), 2.0 * (t - 3.0)) for t in (0.0, 1.0))
    >>> round(_cubic_minimum(a, b, (1.0, 10.0)), 6)
    3.0
    """
    first, second = (a, b) if a.step <= b.step else (b, a)
    least, most = bounds
    secant = (first.value - second.value) / (first.step - second.step)
    d1 = first.slope + second.slope - 3.0 * secant
    square = d1 * d1 - first.slope * second.slope
    if not square >= 0:
        return (least + most) / 2.0
    d2 = math.sqrt(square)
    share = (second.slope + d2 - d1) / (second.slope - first.slope + 2.0 * d2)
    return min(max(second.step - (second.step - first.step) * share, least), most)
