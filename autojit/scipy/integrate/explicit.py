"""SciPy's explicit Runge-Kutta methods, step by step, in a time s that grows from 0.

Tables, step control and interpolants are those of ``scipy.integrate.RK23``, ``RK45`` and
``DOP853`` (Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", II.4 to II.6),
so results agree with SciPy's to rounding. The derivative is that of the steps, with fixed lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from autojit.control_flow.control import scan, while_loop
from autojit.transformations.derivatives import stop_gradient

#: ``g(s, y)``: the derivative of the vector y by s.
Slope = Callable[[Any, Any], Any]


class Method(NamedTuple):
    """The table of a method: weights of the stages, the solution, the error and the interpolant."""

    nodes: np.ndarray
    stages: np.ndarray
    solution: np.ndarray
    error: np.ndarray
    order_of_error: int
    #: RK23 and RK45: the weights of the powers; DOP853: the second estimate and its interpolant.
    powers: Any = None
    third: Any = None
    extra_nodes: Any = None
    extra_stages: Any = None
    dense: Any = None


def method_of(name: str) -> Method:
    """The table of one of SciPy's methods."""
    from scipy import integrate

    kind = getattr(integrate, name)
    if name != "DOP853":
        return Method(kind.C, kind.A, kind.B, kind.E, kind.error_estimator_order, kind.P)
    return Method(
        kind.C, kind.A, kind.B, kind.E5, kind.error_estimator_order, third=kind.E3,
        extra_nodes=kind.C_EXTRA, extra_stages=kind.A_EXTRA, dense=kind.D,
    )  # fmt: skip


class Control(NamedTuple):
    """The tolerances, and the lengths of the first and the longest step."""

    rtol: float
    atol: Any
    first_step: float | None
    max_step: float


class State(NamedTuple):
    """The state of the integration; ``before``, ``old`` and ``stages`` describe the last step."""

    s: Any
    y: Any
    slope: Any
    h: Any
    before: Any
    old: Any
    stages: Any
    nfev: Any
    failed: Any


class Stepper(Protocol):
    """A method that is run step by step."""

    def start(self, y0: Any, end: Any) -> Any:
        """The state at 0."""

    def attempt(self, state: Any, end: Any) -> Any:
        """The state after a step; ``failed`` tells whether the step failed."""

    def interpolated(self, state: Any, target: Any, width: Any) -> Any:
        """y at a time within the last step, whose length is ``width``."""


class Explicit:
    """The steps of an explicit method."""

    def __init__(self, g: Slope, method: Method, control: Control) -> None:
        self.g: Slope = g
        self.method: Method = method
        self.control: Control = control

    def start(self, y0: Any, end: Any) -> State:
        return _start(self.g, y0, end, self.method, self.control)

    def attempt(self, state: State, end: Any) -> State:
        return _attempt(self.g, state, end, self.method, self.control)

    def interpolated(self, state: State, target: Any, width: Any) -> Any:
        return _interpolated(self.g, state, target, width, self.method)


def integrate(stepper: Stepper, targets: Any, end: Any, y0: Any) -> tuple[Any, Any]:
    """``(rows of states at the targets, the last state)``.

    Targets increase from 0 to the end. States that were not reached are NaN.
    """
    last = stop_gradient(end)

    def until(state: Any, target: Any) -> Any:
        goal = stop_gradient(target)
        state = while_loop(
            lambda st: np.logical_and(st.s < np.minimum(goal, last), np.logical_not(st.failed)),
            lambda st: stepper.attempt(st, last),
            state,
        )
        # The step's length is fixed; the derivative by the target comes from the interpolation.
        width = state.s - state.before
        y = stepper.interpolated(state, target, np.where(width == 0, 1.0, width))
        return state, y * np.where(state.s >= goal, 1.0, np.nan)

    state, rows = scan(until, stepper.start(y0, last), targets)
    return rows, state


def _weighted(weights: Any, stages: Any) -> Any:
    """The weighted sum of stages, which are a list or the rows of an array."""
    used = [(w, k) for w, k in zip(weights, stages, strict=False) if w]
    total = used[0][0] * used[0][1]
    for w, k in used[1:]:
        total = total + w * k
    return total


def norm(x: Any) -> Any:
    return np.sqrt(np.mean(np.abs(x) ** 2))


def _start(g: Slope, y0: Any, end: Any, method: Method, control: Control) -> State:
    zero = 0 * end
    slope = g(zero, y0)
    h = first_step(g, y0, slope, end, method.order_of_error, control)
    rows = method.stages.shape[0] + 1
    return State(
        s=zero, y=y0, slope=slope, h=stop_gradient(h), before=zero, old=y0,
        stages=np.stack([slope] * rows), failed=zero > 1,
        nfev=np.int64(2 if control.first_step is None else 1),
    )  # fmt: skip


def first_step(
    g: Slope, y0: Any, slope: Any, end: Any, order_of_error: int, control: Control
) -> Any:
    """The length of the first step: Hairer, Norsett and Wanner, II.4, as in SciPy."""
    if control.first_step is not None:
        return control.first_step + 0 * end
    y, k = stop_gradient(y0), stop_gradient(slope)
    scale = control.atol + np.abs(y) * control.rtol
    d0, d1 = norm(y / scale), norm(k / scale)
    small = np.logical_or(d0 < 1e-5, d1 < 1e-5)
    h0 = np.where(small, 1e-6, 0.01 * d0 / np.where(small, 1.0, d1))
    h0 = np.minimum(h0, end)
    moved = stop_gradient(g(h0, y + h0 * k))
    d2 = norm((moved - k) / scale) / np.where(h0 == 0, 1.0, h0)
    largest = np.maximum(d1, d2)
    flat = largest <= 1e-15
    power = 1 / (order_of_error + 1)
    h1 = np.where(flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / np.where(flat, 1.0, largest)) ** power)
    bound = np.minimum(np.minimum(100 * h0, h1), np.minimum(end, control.max_step))
    return np.where(np.isnan(bound), 1e-3 * end, bound)


def _attempt(g: Slope, state: State, end: Any, method: Method, control: Control) -> State:
    """Take one step, after as many tries as it needs."""
    least = 10 * np.finfo(float).eps * state.s + 1e-20 * end
    first = np.clip(state.h, least, control.max_step)

    def width(h: Any) -> Any:
        return np.where(state.s + h > end, end - state.s, h)

    def tried(h: Any) -> tuple[Any, list[Any], Any]:
        stages = [state.slope]
        for weights, node in zip(method.stages[1:], method.nodes[1:], strict=True):
            stages.append(g(state.s + node * h, state.y + _weighted(weights, stages) * h))
        y = state.y + _weighted(method.solution, stages) * h
        stages.append(g(state.s + h, y))
        size = np.maximum(np.abs(state.y), np.abs(y))
        return (
            y,
            stages,
            stop_gradient(_error(stages, h, control.atol + size * control.rtol, method)),
        )

    power = -1 / (method.order_of_error + 1)

    def shorter(carry: Any) -> Any:
        h, _, count = carry
        h = width(h)
        error = tried(h)[2]
        rejected = np.logical_not(error < 1)
        factor = np.where(error > 0, 0.9 * np.where(error > 0, error, 1.0) ** power, 10.0)
        again = np.where(np.isnan(error), 0.2, np.maximum(0.2, factor))
        return np.where(rejected, h * again, h), rejected, count + 1

    h, rejected, count = while_loop(
        lambda c: np.logical_and(c[1], c[0] >= least),
        shorter,
        (stop_gradient(first), True, np.int64(0)),
    )
    h = stop_gradient(width(h))
    y, stages, error = tried(h)
    most = np.where(count > 1, 1.0, 10.0)
    positive = np.where(error > 0, error, 1.0)
    factor = np.where(error > 0, np.minimum(most, 0.9 * positive**power), most)
    reached = np.where(state.s + h >= end, end, state.s + h)
    return State(
        s=np.where(rejected, state.s, reached), y=y, slope=stages[-1], h=h * factor,
        before=state.s, old=state.y, stages=np.stack(stages), failed=rejected,
        nfev=state.nfev + count * (len(stages) - 1),
    )  # fmt: skip


def _error(stages: list[Any], h: Any, scale: Any, method: Method) -> Any:
    fifth = _weighted(method.error, stages) / scale
    if method.third is None:
        return norm(fifth * h)
    third = _weighted(method.third, stages) / scale
    fifth, third = np.sum(np.abs(fifth) ** 2), np.sum(np.abs(third) ** 2)
    denominator = fifth + 0.01 * third
    zero = denominator == 0
    size = np.sqrt(np.where(zero, 1.0, denominator) * scale.size)
    return np.where(zero, 0.0, np.abs(h) * fifth / size)


def _interpolated(g: Slope, state: State, target: Any, width: Any, method: Method) -> Any:
    x = (target - state.before) / width
    if method.powers is not None:
        total = 0.0 * state.old
        for weights in method.powers.T[::-1]:
            total = (total + _weighted(weights, state.stages)) * x
        return state.old + width * total
    stages = [state.stages[i] for i in range(state.stages.shape[0])]
    for node, weights in zip(method.extra_nodes, method.extra_stages, strict=True):
        y = state.old + _weighted(weights, stages) * width
        stages.append(g(state.before + node * width, y))
    change = state.y - state.old
    bend = width * stages[0] - change
    rows = [change, bend, 2 * change - width * (state.slope + stages[0])]
    rows += [width * _weighted(weights, stages) for weights in method.dense]
    total = 0.0 * state.old
    for i, row in enumerate(reversed(rows)):
        total = (total + row) * (x if i % 2 == 0 else 1 - x)
    return state.old + total
