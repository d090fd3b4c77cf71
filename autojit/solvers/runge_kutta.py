"""Explicit Runge-Kutta methods in one variable s that grows from 0, for one flat vector.

``rk4`` takes fixed steps. ``dopri5`` is the pair of orders 5 and 4 of Dormand and Prince (J. Comp.
Appl. Math. 6 (1980), 19-26), with the step control, the first step and the dense output of Hairer,
Norsett and Wanner, "Solving Ordinary Differential Equations I" (2nd ed., 1993), II.4 to II.6, and
the constants of their code DOPRI5.

The derivative is that of the solution along the steps taken. The lengths and the rejections of
steps are held fixed (Bock's internal numerical differentiation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.control_flow.control import fori_loop, scan, while_loop
from autojit.transformations.derivatives import stop_gradient

#: ``g(s, y)``: the derivative of the vector y by s.
Slope = Callable[[Any, Any], Any]

#: The nodes, and the weights of the stages and of the error (5th minus 4th order). The weights of
#: the last stage are those of the solution, so it is the first stage of the next step.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
#: The weights of the fourth degree in the dense output, which is of order 4 (II.6).
DENSE = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip

#: Step control: h is multiplied by SAFETY err**-ALPHA err_before**BETA, within these bounds.
SAFETY, BETA, LEAST, MOST = 0.9, 0.04, 0.2, 10.0
ALPHA = 0.2 - 0.75 * BETA

#: The status of a solution.
REACHED, TOO_SMALL, TOO_MANY, OUTSIDE = 0, -1, -2, -3


class Settings(NamedTuple):
    """How to integrate: tolerances and limits of ``dopri5``, and steps per interval of ``rk4``."""

    method: str
    rtol: float
    atol: Any
    max_steps: int
    n_steps: int
    first_step: float | None
    max_step: float


class Solution(NamedTuple):
    """The vector at each target (NaN where it was not reached), the work done, and the status."""

    y: Any
    nfev: Any
    steps: Any
    status: Any


def integrate(g: Slope, targets: Any, end: Any, y0: Any, settings: Settings) -> Solution:
    """The solution of ``y' = g(s, y)``, ``y(0) = y0``, at increasing targets up to the end."""
    if settings.method == "RK4":
        return rk4(g, targets, y0, settings)
    return dopri5(g, targets, end, y0, settings)


def _weighted(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    """The weighted sum of slopes, in their dtype."""
    terms = [k * w for w, k in zip(weights, slopes, strict=False) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


# -- fixed steps --------------------------------------------------------------------


def rk4(g: Slope, targets: Any, y0: Any, settings: Settings) -> Solution:
    """The classical method of Kutta (1901), with ``n_steps`` equal steps between targets."""
    n = settings.n_steps

    def interval(carry: Any, target: Any) -> Any:
        start, y = carry
        h = (target - start) / n

        def step(i: Any, y: Any) -> Any:
            s = start + h * i
            k1 = g(s, y)
            k2 = g(s + h / 2, y + k1 * (h / 2))
            k3 = g(s + h / 2, y + k2 * (h / 2))
            k4 = g(s + h, y + k3 * h)
            return y + (k1 + (k2 + k3) * 2 + k4) * (h / 6)

        y = fori_loop(0, n, step, y)
        return (target, y), y

    _, ys = scan(interval, (0 * targets[0], y0), targets)
    steps = n * targets.shape[0]
    return Solution(ys, np.int64(4 * steps), np.int64(steps), np.int64(REACHED))


# -- steps of controlled length -----------------------------------------------------


class _State(NamedTuple):
    """The state of the integration.

    ``before``, ``width`` and ``dense`` describe the last step taken: its beginning, its length and
    the coefficients of its interpolant.
    """

    s: Any
    y: Any
    slope: Any
    h: Any
    error: Any
    rejected: Any
    before: Any
    width: Any
    dense: Any
    steps: Any
    nfev: Any
    status: Any


def dopri5(g: Slope, targets: Any, end: Any, y0: Any, settings: Settings) -> Solution:
    """Take steps up to the end, and interpolate within them; a failure leaves NaN."""
    last = stop_gradient(end)
    if np.ndim(settings.atol):
        settings = settings._replace(atol=np.asarray(settings.atol, targets.dtype))
    start = _start(g, y0, last, settings)

    def until(state: _State, target: Any) -> Any:
        goal = stop_gradient(target)
        state = while_loop(
            lambda st: np.logical_and(st.s < np.minimum(goal, last), st.status == REACHED),
            lambda st: _attempt(g, st, last, settings),
            state,
        )
        there = np.logical_and(state.s >= goal, goal >= state.before)
        y = _interpolated(state.dense, (target - state.before) / state.width)
        known = np.where(there, 0 * goal + 1, np.nan)
        return state, (y * known, there)  # a product, so that its derivatives are NaN too

    state, (ys, there) = scan(until, start, targets)
    failed = np.where(state.status == REACHED, OUTSIDE, state.status)
    return Solution(ys, state.nfev, state.steps, np.where(np.all(there), REACHED, failed))


def _start(g: Slope, y0: Any, end: Any, settings: Settings) -> _State:
    zero = 0 * end
    slope = g(zero, y0)
    tried = settings.first_step is None
    h = _first_step(g, y0, slope, end, settings) if tried else zero + settings.first_step
    nothing = 0 * y0
    return _State(
        s=zero,
        y=y0,
        slope=slope,
        h=stop_gradient(np.minimum(h, settings.max_step)),
        error=zero + 1e-4,
        rejected=False,
        before=zero,
        width=zero + 1,
        # At the start, the interpolant is the tangent.
        dense=np.stack([y0, slope, nothing, nothing, nothing]),
        steps=np.int64(0),
        nfev=np.int64(2 if tried else 1),
        status=np.int64(REACHED),
    )


def _norm(x: Any, scale: Any) -> Any:
    """The root mean square of ``x / scale``; 0 if x is empty."""
    if x.shape[0] == 0:
        return 0 * np.sum(scale)
    return np.sqrt(np.mean(np.abs(x / scale) ** 2))


def _first_step(g: Slope, y0: Any, slope: Any, end: Any, settings: Settings) -> Any:
    """A guess of the first step's length (Hairer, Norsett and Wanner, II.4)."""
    y, k = stop_gradient(y0), stop_gradient(slope)
    scale = settings.atol + settings.rtol * np.abs(y)
    d0, d1 = _norm(y, scale), _norm(k, scale)
    small = np.logical_or(d0 < 1e-5, d1 < 1e-5)
    h0 = np.where(small, 1e-6, 0.01 * d0 / np.where(small, 1.0, d1))
    h0 = np.minimum(h0, end)
    moved = stop_gradient(g(h0, y + k * h0))
    d2 = _norm(moved - k, scale) / np.where(h0 == 0, 1.0, h0)
    largest = np.maximum(d1, d2)
    flat = largest <= 1e-15
    h1 = np.where(
        flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / np.where(flat, 1.0, largest)) ** (1 / 5)
    )
    h = np.minimum(np.minimum(100 * h0, h1), end)
    # If the slope is NaN, take a step that is certain to fail.
    return np.where(np.isfinite(h), h, 1e-3 * end)


def _attempt(g: Slope, state: _State, end: Any, settings: Settings) -> _State:
    """Try one step, take it if its error is small, and set the length of the next one."""
    rest = end - state.s
    h = np.minimum(state.h, rest)
    slopes = [state.slope]
    for node, weights in zip(NODES[1:], STAGES[1:], strict=True):
        y = state.y + _weighted(weights, slopes) * h
        slopes.append(g(state.s + h * node, y))
    error = stop_gradient(_weighted(ERROR, slopes) * h)
    size = np.maximum(np.abs(stop_gradient(state.y)), np.abs(stop_gradient(y)))
    norm = _norm(error, settings.atol + settings.rtol * size)
    taken = norm <= 1  # False if it is NaN
    growth = _growth(norm, taken, state)
    steps = state.steps + 1
    floor = 10 * np.finfo(h.dtype).eps * state.s + 1e-20 * end
    failed = np.logical_and(np.logical_not(taken), h <= floor)
    status = np.where(failed, TOO_SMALL, np.where(steps >= settings.max_steps, TOO_MANY, REACHED))
    reached = np.where(state.h >= rest, end, state.s + h)
    return _State(
        s=np.where(taken, reached, state.s),
        y=np.where(taken, y, state.y),
        slope=np.where(taken, slopes[-1], state.slope),
        h=np.minimum(h * growth, settings.max_step),
        error=np.where(taken, np.maximum(norm, 1e-4), state.error),
        rejected=np.logical_not(taken),
        before=np.where(taken, state.s, state.before),
        width=np.where(taken, h, state.width),
        dense=np.where(taken, _dense(state.y, y, slopes, h), state.dense),
        steps=steps,
        nfev=state.nfev + (len(NODES) - 1),
        status=np.where(np.logical_and(taken, reached >= end), REACHED, status),
    )


def _growth(norm: Any, taken: Any, state: _State) -> Any:
    """The ratio of the next step's length to this one's."""
    least = np.maximum(norm, 1e-10)
    by_both = SAFETY * least**-ALPHA * state.error**BETA
    most = np.where(state.rejected, 1.0, MOST + 0 * least)
    after = np.minimum(np.maximum(by_both, LEAST), most)
    again = np.maximum(SAFETY * least**-ALPHA, LEAST)
    return np.where(taken, after, np.where(np.isnan(norm), LEAST, np.minimum(again, 1.0)))


def _dense(old: Any, new: Any, slopes: list[Any], h: Any) -> Any:
    """The coefficients of the interpolant of a step (DOPRI5's)."""
    change = new - old
    bend = slopes[0] * h - change
    return np.stack(
        [old, change, bend, change - slopes[-1] * h - bend, _weighted(DENSE, slopes) * h]
    )


def _interpolated(dense: Any, x: Any) -> Any:
    """The interpolant at x, which runs from 0 to 1 over the step."""
    rest = 1 - x
    inner = dense[3] + dense[4] * rest
    return dense[0] + (dense[1] + (dense[2] + inner * x) * rest) * x
