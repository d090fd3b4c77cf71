"""Events of ``solve_ivp`` in compiled code, where the number of steps is not known.

A loop takes the solver's steps and looks for events after each of them, as
``scipy.integrate.solve_ivp`` does: if a function changes its sign, its root on the step's
interpolant is an event. The loop keeps the first and the last event of each function, and their
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from autojit.control_flow.control import cond, while_loop
from autojit.functions.checks import ensured
from autojit.solvers.searching import between
from autojit.transformations.derivatives import stop_gradient

from .explicit import Stepper
from .steps_taken import StepsTaken

#: A function of time and state, with SciPy's attributes ``terminal`` and ``direction``.
Event = Callable[[Any, Any], Any]
#: SciPy's tolerance of a root, and the most steps of a search for one.
ROOT_TOLERANCE, ROOT_STEPS = 4 * float(np.finfo(float).eps), 100


class Search(NamedTuple):
    """The result of a search for the events of n functions.

    ``first`` and ``last`` have the shape (n,): the times s of the first and the last event of each
    function. ``count`` is the number of its events, int64 (n,). The scalar ``ended`` is true if a
    terminal event ended the solution, and ``ended_by`` is the index of its function.
    """

    first: Any
    last: Any
    count: Any
    ended: Any
    ended_by: Any


class _Carry(NamedTuple):
    state: Any
    values: Any
    found: Search


def search(stepper: Stepper, events: Sequence[Event], end: Any, y0: Any) -> Search:
    """Find the events between 0 and ``end``; their functions take the solver's time s.

    If a function has no event, its times are ``end``. The results have no derivatives.
    """
    direction = np.array([float(getattr(event, "direction", 0)) for event in events])
    most = np.array([_most(event) for event in events])
    end, y0 = stop_gradient(end), stop_gradient(y0)

    def values(s: Any, y: Any) -> Any:
        return stop_gradient(np.stack([event(s, y) for event in events]))

    def unfinished(carry: _Carry) -> Any:
        state = carry.state
        stopped = np.logical_or(state.failed, carry.found.ended)
        return np.logical_and(state.s < end, np.logical_not(stopped))

    def step(carry: _Carry) -> _Carry:
        state = stepper.attempt(carry.state, end)
        new = values(state.s, state.y)
        active = np.logical_and(
            _crossed(carry.values, new, direction), np.logical_not(state.failed)
        )
        roots = _roots(stepper, events, state, active)
        return _Carry(state, new, _noted(carry.found, roots, active, most))

    zero = 0.0 * end
    never = Search(
        zero + end * np.ones(len(events)), zero + end * np.ones(len(events)),
        np.zeros(len(events), np.int64), False, np.int64(0),
    )  # fmt: skip
    first = _Carry(stepper.start(y0, end), values(zero, y0), never)
    last: _Carry = while_loop(unfinished, step, first)
    return Search(*(stop_gradient(field) for field in last.found))


def _most(event: Event) -> float:
    """The number of events of a function that ends the solution."""
    terminal = getattr(event, "terminal", None)
    if terminal is None or terminal == 0:
        return np.inf
    if int(terminal) != terminal or terminal < 0:
        raise ValueError(
            "The `terminal` attribute of each event must be a boolean or positive integer."
        )
    return float(terminal)


def _crossed(old: Any, new: Any, direction: np.ndarray) -> Any:
    """Which functions changed their sign in a direction that counts."""
    up = np.logical_and(old <= 0, new >= 0)
    down = np.logical_and(old >= 0, new <= 0)
    return np.logical_or(np.logical_and(up, direction >= 0), np.logical_and(down, direction <= 0))


def _roots(stepper: Stepper, events: Sequence[Event], state: Any, active: Any) -> Any:
    """The times in the last step at which active functions are 0; infinity for the others."""
    width = state.s - state.before
    width = np.where(width == 0, 1.0, width)

    def root(event: Event) -> Any:
        def value(s: Any) -> Any:
            return event(s, stepper.interpolated(state, s, width))

        return between(value, state.before, state.s, ROOT_TOLERANCE, ROOT_TOLERANCE, ROOT_STEPS)[0]

    return stop_gradient(np.stack([
        cond(active[i], lambda event=event: root(event), lambda: np.inf + 0.0 * state.s)
        for i, event in enumerate(events)
    ]))  # fmt: skip


def _noted(found: Search, roots: Any, active: Any, most: np.ndarray) -> Search:
    """The search with the events of a step added, up to the first that ends the solution."""
    ending = np.where(np.logical_and(active, found.count + 1 >= most), roots, np.inf)
    stop = np.min(ending)
    kept = np.logical_and(active, roots <= stop)
    new = np.logical_and(kept, found.count == 0)
    return Search(
        np.where(new, roots, found.first), np.where(kept, roots, found.last),
        found.count + kept, stop < np.inf, np.argmin(ending),
    )  # fmt: skip


class Occurrences(StepsTaken):
    """The times or states of a function's events; only the first and the last are known.

    If there is no event, ``t_events[0][0]`` and ``t_events[0][-1]`` raise IndexError when the
    compiled code runs, as SciPy's arrays do. ``size`` and ``shape[0]`` are traced numbers.
    """

    __slots__ = ("_count",)

    def __init__(self, first: Any, last: Any, count: Any, refuse: Callable[[], NoReturn]) -> None:
        super().__init__(first, last, 0, refuse)
        self._count = count

    def _end(self, number: int) -> Any:
        words = f"index {number} is out of bounds for axis 0 with size 0"
        return ensured(super()._end(number), self._count > 0, IndexError(words))

    @property
    def size(self) -> Any:
        return self._count * self._first.size

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self._count, *self._first.shape)
