"""Quadratures and short series for derivatives of special functions.

They consist of ordinary ops, so they have derivatives of every order and batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import absolute, eq, lt, select, stop_gradient
from autojit.ir.ops.elementary import exp, log
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.reduce import sum_

#: Taylor polynomials are used below this magnitude. With ten terms the first omitted term is 1e-17
#: of the first one; four derivatives keep eight digits.
NEAR = 0.02
#: The nodes of ``integral``: from exp(-33) to 67, where exp(-s) is 1e-29. Half the step gains
#: nothing in float64 for the incomplete gamma and beta functions; twice the step loses five digits.
FIRST, STEP, NODES = -3.4, 0.06, 128
#: The nodes of ``bounded_integral``.
PIECES = 100
#: The nodes of ``line_integral``: from -80, where exp(u / 2) is 4e-18, to 39.5.
LEFT, WIDE, POINTS = -80.0, 0.5, 240
#: The steps of ``windowed_mean``.
WINDOW = 400
#: For ``unit_integral``: at u = 3.2 a node is 1e-17 from an end; 150 oscillations keep 1e-12.
END, FINE = 3.2, 1000


def zero(like: Value) -> Value:
    return full(0, like.type)


def one(like: Value) -> Value:
    return full(1, like.type)


def where_not(condition: Value, x: Value, safe: float) -> Value:
    """Replace x by a safe number where a condition holds and the value is not selected."""
    return select(condition, full(safe, x.type), x)


def removable(x: Value, formula: Callable[[Value], Value], taylor: Sequence[float]) -> Value:
    """Evaluate a function by its formula, but near 0 by its Taylor coefficients ``taylor``."""
    near = lt(absolute(x), full(NEAR, x.type))
    small = select(near, x, zero(x))
    total = full(taylor[-1], x.type)
    for c in reversed(taylor[:-1]):
        total = total * small + c
    return select(near, total, formula(where_not(near, x, 1.0)))


def x_log(x: Value, y: Value) -> Value:
    """Return ``x log y``, and 0 if x is 0."""
    trivial = eq(x, 0)
    return select(trivial, zero(x), x * log(where_not(trivial, y, 1.0)))


def integral(integrand: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """Return the integral of ``integrand(s, *operands)`` over s from 0 to infinity, elementwise.

    The integrand should fall by a factor of e over about 1.

    It applies the trapezoidal rule in u, ``s = exp(u - exp(-u))``, to integrands that are analytic
    and decay exponentially: the double-exponential formula of H. Takahasi and M. Mori, "Double
    exponential formulas for numerical integration", Publ. RIMS 9 (1974).
    """

    def mapped(u: Value, *along: Value) -> Value:
        down = exp(-u)
        s = exp(u - down)
        return integrand(s, *along) * (s * (down + 1))

    return _trapezoids(mapped, operands, FIRST, STEP, NODES)


def line_integral(integrand: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """Return the integral of ``integrand(u, *operands)`` over all u, by the trapezoidal rule.

    The integrand must be analytic within 3 of the line and fall at least as fast as exp(u / 2) to
    the left of 0 and exp(-u) to the right. The error falls exponentially with the step (L. N.
    Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", 2014).
    """
    return _trapezoids(integrand, operands, LEFT, WIDE, POINTS)


def bounded_integral(
    integrand: Callable[..., Value], operands: Sequence[Value], length: Value
) -> Value:
    """Return the integral of ``integrand(s, *operands)`` over 0 < s < length, by the trapezoidal
    rule. The integrand is even and analytic, 0 at 0, and negligible from ``length`` on."""
    piece = length * (1 / PIECES)

    def scaled(u: Value, piece: Value, *along: Value) -> Value:
        return integrand(u * piece, *along) * piece

    return _trapezoids(scaled, [piece, *operands], 1.0, 1.0, PIECES)


def unit_integral(integrand: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """Return the integral of ``integrand(s, *operands)`` over 0 < s < 1, by the double-exponential
    formula of Takahasi and Mori for an interval. The integrand is analytic and may oscillate 150
    times."""

    def mapped(u: Value, *along: Value) -> Value:
        growing, falling = exp(u), exp(-u)
        turned = exp((falling - growing) * (pi / 2))
        s = 1 / (turned + 1)
        return integrand(s, *along) * ((growing + falling) * (pi / 2) * turned * s * s)

    return _trapezoids(mapped, operands, -END, 2 * END / FINE, FINE + 1)


def power_sum(term: Callable[..., Value], operands: Sequence[Value], count: int) -> Value:
    """Return the sum of ``term(k, *operands)`` over k from 0 to ``count - 1``."""
    return _trapezoids(term, operands, 0.0, 1.0, count)


def windowed_mean(
    log_weight: Callable[..., Value],
    of: Callable[[Value], Value],
    operands: Sequence[Value],
    peak: Value,
    reach: Value,
) -> Value:
    """Return the mean of ``of(u)`` over all u, with weights ``exp(log_weight(u, *operands))``.

    It applies the trapezoidal rule from ``peak - reach`` to ``peak + reach``, beyond which the
    weights are negligible. Derivatives require peak and reach to be constants.
    """
    step = reach * (2 / WINDOW)
    top = stop_gradient(log_weight(peak, *operands))

    def weight(u: Value, peak: Value, step: Value, top: Value, *along: Value) -> Value:
        return exp(log_weight(peak + u * step, *along) - top)

    def weighted(u: Value, peak: Value, step: Value, top: Value, *along: Value) -> Value:
        return weight(u, peak, step, top, *along) * of(peak + u * step)

    given, first = [peak, step, top, *operands], -WINDOW / 2
    above = _trapezoids(weighted, given, first, 1.0, WINDOW + 1)
    return above / _trapezoids(weight, given, first, 1.0, WINDOW + 1)


def _trapezoids(
    integrand: Callable[..., Value],
    operands: Sequence[Value],
    first: float,
    step: float,
    count: int,
) -> Value:
    like = operands[0]
    shape, axes = (*like.shape, count), tuple(range(like.type.ndim))
    u = iota(dtype=like.dtype, shape=shape, axis=len(axes)) * step + first
    along = [broadcast(x, shape=shape, dims=axes) for x in operands]
    return sum_(integrand(u, *along), axes=(len(axes),)) * step
