"""Minima subject to equations and inequalities, and the derivatives of these minima.

The search is the method of multipliers (Bertsekas, "Constrained Optimization and Lagrange
Multiplier Methods", 1982, chapters 2 and 3): damped Newton steps minimize an augmented Lagrangian,
and the multipliers are updated between these searches. Newton steps on the conditions of Karush,
Kuhn and Tucker, with the active inequalities as equations, then reduce the error to rounding.

The derivatives follow from the same conditions (Fiacco, "Introduction to Sensitivity and Stability
Analysis in Nonlinear Programming", 1983, chapter 3). They exist if the gradients of the active
constraints are independent. An inequality whose multiplier is 0 counts as not active.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.scipy.arguments import at_hand, floating
from autojit.solvers.searching import Function, damped, rooted_where
from autojit.staging.bodies import check_function
from autojit.transformations.derivatives import stop_gradient
from autojit.transformations.gradients import grad
from autojit.transformations.jacobians import jacfwd

#: The most updates of the multipliers, and the Newton steps at the end.
MOST_UPDATES, LAST_STEPS = 60, 4
#: The penalty at the start, its growth where an update does not bring the constraints closer to a
#: quarter of their violation, and the greatest penalty.
FIRST_PENALTY, GROWTH, MOST_PENALTY = 10.0, 10.0, 1e8
#: The violation at which the updates end.
CLOSE = 1e-9
#: The unit gradients of the active constraints count as dependent if the least eigenvalue of their
#: Gram matrix is smaller.
DEPENDENT = 1e-10
#: A multiplier below this share of the gradient counts as 0, and a singular value below this share
#: of the largest one does.
INACTIVE, SINGULAR = 1e-8, 1e-13

#: Vectors that must be 0, and vectors that must not be negative.
Constraints = tuple[list[Function], list[Function]]


def constraints_of(given: Any) -> Constraints:
    """The equations and inequalities that ``constraints=`` of ``minimize`` describes."""
    several = given if isinstance(given, (list, tuple)) else [given]
    equations: list[Function] = []
    inequalities: list[Function] = []
    for one in several:
        if isinstance(one, dict):
            kind = str(one.get("type", "")).lower()
            if kind not in ("eq", "ineq"):
                raise ValueError(f"Unknown constraint type {one.get('type')!r}.")
            (equations if kind == "eq" else inequalities).append(_of_dict(one))
        elif hasattr(one, "lb") and (hasattr(one, "A") or hasattr(one, "fun")):
            _add_between(_vector_of(one), one.lb, one.ub, equations, inequalities)
        else:
            raise TypeError(
                "a constraint is a dict with 'type' and 'fun', a LinearConstraint or a "
                f"NonlinearConstraint, not a {type(one).__name__}"
            )
    return equations, inequalities


def _of_dict(one: dict[str, Any]) -> Function:
    f, more = check_function(one["fun"], "a constraint", "minimize"), tuple(one.get("args", ()))
    return lambda x: np.reshape(floating(f(x, *more)), (-1,))


def _vector_of(one: Any) -> Function:
    if hasattr(one, "A"):
        matrix = one.A.toarray() if hasattr(one.A, "toarray") else one.A
        return lambda x: np.reshape(floating(matrix) @ x, (-1,))
    f = check_function(one.fun, "a constraint", "minimize")
    return lambda x: np.reshape(floating(f(x)), (-1,))


def _add_between(
    f: Function, low: Any, high: Any, equations: list[Function], inequalities: list[Function]
) -> None:
    """Add ``low <= f(x) <= high``, an equation for the elements whose known limits are equal."""
    least, most = at_hand(low), at_hand(high)
    if low is high:
        equations.append(lambda x: f(x) - low)
        return
    if least is not None and most is not None:
        same = least == most
        if np.any(same):
            equations.append(_finite(f, np.where(same, least, np.inf), 1.0))
        low, high = np.where(same, -np.inf, least), np.where(same, np.inf, most)
    add_limits(f, low, high, inequalities)


def add_limits(f: Function, low: Any, high: Any, inequalities: list[Function]) -> None:
    """Add ``low <= f(x)`` and ``f(x) <= high``, without those that are known to be infinite."""
    for limit, sign in ((low, 1.0), (high, -1.0)):
        known = at_hand(limit)
        if known is None:
            inequalities.append(_beyond(f, limit, sign))
        elif np.any(np.isfinite(known)):
            inequalities.append(_finite(f, known, sign))


def _beyond(f: Function, limit: Any, sign: float) -> Function:
    return lambda x: sign * (f(x) - limit)


def _finite(f: Function, limit: np.ndarray, sign: float) -> Function:
    def beyond(x: Any) -> Any:
        value = f(x)
        every = np.broadcast_to(limit, value.shape)
        (places,) = np.nonzero(np.isfinite(every))
        return sign * (value[places] - every[places])

    return beyond


def _joined(functions: list[Function]) -> Function:
    def together(x: Any) -> Any:
        return np.concatenate([np.zeros(0), *(f(x) for f in functions)])

    return together


def minimum_subject_to(
    f: Function, constraints: Constraints, x0: Any, tolerance: float
) -> tuple[Any, Any, Any]:
    """``(x, whether it was found, steps)`` for the minimum of f subject to constraints."""
    equal, above = (_joined(functions) for functions in constraints)
    x, y, z, steps = _search(f, equal, above, stop_gradient(x0))
    n, equations = x.shape[0], y.shape[0]
    size = stop_gradient(1.0 + np.max(np.abs(grad(f)(x))))
    active = z > np.maximum(stop_gradient(above(x)), INACTIVE * size)

    def conditions(unknown: Any) -> Any:
        """The conditions of Karush, Kuhn and Tucker; inactive multipliers are 0."""
        x, y, z = unknown[:n], unknown[n : n + equations], unknown[n + equations :]
        slope = grad(lambda x: f(x) - y @ equal(x) - z @ above(x))(x)
        return np.concatenate([slope, equal(x), np.where(active, above(x), z)])

    found = np.concatenate([x, y, z])
    for _ in range(LAST_STEPS):
        inverse = np.linalg.pinv(jacfwd(conditions)(found), rcond=SINGULAR)
        found = found - inverse @ conditions(found)
    off = np.max(np.abs(conditions(found)))
    x, z = found[:n], found[n + equations :]
    least = np.min(np.concatenate([np.zeros(1), above(x), z]))
    success = np.logical_and(off <= tolerance * size, least >= -tolerance * size)
    error = ValueError(
        "minimize: the minimum has no derivative, because the gradients of the active constraints "
        "are linearly dependent. Leave out constraints that follow from others"
    )
    independent = _independent(equal, above, active, x)
    whole = rooted_where(conditions, np.where(success, found, np.nan), independent, error)
    return whole[:n], success, steps


def _search(f: Function, equal: Function, above: Function, x0: Any) -> tuple[Any, Any, Any, Any]:
    """``(x, multipliers of the equations, of the inequalities, updates)`` near a minimum."""

    def update(state: Any) -> Any:
        x, y, z, penalty, violation, n = state

        def augmented(x: Any) -> Any:
            e, a = equal(x) - y / penalty, np.minimum(above(x) - z / penalty, 0.0)
            return f(x) + penalty / 2 * (np.sum(e**2) + np.sum(a**2))

        slope = grad(augmented)

        def step(x: Any, damping: Any) -> tuple[Any, Any]:
            g = slope(x)
            # Use the absolute values of curvatures, so that each step goes downhill.
            curvatures, axes = np.linalg.eigh(jacfwd(slope)(x))
            sizes = np.abs(curvatures)
            sizes = sizes + damping * np.max(sizes) + 1e-300
            return -axes @ ((axes.T @ g) / sizes), np.max(np.abs(g))

        x, _ = damped(x, augmented, step, 1e-9)
        e, a = equal(x), above(x)
        off = np.max(np.abs(np.concatenate([np.zeros(1), e, np.minimum(a, z / penalty)])))
        y, z = y - penalty * e, np.maximum(z - penalty * a, 0.0)
        slow = off > 0.25 * violation
        penalty = np.where(slow, np.minimum(penalty * GROWTH, MOST_PENALTY), penalty)
        return x, y, z, penalty, off, n + 1

    def unfinished(state: Any) -> Any:
        return np.logical_and(state[5] < MOST_UPDATES, state[4] > CLOSE)

    e, a = equal(x0), above(x0)
    none = 0.0 * np.sum(x0)
    first = (x0, 0.0 * e, 0.0 * a, none + FIRST_PENALTY, none + np.inf, np.int64(0))
    x, y, z, _, _, n = stop_gradient(while_loop(unfinished, update, first))
    return x, y, z, n


def _independent(equal: Function, above: Function, active: Any, x: Any) -> Any:
    """Whether the gradients of the active constraints are linearly independent."""
    rows = jacfwd(lambda x: np.concatenate([equal(x), above(x)]))(x)
    used = np.concatenate([np.ones(rows.shape[0] - active.shape[0], bool), active])
    sizes = np.sqrt(np.sum(rows**2, axis=1))
    scaled = np.where(used[:, None], rows / np.where(sizes == 0, 1.0, sizes)[:, None], 0.0)
    # A constraint that is not active gets a unit row, which is independent of all others.
    gram = scaled @ scaled.T + np.diag(np.where(used, 0.0, 1.0))
    return stop_gradient(np.min(np.linalg.eigvalsh(gram)) > DEPENDENT)
