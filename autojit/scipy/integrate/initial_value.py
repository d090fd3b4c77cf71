"""``solve_ivp`` and ``odeint`` with the names, arguments and results of ``scipy.integrate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import DtypeError, ShapeError, with_place
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, original
from autojit.staging.bodies import check_function
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.known import value_of
from autojit.tracing.source import user_source
from autojit.transformations.derivatives import stop_gradient

from .explicit import Control, integrate, method_of

EXPLICIT = ("RK23", "RK45", "DOP853")
_FIX = "    solve_ivp(fun, t_span, y0, t_eval=np.linspace(t0, t1, 100))"


@answers("scipy.integrate.solve_ivp", tuples=("t_span", "args"), callables=True)
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve ``y' = fun(t, y)`` by ``"RK23"``, ``"RK45"`` or ``"DOP853"``, with SciPy's steps.

    Traced, the result has ``t``, ``y``, ``nfev``, ``status`` and ``success``; states that were not
    reached are NaN. Under ``jit`` ``t_eval`` is needed, because the shape of the result must be
    known; it is increasing or decreasing like ``t_span``. ``dense_output``, ``events`` and the
    implicit methods are refused.

    Differentiable by ``y0``, ``args``, all that ``fun`` closes over, ``t_span`` and ``t_eval``:
    the derivative is that of the steps, with their lengths held fixed.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import solve_ivp
    >>> def last(k):
    ...     span, y0, exact = (0.0, 2.0), [1.0], {"rtol": 1e-9, "atol": 1e-9}
    ...     found = solve_ivp(lambda t, y: -k * y, span, y0, "DOP853", [2.0], **exact)
    ...     return found.y[0, 0]
    >>> round(float(grad(last)(0.5)), 6)                    # -2 exp(-1)
    -0.735759
    """
    name = "scipy.integrate.solve_ivp"
    _refuse_options(name, method, dense_output, events, options)
    fun = check_function(fun, "argument 0", "solve_ivp")
    extra = () if args is None else tuple(args)
    y0 = floating(y0)
    if y0.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    t0, t1 = (floating(t) for t in t_span)
    control = _control(name, options)

    def slope(t: Any, y: Any) -> Any:
        return _slope(fun(t, y, *extra), y)

    if t_eval is None:
        t_eval = _accepted(slope, t_span, y0, method, options)
    times = floating(t_eval)
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    _check_times(t_eval, t_span)
    found = _solved(slope, t0, t1, times, y0, method, control)
    if not is_traced(t_eval):
        found["t"] = np.asarray(t_eval, float)
    return found


def _refuse_options(name: str, method: Any, dense: bool, events: Any, options: Any) -> None:
    if method not in EXPLICIT:
        raise refused(
            name, f"method={method!r} is not covered; these are: {', '.join(map(repr, EXPLICIT))}."
        )
    if dense:
        raise refused(name, "dense_output=True is not covered; pass the times:\n" + _FIX)
    if events is not None:
        raise refused(name, "events are not covered; pass times, and look at the states:\n" + _FIX)
    unknown = options.keys() - {"rtol", "atol", "first_step", "max_step"}
    if unknown:
        raise refused(name, f"{sorted(unknown)[0]}= does not go with method={method!r}.")


def _control(name: str, options: dict[str, Any]) -> Control:
    given = {n: known(v, n, name) for n, v in options.items() if v is not None}
    rtol = max(given.get("rtol", 1e-3), 100 * np.finfo(float).eps)
    atol = given.get("atol", 1e-6)
    step, most = given.get("first_step"), given.get("max_step", np.inf)
    return Control(float(rtol), np.asarray(atol, float), step, float(most))


def _slope(made: Any, y: Any) -> Any:
    value: Any = as_tracer(made)
    if value.shape != y.shape:
        if value.size != y.size:
            raise ShapeError(
                with_place(
                    f"fun must return the shape {y.shape} of y; got {value.shape}.", user_source()
                )
            )
        value = np.reshape(value, y.shape)
    if value.dtype.kind == "c" and y.dtype.kind != "c":
        raise DtypeError(
            with_place(
                "fun is complex, and y0 is real. Begin with a complex state:\n"
                "    y0.astype(complex)",
                user_source(),
            )
        )
    return value.astype(y.dtype)


def _accepted(slope: Any, t_span: Any, y0: Any, method: str, options: dict[str, Any]) -> Any:
    """The times of SciPy's own steps, where all values are at hand."""

    def number(x: Any) -> Any:
        found = value_of(as_tracer(x))
        if found is None:
            raise refused(
                "scipy.integrate.solve_ivp",
                "how many steps it takes is not known when the function is traced; pass the "
                "times:\n" + _FIX,
            )
        return found

    span = [float(number(t)) for t in t_span]
    found = original("scipy.integrate.solve_ivp")(
        lambda t, y: number(slope(t, y)), span, number(y0), method, **options
    )
    return found.t


def _check_times(t_eval: Any, t_span: Any) -> None:
    if is_traced((t_eval, t_span)):
        return
    t0, t1 = t_span
    times = np.asarray(t_eval)
    if np.any(times < min(t0, t1)) or np.any(times > max(t0, t1)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    steps = np.diff(times)
    if np.any(steps <= 0 if t1 > t0 else steps >= 0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


def _solved(
    slope: Any, t0: Any, t1: Any, times: Any, y0: Any, method: str, control: Control
) -> Any:
    sign = stop_gradient(np.where(t1 < t0, -1.0, 1.0))
    rows, nfev, failed = integrate(
        lambda s, y: slope(t0 + sign * s, y) * sign,
        (times - t0) * sign, (t1 - t0) * sign, y0, method_of(method), control,
    )  # fmt: skip
    from scipy.optimize import OptimizeResult

    return OptimizeResult(
        t=times, y=rows.T, sol=None, t_events=None, y_events=None, nfev=nfev,
        status=np.where(failed, -1, 0), success=np.logical_not(failed),
    )  # fmt: skip


@answers("scipy.integrate.odeint", tuples=("args",), callables=True)
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """Solve ``y' = func(y, t)`` with the states at all times, a row each.

    Traced, it takes the steps of ``"DOP853"`` instead of LSODA's, with the same tolerances: the
    results agree as far as these go, and stiff problems take many steps. ``full_output`` and
    ``tcrit`` are refused; ``Dfun`` and the numbers of LSODA have no effect.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import odeint
    >>> f = lambda k: odeint(lambda y, t, k: -k * y, 1.0, [0.0, 2.0], args=(k,))[-1, 0]
    >>> round(float(grad(f)(0.5)), 6)                       # -2 exp(-1)
    -0.735759
    """
    name = "scipy.integrate.odeint"
    if full_output or tcrit is not None:
        raise refused(name, "full_output and tcrit are not covered; call odeint without them.")
    func = check_function(func, "argument 0", "odeint")
    extra = args if isinstance(args, tuple) else (args,)
    tolerances = {"rtol": rtol, "atol": atol}
    given = {n: 1.49012e-8 if v is None else v for n, v in tolerances.items()}
    control = _control(name, given | {"first_step": h0 or None, "max_step": hmax or np.inf})
    times = floating(t)
    start = np.reshape(floating(y0), (-1,))

    def slope(t: Any, y: Any) -> Any:
        return _slope(func(t, y, *extra) if tfirst else func(y, t, *extra), y)

    return _solved(slope, times[0], times[-1], times, start, "DOP853", control).y.T
