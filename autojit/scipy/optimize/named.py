"""Searches that have a function of their own in ``scipy.optimize``.

For traced values, they call :func:`minimize`, :func:`minimize_scalar`, :func:`least_squares` and
:func:`root`. The settings of a search have no effect, and numbers of function calls are numbers of
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers

from .minima import least_squares, minimize, minimize_scalar
from .roots import root, tuple_of

#: The root of the machine epsilon, SciPy's default of several settings.
_EPSILON = 1.4901161193847656e-08


def _least(
    name: str, f: Any, x0: Any, args: Any, tol: Any, callback: Any, retall: Any = 0, **more: Any
) -> Any:
    if callback is not None:
        raise refused(f"scipy.optimize.{name}", "callback= is not covered.")
    if retall:
        raise refused(f"scipy.optimize.{name}", "retall= is not covered.")
    return minimize(f, x0, args=tuple_of(args), tol=tol, **more)


def _answer(found: Any, full_output: Any, *more: Any) -> Any:
    """The minimum; with ``full_output`` also the value there, ``more``, and 0 if it was found."""
    return (found.x, found.fun, *more, found.status) if full_output else found.x


def _least_number(name: str, f: Any, args: Any, full_output: Any, **where: Any) -> Any:
    if full_output:
        raise refused(f"scipy.optimize.{name}", "full_output= is not covered.")
    return minimize_scalar(f, args=tuple_of(args), **where).x


@answers("scipy.optimize.fmin", tuples=("args",), callables=True)
def fmin(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-4, ftol: float = 1e-4,
    maxiter: Any = None, maxfun: Any = None, full_output: int = 0, disp: int = 1, retall: int = 0,
    callback: Any = None, initial_simplex: Any = None,
) -> Any:  # fmt: skip
    """The minimum of a function of a vector: see :func:`minimize`.

    ``full_output`` gives ``(x, value, steps, calls, 0 if found)``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin
    >>> f = lambda a: fmin(lambda x: np.sum((x**2 - a) ** 2), np.ones(1), disp=0)[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    found = _least("fmin", func, x0, args, None, callback, retall)
    return _answer(found, full_output, found.nit, found.nit)


@answers("scipy.optimize.fmin_powell", tuples=("args",), callables=True)
def fmin_powell(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-4, ftol: float = 1e-4,
    maxiter: Any = None, maxfun: Any = None, full_output: int = 0, disp: int = 1, retall: int = 0,
    callback: Any = None, direc: Any = None,
) -> Any:  # fmt: skip
    """Like :func:`fmin`; ``full_output`` has a third element, the directions of the search.

    These are the axes.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_powell
    >>> f = lambda a: fmin_powell(lambda x: np.sum((x**2 - a) ** 2), np.ones(1), disp=0)[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    found = _least("fmin_powell", func, x0, args, None, callback, retall)
    axes = np.eye(found.x.shape[0]) if direc is None else direc
    return _answer(found, full_output, axes, found.nit, found.nit)


@answers("scipy.optimize.fmin_cg", tuples=("args",), callables=True)
def fmin_cg(
    f: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), gtol: float = 1e-5,
    norm: float = np.inf, epsilon: Any = _EPSILON, maxiter: Any = None, full_output: int = 0,
    disp: int = 1, retall: int = 0, callback: Any = None, c1: float = 1e-4, c2: float = 0.4,
) -> Any:  # fmt: skip
    """Like :func:`fmin`; ``full_output`` gives ``(x, value, calls, gradient calls, 0 if found)``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_cg
    >>> f = lambda a: fmin_cg(lambda x: np.sum((x**2 - a) ** 2), np.ones(1), disp=0)[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    found = _least("fmin_cg", f, x0, args, gtol, callback, retall)
    return _answer(found, full_output, found.nit, found.nit)


@answers("scipy.optimize.fmin_bfgs", tuples=("args",), callables=True)
def fmin_bfgs(
    f: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), gtol: float = 1e-5,
    norm: float = np.inf, epsilon: Any = _EPSILON, maxiter: Any = None, full_output: int = 0,
    disp: int = 1, retall: int = 0, callback: Any = None, xrtol: float = 0, c1: float = 1e-4,
    c2: float = 0.9, hess_inv0: Any = None,
) -> Any:  # fmt: skip
    """Like :func:`fmin`; ``full_output``, which has SciPy's estimate of the Hessian, is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_bfgs
    >>> f = lambda a: fmin_bfgs(lambda x: np.sum((x**2 - a) ** 2), np.ones(1), disp=0)[0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    if full_output:
        raise refused(
            "scipy.optimize.fmin_bfgs",
            "full_output= includes SciPy's estimate of the inverse Hessian, which is not "
            "covered. Write\n"
            "    found = minimize(f, x0); np.linalg.inv(autojit.hessian(f)(found.x))",
        )
    return _least("fmin_bfgs", f, x0, args, gtol, callback, retall).x


@answers("scipy.optimize.fmin_ncg", tuples=("args",), callables=True)
def fmin_ncg(
    f: Callable[..., Any], x0: Any, fprime: Any, fhess_p: Any = None, fhess: Any = None,
    args: Any = (), avextol: float = 1e-5, epsilon: Any = _EPSILON, maxiter: Any = None,
    full_output: int = 0, disp: int = 1, retall: int = 0, callback: Any = None, c1: float = 1e-4,
    c2: float = 0.9,
) -> Any:  # fmt: skip
    """Like :func:`fmin`.

    ``full_output`` gives ``(x, value, calls, gradient calls, Hessian calls, 0 if found)``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_ncg
    >>> f = lambda x, a: np.sum((x**2 - a) ** 2)
    >>> found = lambda a: fmin_ncg(f, np.ones(1), grad(f), args=(a,), disp=0)[0]
    >>> round(float(grad(found)(4.0)), 9)
    0.25
    """
    found = _least("fmin_ncg", f, x0, args, None, callback, retall)
    return _answer(found, full_output, found.nit, found.nit, found.nit)


@answers("scipy.optimize.fmin_l_bfgs_b", tuples=("args", "bounds"), callables=True)
def fmin_l_bfgs_b(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), approx_grad: int = 0,
    bounds: Any = None, m: int = 10, factr: float = 1e7, pgtol: float = 1e-5,
    epsilon: float = 1e-8, iprint: Any = None, maxfun: int = 15000, maxiter: int = 15000,
    disp: Any = None, callback: Any = None, maxls: int = 20,
) -> Any:  # fmt: skip
    """The minimum of a function between bounds.

    The result is ``(x, value, {"grad", "warnflag", "nit", "funcalls"})``. Without ``fprime`` and
    ``approx_grad``, the function returns its value and its gradient.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_l_bfgs_b
    >>> f = lambda a: fmin_l_bfgs_b(
    ...     lambda x: np.sum((x**2 - a) ** 2), np.ones(1), approx_grad=True)[0][0]
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    jac = fprime is None and not approx_grad
    found = _least("fmin_l_bfgs_b", func, x0, args, pgtol, callback, bounds=bounds, jac=jac or None)
    facts = {"grad": found.jac, "warnflag": found.status, "nit": found.nit, "funcalls": found.nit}
    return found.x, found.fun, facts


@answers("scipy.optimize.fmin_tnc", tuples=("args", "bounds"), callables=True)
def fmin_tnc(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), approx_grad: int = 0,
    bounds: Any = None, epsilon: float = 1e-8, scale: Any = None, offset: Any = None,
    messages: Any = 15, maxCGit: int = -1, maxfun: Any = None, eta: float = -1,
    stepmx: float = 0, accuracy: float = 0, fmin: float = 0, ftol: float = -1, xtol: float = -1,
    pgtol: float = -1, rescale: float = -1, disp: Any = None, callback: Any = None,
) -> Any:  # fmt: skip
    """The minimum of a function between bounds, as ``(x, calls, 1)``.

    The last element is 3 if the minimum was not found. The function is like that of
    :func:`fmin_l_bfgs_b`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fmin_tnc
    >>> f = lambda a: fmin_tnc(lambda x: np.sum((x**2 - a) ** 2), np.ones(1), approx_grad=True)
    >>> round(float(grad(lambda a: f(a)[0][0])(4.0)), 9)
    0.25
    """
    jac = fprime is None and not approx_grad
    found = _least("fmin_tnc", func, x0, args, None, callback, bounds=bounds, jac=jac or None)
    return found.x, found.nit, np.where(found.success, 1, 3)


@answers("scipy.optimize.leastsq", tuples=("args",), callables=True)
def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), Dfun: Any = None,
    full_output: bool = False, col_deriv: bool = False, ftol: float = 1.49012e-8,
    xtol: float = 1.49012e-8, gtol: float = 0.0, maxfev: int = 0, epsfcn: Any = None,
    factor: float = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """``(x, 1)`` for the least sum of squares; the second element is 5 if it was not found.

    ``full_output``, which has the factors of SciPy's last step, is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import leastsq
    >>> round(float(grad(lambda a: leastsq(lambda x: x**2 - a, 1.0)[0][0])(4.0)), 9)
    0.25
    """
    if full_output:
        raise refused(
            "scipy.optimize.leastsq",
            "full_output= includes the factors of SciPy's last step, which are not covered. Use "
            "least_squares, whose result has the Jacobian matrix:\n"
            "    found = least_squares(f, x0); np.linalg.inv(found.jac.T @ found.jac)",
        )
    found = least_squares(func, x0, args=tuple_of(args), xtol=xtol)
    return found.x, np.where(found.success, 1, 5)


@answers("scipy.optimize.brent", tuples=("args", "brack"), callables=True)
def brent(
    func: Callable[..., Any], args: Any = (), brack: Any = None, tol: float = 1.48e-8,
    full_output: int = 0, maxiter: int = 500,
) -> Any:  # fmt: skip
    """The minimum of a function of a number: see :func:`minimize_scalar`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import brent
    >>> round(float(grad(lambda a: brent(lambda x: (x - a) ** 2))(3.0)), 9)
    1.0
    """
    return _least_number("brent", func, args, full_output, bracket=brack)


@answers("scipy.optimize.golden", tuples=("args", "brack"), callables=True)
def golden(
    func: Callable[..., Any], args: Any = (), brack: Any = None, tol: float = _EPSILON,
    full_output: int = 0, maxiter: int = 5000,
) -> Any:  # fmt: skip
    """The same as :func:`brent`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import golden
    >>> round(float(grad(lambda a: golden(lambda x: (x - a) ** 2))(3.0)), 9)
    1.0
    """
    return _least_number("golden", func, args, full_output, bracket=brack)


@answers("scipy.optimize.fminbound", tuples=("args",), callables=True)
def fminbound(
    func: Callable[..., Any], x1: Any, x2: Any, args: Any = (), xtol: float = 1e-5,
    maxfun: int = 500, full_output: int = 0, disp: int = 1,
) -> Any:  # fmt: skip
    """The minimum of a function of a number between x1 and x2.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fminbound
    >>> round(float(grad(lambda a: fminbound(lambda x: (x - a) ** 2, 0.0, 5.0))(3.0)), 9)
    1.0
    """
    return _least_number("fminbound", func, args, full_output, bounds=(x1, x2))


def _root_by(name: str) -> Callable[..., Any]:
    @answers(f"scipy.optimize.{name}", callables=True)
    def found(
        F: Callable[..., Any], xin: Any, iter: Any = None, *, f_tol: Any = None,
        callback: Any = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """The root of a function from arrays to arrays of the same shape: see :func:`root`.

        >>> from autojit import grad
        >>> from autojit.scipy.optimize import broyden1
        >>> round(float(grad(lambda a: broyden1(lambda x: x**2 - a, 1.0))(4.0)), 9)
        0.25
        """
        if callback is not None:
            raise refused(f"scipy.optimize.{name}", "callback= is not covered.")
        start = floating(xin)
        if start.dtype.kind == "c":
            raise refused(f"scipy.optimize.{name}", "complex numbers are not covered.")
        flat = lambda x: np.reshape(floating(F(np.reshape(x, start.shape))), (-1,))  # noqa: E731
        return np.reshape(root(flat, np.reshape(start, (-1,)), tol=f_tol).x, start.shape)

    found.__name__ = found.__qualname__ = name
    found.__doc__ = (found.__doc__ or "").replace("broyden1", name)
    return found


anderson = _root_by("anderson")
broyden1 = _root_by("broyden1")
broyden2 = _root_by("broyden2")
diagbroyden = _root_by("diagbroyden")
excitingmixing = _root_by("excitingmixing")
linearmixing = _root_by("linearmixing")
newton_krylov = _root_by("newton_krylov")
