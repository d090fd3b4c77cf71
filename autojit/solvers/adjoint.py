"""Initial value problems and their derivatives, through the steps or by the adjoint equation.

For a cotangent a(t) of y, the adjoint equation is ``a' = -a df/dy``. The cotangent of a parameter p
is the integral of ``a df/dp`` backwards in time (Pontryagin et al. 1962; Chen, Rubanova,
Bettencourt, Duvenaud, "Neural Ordinary Differential Equations", 2018, appendix B).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.control_flow.control import scan
from autojit.ir.core.program import Program, current_builder
from autojit.protocols.lifting import to_dtype, tracer
from autojit.staging.trace_function import LeafType, columns_of, leaf_type
from autojit.tracing.running.trace import trace_flat
from autojit.tracing.values import is_tracer, lift
from autojit.transformations.custom import custom_vjp
from autojit.transformations.derivatives import stop_gradient, vjp

from .runge_kutta import REACHED, Settings, Solution, integrate


class Problem(NamedTuple):
    """The problem ``y' = slope(t, y)`` from t0 to t1, and the times of the requested states."""

    slope: Callable[[Any, Any], Any]
    t0: Any
    t1: Any
    times: Any
    y0: Any
    settings: Settings


def discrete(problem: Problem) -> Solution:
    """The solution, differentiated through its steps.

    The variable is the time since t0, so there is only one direction.
    """
    slope, y0 = problem.slope, problem.y0
    real = np.empty(0, y0.dtype).real.dtype
    t0, t1, times = (_as(x, real) for x in (problem.t0, problem.t1, problem.times))
    sign = stop_gradient(np.where(t1 < t0, -1.0, 1.0).astype(real))
    return integrate(
        lambda s, y: slope(t0 + sign * s, y) * sign,
        (times - t0) * sign,
        (t1 - t0) * sign,
        y0,
        problem.settings,
    )


def _as(x: Any, dtype: np.dtype) -> Any:
    return tracer(to_dtype(lift(x), dtype))


def continuous(problem: Problem) -> Solution:
    """The solution, whose derivative in reverse mode comes from the adjoint equation."""
    closed = _Closed(problem)
    settings = problem.settings

    @custom_vjp
    def continuous_adjoint(y0: Any, t0: Any, t1: Any, times: Any, parameters: Any) -> Solution:
        slope = closed.slope(parameters)
        return discrete(Problem(slope, t0, t1, times, y0, settings))

    def forward(y0: Any, t0: Any, t1: Any, times: Any, parameters: Any) -> Any:
        slope = closed.slope(parameters)
        made = discrete(Problem(slope, t0, t1, times, y0, settings))
        known = np.where(made.status == REACHED, 1.0, np.nan)
        return made, (y0, t0, times, parameters, made.y, known)

    def backward(stored: Any, cotangent: Any) -> Any:
        _, t0, times, _, _, known = stored
        seeds = cotangent.y * known.astype(cotangent.y.dtype)
        to_y0, to_parameters, to_t0, to_times = _pulled(closed, stored, seeds, settings)
        return to_y0, to_t0.astype(t0.dtype), None, to_times.astype(times.dtype), to_parameters

    continuous_adjoint.defvjp(forward, backward)
    y0, t0, t1, times = (
        tracer(lift(x)) for x in (problem.y0, problem.t0, problem.t1, problem.times)
    )
    made: Solution = continuous_adjoint(y0, t0, t1, times, closed.parameters)
    return made


def _pulled(closed: _Closed, stored: Any, seeds: Any, settings: Settings) -> tuple[Any, ...]:
    """The cotangents of y0, the parameters, t0 and the times, from the states' cotangents."""
    y0, t0, times, parameters, ys, _ = stored
    slope = closed.slope(parameters)
    wide = _Wide(closed, parameters, y0)
    before = np.concatenate([t0[None], times[:-1]])

    def segment(carry: Any, row: Any) -> Any:
        """Go from one time back to the one before it."""
        cotangent, sums = carry
        t, t_before, y, seed = row
        to_t = np.real(np.sum(seed * slope(t, y)))
        start = wide.joined(y, cotangent + seed, sums)
        back = Problem(wide.slope, t, t_before, t_before[None], start, wide.settings(settings))
        _, cotangent, sums = wide.parts(discrete(back).y[0])
        return (cotangent, sums), to_t

    start = (0 * y0, wide.zeros())
    rows = (times, before, ys, seeds)
    (cotangent, sums), to_times = scan(segment, start, rows, reverse=True)
    to_t0 = -np.real(np.sum(cotangent * slope(t0, y0)))
    return cotangent, wide.cotangents(sums), to_t0, to_times


class _Closed:
    """The slope as a program; its parameters are the floating-point values that it closes over."""

    def __init__(self, problem: Problem) -> None:
        real = np.empty(0, problem.y0.dtype).real.dtype
        time = leaf_type(problem.t0).type.with_dtype(real)
        self.program: Program = trace_flat(
            lambda t, y: [problem.slope(t, y)],
            *columns_of([LeafType(time, None), LeafType(problem.y0.type, None)]), "slope",
        )  # fmt: skip
        self.is_parameter = [is_tracer(c) and c.type.is_inexact for c in self.program.captured]
        pairs = zip(self.program.captured, self.is_parameter, strict=True)
        self.parameters = [c for c, chosen in pairs if chosen]

    def slope(self, parameters: Sequence[Any]) -> Callable[[Any, Any], Any]:
        """The slope with these parameters."""

        def slope(t: Any, y: Any) -> Any:
            given = iter(parameters)
            pairs = zip(self.program.captured, self.is_parameter, strict=True)
            values = [lift(next(given) if chosen else c) for c, chosen in pairs]
            types = self.program.in_types
            arguments = [to_dtype(lift(x), k.dtype) for x, k in zip((t, y), types, strict=False)]
            (made,) = current_builder().inline(self.program, [*arguments, *values])
            return tracer(made)

        return slope


class _Wide:
    """The state, its cotangent and the cotangents of the parameters, as one vector."""

    def __init__(self, closed: _Closed, parameters: Sequence[Any], y0: Any) -> None:
        self.closed, self.parameters, self.y0 = closed, list(parameters), y0
        self.n = y0.shape[0]
        self.dtype = np.result_type(y0.dtype, *(p.dtype for p in parameters))
        self.sizes = [p.size for p in parameters]

    def zeros(self) -> Any:
        return np.zeros(sum(self.sizes), self.dtype)

    def joined(self, y: Any, cotangent: Any, sums: Any) -> Any:
        return np.concatenate([x.astype(self.dtype) for x in (y, cotangent, sums)])

    def parts(self, vector: Any) -> tuple[Any, Any, Any]:
        n = self.n
        y, cotangent = (self._narrow(x, self.y0.dtype) for x in (vector[:n], vector[n : 2 * n]))
        return y, cotangent, vector[2 * n :]

    def _narrow(self, x: Any, dtype: np.dtype) -> Any:
        return (x.real if dtype.kind != "c" and self.dtype.kind == "c" else x).astype(dtype)

    def slope(self, t: Any, vector: Any) -> Any:
        y, cotangent, _ = self.parts(vector)
        at = lambda y, parameters: self.closed.slope(parameters)(t, y)  # noqa: E731
        slope, pull = vjp(at, y, self.parameters)
        to_y, to_parameters = pull(cotangent)
        sums = [np.reshape(ct, (-1,)).astype(self.dtype) for ct in to_parameters]
        together = np.concatenate(sums) if sums else self.zeros()
        return self.joined(slope, -to_y, -together)

    def settings(self, settings: Settings) -> Settings:
        """The settings for the whole vector: the least ``atol``, and no given first step."""
        return settings._replace(atol=float(np.min(settings.atol)), first_step=None)

    def cotangents(self, sums: Any) -> list[Any]:
        """The cotangents of the parameters."""
        ends = np.cumsum([0, *self.sizes])
        return [
            self._narrow(np.reshape(sums[ends[i] : ends[i + 1]], p.shape), p.dtype)
            for i, p in enumerate(self.parameters)
        ]
