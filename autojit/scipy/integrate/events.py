"""Event times and dense output of ``solve_ivp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import floating
from autojit.solvers.implicit import custom_root
from autojit.staging.bodies import check_function
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import jvp, stop_gradient

#: Returns rows of states at times, which are in the order in which the solution reaches them.
States = Callable[[Any], Any]


def functions_of(events: Any, extra: tuple[Any, ...]) -> list[Callable[[Any, Any], Any]]:
    """Events as functions of time and state alone, with SciPy's attributes."""
    given = [] if events is None else [events] if callable(events) else list(events)
    return [_with_attributes(event, i, extra) for i, event in enumerate(given)]


def _with_attributes(event: Any, i: int, extra: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    inner = check_function(event, f"events[{i}]", "solve_ivp")

    def function(t: Any, y: Any) -> Any:
        return np.reshape(floating(inner(t, y, *extra)), ())

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(function, name, getattr(event, name))
    return function


def event_times(
    event: Callable[[Any, Any], Any], states: States, found: np.ndarray, span: tuple[Any, Any]
) -> Any:
    """The times of an event near the times that SciPy found, with their derivatives.

    ``span`` has the least and the greatest time of the solution.
    """
    if found.size == 0:
        return found

    def values(times: Any) -> Any:
        return vmap(event)(times, states(times))

    value, slope = jvp(values, (floating(found),), (np.ones(found.shape),))
    moved = found - np.where(slope == 0, 0.0, value / np.where(slope == 0, 1.0, slope))
    return rooted_times(values, np.clip(moved, *span))


def rooted_times(values: States, times: Any, happened: Any = True) -> Any:
    """Times at which events are 0, with the derivative that keeps them 0 as the solution changes.

    ``values`` returns the value of each event at its time. If ``happened`` is false, there is no
    event, and the derivative has no meaning.
    """

    def tangent(derivative: Callable[[Any], Any], y: Any) -> Any:
        return y / np.where(happened, derivative(np.ones(y.shape)), 1.0)

    return custom_root(values, stop_gradient(times), lambda _, t: t, tangent)


def in_any_order(states: States, sign: Any) -> States:
    """The function for times in any order; ``sign`` is -1 if the solution goes back in time."""

    def function(times: Any) -> Any:
        order = np.argsort(stop_gradient(times * sign))
        return np.take(states(np.take(times, order)), np.argsort(order), axis=0)

    return function


class DenseSolution:
    """The solution as a function of time, like SciPy's ``OdeSolution``.

    Each call integrates up to the given times. Outside the interval, the result is NaN.
    """

    def __init__(self, states: States, t0: Any, t1: Any) -> None:
        self._states: States = in_any_order(states, np.where(t1 < t0, -1.0, 1.0))
        self.t_min: Any = np.minimum(t0, t1)
        self.t_max: Any = np.maximum(t0, t1)

    def __call__(self, t: Any) -> Any:
        times = floating(t)
        flat = np.reshape(times, (-1,))
        inside = np.logical_and(flat >= self.t_min, flat <= self.t_max)
        rows = np.where(inside[:, None], self._states(flat), np.nan)
        return rows[0] if times.ndim == 0 else rows.T
