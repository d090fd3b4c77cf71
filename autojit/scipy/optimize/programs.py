"""Minima subject to constraints that have functions of their own in ``scipy.optimize``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers, original
from autojit.solvers.searching import rooted_where
from autojit.transformations.derivatives import stop_gradient

from .bounded import pairs
from .minima import minimize
from .roots import result, tuple_of

#: The root of the machine epsilon, SciPy's default of several settings.
_EPSILON = 1.4901161193847656e-08
#: A marginal below this share of the largest one counts as 0.
NO_MARGINAL = 1e-9
#: The active rows count as dependent if the least eigenvalue of their Gram matrix is smaller.
DEPENDENT = 1e-10


@answers(
    "scipy.optimize.fmin_slsqp", tuples=("args", "bounds", "eqcons", "ieqcons"), callables=True
)
def fmin_slsqp(
    func: Callable[..., Any], x0: Any, eqcons: Any = (), f_eqcons: Any = None, ieqcons: Any = (),
    f_ieqcons: Any = None, bounds: Any = (), fprime: Any = None, fprime_eqcons: Any = None,
    fprime_ieqcons: Any = None, args: Any = (), iter: int = 100, acc: float = 1e-6,
    iprint: int = 1, disp: Any = None, full_output: int = 0, epsilon: float = _EPSILON,
    callback: Any = None,
) -> Any:  # fmt: skip
    """The minimum of a function subject to constraints: see :func:`minimize`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_slsqp
    >>> f = lambda a: fmin_slsqp(
    ...     lambda x: np.sum(x**2), np.ones(2), eqcons=[lambda x: x[0] + x[1] - a], iprint=0)[0]
    >>> round(float(grad(f)(1.0)), 9)
    0.5
    """
    if callback is not None:
        raise refused("scipy.optimize.fmin_slsqp", "callback= is not covered.")
    more = tuple_of(args)
    whole = [("eq", f_eqcons)] if f_eqcons is not None else [("eq", f) for f in eqcons]
    whole += [("ineq", f_ieqcons)] if f_ieqcons is not None else [("ineq", f) for f in ieqcons]
    constraints = [{"type": kind, "fun": f, "args": more} for kind, f in whole]
    found = minimize(func, x0, args=more, bounds=bounds or None, constraints=constraints, tol=acc)
    if not full_output:
        return found.x
    return found.x, found.fun, found.nit, found.status, found.success


@answers("scipy.optimize.fmin_cobyla", tuples=("args", "consargs"), callables=True)
def fmin_cobyla(
    func: Callable[..., Any], x0: Any, cons: Any, args: Any = (), consargs: Any = None,
    rhobeg: float = 1.0, rhoend: float = 1e-4, maxfun: int = 1000, disp: Any = None,
    catol: float = 2e-4, *, callback: Any = None,
) -> Any:  # fmt: skip
    """The minimum of a function where the functions in ``cons`` are not negative.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_cobyla
    >>> f = lambda a: fmin_cobyla(lambda x: np.sum(x**2), np.ones(2), lambda x: x[0] - a)[0]
    >>> round(float(grad(f)(1.0)), 9)
    1.0
    """
    if callback is not None:
        raise refused("scipy.optimize.fmin_cobyla", "callback= is not covered.")
    several: Sequence[Any] = [cons] if callable(cons) else cons
    more = tuple_of(args if consargs is None else consargs)
    constraints = [{"type": "ineq", "fun": f, "args": more} for f in several]
    return minimize(func, x0, args=tuple_of(args), constraints=constraints).x


@answers("scipy.optimize.linprog", tuples=("bounds",))
def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), method: str = "highs", callback: Any = None, options: Any = None,
    x0: Any = None, integrality: Any = None,
) -> Any:  # fmt: skip
    """SciPy's result object with ``x``, ``fun``, ``slack``, ``con`` and ``success``.

    SciPy finds the optimum, called back from the compiled code. It is a corner, at which as many
    constraints are active as there are unknowns; the corner moves with these. If there is no
    optimum, x is NaN. Where other corners are as good, or more constraints meet, a derivative
    raises ValueError.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import linprog
    >>> grad(lambda b: linprog([-1.0, -2.0], [[1.0, 1.0], [0.0, 1.0]], b).fun)(np.array([4.0, 3.0]))
    array([-1., -1.])
    """
    name = "scipy.optimize.linprog"
    if callback is not None or integrality is not None or x0 is not None:
        raise refused(name, "callback=, integrality= and x0= are not covered.")
    cost = np.ravel(floating(c))
    n = cost.shape[0]
    upper, most = _rows(A_ub, b_ub, n)
    equal, right = _rows(A_eq, b_eq, n)
    low, high = _bounds(bounds, n)
    numbers = [stop_gradient(x) for x in (cost, upper, most, equal, right, low, high)]

    def search(c: Any, a: Any, b: Any, e: Any, r: Any, low: Any, high: Any) -> Any:
        found = original(name)(c, a, b, e, r, np.stack([low, high], 1), method, options=options)
        if found.x is None or not found.success:
            return np.full(n, np.nan), np.ones(a.shape[0] + 2 * n, bool), False
        parts = (found.ineqlin, found.lower, found.upper)
        marginals = np.concatenate([np.zeros(0), *(np.abs(p.marginals) for p in parts)])
        largest = np.max(np.abs(np.concatenate([marginals, found.eqlin.marginals, [0.0]])))
        return found.x, marginals > NO_MARGINAL * largest, True

    m = upper.shape[0]
    x, active, success = pure_callback(
        search, (np.zeros(n), np.zeros(m + 2 * n, bool), np.bool_()), *numbers,
        vmap_method="sequential",
    )  # fmt: skip
    x = _corner(x, active, (upper, most, equal, right, low, high))
    return result(
        x=x, fun=cost @ x, success=success, status=np.where(success, 0, 2),
        slack=most - upper @ x, con=right - equal @ x,
    )  # fmt: skip


def _rows(matrix: Any, right: Any, n: int) -> tuple[Any, Any]:
    if matrix is None:
        return floating(np.zeros((0, n))), floating(np.zeros(0))
    return np.reshape(floating(matrix), (-1, n)), np.ravel(floating(right))


def _bounds(bounds: Any, n: int) -> tuple[Any, Any]:
    """``(lower, upper)``, from one pair for all elements or from one for each."""
    if bounds is None:
        bounds = (None, None)
    if isinstance(bounds, (tuple, list)) and len(bounds) == 2 and all(
        b is None or np.ndim(b) == 0 for b in bounds
    ):  # fmt: skip
        bounds = [tuple(bounds)] * n
    free = floating(np.full(n, np.inf))
    return pairs(bounds, n) or (-free, free)


def _corner(x: Any, active: Any, constraints: tuple[Any, ...]) -> Any:
    """The solution x of the active constraints, with its derivatives."""
    upper, most, equal, right, low, high = constraints
    n = x.shape[0]
    unit = np.eye(n)
    rows = np.concatenate([equal, upper, unit, unit])
    used = np.concatenate([np.ones(equal.shape[0], bool), active])
    ends = np.concatenate([right, most, low, high])
    ends = np.where(used, ends, 0.0)
    sizes = stop_gradient(np.sqrt(np.sum(rows**2, axis=1)))
    scaled = np.where(used[:, None], rows / np.where(sizes == 0, 1.0, sizes)[:, None], 0.0)
    ends = ends / np.where(sizes == 0, 1.0, sizes)
    gram = stop_gradient(scaled.T @ scaled)
    whole = np.logical_and(np.min(np.linalg.eigvalsh(gram)) > DEPENDENT, np.sum(used) == n)
    error = ValueError(
        "linprog: the optimum has no derivative, because other points are as good, or more "
        "constraints meet there than there are unknowns"
    )

    def equations(x: Any) -> Any:
        return scaled.T @ (scaled @ x - ends)

    return rooted_where(equations, x, whole, error)
