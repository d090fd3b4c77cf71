"""Searches for roots and minima in compiled code, and their derivatives.

Searches are loops of the compiled program: Newton steps, damped as by Levenberg and Marquardt, and
Chandrupatla's method between places with different signs (Adv. Eng. Software 28 (1997), 145-149).
The derivative comes from the equation that the result solves (the implicit function theorem), not
from the search. If a search does not succeed, its result and its derivatives are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.functions.checks import ensured
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import jvp, stop_gradient
from autojit.transformations.gradients import grad
from autojit.transformations.jacobians import jacfwd

from .implicit import custom_root

#: The most steps of a damped search; the full steps at its end, which reduce the error to rounding.
MOST_STEPS, LAST_STEPS = 500, 2
#: The damping at the start, the one at which a search gives up, and the least one.
FIRST_DAMPING, MOST_DAMPING, LEAST_DAMPING = 1e-3, 1e16, 1e-14

Function = Callable[[Any], Any]


def rooted(f: Function, found: Any) -> Any:
    """The vector x with f(x) = 0 that was found, with its derivatives."""

    def tangent(derivative: Function, y: Any) -> Any:
        return np.linalg.solve(vmap(derivative)(np.eye(y.shape[0])).T, y)

    return custom_root(f, stop_gradient(found), lambda _, x: x, tangent)


def rooted_where(f: Function, found: Any, exists: Any, error: Exception) -> Any:
    """Like `rooted`; a derivative raises ``error`` where ``exists`` is false."""

    def tangent(derivative: Function, y: Any) -> Any:
        unit = np.eye(y.shape[0])
        matrix = np.where(exists, vmap(derivative)(unit).T, unit)
        return ensured(np.linalg.solve(matrix, y), exists, error)

    return custom_root(f, stop_gradient(found), lambda _, x: x, tangent)


def rooted_elements(f: Function, found: Any) -> Any:
    """Like `rooted`, if each element of f(x) depends only on the same element of x."""

    def tangent(derivative: Function, y: Any) -> Any:
        return y / derivative(np.ones(y.shape))

    return custom_root(f, stop_gradient(found), lambda _, x: x, tangent)


def damped(
    x0: Any, value: Function, step: Callable[[Any, Any], tuple[Any, Any]], tolerance: float
) -> tuple[Any, Any]:
    """``(x, steps)`` after steps that lower a value; a step that does not increases the damping.

    ``step(x, damping)`` returns the step and the size of the vector that should vanish.
    """

    def attempt(state: Any) -> Any:
        x, v, damping, n, _ = state
        move, size = step(x, damping)
        new = x + move
        w = value(new)
        better = w < v
        small = np.max(np.abs(move)) <= tolerance * (np.max(np.abs(x)) + tolerance)
        done = np.logical_or(size == 0, np.logical_and(small, damping <= 1.0))
        least = np.maximum(damping / 10, LEAST_DAMPING)
        return (
            np.where(better, new, x), np.where(better, w, v),
            np.where(better, least, damping * 10), n + 1, done,
        )  # fmt: skip

    def unfinished(state: Any) -> Any:
        _, _, damping, n, done = state
        more = np.logical_and(n < MOST_STEPS, damping < MOST_DAMPING)
        return np.logical_and(more, np.logical_not(done))

    v0 = value(x0)
    first = (x0, v0, 0.0 * v0 + FIRST_DAMPING, np.int64(0), False)
    x, _, _, n, _ = while_loop(unfinished, attempt, first)
    return x, n


def newton_steps(f: Function, x: Any) -> tuple[Any, Any]:
    """Take full Newton steps; return x and the length of the last step."""
    move = x
    for _ in range(LAST_STEPS):
        move = np.linalg.solve(jacfwd(f)(x), f(x))
        x = x - move
    return x, np.max(np.abs(move))


def solve_system(f: Function, x0: Any, tolerance: float) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` for a vector function with f(x) = 0."""

    def step(x: Any, damping: Any) -> tuple[Any, Any]:
        r, jacobian = f(x), jacfwd(f)(x)
        normal = jacobian.T @ jacobian
        shift = damping * (np.diagonal(normal) + 1e-12 * np.max(np.abs(normal)) + 1e-300)
        return -np.linalg.solve(normal + np.diag(shift), jacobian.T @ r), np.max(np.abs(r))

    x, n = damped(stop_gradient(x0), lambda x: np.sum(f(x) ** 2), step, 1e-9)
    x, last = newton_steps(f, x)
    found = last <= tolerance * (1.0 + np.max(np.abs(x)))
    return rooted(f, np.where(found, x, np.nan)), found, n


def minimize_smooth(f: Function, x0: Any, tolerance: float) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` where the gradient of f vanishes."""
    slope = grad(f)

    def step(x: Any, damping: Any) -> tuple[Any, Any]:
        g, hessian = slope(x), jacfwd(slope)(x)
        # Use the absolute values of curvatures, so that each step goes downhill.
        curvatures, axes = np.linalg.eigh(hessian)
        sizes = np.abs(curvatures)
        sizes = sizes + damping * np.max(sizes) + 1e-300
        return -axes @ ((axes.T @ g) / sizes), np.max(np.abs(g))

    x, n = damped(stop_gradient(x0), f, step, 1e-9)
    x, _ = newton_steps(slope, x)
    found = np.max(np.abs(slope(x))) <= tolerance
    return rooted(slope, np.where(found, x, np.nan)), found, n


def least_squares_smooth(r: Function, x0: Any, tolerance: float) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` where the sum of squared residuals is least."""

    def cost(x: Any) -> Any:
        return np.sum(r(x) ** 2) / 2

    slope = grad(cost)

    def step(x: Any, damping: Any) -> tuple[Any, Any]:
        residuals, jacobian = r(x), jacfwd(r)(x)
        normal = jacobian.T @ jacobian
        shift = damping * (np.diagonal(normal) + 1e-12 * np.max(np.abs(normal)) + 1e-300)
        g = jacobian.T @ residuals
        return -np.linalg.solve(normal + np.diag(shift), g), np.max(np.abs(g))

    x, n = damped(stop_gradient(x0), cost, step, 1e-9)
    x, last = newton_steps(slope, x)
    found = last <= tolerance * (1.0 + np.max(np.abs(x)))
    return rooted(slope, np.where(found, x, np.nan)), found, n


def newton_elements(
    f: Function, slope: Function | None, x0: Any, tol: float, rtol: float, most: int
) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` by Newton's method, separately for each element."""

    def moved(x: Any) -> Any:
        if slope is not None:
            return f(x) / slope(x)
        value, derivative = jvp(f, (x,), (1.0 + 0.0 * x,))
        return value / derivative

    def step(state: Any) -> Any:
        x, n, _ = state
        move = moved(x)
        move = np.where(np.isnan(move), np.where(f(x) == 0, 0.0, move), move)
        new = x - move
        return new, n + 1, np.any(np.logical_not(np.abs(move) <= tol + rtol * np.abs(new)))

    x, n, off = while_loop(
        lambda s: np.logical_and(s[1] < most, s[2]), step, (stop_gradient(x0), np.int64(0), True)
    )
    last = moved(x)
    x = x - np.where(np.isfinite(last), last, 0.0)
    found = np.logical_not(off)
    return rooted_elements(f, np.where(found, x, np.nan)), found, n


def between(f: Function, a: Any, b: Any, xtol: float, rtol: float, most: int) -> tuple[Any, Any]:
    """``(x, steps)`` with f(x) = 0 between two places where f has different signs."""
    a, b = stop_gradient(a), stop_gradient(b)

    def step(state: Any) -> Any:
        a, fa, b, fb, _, _, t, n, _ = state
        x = a + t * (b - a)
        fx = f(x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        tolerance = 2 * rtol * np.abs(best) + xtol
        width = np.abs(b - a)
        # A step is no shorter than half of the tolerance, so that the root is enclosed even if all
        # steps come from one side.
        least = 0.5 * tolerance / np.where(width == 0, 1.0, width)
        done = np.logical_or(np.minimum(np.abs(fa), np.abs(fb)) == 0, width <= tolerance)
        t = np.clip(_interpolated(a, fa, b, fb, c, fc), least, np.maximum(1 - least, least))
        return a, fa, b, fb, c, fc, t, n + 1, done

    fa, fb = f(a), f(b)
    first = (a, fa, b, fb, a, fa, 0.0 * a + 0.5, np.int64(0), np.logical_or(fa == 0, fb == 0))
    more = lambda s: np.logical_and(s[7] < most, np.logical_not(s[8]))  # noqa: E731
    left, f_left, right, f_right, _, _, _, n, done = while_loop(more, step, first)
    best = np.where(np.abs(f_left) < np.abs(f_right), left, right)
    valid = np.logical_and(np.sign(fa) * np.sign(fb) <= 0, done)
    return rooted_elements(f, np.where(valid, best, np.nan)), n


def _interpolated(a: Any, fa: Any, b: Any, fb: Any, c: Any, fc: Any) -> Any:
    """The share of the way from a to b by inverse quadratic interpolation, or one half."""
    xi = (a - b) / np.where(c == b, 1.0, c - b)
    phi = (fa - fb) / np.where(fc == fb, 1.0, fc - fb)
    good = np.logical_and(phi**2 < xi, (1 - phi) ** 2 < 1 - xi)
    good = np.logical_and(good, np.logical_and(fa != fb, np.logical_and(fc != fb, fa != fc)))
    ab, cb, ca = (np.where(good, v, 1.0) for v in (fb - fa, fb - fc, fc - fa))
    share = fa / ab * fc / cb + (c - a) / np.where(a == b, 1.0, b - a) * fa / ca * fb / (-cb)
    return np.where(good, share, 0.5)
