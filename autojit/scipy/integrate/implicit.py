"""The implicit method Radau IIA of order 5, step by step, in a time s that grows from 0.

The method, its step control and its interpolant are those of ``scipy.integrate.Radau`` (Hairer and
Wanner, "Solving Ordinary Differential Equations II", IV.8), with the exact Jacobian matrix at each
step, so results agree with SciPy's to within the tolerances. The derivative is that of the
equations that each step solves, with the lengths of the steps held fixed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.solvers.implicit import custom_root
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import stop_gradient
from autojit.transformations.jacobians import jacfwd

from .explicit import Control, Slope, first_step, norm

_ROOT = np.sqrt(6.0)
NODES = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
STAGES = np.array([
    [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
    [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
    [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
])  # fmt: skip
#: Weights of the stages in the error, and the real eigenvalue of the inverse of STAGES.
ERROR = np.array([-13 - 7 * _ROOT, -13 + 7 * _ROOT, -1]) / 3
EIGENVALUE = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
#: Turns stages into the coefficients of the polynomial without constant term through them.
POWERS = np.linalg.inv(NODES[:, None] ** np.arange(1, 4))
#: The most Newton steps for one step of the method.
NEWTON_STEPS = 6


class ImplicitState(NamedTuple):
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
    #: The length and the error of the last step; 0 before the first.
    last_h: Any
    last_error: Any
    njev: Any
    nlu: Any


class _Try(NamedTuple):
    """One try of a step: its length, stages, result, and the length of the next try."""

    h: Any
    stages: Any
    accepted: Any
    h_next: Any
    error: Any
    tries: Any
    newton_steps: Any


class Implicit:
    """The steps of Radau IIA."""

    def __init__(self, g: Slope, control: Control) -> None:
        self.g: Slope = g
        self.control: Control = control
        self.newton_tolerance: float = max(
            10 * np.finfo(float).eps / control.rtol, min(0.03, control.rtol**0.5)
        )

    def start(self, y0: Any, end: Any) -> ImplicitState:
        zero = 0 * end
        slope = self.g(zero, y0)
        h = first_step(self.g, y0, slope, end, 3, self.control)
        return ImplicitState(
            s=zero, y=y0, slope=slope, h=stop_gradient(h), before=zero, old=y0,
            stages=np.stack([0 * y0] * 3), failed=zero > 1, last_h=stop_gradient(zero),
            nfev=np.int64(2 if self.control.first_step is None else 1),
            last_error=stop_gradient(zero), njev=np.int64(0), nlu=np.int64(0),
        )  # fmt: skip

    def interpolated(self, state: ImplicitState, target: Any, width: Any) -> Any:
        return _polynomial(state, (target - state.before) / width)

    # -- one step -------------------------------------------------------------------

    def attempt(self, state: ImplicitState, end: Any) -> ImplicitState:
        """Take one step, after as many tries as it needs."""
        done = self._searched(stop_gradient_of(state), end)
        found, h = stop_gradient(done.stages), stop_gradient(done.h)
        stages = self._rooted(state, found, h)
        y = state.y + stages[2]
        reached = np.where(state.s + h >= end, end, state.s + h)
        return ImplicitState(
            s=np.where(done.accepted, reached, state.s), y=y, slope=self.g(state.s + h, y),
            h=done.h_next, before=state.s, old=state.y, stages=stages,
            failed=np.logical_not(done.accepted), last_h=h, last_error=done.error,
            nfev=state.nfev + 3 * done.newton_steps + 1, njev=state.njev + 1,
            nlu=state.nlu + done.tries,
        )  # fmt: skip

    def _residual(self, state: ImplicitState, h: Any, stages: Any) -> Any:
        """The residual of the equations of a step, which is 0 for the right stages."""
        rows = [self.g(state.s + c * h, state.y + stages[i]) for i, c in enumerate(NODES)]
        return stages - h * (STAGES @ np.stack(rows))

    def _rooted(self, state: ImplicitState, found: Any, h: Any) -> Any:
        shape = found.shape

        def equations(flat: Any) -> Any:
            return np.reshape(self._residual(state, h, np.reshape(flat, shape)), (-1,))

        def tangent(derivative: Any, right: Any) -> Any:
            return np.linalg.solve(vmap(derivative)(np.eye(right.shape[0])).T, right)

        flat = custom_root(equations, np.reshape(found, (-1,)), lambda _, x: x, tangent)
        return np.reshape(flat, shape)

    def _searched(self, state: ImplicitState, end: Any) -> _Try:
        """The last of several tries, each shorter than the one before, until one is accepted."""
        jacobian = jacfwd(lambda y: self.g(state.s, y))(state.y)
        least = 10 * np.finfo(float).eps * state.s + 1e-20 * end
        h = np.clip(state.h, least, self.control.max_step)
        zero = np.int64(0)
        first = _Try(h, 0.0 * state.stages, False, h, 0.0 * h, zero, zero)
        last: _Try = while_loop(
            lambda t: np.logical_and(np.logical_not(t.accepted), t.h_next >= least),
            lambda t: self._tried(state, jacobian, t, end),
            first,
        )
        return _Try(*(stop_gradient(field) for field in last))

    def _tried(self, state: ImplicitState, jacobian: Any, last: _Try, end: Any) -> _Try:
        h = np.where(state.s + last.h_next > end, end - state.s, last.h_next)
        stages, steps, converged = self._newton(state, jacobian, h)
        error = self._error(state, jacobian, h, stages, last.tries > 0)
        accepted = np.logical_and(converged, error <= 1)
        safety = 0.9 * (2 * NEWTON_STEPS + 1) / (2 * NEWTON_STEPS + steps)
        factor = safety * _predicted(h, state.last_h, error, state.last_error)
        factor = np.where(converged, np.clip(factor, 0.2, 10.0), 0.5)
        return _Try(
            h, stages, accepted, h * factor, error, last.tries + 1, last.newton_steps + steps
        )

    def _newton(self, state: ImplicitState, jacobian: Any, h: Any) -> tuple[Any, Any, Any]:
        """``(stages, steps, whether they converged)`` of Newton's method with a fixed matrix."""
        n, tolerance = state.y.shape[0], self.newton_tolerance
        scale = self.control.atol + np.abs(state.y) * self.control.rtol
        matrix = np.linalg.inv(np.eye(3 * n) - h * np.kron(STAGES, jacobian))

        def step(carry: Any) -> Any:
            stages, size, k, _, _ = carry
            right = np.reshape(self._residual(state, h, stages), (-1,))
            move = np.reshape(matrix @ right, (3, n))
            new = norm(move / scale)
            rate = np.where(k > 0, new / np.where(size > 0, size, 1.0), 0.0)
            ahead = np.where(rate < 1, 1 - rate, 1.0)
            left = rate ** (NEWTON_STEPS - k) / ahead * new
            bad = np.logical_and(k > 0, np.logical_or(rate >= 1, left > tolerance))
            small = np.logical_and(k > 0, rate / ahead * new < tolerance)
            bad = np.logical_or(bad, np.logical_not(np.isfinite(new)))
            good = np.logical_and(np.logical_not(bad), np.logical_or(new == 0, small))
            return np.where(bad, stages, stages - move), new, k + 1, good, bad

        def unfinished(carry: Any) -> Any:
            _, _, k, good, bad = carry
            return np.logical_and(k < NEWTON_STEPS, np.logical_not(np.logical_or(good, bad)))

        guess = self._guess(state, h)
        begin = (guess, 0.0 * h, np.int64(0), False, False)
        stages, _, steps, good, _ = while_loop(unfinished, step, begin)
        return stages, steps, good

    def _guess(self, state: ImplicitState, h: Any) -> Any:
        """The initial guess of the stages, from the polynomial of the last step."""
        width = np.where(state.last_h > 0, state.last_h, 1.0)
        x = (state.s - state.before + NODES * h) / width
        rows = np.stack([_polynomial(state, x[i]) - state.y for i in range(3)])
        return np.where(state.last_h > 0, rows, 0.0)

    def _error(self, state: ImplicitState, jacobian: Any, h: Any, stages: Any, again: Any) -> Any:
        """The scaled size of the error; after a rejected try, a large one is estimated again."""
        scaled = ERROR @ stages / h
        size = np.maximum(np.abs(state.y), np.abs(state.y + stages[2]))
        scale = self.control.atol + size * self.control.rtol
        matrix = np.linalg.inv(EIGENVALUE / h * np.eye(state.y.shape[0]) - jacobian)
        error = matrix @ (state.slope + scaled)
        second = matrix @ (self.g(state.s, state.y + error) + scaled)
        once, twice = norm(error / scale), norm(second / scale)
        return np.where(np.logical_and(again, once > 1), twice, once)


def stop_gradient_of(state: ImplicitState) -> ImplicitState:
    return ImplicitState(*(stop_gradient(field) for field in state))


def _polynomial(state: ImplicitState, x: Any) -> Any:
    coefficients = POWERS @ state.stages
    total = 0.0 * state.old
    for k in (2, 1, 0):
        total = (total + coefficients[k]) * x
    return state.old + total


def _predicted(h: Any, last_h: Any, error: Any, last_error: Any) -> Any:
    """Gustafsson's factor for the length of the next step (Hairer and Wanner, IV.8.2)."""
    known = np.logical_and(np.logical_and(last_error > 0, last_h > 0), error > 0)
    ratio = h / np.where(known, last_h, 1.0)
    change = ratio * (np.where(known, last_error, 1.0) / np.where(known, error, 1.0)) ** 0.25
    multiplier = np.where(known, np.minimum(1.0, change), 1.0)
    positive = np.where(error > 0, error, 1.0)
    return np.where(error > 0, multiplier * positive**-0.25, 10.0)
