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

#: Rows of states at times, which go from the beginning of the interval to its end.
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


def event_times(event: Callable[[Any, Any], Any], states: States, found: np.ndarray) -> Any:
    """The times of an event near those that SciPy found, with their derivatives: the event stays 0
    while the solution moves."""
    if found.size == 0:
        return found

    def values(times: Any) -> Any:
        return vmap(event)(times, states(times))

    value, slope = jvp(values, (floating(found),), (np.ones(found.shape),))
    moved = found - np.where(slope == 0, 0.0, value / np.where(slope == 0, 1.0, slope))

    def tangent(derivative: Callable[[Any], Any], y: Any) -> Any:
        return y / derivative(np.ones(y.shape))

    return custom_root(values, stop_gradient(moved), lambda _, t: t, tangent)


class DenseSolution:
    """The solution as a function of time, as SciPy's ``OdeSolution``.

    Each call integrates up to the times that it is given.  Outside of the interval it is NaN.
    """

    def __init__(self, states: States, t0: Any, t1: Any) -> None:
        self._states, self._t0, self._t1 = states, t0, t1
        self.t_min: Any = np.minimum(t0, t1)
        self.t_max: Any = np.maximum(t0, t1)

    def __call__(self, t: Any) -> Any:
        times = floating(t)
        flat = np.reshape(times, (-1,))
        order = np.argsort(stop_gradient(flat * np.where(self._t1 < self._t0, -1.0, 1.0)))
        inside = np.logical_and(flat >= self.t_min, flat <= self.t_max)
        rows = np.take(self._states(np.take(flat, order)), np.argsort(order), axis=0)
        rows = np.where(inside[:, None], rows, np.nan)
        return rows[0] if times.ndim == 0 else rows.T
