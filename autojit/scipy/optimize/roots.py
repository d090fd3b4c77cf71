"""Roots, with the names and arguments of ``scipy.optimize``.

For every method, the compiled search is one of :mod:`autojit.solvers.searching`. If there are
several roots, it may find another one than SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autojit.scipy.arguments import check_method, floating, known, refused
from autojit.scipy.registry import answers
from autojit.solvers.searching import between, newton_elements, solve_system
from autojit.staging.bodies import check_function

_XTOL, _RTOL, _MOST = 2e-12, 8.881784197001252e-16, 100


def tuple_of(args: Any) -> tuple[Any, ...]:
    """The further arguments of a function, in a form that SciPy takes."""
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


def result(**fields: Any) -> Any:
    """SciPy's result object with these fields."""
    from scipy.optimize import OptimizeResult

    return OptimizeResult(**fields)


def _bracketed(
    name: str, f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, maxiter: Any,
    full_output: Any,
) -> Any:  # fmt: skip
    if full_output:
        raise refused(f"scipy.optimize.{name}", "full_output is not covered.")
    f, more = check_function(f, "argument 0", name), tuple_of(args)
    numbers = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    xtol, rtol, most = (known(v, n, name) for n, v in numbers.items())

    def scalar(x: Any) -> Any:
        return np.reshape(floating(f(x, *more)), ())

    return between(scalar, floating(a), floating(b), xtol, rtol, int(most))[0]


@answers("scipy.optimize.brentq", tuples=("args",), callables=True)
def brentq(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = _MOST, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The root between two places where f has different signs; NaN if the signs are equal.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import brentq
    >>> round(float(grad(lambda a: brentq(lambda x: x * x - a, 0.0, 9.0))(4.0)), 9)
    0.25
    """
    return _bracketed("brentq", f, a, b, args, xtol, rtol, maxiter, full_output)


@answers("scipy.optimize.brenth", tuples=("args",), callables=True)
def brenth(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = _MOST, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The same as :func:`brentq`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import brenth
    >>> round(float(grad(lambda a: brenth(lambda x: x * x - a, 0.0, 9.0))(4.0)), 9)
    0.25
    """
    return _bracketed("brenth", f, a, b, args, xtol, rtol, maxiter, full_output)


@answers("scipy.optimize.ridder", tuples=("args",), callables=True)
def ridder(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = _MOST, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The same as :func:`brentq`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import ridder
    >>> round(float(grad(lambda a: ridder(lambda x: x * x - a, 0.0, 9.0))(4.0)), 9)
    0.25
    """
    return _bracketed("ridder", f, a, b, args, xtol, rtol, maxiter, full_output)


@answers("scipy.optimize.bisect", tuples=("args",), callables=True)
def bisect(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = _MOST, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The same as :func:`brentq`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import bisect
    >>> round(float(grad(lambda a: bisect(lambda x: x * x - a, 0.0, 9.0))(4.0)), 9)
    0.25
    """
    return _bracketed("bisect", f, a, b, args, xtol, rtol, maxiter, full_output)


@answers("scipy.optimize.toms748", tuples=("args",), callables=True)
def toms748(
    f: Callable[..., Any], a: Any, b: Any, args: Any = (), k: int = 1, xtol: float = _XTOL,
    rtol: float = _RTOL, maxiter: int = _MOST, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The same as :func:`brentq`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import toms748
    >>> round(float(grad(lambda a: toms748(lambda x: x * x - a, 0.0, 9.0))(4.0)), 9)
    0.25
    """
    return _bracketed("toms748", f, a, b, args, xtol, rtol, maxiter, full_output)


@answers("scipy.optimize.newton", tuples=("args",), callables=True)
def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8,
    maxiter: int = 50, fprime2: Any = None, x1: Any = None, rtol: float = 0.0,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """The root near x0, separately for each element of an array; NaN where none is found.

    For traced values, it is Newton's method even without ``fprime``, because the function is
    differentiated.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import newton
    >>> round(float(grad(lambda a: newton(lambda x: x * x - a, 1.0))(4.0)), 9)
    0.25
    """
    if full_output:
        raise refused("scipy.optimize.newton", "full_output is not covered.")
    more = tuple_of(args)
    f = check_function(func, "argument 0", "newton")
    slope = None
    if fprime is not None:
        given = check_function(fprime, "fprime", "newton")
        slope = lambda x: given(x, *more)  # noqa: E731
    numbers = {"tol": tol, "rtol": rtol, "maxiter": maxiter}
    tol, rtol, most = (known(v, n, "newton") for n, v in numbers.items())
    return newton_elements(lambda x: f(x, *more), slope, floating(x0), tol, rtol, int(most))[0]


@answers("scipy.optimize.root_scalar", tuples=("args", "bracket"), callables=True)
def root_scalar(
    f: Callable[..., Any], args: Any = (), method: Any = None, bracket: Any = None,
    fprime: Any = None, fprime2: Any = None, x0: Any = None, x1: Any = None, xtol: Any = None,
    rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of a number; return SciPy's result object with ``root``.

    The search is that of :func:`brentq` if a bracket is given, else that of :func:`newton`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import root_scalar
    >>> f = lambda a: root_scalar(lambda x: x * x - a, bracket=(0.0, 9.0)).root
    >>> round(float(grad(f)(4.0)), 9)
    0.25
    """
    if options:
        raise refused("scipy.optimize.root_scalar", "options= is not covered.")
    more = tuple_of(args)
    function = check_function(f, "argument 0", "root_scalar")
    scalar = lambda x: np.reshape(floating(function(x, *more)), ())  # noqa: E731
    if bracket is not None:
        low, high = (floating(v) for v in bracket)
        found, n = between(scalar, low, high, xtol or _XTOL, rtol or _RTOL, maxiter or _MOST)
    elif x0 is None:
        raise ValueError("root_scalar needs bracket= or x0=")
    else:
        settings = (xtol or 1.48e-8, rtol or 0.0, maxiter or 50)
        found, _, n = newton_elements(scalar, None, floating(x0), *settings)
    return result(root=found, converged=np.isfinite(found), iterations=n)


_METHODS = (
    "hybr", "lm", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden",
    "excitingmixing", "krylov", "df-sane",
)  # fmt: skip


@answers("scipy.optimize.root", tuples=("args",), callables=True)
def root(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: str = "hybr", jac: Any = None,
    tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a vector function; return SciPy's object with ``x``, ``fun`` and ``success``.

    For traced values, ``method``, ``jac`` and ``options`` have no effect, because the function is
    differentiated.

    >>> from autojit import jacfwd
    >>> from autojit.scipy.optimize import root
    >>> np.round(jacfwd(lambda a: root(lambda x: x**2 - a, np.ones(2)).x)(np.array([1.0, 4.0])), 9)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    check_method(method, _METHODS, "scipy.optimize.root")
    f = _vector_function("root", fun, args, jac is True)
    start = np.reshape(floating(x0), (-1,))
    found, success, n = solve_system(f, start, tol or 1.49012e-8)
    return result(x=found, fun=f(found), success=success, nit=n, status=np.where(success, 1, 5))


def _vector_function(name: str, fun: Any, args: Any, with_jac: bool) -> Callable[[Any], Any]:
    f, more = check_function(fun, "argument 0", name), tuple_of(args)

    def vector(x: Any) -> Any:
        made = f(x, *more)
        return np.reshape(floating(made[0] if with_jac else made), (-1,))

    return vector


@answers("scipy.optimize.fsolve", tuples=("args",), callables=True)
def fsolve(
    func: Callable[..., Any], x0: Any, args: Any = (), fprime: Any = None, full_output: int = 0,
    col_deriv: int = 0, xtol: float = 1.49012e-8, maxfev: int = 0, band: Any = None,
    epsfcn: Any = None, factor: float = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """The root of a vector function; NaN if it was not found. See :func:`root`.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fsolve
    >>> round(float(grad(lambda a: fsolve(lambda x: x**2 - a, 1.0)[0])(4.0)), 9)
    0.25
    """
    if full_output:
        raise refused("scipy.optimize.fsolve", "full_output is not covered; use root.")
    f = _vector_function("fsolve", func, args, False)
    return solve_system(f, np.reshape(floating(x0), (-1,)), xtol)[0]


@answers("scipy.optimize.fixed_point", tuples=("args",), callables=True)
def fixed_point(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500,
    method: str = "del2",
) -> Any:  # fmt: skip
    """The x with ``func(x) = x``, by Newton's method.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import fixed_point
    >>> round(float(grad(lambda a: fixed_point(lambda x: np.cos(a * x), 0.5))(1.0)), 6)
    -0.297474
    """
    start = floating(x0)
    f, more = check_function(func, "argument 0", "fixed_point"), tuple_of(args)

    def off(x: Any) -> Any:
        made = floating(f(np.reshape(x, start.shape), *more))
        return np.reshape(made, (-1,)) - x

    return np.reshape(solve_system(off, np.reshape(start, (-1,)), xtol)[0], start.shape)


def _refuse_elementwise(name: str) -> None:
    """Register a function that is refused for traced values.

    Its steps choose among ends of brackets by known values, so the derivative of the steps is not
    that of the root.
    """

    @answers(f"scipy.optimize.elementwise.{name}", callables=True)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise refused(
            f"scipy.optimize.elementwise.{name}",
            "the derivative of its steps is not that of the result. Find one number at a time; "
            "vmap finds several:\n"
            "    vmap(lambda c: scipy.optimize.brentq(lambda x: f(x, c), a, b))(cs)",
        )


for _name in ("bracket_minimum", "bracket_root", "find_minimum", "find_root"):
    _refuse_elementwise(_name)
