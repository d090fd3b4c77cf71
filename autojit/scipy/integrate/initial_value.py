"""``solve_ivp`` and ``odeint`` with the names, arguments and results of ``scipy.integrate``."""

from __future__ import annotations

import functools
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

from . import without_values
from .events import DenseSolution, event_times, functions_of
from .explicit import Control
from .problem import EXPLICIT, IMPLICIT, Problem, solved, states, times_of
from .steps_taken import StepsTaken

_NAME = "scipy.integrate.solve_ivp"
_OPTIONS = {"rtol", "atol", "first_step", "max_step"}
#: Options that tell SciPy how to find the Jacobian matrix; here, it is exact.
_OF_JACOBIAN = {"jac", "jac_sparsity", "lband", "uband", "min_step"}


@answers("scipy.integrate.solve_ivp", tuples=("t_span", "args", "events"), callables=True)
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
    """Solve ``y' = fun(t, y)``.

    ``"RK23"``, ``"RK45"`` and ``"DOP853"`` take SciPy's steps. ``"Radau"`` is for stiff equations;
    ``"BDF"`` and ``"LSODA"`` take its steps too, with the same tolerances.

    The result is SciPy's object; states that were not reached are NaN. Under ``jit``, the shapes of
    results must be known. Without ``t_eval``, only the ends of ``y`` and ``t`` can be used, as in
    ``y[:, -1]``. Of the events, only the first (``t_events[0][0]``), the last, and their number
    (``t_events[0].size``) can be used. With ``t_eval`` and a terminal event, ``y`` and ``t`` are
    slices with a traced bound.

    ``t_eval`` increases or decreases like ``t_span``. With ``dense_output``, each call of ``sol``
    integrates again.

    The result has derivatives by ``y0``, ``args``, ``t_span``, ``t_eval``, and everything that
    ``fun`` and ``events`` close over. They are those of the steps, with their lengths held fixed.
    The derivative of an event's time keeps the event at 0.

    >>> from autojit import grad
    >>> from autojit.scipy.integrate import solve_ivp
    >>> def last(k):
    ...     span, y0, exact = (0.0, 2.0), [1.0], {"rtol": 1e-9, "atol": 1e-9}
    ...     found = solve_ivp(lambda t, y: -k * y, span, y0, "DOP853", [2.0], **exact)
    ...     return found.y[0, 0]
    >>> round(float(grad(last)(0.5)), 6)                    # -2 exp(-1)
    -0.735759

    >>> def landing(v):
    ...     fall = lambda t, y: np.array([y[1], -9.81])
    ...     found = solve_ivp(fall, (0.0, 9.0), [1.0, v], events=lambda t, y: y[0])
    ...     return found.t_events[0][0]
    >>> round(float(grad(landing)(0.0)), 6)                 # 1 / 9.81
    0.101937
    """
    name = _NAME
    _refuse_options(name, method, options)
    fun = check_function(fun, "argument 0", "solve_ivp")
    extra = () if args is None else tuple(args)
    y0 = floating(y0)
    if y0.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if y0.dtype.kind == "c" and method in IMPLICIT:
        raise refused(
            name, f"method={method!r} takes no complex states; solve for y.real and y.imag."
        )
    _check_times(t_eval, t_span)

    def slope(t: Any, y: Any) -> Any:
        return _slope(fun(t, y, *extra), y)

    t0, t1 = (floating(t) for t in t_span)
    problem = Problem(slope, t0, t1, y0, method, _control(name, options))
    happenings = functions_of(events, extra)
    if t_eval is not None and not happenings:
        found = solved(problem, times_of(t_eval))
    else:
        own = _by_scipy(problem, t_eval, happenings, options)
        if own is None:
            found = without_values.solution(problem, t_eval, happenings)
        else:
            found = _solved_as(problem, t_eval, happenings, own)
    if not (is_traced(found["t"]) or isinstance(found["t"], StepsTaken)):
        found["t"] = np.asarray(found["t"], float)
    if dense_output:
        found["sol"] = DenseSolution(lambda t: states(problem, t)[0], problem.t0, problem.t1)
    return found


def _refuse_options(name: str, method: Any, options: Any) -> None:
    methods = (*EXPLICIT, *IMPLICIT)
    if method not in methods:
        raise refused(
            name,
            f"method={method!r} is not covered. Covered methods: {', '.join(map(repr, methods))}.",
        )
    unknown = options.keys() - (_OPTIONS | _OF_JACOBIAN if method in IMPLICIT else _OPTIONS)
    if unknown:
        raise refused(name, f"{sorted(unknown)[0]}= is not an option of method={method!r}.")


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
                "fun returns complex values, but y0 is real. Start with a complex state:\n"
                "    y0.astype(complex)",
                user_source(),
            )
        )
    return value.astype(y.dtype)


def _by_scipy(problem: Problem, t_eval: Any, events: Any, options: dict[str, Any]) -> Any:
    """SciPy's own solution, which tells the number of times; None if a value is not known."""

    def number(x: Any) -> Any:
        found = value_of(as_tracer(x))
        if found is None:
            raise _NotAtHandError
        return found

    def of_numbers(event: Any) -> Any:
        return functools.wraps(event)(lambda t, y: float(number(event(t, y))))

    try:
        return original(_NAME)(
            lambda t, y: number(problem.slope(t, y)),
            [float(number(problem.t0)), float(number(problem.t1))],
            number(problem.y0),
            problem.method,
            None if t_eval is None else number(t_eval),
            events=[of_numbers(event) for event in events] or None,
            **options,
        )
    except _NotAtHandError:
        return None


class _NotAtHandError(Exception):
    """Raised if SciPy's own code would need a value that is traced."""


def _solved_as(problem: Problem, t_eval: Any, events: Any, own: Any) -> Any:
    """The solution at the times of SciPy's own solution, and its events."""
    found_times = [] if own.t_events is None else own.t_events
    rows = lambda times: states(problem, times)[0]  # noqa: E731
    pairs = zip(events, found_times, strict=True)
    t_events = [event_times(event, rows, t, problem.span) for event, t in pairs]
    times = own.t if t_eval is None else times_of(t_eval)[: own.t.shape[0]]
    if own.status == 1 and t_eval is None:
        last = next(t for t, own_t in zip(t_events, found_times, strict=True)
                    if own_t.size and own_t[-1] == own.t[-1])  # fmt: skip
        times = np.concatenate([own.t[:-1], last[-1:]])
    found = solved(problem, times)
    if events:
        found["t_events"] = t_events
        found["y_events"] = [rows(t) if t.shape[0] else np.empty(0) for t in t_events]
    found["status"], found["message"], found["success"] = own.status, own.message, own.success
    return found


def _check_times(t_eval: Any, t_span: Any) -> None:
    if t_eval is None or is_traced((t_eval, t_span)):
        return
    t0, t1 = t_span
    times = np.asarray(t_eval)
    if np.any(times < min(t0, t1)) or np.any(times > max(t0, t1)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    steps = np.diff(times)
    if np.any(steps <= 0 if t1 > t0 else steps >= 0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


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
    """Solve ``y' = func(y, t)``; the result has a row of states for each time.

    Traced calls take the steps of ``"DOP853"`` instead of LSODA's, with the same tolerances.
    Results agree with SciPy's to within these, and stiff problems take many steps. ``full_output``
    and ``tcrit`` are refused; ``Dfun`` and the options of LSODA have no effect.

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

    problem = Problem(slope, times[0], times[-1], start, "DOP853", control)
    return states(problem, times)[0]
