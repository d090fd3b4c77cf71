"""Ordinary differential equations, with derivatives by states, parameters and times.

>>> import numpy as np
>>> from autojit import grad, ode
>>> def last(k):                                        # y' = -k y, y(0) = 1, at t = 2
...     return ode.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0]).y[0, -1]
>>> round(float(grad(last)(0.5)), 6)                    # -2 exp(-1)
-0.735759

The methods are explicit, so problems should not be stiff: see :mod:`autojit.solvers.runge_kutta`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.session.tracebacks import folded
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer, lift

from .errors import DtypeError, ShapeError, StructureError, with_place
from .protocols.lifting import as_tracer, to_dtype, tracer
from .solvers.adjoint import Problem, continuous, discrete
from .solvers.runge_kutta import OUTSIDE, REACHED, TOO_MANY, TOO_SMALL, Settings
from .staging import pytrees
from .staging.bodies import check_function, in_a_trace, name_of
from .tracing.tracer import Tracer

METHODS = ("RK45", "RK4")
ADJOINTS = {"discrete": discrete, "continuous": continuous}

MESSAGES = {
    REACHED: "The solver reached the end of the integration interval.",
    TOO_SMALL: "The required step is too small, or the right side is not finite.",
    TOO_MANY: "The solver took max_steps steps and did not reach the end.",
    OUTSIDE: "A point of t_eval lies outside t_span, or the points are not in order.",
}


class OdeResult(NamedTuple):
    """The result of :func:`solve_ivp`; a tree of arrays.

    ``t`` has the times; ``y[:, i]`` is the solution at ``t[i]``, NaN where it was not reached.
    ``nfev`` counts calls of the right side, and ``steps`` counts the steps that were tried.
    ``status`` is 0, or negative if the solution is not complete (see :attr:`message`).
    """

    t: Any
    y: Any
    nfev: Any
    steps: Any
    status: Any

    @property
    def success(self) -> Any:
        """Whether the solution is complete."""
        return self.status == REACHED

    @property
    def message(self) -> str:
        """The meaning of the status; it cannot be read while a function is traced."""
        return MESSAGES[int(self.status)]


@folded
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    args: Any = None,
    *,
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    max_steps: int = 10_000,
    n_steps: int | None = None,
    first_step: float | None = None,
    max_step: float = np.inf,
    adjoint: str = "discrete",
) -> OdeResult:
    """Solve ``y' = fun(t, y)``, ``y(t0) = y0``, like ``scipy.integrate.solve_ivp``.

    Args:
        fun: ``fun(t, y, *args)`` returns the slope: an array like y, or a list of its elements.
        t_span: the first and the last time, in either order.
        y0: the first state, of shape (n,). Integers become floats.
        method: ``"RK45"``, the pair of orders 5 and 4 of Dormand and Prince, with controlled
            steps and interpolation of order 4 between them; or ``"RK4"``, the classical method
            of order 4 with fixed steps.
        t_eval: the times of the result, within ``t_span`` and in the same order. The default is
            the ends of ``t_span``, because shapes must be known before the steps are.
        dense_output: refused: pass ``t_eval``.
        args: further arguments of ``fun``, a tuple.
        rtol, atol: a step of ``"RK45"`` is taken if the root mean square of its estimated error
            over ``atol + rtol * |y|`` is at most 1; ``atol`` is a number, or an array like y0.
        max_steps: the most steps that ``"RK45"`` tries.
        n_steps: the number of steps of ``"RK4"`` between two neighbouring times of the result.
        first_step, max_step: the lengths of the first and of the longest step.
        adjoint: the method of reverse mode. ``"discrete"`` differentiates the steps that were
            taken, so the gradient is that of the computed solution, with the lengths of the steps
            held fixed; forward mode does the same. It stores a state for each time of the result,
            and a tape of the steps between two of these times. ``"continuous"`` solves the adjoint
            equation backwards, with the same method and tolerances. It stores only the states at
            the times of the result, is exact only to within the tolerances, and has no forward
            mode.

    Returns:
        An :class:`OdeResult`; ``y`` has the shape (n, number of times). If the solution is not
        complete, ``status`` is negative, and the missing states and their derivatives are NaN.

    Raises:
        StructureError, ShapeError, DtypeError: if an argument or the slope does not fit.

    The result has derivatives by ``y0``, ``args``, ``t_span``, ``t_eval``, and everything that
    ``fun`` closes over.

    >>> import numpy as np
    >>> from autojit.ode import solve_ivp
    >>> r = solve_ivp(lambda t, y: [y[1], -y[0]], (0, np.pi), [1.0, 0.0], rtol=1e-9, atol=1e-9)
    >>> np.round(r.y[:, -1], 6) + 0.0, r.success
    (array([-1.,  0.]), np.True_)
    """
    fun = check_function(fun, "argument 0", "solve_ivp")
    settings = _settings(method, rtol, atol, max_steps, n_steps, first_step, max_step)
    _check_choice(adjoint, ADJOINTS, "adjoint")
    if dense_output:
        raise StructureError(
            with_place("dense_output=True is not covered: pass t_eval=times", user_source())
        )
    extra = tuple(args) if isinstance(args, (tuple, list)) else () if args is None else (args,)
    start, times = _state(y0), _times(t_span, t_eval)
    name = name_of(fun)

    def slope(t: Any, y: Any) -> Any:
        return _like(fun(t, y, *extra), y, f"The slope that {name} returns")

    def run(y0: Any, span: Any, points: Any) -> OdeResult:
        problem = Problem(slope, span[0], span[1], points, as_tracer(y0), settings)
        made = ADJOINTS[adjoint](problem)
        return OdeResult(as_tracer(points), made.y.T, made.nfev, made.steps, made.status)

    result: OdeResult = in_a_trace(run, start, *times)
    return result


@folded
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: int = 100_000,
    hmax: float = np.inf,
    adjoint: str = "continuous",
) -> Any:
    """Solve ``y' = func(y, t, *args)``, ``y(t[0]) = y0``, like ``jax.experimental.ode.odeint``.

    Args:
        func: the slope, a tree like y0.
        y0: the first state, a tree of arrays.
        t: the times of the result, increasing or decreasing; the first is that of y0.
        args: further arguments of ``func``.
        rtol, atol, mxstep, hmax, adjoint: like ``rtol``, ``atol``, ``max_steps``, ``max_step`` and
            ``adjoint`` of :func:`solve_ivp`; the method is ``"RK45"``.

    Returns:
        The tree, with a new first axis for the times; NaN from the time at which the solver failed.

    Raises:
        StructureError, ShapeError, DtypeError: if an argument or the slope does not fit.

    >>> import numpy as np
    >>> from autojit.ode import odeint
    >>> y = odeint(lambda y, t, k: {"x": -k * y["x"]}, {"x": 1.0}, np.array([0.0, 1.0]), 2.0)
    >>> np.round(y["x"], 6)
    array([1.      , 0.135335])
    """
    func = check_function(func, "argument 0", "odeint")
    settings = _settings("RK45", rtol, atol, mxstep, None, None, hmax, ("mxstep", "hmax"))
    _check_choice(adjoint, ADJOINTS, "adjoint")
    leaves, structure = pytrees.flatten(y0)
    for leaf, path in zip(leaves, pytrees.paths(y0, "y0"), strict=True):
        pytrees.check_argument(leaf, path, "odeint, with settings in closures")
    if not leaves:
        raise StructureError(with_place("y0 of odeint contains no arrays", user_source()))
    times = _array(t, "t of odeint")
    if np.ndim(times) != 1 or np.shape(times)[0] == 0:
        raise ShapeError(
            with_place(
                f"t of odeint has shape {np.shape(times)}, but must be a vector of times",
                user_source(),
            )
        )
    _check_order(times, times[0], times[-1], "t of odeint")

    def run(leaves: Any, times: Any) -> Any:
        flat = _Flat(leaves)

        def slope(t: Any, y: Any) -> Any:
            made = func(pytrees.unflatten(structure, flat.leaves(y)), t, *args)
            given, other = pytrees.flatten(made)
            if other != structure:
                raise StructureError(
                    with_place(
                        f"The slope that {name_of(func)} returns must have the structure of y0, "
                        f"{structure}; got {other}.",
                        user_source(),
                    )
                )
            what = f"The slope that {name_of(func)} returns"
            return flat.vector(
                [_like(g, y, what) for g, y in zip(given, flat.leaves(y), strict=True)]
            )

        start = flat.vector([tracer(lift(x)) for x in leaves])
        problem = Problem(slope, times[0], times[-1], times, start, settings)
        rows = ADJOINTS[adjoint](problem).y
        return pytrees.unflatten(structure, flat.leaves(rows))

    return in_a_trace(run, [_inexact(leaf, "y0 of odeint") for leaf in leaves], times)


# -- arguments ----------------------------------------------------------------------


def _array(x: Any, what: str) -> Any:
    """An array, or a traced one; a list may hold traced numbers."""
    if current_trace() is not None and not isinstance(x, np.ndarray):
        return as_tracer(x)
    try:
        array = np.asarray(x)
    except ValueError:  # lists of several lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biufc":
        raise StructureError(
            with_place(f"{what} must be an array of numbers, not {x!r:.60}", user_source())
        )
    return array


def _inexact(x: Any, what: str) -> Any:
    """An array of floats or complex numbers; integers become floats."""
    x = _array(x, what)
    return x if x.dtype.kind in "fc" else x.astype(float)


def _state(y0: Any) -> Any:
    y = _inexact(y0, "y0 of solve_ivp")
    if y.ndim != 1:
        raise ShapeError(
            with_place(
                f"y0 of solve_ivp has shape {y.shape}, but must be a vector. For other arrays "
                "and trees, use autojit.ode.odeint.",
                user_source(),
            )
        )
    return y


def _times(t_span: Any, t_eval: Any) -> tuple[Any, Any]:
    """``(t_span, t_eval)`` as arrays of floats."""
    span = _inexact(t_span, "t_span of solve_ivp")
    if span.shape != (2,) or span.dtype.kind == "c":
        raise ShapeError(
            with_place("t_span of solve_ivp must be a pair of times: (t0, t1)", user_source())
        )
    if t_eval is None:
        return span, span
    points = _inexact(t_eval, "t_eval of solve_ivp")
    if points.ndim != 1 or points.shape[0] == 0:
        raise ShapeError(
            with_place(
                f"t_eval of solve_ivp has shape {points.shape}, but must be a vector of times",
                user_source(),
            )
        )
    _check_order(points, span[0], span[1], "t_eval of solve_ivp")
    return span, points


def _check_order(times: Any, first: Any, last: Any, what: str) -> None:
    """Raise ShapeError if known times are not in order, or outside the span."""
    if any(map(is_tracer, (times, first, last))):
        return
    sign = -1 if last < first else 1
    along = sign * np.asarray(times)
    ordered = np.all(np.diff(along) >= 0) and sign * first <= along[0] and along[-1] <= sign * last
    if not ordered:
        raise ShapeError(
            with_place(f"{what} must lie between {first} and {last}, in this order", user_source())
        )


def _check_choice(name: Any, choices: Any, what: str) -> None:
    if not isinstance(name, str) or name not in choices:
        raise StructureError(
            with_place(
                f"{what} is one of {', '.join(map(repr, choices))}; got {name!r:.60}", user_source()
            )
        )


def _settings(
    method: str, rtol: Any, atol: Any, max_steps: int, n_steps: int | None,
    first_step: float | None, max_step: float,
    names: tuple[str, str] = ("max_steps", "max_step"),
) -> Settings:  # fmt: skip
    """The settings; ``names`` are the user's names of ``max_steps`` and ``max_step``."""
    _check_choice(method, METHODS, "method")
    if (n_steps is not None) != (method == "RK4"):
        raise StructureError(
            with_place(
                "n_steps, the number of steps between two times, must be given with "
                'method="RK4", and only then',
                user_source(),
            )
        )
    positive = {"rtol": rtol, names[0]: max_steps, names[1]: max_step,
                "n_steps": n_steps, "first_step": first_step}  # fmt: skip
    for name, value in {"atol": atol, **positive}.items():
        is_left_out = value is None and name in ("n_steps", "first_step")
        if not is_left_out and not _is_positive(value, name in ("rtol", "atol")):
            raise StructureError(
                with_place(f"{name} must be positive and known; got {value!r:.60}", user_source())
            )
    for name, value in {names[0]: max_steps, "n_steps": n_steps}.items():
        if value is not None and value not in (np.inf, np.floor(value)):
            raise StructureError(
                with_place(f"{name} must be an integer; got {value!r:.60}", user_source())
            )
    return Settings(method, rtol, atol, max_steps, n_steps or 0, first_step, max_step)


def _is_positive(value: Any, may_be_array: bool) -> bool:
    """Whether a setting is a known positive number, or an array of them."""
    if is_tracer(value):
        return False
    try:
        array = np.asarray(value)
    except ValueError:  # lists of several lengths
        return False
    fits = array.size > 0 if may_be_array else array.ndim == 0
    return fits and array.dtype.kind in "iuf" and bool(np.all(array > 0))


# -- slopes and states --------------------------------------------------------------


def _like(slope: Any, y: Any, what: str) -> Tracer:
    """The slope as an array in the state's dtype, checked to have its shape."""
    value = lift(as_tracer(slope))
    if value.shape != y.shape:
        raise ShapeError(
            with_place(f"{what} must have the shape {y.shape} of y; got {value.shape}.",
                       user_source())
        )  # fmt: skip
    if value.dtype.kind == "c" and y.dtype.kind != "c":
        raise DtypeError(
            with_place(
                f"{what} is complex, but y0 is real. Start with a complex state:\n"
                "    y0.astype(complex)",
                user_source(),
            )
        )
    return tracer(to_dtype(value, y.dtype))


class _Flat:
    """The conversion of arrays to one vector, and back; leading axes of the vector stay."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.shapes = [tuple(x.shape) for x in leaves]
        self.dtypes = [x.dtype for x in leaves]
        self.dtype = np.result_type(*self.dtypes) if leaves else np.dtype(float)
        sizes = [int(np.prod(s)) for s in self.shapes]
        self.ends = np.cumsum([0, *sizes])

    def vector(self, leaves: Sequence[Any]) -> Any:
        parts = [np.reshape(x, (-1,)).astype(self.dtype) for x in leaves]
        return np.concatenate(parts) if parts else np.zeros(0)

    def leaves(self, vector: Any) -> list[Any]:
        before = vector.shape[:-1]
        parts = []
        for i, (shape, dtype) in enumerate(zip(self.shapes, self.dtypes, strict=True)):
            part = np.reshape(vector[..., self.ends[i] : self.ends[i + 1]], (*before, *shape))
            real = dtype.kind != "c" and self.dtype.kind == "c"
            parts.append((part.real if real else part).astype(dtype))
        return parts
