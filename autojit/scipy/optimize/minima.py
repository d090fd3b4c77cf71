"""Minima and least squares, with the names and arguments of ``scipy.optimize``.

For every method, the compiled search takes damped Newton steps with exact Hessians. If there are
several minima, it may find another one than SciPy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.scipy.arguments import at_hand, check_method, floating, refused
from autojit.scipy.registry import answers
from autojit.solvers.searching import Function, least_squares_smooth, minimize_smooth
from autojit.solvers.sections import least_number, widened
from autojit.staging.bodies import check_function
from autojit.tracing.created_arrays import is_traced
from autojit.transformations.derivatives import stop_gradient
from autojit.transformations.gradients import grad
from autojit.transformations.jacobians import jacfwd

from .bounded import least_squares_between, limits, minimum_between, pairs
from .constrained import add_limits, constraints_of, minimum_subject_to
from .roots import result, tuple_of

_METHODS = (
    "nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa",
    "slsqp", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip


@answers("scipy.optimize.minimize", tuples=("args", "bounds", "constraints"), callables=True)
def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, jac: Any = None,
    hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: Any = (),
    tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Minimize a function of a vector; return SciPy's result object.

    It has the minimum ``x``, which is NaN if it was not found, ``fun``, ``jac`` and ``success``.
    For traced values, ``method``, ``jac``, ``hess`` and ``options`` have no effect, because the
    function is differentiated. An element at one of the ``bounds`` moves with it. ``callback`` is
    refused.

    With ``constraints``, the derivatives follow from the conditions of Karush, Kuhn and Tucker. An
    inequality whose multiplier is 0 counts as not active. If the gradients of the active
    constraints are linearly dependent, a derivative raises ValueError.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import minimize
    >>> f = lambda a: minimize(lambda x: np.sum((x**2 - a) ** 2), np.ones(1)).x[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    >>> one = {"type": "eq", "fun": lambda x: np.sum(x) - 1}
    >>> f = lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), constraints=one).x[0]
    >>> grad(f)(np.array([0.3, 0.1])).round(9)
    array([ 0.5, -0.5])
    """
    name = "scipy.optimize.minimize"
    check_method(method, _METHODS, name)
    if callback is not None:
        raise refused(name, "callback= is not covered.")
    f, more = check_function(fun, "argument 0", "minimize"), tuple_of(args)

    def scalar(x: Any) -> Any:
        made = f(x, *more)
        return np.reshape(floating(made[0] if jac is True else made), ())

    start = np.reshape(floating(x0), (-1,))
    between = pairs(bounds, start.shape[0])
    if _is_some(constraints):
        limited = constraints_of(constraints)
        if between is not None:
            add_limits(lambda x: x, *between, limited[1])
        found, success, n = minimum_subject_to(scalar, limited, start, tol or 1e-6)
    elif between is None:
        found, success, n = minimize_smooth(scalar, start, tol or 1e-5)
    else:
        found, success, n = minimum_between(scalar, start, between, tol or 1e-5)
    return result(
        x=found, fun=scalar(found), jac=grad(scalar)(found), success=success, nit=n,
        status=np.where(success, 0, 1),
    )  # fmt: skip


def _is_some(constraints: Any) -> bool:
    return bool(constraints) if isinstance(constraints, (dict, list, tuple)) else True


@answers("scipy.optimize.minimize_scalar", tuples=("args", "bounds", "bracket"), callables=True)
def minimize_scalar(
    fun: Callable[..., Any], bracket: Any = None, bounds: Any = None, args: Any = (),
    method: Any = None, tol: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Minimize a function of a number; return SciPy's result object with ``x`` and ``fun``.

    The search takes golden sections and Newton steps between known or traced bounds, or in a
    bracket (by default 0 and 1) that is widened downhill. A minimum at a bound moves with it.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import minimize_scalar
    >>> round(float(grad(lambda a: minimize_scalar(lambda x: (x - a) ** 2).x)(3.0)), 9)
    1.0
    """
    if options:
        raise refused("scipy.optimize.minimize_scalar", "options= is not covered.")
    f, more = check_function(fun, "argument 0", "minimize_scalar"), tuple_of(args)

    def scalar(x: Any) -> Any:
        return np.reshape(floating(f(x, *more)), ())

    if bounds is not None:
        low, high = (floating(b) for b in bounds)
        found = least_number(scalar, low, high)
        x = stop_gradient(found)
        found = np.where(x <= low, low, np.where(x >= high, high, found))
    else:
        ends = (0.0, 1.0) if bracket is None else (bracket[0], bracket[-1])
        found = least_number(scalar, *widened(scalar, *map(floating, ends)))
    return result(x=found, fun=scalar(found), success=np.isfinite(found))


@answers("scipy.optimize.least_squares", tuples=("args", "bounds", "kwargs"), callables=True)
def least_squares(
    fun: Callable[..., Any], x0: Any, jac: Any = "2-point", bounds: Any = (-np.inf, np.inf),
    method: str = "trf", ftol: Any = 1e-8, xtol: Any = 1e-8, gtol: Any = 1e-8,
    x_scale: Any = None, loss: Any = "linear", f_scale: float = 1.0, diff_step: Any = None,
    tr_solver: Any = None, tr_options: Any = None, jac_sparsity: Any = None,
    max_nfev: Any = None, verbose: int = 0, args: Any = (), kwargs: Any = None,
    callback: Any = None, workers: Any = None,
) -> Any:  # fmt: skip
    """Minimize the sum of squared residuals; return SciPy's result object.

    It has the minimum ``x``, which is NaN if it was not found, ``cost``, ``fun``, ``jac`` and
    ``grad``. An element at one of the ``bounds`` moves with it. Losses other than ``"linear"`` are
    refused.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import least_squares
    >>> f = lambda a: least_squares(lambda x: x**2 - a, np.ones(1)).x[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    if loss != "linear":
        raise refused("scipy.optimize.least_squares", f"loss={loss!r} is not covered.")
    f, more, names = (
        check_function(fun, "argument 0", "least_squares"),
        tuple_of(args),
        kwargs or {},
    )

    def residuals(x: Any) -> Any:
        return np.reshape(floating(f(x, *more, **names)), (-1,))

    start = np.reshape(floating(x0), (-1,))
    _check_start(x0, bounds)
    found, success, n = _least(residuals, start, bounds, xtol or 1e-8)
    r, jacobian = residuals(found), jacfwd(residuals)(found)
    return result(
        x=found, cost=np.sum(r**2) / 2, fun=r, jac=jacobian, grad=jacobian.T @ r,
        optimality=np.max(np.abs(jacobian.T @ r)), success=success, nfev=n,
        status=np.where(success, 1, 0),
    )  # fmt: skip


def _check_start(x0: Any, bounds: Any) -> None:
    """Check, as SciPy does, that the first guess lies between the bounds, if all are known."""
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    least, x, most = (at_hand(v) for v in (low, x0, high))
    if least is None or x is None or most is None:
        return
    if np.any(x < least) or np.any(x > most):
        raise ValueError("Initial guess is outside of provided bounds")


def _least(residuals: Function, start: Any, bounds: Any, tolerance: float) -> Any:
    between = limits(bounds, start.shape[0])
    if between is None:
        return least_squares_smooth(residuals, start, tolerance)
    return least_squares_between(residuals, start, between, tolerance)


@answers("scipy.optimize.curve_fit", tuples=("bounds",), callables=True)
def curve_fit(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None,
    absolute_sigma: bool = False, check_finite: Any = None, bounds: Any = (-np.inf, np.inf),
    method: Any = None, jac: Any = None, *, full_output: bool = False, nan_policy: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """``(parameters, covariance)`` of ``f(x, *parameters)`` fitted to data by least squares.

    ``full_output`` is refused; ``jac`` has no effect. A parameter at one of the ``bounds`` moves
    with it.

    >>> from autojit import jacfwd
    >>> from autojit.scipy.optimize import curve_fit
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> np.round(jacfwd(lambda y: curve_fit(lambda x, a, b: a * x + b, x, y)[0])(x), 6) + 0.0
    array([[-0.5     ,  0.      ,  0.5     ],
           [ 0.833333,  0.333333, -0.166667]])
    """
    name = "scipy.optimize.curve_fit"
    if full_output or nan_policy is not None:
        raise refused(name, "full_output and nan_policy are not covered.")
    if p0 is None:
        count = len(inspect.getfullargspec(f).args) - 1
        if count < 1:
            raise ValueError("Unable to determine number of fit parameters.")
        p0 = _start_between(bounds, count)
    model = check_function(f, "argument 0", "curve_fit")
    start, y = np.atleast_1d(floating(p0)), floating(ydata)
    x = floating(xdata) if is_traced(xdata) or isinstance(xdata, (list, tuple)) else xdata
    n = start.shape[0]

    def residuals(p: Any) -> Any:
        return _scaled(np.ravel(model(x, *(p[i] for i in range(n))) - y), sigma)

    found, _, _ = _least(residuals, start, bounds, 1e-8)
    jacobian, r = jacfwd(residuals)(found), residuals(found)
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    if not absolute_sigma:
        free = r.shape[0] - n
        covariance = covariance * (np.sum(r**2) / free) if free > 0 else covariance * np.inf
    return found, covariance


def _start_between(bounds: Any, n: int) -> Any:
    """SciPy's first guess: 1, or a place between the bounds."""
    between = limits(bounds, n)
    if between is None:
        return np.ones(n)
    low, high = between
    with_low, with_high = np.isfinite(low), np.isfinite(high)
    above, below = np.where(with_low, low, 0.0), np.where(with_high, high, 0.0)
    one = np.where(with_low, above + 1, np.where(with_high, below - 1, 1.0))
    return stop_gradient(np.where(np.logical_and(with_low, with_high), (above + below) / 2, one))


def _scaled(r: Any, sigma: Any) -> Any:
    if sigma is None:
        return r
    s = floating(sigma)
    if s.ndim == 2:
        return np.linalg.solve(np.linalg.cholesky(s), r)
    return r / s


@answers("scipy.optimize.lsq_linear", tuples=("bounds",))
def lsq_linear(
    A: Any, b: Any, bounds: Any = (-np.inf, np.inf), method: str = "trf", tol: float = 1e-10,
    lsq_solver: Any = None, lsmr_tol: Any = None, max_iter: Any = None, verbose: int = 0, *,
    lsmr_maxiter: Any = None,
) -> Any:  # fmt: skip
    """Minimize ``norm(A @ x - b)`` between bounds; return SciPy's result object with ``x``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import lsq_linear
    >>> grad(lambda b: lsq_linear(np.eye(2), b, (0.0, 1.0)).x.sum())(np.array([0.5, 2.0])) + 0.0
    array([1., 0.])
    """
    a, y = floating(A), floating(b)
    between = limits(bounds, a.shape[1])
    x = np.linalg.lstsq(a, y, rcond=None)[0]
    if between is not None:
        x, _, _ = least_squares_between(lambda x: a @ x - y, x, between, 1e-8)
    r = a @ x - y
    return result(x=x, fun=r, cost=np.sum(r**2) / 2, success=True, status=3)


@answers("scipy.optimize.nnls")
def nnls(A: Any, b: Any, *, maxiter: Any = None, atol: Any = None) -> tuple[Any, Any]:
    """``(x, norm(A @ x - b))`` for the ``x >= 0`` with the least norm.

    Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23. In the derivative,
    elements at 0 stay there.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import nnls
    >>> grad(lambda b: nnls(np.eye(2), b)[0].sum())(np.array([1.0, -1.0]))
    array([1., 0.])
    """
    a, y = floating(A), floating(b)
    normal, right = a.T @ a, a.T @ y
    n = normal.shape[0]

    def restricted(free: Any) -> Any:
        both = np.logical_and(free[:, None], free)
        rest = np.diag(np.where(free, 0.0, 1.0))
        return np.linalg.solve(np.where(both, normal, 0.0) + rest, np.where(free, right, 0.0))

    tolerance = 10 * n * np.finfo(float).eps * np.max(np.abs(right))

    def gain(x: Any, free: Any) -> Any:
        return np.where(free, -np.inf, right - normal @ x)

    def infeasible(state: Any) -> Any:
        _, free, k = state
        falls = np.any(np.logical_and(free, restricted(free) <= 0))
        return np.logical_and(k < 3 * n, falls)

    def outer(state: Any) -> Any:
        x, free, k = state
        free = np.logical_or(free, np.arange(n) == np.argmax(gain(x, free)))
        x, free, _ = while_loop(infeasible, inner, (x, free, np.int64(0)))
        return restricted(free), free, k + 1

    def inner(state: Any) -> Any:
        x, free, k = state
        s = restricted(free)
        falls = np.logical_and(free, s <= 0)
        share = np.min(np.where(falls, x / np.where(falls, x - s, 1.0), np.inf))
        new = x + share * (s - x)
        kept = np.logical_and(free, new > 1e-14 * np.max(np.abs(new)))
        return np.where(kept, new, 0.0), kept, k + 1

    first = (0.0 * right, np.zeros(n, bool), np.int64(0))
    most = 3 * n if maxiter is None else int(maxiter)
    more = lambda s: np.logical_and(s[2] < most, np.max(gain(s[0], s[1])) > tolerance)  # noqa: E731
    _, free, _ = while_loop(more, outer, first)
    x = restricted(free)
    return x, np.linalg.norm(a @ x - y)
