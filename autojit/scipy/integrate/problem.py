"""An equation that ``solve_ivp`` solves, and its states at given times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.scipy.arguments import floating
from autojit.transformations.derivatives import stop_gradient

from .explicit import Control, Explicit, Stepper, integrate, method_of
from .implicit import Implicit

EXPLICIT = ("RK23", "RK45", "DOP853")
IMPLICIT = ("Radau", "BDF", "LSODA")


class Problem(NamedTuple):
    """An initial value problem, and the method and control that solve it."""

    slope: Callable[[Any, Any], Any]
    t0: Any
    t1: Any
    y0: Any
    method: str
    control: Control

    @property
    def sign(self) -> Any:
        """The sign of the direction of time."""
        return stop_gradient(np.where(self.t1 < self.t0, -1.0, 1.0))

    @property
    def span(self) -> tuple[Any, Any]:
        """The least and the greatest time."""
        return np.minimum(self.t0, self.t1), np.maximum(self.t0, self.t1)

    def stepper(self) -> Stepper:
        """The method that solves the problem, in a time s that grows from 0."""
        sign = self.sign

        def g(s: Any, y: Any) -> Any:
            return self.slope(self.t0 + sign * s, y) * sign

        if self.method in IMPLICIT:
            return Implicit(g, self.control)
        return Explicit(g, method_of(self.method), self.control)


def times_of(t_eval: Any) -> Any:
    """The times at which states are requested, as a vector of floats."""
    times = floating(t_eval)
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    return times


def states(problem: Problem, times: Any) -> tuple[Any, Any]:
    """``(rows of states, the last state of the integration)``."""
    sign, t0 = problem.sign, problem.t0
    targets, end = (times - t0) * sign, (problem.t1 - t0) * sign
    return integrate(problem.stepper(), targets, end, problem.y0)


def solved(problem: Problem, times: Any) -> Any:
    """SciPy's result object with the states at given times."""
    rows, last = states(problem, times)
    from scipy.optimize import OptimizeResult

    return OptimizeResult(
        t=times, y=rows.T, sol=None, t_events=None, y_events=None, nfev=last.nfev,
        njev=getattr(last, "njev", 0), nlu=getattr(last, "nlu", 0),
        status=np.where(last.failed, -1, 0), success=np.logical_not(last.failed),
    )  # fmt: skip
