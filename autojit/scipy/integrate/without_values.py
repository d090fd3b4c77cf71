"""The result of ``solve_ivp`` if the number of steps and events is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from autojit.scipy.arguments import refused
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import stop_gradient

from .event_search import Event, Occurrences, Search, search
from .events import in_any_order, rooted_times
from .problem import Problem, solved, states, times_of
from .steps_taken import StepsTaken

_NAME = "scipy.integrate.solve_ivp"
_STEPS = (
    "the number of steps is not known when the function is traced. Only the ends are known: y[:, "
    "-1], y[:, 0] and t[-1]. For other states, pass the times:\n"
    "    solve_ivp(fun, t_span, y0, t_eval=np.linspace(t0, t1, 100))"
)
_EVENTS = (
    "the number of events is not known when the function is traced. Use the first event, the "
    "last event and their number, or call the function without jit:\n"
    "    found.t_events[0][0], found.y_events[0][-1], found.t_events[0].size"
)


def solution(problem: Problem, t_eval: Any, events: Sequence[Event]) -> Any:
    """SciPy's result object; arrays of unknown length have a known first and last element.

    If a terminal event may end the solution, the arrays at the times ``t_eval`` are slices with a
    traced bound.
    """
    if not events:
        result = solved(problem, np.stack([problem.t1]))
        return _ends(problem, result, problem.t1, result["y"][:, 0])
    found = _searched(problem, events)
    times = _times(problem, events, found)
    last = problem.t1
    for i in range(len(events)):
        last = np.where(np.logical_and(found.ended, found.ended_by == i), times[2 * i + 1], last)
    if t_eval is None:
        every = np.concatenate([times, np.stack([last])])
        order = np.argsort(stop_gradient(every * problem.sign))
        result = solved(problem, np.take(every, order))
        rows = np.take(result["y"].T, np.argsort(order), axis=0)
        result = _ends(problem, result, last, rows[-1])
    else:
        result = _at_times(problem, times_of(t_eval), last, events)
        rows = in_any_order(lambda times: states(problem, times)[0], problem.sign)(times)
    result["t_events"], result["y_events"] = [], []
    for i, count in enumerate(found.count):
        first, final = 2 * i, 2 * i + 1
        result["t_events"].append(Occurrences(times[first], times[final], count, _refuse_events))
        result["y_events"].append(Occurrences(rows[first], rows[final], count, _refuse_events))
    result["status"] = np.where(found.ended, 1, result["status"])
    return result


def _searched(problem: Problem, events: Sequence[Event]) -> Search:
    sign = problem.sign

    def in_steps(event: Event) -> Event:
        def function(s: Any, y: Any) -> Any:
            return event(problem.t0 + sign * s, y)

        function.__dict__.update(event.__dict__)
        return function

    end = (problem.t1 - problem.t0) * sign
    return search(problem.stepper(), [in_steps(event) for event in events], end, problem.y0)


def _times(problem: Problem, events: Sequence[Event], found: Search) -> Any:
    """The times of the first and the last event of each function, with derivatives.

    They are in pairs, one after another. A function without events has the end of the interval.
    """
    near = problem.t0 + problem.sign * np.ravel(np.stack([found.first, found.last], axis=1))
    rows_at = in_any_order(lambda times: states(problem, times)[0], problem.sign)

    def values(times: Any) -> Any:
        rows = rows_at(times)
        pairs = [slice(2 * i, 2 * i + 2) for i in range(len(events))]
        found = [vmap(f)(times[p], rows[p]) for f, p in zip(events, pairs, strict=True)]
        return np.concatenate(found)

    return rooted_times(values, np.clip(near, *problem.span), np.repeat(found.count > 0, 2))


def _ends(problem: Problem, result: Any, last: Any, y: Any) -> Any:
    """The solution of which only the ends are known; ``y`` are the states at the last time."""
    result["y"] = StepsTaken(problem.y0, y, 1, _refuse_steps)
    result["t"] = StepsTaken(problem.t0, last, 0, _refuse_steps)
    return result


def _at_times(problem: Problem, times: Any, last: Any, events: Sequence[Event]) -> Any:
    """The solution at the times up to a terminal event."""
    result = solved(problem, times)
    if any(getattr(event, "terminal", None) for event in events):
        reached = np.sum((times - last) * problem.sign <= 0)
        result["t"], result["y"] = result["t"][:reached], result["y"][:, :reached]
    return result


def _refuse_steps() -> NoReturn:
    raise refused(_NAME, _STEPS)


def _refuse_events() -> NoReturn:
    raise refused(_NAME, _EVENTS)
