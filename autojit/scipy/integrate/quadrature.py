"""Integrals of functions, with the names and arguments of ``scipy.integrate``.

The derivative by a limit is the integrand there (Leibniz). The derivative by a parameter of the
integrand is the integral of the integrand's derivative, which does not see a jump that moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.scipy.arguments import known, refused
from autojit.scipy.registry import answers
from autojit.staging.bodies import check_function

from .kronrod import Tolerance, integral


def _tuple(args: Any) -> tuple[Any, ...]:
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


@answers("scipy.integrate.quad", tuples=("args",), callables=True)
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> tuple[Any, Any]:
    """``(integral, estimate of the error)`` of a function of one number.

    Infinite limits must be known. The estimate has no derivative. The 21-point Gauss-Kronrod rule
    is used on intervals that are halved as needed. Nothing is extrapolated, so a singular end takes
    more intervals than in SciPy. ``full_output`` and ``weight`` are refused.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import quad
    >>> f = lambda c: quad(lambda x: np.exp(-c * x * x), -np.inf, np.inf)[0]
    >>> round(float(f(1.0) ** 2), 9), round(float(grad(f)(np.pi)), 9)
    (3.141592654, -0.159154943)
    """
    if full_output:
        raise refused("scipy.integrate.quad", "full_output is not covered; call quad without it.")
    if weight is not None:
        raise refused(
            "scipy.integrate.quad",
            "weight= is not covered; write it into the integrand:\n"
            "    quad(lambda x: f(x) * np.cos(w * x), a, b)",
        )
    func, rest = check_function(func, "argument 0", "quad"), _tuple(args)
    names = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    tolerance = Tolerance(**{n: known(v, n, "quad") for n, v in names.items()}, norm=np.abs)

    def integrand(x: Any) -> Any:
        return _number(func(x, *rest), complex_func)

    points = None if points is None else known(points, "points", "quad")
    return integral(integrand, a, b, points, tolerance)


def _number(y: Any, complex_func: bool) -> Any:
    if np.ndim(y):
        if np.size(y) != 1:
            raise refused(
                "scipy.integrate.quad",
                f"the integrand returns an array of shape {np.shape(y)}; use quad_vec.",
            )
        y = np.reshape(y, ())
    if np.iscomplexobj(y) and not complex_func:
        raise TypeError("The integrand of quad is complex: pass complex_func=True.")
    return y


_NORMS: dict[str, Callable[[Any], Any]] = {
    "2": lambda y: np.sqrt(np.sum(np.abs(y) ** 2)),
    "max": lambda y: np.max(np.abs(y)),
}


@answers("scipy.integrate.quad_vec", tuples=("args",), callables=True)
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> tuple[Any, Any]:
    """``(integral, estimate of the error)`` of a function of one number that returns an array.

    ``quadrature`` is always ``"gk21"``; ``full_output`` is refused.

    >>> from autojit import jacfwd
    >>> from autojit.scipy.integrate import quad_vec
    >>> f = lambda c: quad_vec(lambda x: np.exp(c * x), 0.0, 1.0)[0]
    >>> np.round(f(np.array([0.0, 1.0])), 6)
    array([1.      , 1.718282])
    """
    if full_output:
        raise refused("scipy.integrate.quad_vec", "full_output is not covered.")
    if norm not in _NORMS:
        raise ValueError(f"Unknown norm {norm!r}: norm is 'max' or '2'")
    f, rest = check_function(f, "argument 0", "quad_vec"), _tuple(args)
    names = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    settings = {n: known(v, n, "quad_vec") for n, v in names.items()}
    tolerance = Tolerance(**settings, norm=_NORMS[norm])
    points = None if points is None else known(points, "points", "quad_vec")
    return integral(lambda x: f(x, *rest), a, b, points, tolerance)


@answers("scipy.integrate.nquad", tuples=("ranges", "args", "opts"), callables=True)
def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> tuple[Any, Any]:
    """``(integral, estimate of the error)`` over several variables; the first is innermost.

    The estimate is that of the outermost integral.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import nquad
    >>> f = lambda c: nquad(lambda x, y: c * x * y, [(0.0, 1.0), (0.0, 2.0)])[0]
    >>> round(float(grad(f)(3.0)), 9)
    1.0
    """
    if full_output:
        raise refused("scipy.integrate.nquad", "full_output is not covered.")
    func, rest = check_function(func, "argument 0", "nquad"), _tuple(() if args is None else args)
    limits = [check_function(r, "ranges", "nquad") if callable(r) else r for r in ranges]

    def over(i: int, outer: tuple[Any, ...]) -> tuple[Any, Any]:
        more = (*outer, *rest)
        low, high = limits[i](*more) if callable(limits[i]) else limits[i]
        if i == 0:
            return quad(lambda x: func(x, *more), low, high, **_options(opts, i, more))
        inner = lambda x: over(i - 1, (x, *outer))[0]  # noqa: E731
        return quad(inner, low, high, **_options(opts, i, more))

    return over(len(limits) - 1, ())


def _options(opts: Any, i: int, more: tuple[Any, ...]) -> dict[str, Any]:
    found = opts[i] if isinstance(opts, (list, tuple)) else opts
    found = found(*more) if callable(found) else found
    return dict(found or {})


@answers("scipy.integrate.dblquad", tuples=("args",), callables=True)
def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """``(integral, estimate of the error)`` of ``func(y, x)``, y from gfun(x) to hfun(x).

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import dblquad
    >>> round(float(grad(lambda c: dblquad(lambda y, x: c * y, 0, 1, 0, lambda x: x)[0])(2.0)), 9)
    0.166666667
    """
    ranges = [_between(gfun, hfun, 1), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


@answers("scipy.integrate.tplquad", tuples=("args",), callables=True)
def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:
    """``(integral, estimate of the error)`` of ``func(z, y, x)``, z from qfun(x, y) to rfun.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import tplquad
    >>> round(float(grad(lambda c: tplquad(lambda z, y, x: c * x, 0, 1, 0, 1, 0, 1)[0])(2.0)), 9)
    0.5
    """
    inner = _between(qfun, rfun, 2)
    ranges = [lambda y, x, *_: inner(x, y), _between(gfun, hfun, 1), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def _between(low: Any, high: Any, count: int) -> Callable[..., Any]:
    """A range for :func:`nquad` from two limits.

    The limits are numbers, or functions of the first ``count`` arguments.
    """

    def limit(of: Any, outer: tuple[Any, ...]) -> Any:
        return check_function(of, "a limit", "quad")(*outer) if callable(of) else of

    return lambda *outer: (limit(low, outer[:count]), limit(high, outer[:count]))
