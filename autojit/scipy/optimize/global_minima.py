"""Global minima, with the names and arguments of ``scipy.optimize``.

SciPy searches, called back from the compiled code; it calls the compiled objective. Damped Newton
steps from its result then reach the minimum, whose derivatives follow from the slope, which is 0
there. If several minima are nearly as good, a small change may make the result jump from one to
another; the derivatives are those of the one that was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.ir.core.types import Type
from autojit.protocols.lifting import tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, original
from autojit.solvers.searching import Function, minimize_smooth
from autojit.staging.bodies import check_function, trace_body
from autojit.staging.execute import executable
from autojit.staging.trace_function import LeafType
from autojit.transformations.derivatives import stop_gradient

from .bounded import limits, minimum_between, pairs
from .roots import result, tuple_of

#: The greatest slope at a minimum.
TOLERANCE = 1e-5


def _scalar(name: str, func: Any, args: Any) -> Function:
    f, more = check_function(func, "argument 0", name), tuple_of(args)
    return lambda x: np.reshape(floating(f(x, *more)), ())


def _searched(name: str, f: Function, n: int, search: Callable[..., Any], *arrays: Any) -> Any:
    """The place that ``search(objective, *arrays)`` returns, given a function of NumPy arrays."""
    body = trace_body(
        f, [LeafType(Type(np.dtype(np.float64), (n,)), None)], lambda f, leaves: f(*leaves), name
    )
    run = executable(body.program).call

    def callback(arrays: Any, captured: Any) -> Any:
        def objective(x: Any, *_: Any) -> float:
            return float(run([np.asarray(x, np.float64), *captured])[0])

        return np.asarray(search(objective, *arrays), np.float64)

    given = tuple(stop_gradient(x) for x in arrays)
    captured = tuple(stop_gradient(tracer(v)) for v in body.captured)
    return pure_callback(callback, np.zeros(n), given, captured, vmap_method="sequential")


def _between(
    name: str, func: Any, bounds: Any, args: Any, settings: dict[str, Any], **refused_ones: Any
) -> Any:  # fmt: skip
    """SciPy's result object for the least value between bounds."""
    for key, value in refused_ones.items():
        if value is not None and value != ():
            raise refused(f"scipy.optimize.{name}", f"{key}= is not covered.")
    f = _scalar(name, func, args)
    several = hasattr(bounds, "lb")
    n = np.size(bounds.lb) if several else len(bounds)
    ends = limits(bounds, n) if several else pairs(bounds, n)
    if ends is None:
        raise ValueError("Bounds should be finite")
    plain = {key: known(value, key, name) for key, value in settings.items()}

    def search(objective: Any, low: Any, high: Any) -> Any:
        limits = list(zip(low, high, strict=True))
        return original(f"scipy.optimize.{name}")(objective, limits, **plain).x

    x0 = _searched(name, f, n, search, *ends)
    x, success, steps = minimum_between(f, x0, ends, TOLERANCE)
    return result(x=x, fun=f(x), success=success, nit=steps, status=np.where(success, 0, 1))


@answers(
    "scipy.optimize.differential_evolution", tuples=("args", "bounds", "constraints", "mutation"),
    callables=True,
)  # fmt: skip
def differential_evolution(
    func: Callable[..., Any], bounds: Any, args: Any = (), strategy: Any = "best1bin",
    maxiter: int = 1000, popsize: int = 15, tol: float = 0.01, mutation: Any = (0.5, 1),
    recombination: float = 0.7, rng: Any = None, callback: Any = None, disp: bool = False,
    polish: Any = True, init: Any = "latinhypercube", atol: float = 0,
    updating: str = "immediate", workers: Any = 1, constraints: Any = (), x0: Any = None, *,
    integrality: Any = None, vectorized: bool = False, seed: Any = None,
) -> Any:  # fmt: skip
    """SciPy's result object with ``x``, ``fun`` and ``success``.

    ``rng`` or ``seed`` should be a number, so that equal calls give equal results. ``polish`` and
    ``workers`` have no effect; ``constraints``, ``x0``, ``integrality`` and ``callback`` are
    refused.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import differential_evolution
    >>> f = lambda a: differential_evolution(
    ...     lambda x: np.sum((x - a) ** 2 - np.cos(9 * (x - a))), [(-3, 3)], rng=1).x[0]
    >>> round(float(grad(f)(0.5)), 9)
    1.0
    """
    settings = {
        "strategy": strategy, "maxiter": maxiter, "popsize": popsize, "tol": tol,
        "mutation": mutation, "recombination": recombination, "init": init, "atol": atol,
        "updating": updating, "polish": False, "rng": seed if rng is None else rng,
    }  # fmt: skip
    return _between(
        "differential_evolution", func, bounds, args, settings, callback=callback,
        constraints=constraints, x0=x0, integrality=integrality, vectorized=vectorized or None,
    )  # fmt: skip


@answers("scipy.optimize.dual_annealing", tuples=("args", "bounds"), callables=True)
def dual_annealing(
    func: Callable[..., Any], bounds: Any, args: Any = (), maxiter: int = 1000,
    minimizer_kwargs: Any = None, initial_temp: float = 5230.0,
    restart_temp_ratio: float = 2e-5, visit: float = 2.62, accept: float = -5.0,
    maxfun: float = 1e7, rng: Any = None, no_local_search: bool = False, callback: Any = None,
    x0: Any = None, *, seed: Any = None,
) -> Any:  # fmt: skip
    """Like :func:`differential_evolution`; ``minimizer_kwargs``, ``x0`` and ``callback`` are
    refused."""
    settings = {
        "maxiter": maxiter, "initial_temp": initial_temp, "visit": visit, "accept": accept,
        "restart_temp_ratio": restart_temp_ratio, "maxfun": maxfun,
        "no_local_search": no_local_search, "rng": seed if rng is None else rng,
    }  # fmt: skip
    return _between("dual_annealing", func, bounds, args, settings, callback=callback, x0=x0,
                    minimizer_kwargs=minimizer_kwargs)  # fmt: skip


@answers("scipy.optimize.shgo", tuples=("args", "bounds", "constraints"), callables=True)
def shgo(
    func: Callable[..., Any], bounds: Any, args: Any = (), constraints: Any = None, n: int = 100,
    iters: int = 1, callback: Any = None, minimizer_kwargs: Any = None, options: Any = None,
    sampling_method: str = "simplicial", *, workers: Any = 1,
) -> Any:  # fmt: skip
    """Like :func:`differential_evolution`; the other minima, ``constraints``, ``options``,
    ``minimizer_kwargs`` and ``callback`` are refused."""
    settings = {"n": n, "iters": iters, "sampling_method": sampling_method}
    return _between("shgo", func, bounds, args, settings, callback=callback, options=options,
                    constraints=constraints, minimizer_kwargs=minimizer_kwargs)  # fmt: skip


@answers("scipy.optimize.direct", tuples=("args", "bounds"), callables=True)
def direct(
    func: Callable[..., Any], bounds: Any, *, args: Any = (), eps: float = 1e-4,
    maxfun: Any = None, maxiter: int = 1000, locally_biased: bool = True,
    f_min: float = -np.inf, f_min_rtol: float = 1e-4, vol_tol: float = 1e-16,
    len_tol: float = 1e-6, callback: Any = None,
) -> Any:  # fmt: skip
    """Like :func:`differential_evolution`; ``callback`` is refused."""
    settings = {
        "eps": eps, "maxfun": maxfun, "maxiter": maxiter, "locally_biased": locally_biased,
        "f_min": f_min, "f_min_rtol": f_min_rtol, "vol_tol": vol_tol, "len_tol": len_tol,
    }  # fmt: skip
    return _between("direct", func, bounds, args, settings, callback=callback)


@answers("scipy.optimize.basinhopping", callables=True)
def basinhopping(
    func: Callable[..., Any], x0: Any, niter: int = 100, T: float = 1.0, stepsize: float = 0.5,
    minimizer_kwargs: Any = None, take_step: Any = None, accept_test: Any = None,
    callback: Any = None, interval: int = 50, disp: bool = False, niter_success: Any = None,
    rng: Any = None, *, target_accept_rate: float = 0.5, stepwise_factor: float = 0.9,
    seed: Any = None,
) -> Any:  # fmt: skip
    """SciPy's result object with ``x``, ``fun`` and ``success``.

    ``rng`` or ``seed`` should be a number. ``minimizer_kwargs``, ``take_step``, ``accept_test`` and
    ``callback`` are refused.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import basinhopping
    >>> f = lambda a: basinhopping(
    ...     lambda x: np.sum((x - a) ** 2 - np.cos(9 * (x - a))), [1.2], 20, rng=1).x[0]
    >>> round(float(grad(f)(0.5)), 9)
    1.0
    """
    name = "basinhopping"
    given = {"minimizer_kwargs": minimizer_kwargs, "take_step": take_step,
             "accept_test": accept_test, "callback": callback}  # fmt: skip
    for key, value in given.items():
        if value is not None:
            raise refused(f"scipy.optimize.{name}", f"{key}= is not covered.")
    f, start = _scalar(name, func, ()), np.reshape(floating(x0), (-1,))
    settings = {
        "niter": niter, "T": T, "stepsize": stepsize, "interval": interval,
        "niter_success": niter_success, "rng": seed if rng is None else rng,
        "target_accept_rate": target_accept_rate, "stepwise_factor": stepwise_factor,
    }  # fmt: skip
    plain = {key: known(value, key, name) for key, value in settings.items()}

    def search(objective: Any, start: Any) -> Any:
        return original(f"scipy.optimize.{name}")(objective, start, **plain).x

    near = _searched(name, f, start.shape[0], search, start)
    x, success, steps = minimize_smooth(f, near, TOLERANCE)
    return result(x=x, fun=f(x), success=success, nit=steps)
