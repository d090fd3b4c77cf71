"""Hypergeometric functions, Wright's, and Box and Cox's transformations.

Sources of the derivatives: DLMF 13.3, 15.5, 10.46; R. M. Corless and D. J. Jeffrey, "The Wright
omega function" (2002); the series of DLMF 13.2.2 and 15.2.1 by their parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import (
    absolute,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    eq,
    floor,
    le,
    lt,
    select,
    stop_gradient,
)
from autojit.ir.ops.elementary import exp, log, log1p, sqrt

from .external import External, unknown
from .gamma import digamma, gammaln, gammasgn
from .series import power_sum, windowed_mean, x_log, zero

# -- series --------------------------------------------------------------------------------

#: The number of terms of the series; derivatives are NaN if they do not suffice, or cancel.
TERMS = 800
#: The last term is at most SMALL times the sum, and the sum at least LOST times that of all sizes.
SMALL, LOST = 1e-14, 1e-6


class _Pochhammer:
    """gamma(a + k) / gamma(a) for k = 0, 1, …, as its logarithm, its sign, and the derivative of
    the logarithm by a (DLMF 5.2.5; left of 1/2 from gamma(1 - a) / gamma(1 - a - k)).

    If a factor is 0, these describe the product of the other factors, which is the derivative.
    Second derivatives by a are infinite or NaN there.
    """

    def __init__(self, k: Value, a: Value) -> None:
        left = lt(a, full(0.5, a.type))
        low = select(left, 1 - a, a)
        high = select(left, low - k, low + k)
        pole = bitwise_and(eq(floor(high), high), lt(high, full(0.5, a.type)))
        safe = select(pole, 1 - high, high)
        down = bitwise_and(left, bitwise_not(pole))  # the quotient is inverted
        self.log: Value = select(down, -gammaln(safe), gammaln(safe)) + select(
            left, gammaln(low), -gammaln(low)
        )
        turns = select(left, select(pole, low - 1, k), zero(k))
        sign = select(eq(floor(turns * 0.5) * 2, turns), full(1, a.type), full(-1, a.type))
        self.sign: Value = sign * gammasgn(safe)
        unknown_slope = sqrt(a - stop_gradient(a))  # 0, with an infinite derivative
        self.alive: Value = select(pole, unknown_slope, full(1, a.type))
        self.slope: Value = select(pole, unknown_slope + 1, digamma(safe) - digamma(low))


def _by_parameters(above: Sequence[Value], below: Sequence[Value], z: Value) -> list[Value]:
    """Return the derivatives of a hypergeometric function by its parameters.

    They are ``TERMS`` terms of the series, differentiated term by term. The result is NaN if more
    terms would be needed, if terms cancel, and where the function is infinite.
    """
    operands = [*above, *below, z]

    def term(position: int | None, k: Value, *operands: Value) -> Value:
        """Return a term of the series, or its derivative by a parameter."""
        *parameters, z = operands
        log, sign = x_log(k, absolute(z)) - gammaln(k + 1), full(1, z.type)
        odd = bitwise_not(eq(floor(k * 0.5) * 2, k))
        sign = select(bitwise_and(lt(z, zero(z)), odd), -sign, sign)
        for i, factor in enumerate(_Pochhammer(k, a) for a in parameters):
            log = log + factor.log if i < len(above) else log - factor.log
            sign = sign * factor.sign * (factor.slope if i == position else factor.alive)
        trivial = bitwise_and(eq(z, 0), lt(full(0.5, k.type), k))
        size = exp(select(trivial, zero(z), log)) * sign
        return select(trivial, zero(z), size)

    def summed(position: int | None) -> Value:
        return power_sum(lambda k, *v: term(position, k, *v), operands, TERMS)

    def size(k: Value, *operands: Value) -> Value:
        return absolute(term(None, k, *operands))

    held = [stop_gradient(x) for x in operands]
    total = absolute(power_sum(lambda k, *v: term(None, k, *v), held, TERMS))
    last, all_sizes = size(full(TERMS - 1, z.type), *held), power_sum(size, held, TERMS)
    good = bitwise_and(le(last, total * SMALL), le(all_sizes * LOST, total))
    for b in below:
        finite = bitwise_or(lt(zero(b), b), bitwise_not(eq(floor(b), b)))
        good = bitwise_and(good, finite)
    positions = range(len(above) + len(below))
    signs = [1.0] * len(above) + [-1.0] * len(below)
    return [select(good, summed(i) * signs[i], full(nan, z.type)) for i in positions]


def hyp1f1_by_parameters(a: Value, b: Value, z: Value) -> list[Value]:
    """Return the derivatives of hyp1f1 by a and b, to 1e-10 relative (tested for 0.1 < a, b < 30,
    |z| <= 100). For z < 0 it uses Kummer's transformation (DLMF 13.2.39)."""
    left = lt(z, zero(z))
    by_a, by_b = _by_parameters([select(left, b - a, a)], [b], absolute(z))
    scale = select(left, exp(select(left, z, zero(z))), full(1, z.type))
    return [select(left, -by_a, by_a) * scale, select(left, by_a + by_b, by_b) * scale]


def hyp2f1_by_parameters(a: Value, b: Value, c: Value, z: Value) -> list[Value]:
    """Return the derivatives of hyp2f1 by a, b and c, to 1e-10 relative (tested for
    0.1 < a, b, c < 30, -10 <= z <= 0.95). For z < 0 it uses Pfaff's transformation (DLMF 15.8.1).
    """
    left = lt(z, zero(z))
    inner = select(left, z, zero(z))
    point = select(left, inner / (inner - 1), z)
    by_a, by_b, by_c = _by_parameters([a, select(left, c - b, b)], [c], point)
    power = -(a * log1p(-inner))
    scale = exp(power)
    value = hyp2f1(a, b, c, z)
    return [
        by_a * scale - select(left, log1p(-inner) * value, zero(z)),
        select(left, -by_b, by_b) * scale,
        select(left, by_b + by_c, by_c) * scale,
    ]


def hyp0f1_by_parameter(b: Value, z: Value) -> Value:
    """Return the derivative of hyp0f1 by b, to 1e-10 relative (tested for 0.1 < b < 30,
    -20 <= z <= 1000); NaN for z so far below 0 that terms cancel."""
    return _by_parameters([], [b], z)[0]


hyp0f1: External = External(
    "hyp0f1",
    lambda t, y, b, z: t * hyp0f1_by_parameter(b, z),
    lambda t, y, b, z: t * (hyp0f1(b + 1, z) / b),
    cost=400,
)
hyp1f1: External = External(
    "hyp1f1",
    lambda t, y, a, b, z: t * hyp1f1_by_parameters(a, b, z)[0],
    lambda t, y, a, b, z: t * hyp1f1_by_parameters(a, b, z)[1],
    lambda t, y, a, b, z: t * (hyp1f1(a + 1, b + 1, z) * a / b),
    cost=400,
)  # fmt: skip
hyp2f1: External = External(
    "hyp2f1",
    lambda t, y, a, b, c, z: t * hyp2f1_by_parameters(a, b, c, z)[0],
    lambda t, y, a, b, c, z: t * hyp2f1_by_parameters(a, b, c, z)[1],
    lambda t, y, a, b, c, z: t * hyp2f1_by_parameters(a, b, c, z)[2],
    lambda t, y, a, b, c, z: t * (hyp2f1(a + 1, b + 1, c + 1, z) * a * b / c),
    cost=800,
)  # fmt: skip
#: Tricomi's U.
# -- the function of Tricomi -----------------------------------------------------------------

#: The derivatives by parameters are found for a greater by this number, and recurred down.
STEPS_DOWN = 2
#: The quadrature ends where z t is this number, and its error is at most UNSURE times a.
FAR, UNSURE = 60.0, 1e-10


def _logarithmic_slopes(a: Value, b: Value, z: Value) -> tuple[Value, Value, Value]:
    """Return the derivatives of log U(a, b, z) by a and b for ``a >= 1`` and ``z > 0``, and the
    relative error of the quadrature.

    They are means over the integrand of DLMF 13.4.4 with ``t = exp(u)``. The mean of the slope of
    the integrand's logarithm is 0; the quadrature's own mean shows its error.
    """

    def log_weight(u: Value, a: Value, b: Value, z: Value) -> Value:
        return u * a + log1p(exp(u)) * (b - a - 1) - z * exp(u)

    p, q, r = (stop_gradient(x) for x in (a, b, z))
    turn = r - q + 1
    root = sqrt(turn * turn + p * r * 4)
    left = lt(turn, zero(turn))
    # The positive root of z t² + (z - b + 1) t = a, without cancellation.
    t = select(left, (root - turn) / (r * 2), p * 2 / select(left, full(1, a.type), root + turn))
    peak = log(t)
    beyond = log((absolute(q) * 4 + p * 4 + FAR) / r) - peak
    behind = 50 / p + 5
    reach = select(lt(beyond, behind), behind, beyond)

    def mean(of: Callable[[Value], Value]) -> Value:
        return windowed_mean(log_weight, of, [a, b, z], peak, reach)

    by_b = mean(lambda u: log1p(exp(u)))
    by_a = mean(lambda u: u - log1p(exp(u))) - digamma(a)
    held_t, held_share = mean(exp), mean(lambda u: 1 / (exp(-u) + 1))
    return by_a, by_b, stop_gradient(absolute(1 + (held_share * (q - p - 1) - held_t * r) / p))


def hyperu_by_parameters(a: Value, b: Value, z: Value) -> list[Value]:
    """Return the derivatives of hyperu by a and b, to 1e-8 relative (tested for -0.9 < a < 30,
    -10 < b < 10, 0.01 < z < 30); NaN for ``a <= -1`` and ``z <= 0``, and where the quadrature is
    not exact.

    Those for larger a come from the quadrature, and for a by the recurrence DLMF 13.3.7.
    """
    outside = bitwise_or(le(z, zero(z)), le(a, full(-1, a.type)))
    a, z = (select(outside, full(1, x.type), x) for x in (a, z))
    known: list[tuple[Value, Value, Value]] = []
    bad = outside
    for k in (STEPS_DOWN, STEPS_DOWN + 1):
        value = hyperu(a + k, b, z)
        by_a, by_b, error = _logarithmic_slopes(a + k, b, z)
        bad = bitwise_or(bad, bitwise_not(le(error, full(UNSURE, error.type))))
        known.append((value, value * by_a, value * by_b))
    near, next_one = known
    for k in reversed(range(STEPS_DOWN)):
        here = a + k
        p, rise = here * 2 + 2 + z - b, here - b + 2
        q = (here + 1) * rise
        (v, va, vb), (w, wa, wb) = near, next_one
        lower = (
            p * v - q * w,
            v * 2 + p * va - (rise + here + 1) * w - q * wa,
            p * vb - v + (here + 1) * w - q * wb,
        )
        near, next_one = lower, near
    return [select(bad, full(nan, a.type), x) for x in near[1:]]


hyperu: External = External(
    "hyperu",
    lambda t, y, a, b, z: t * hyperu_by_parameters(a, b, z)[0],
    lambda t, y, a, b, z: t * hyperu_by_parameters(a, b, z)[1],
    lambda t, y, a, b, z: -(t * (hyperu(a + 1, b + 1, z) * a)),
    cost=800,
)  # fmt: skip
wright_bessel: External = External(
    "wright_bessel", unknown, unknown, lambda t, y, a, b, x: t * wright_bessel(a, a + b, x),
    cost=800,
)  # fmt: skip
log_wright_bessel: External = External(
    "log_wright_bessel", unknown, unknown,
    lambda t, y, a, b, x: t * exp(log_wright_bessel(a, a + b, x) - y), cost=800,
)  # fmt: skip
wrightomega = External("wrightomega", lambda t, y, x: t * (y / (y + 1)), cost=200)

# -- (exp(x) - 1) / x, and functions based on it -------------------------------------------


def _exprel_slope(x: Value) -> Value:
    """Return the integral of s exp(x s) over 0 < s < 1."""
    return hyp1f1(full(2, x.type), full(3, x.type), x) * 0.5


exprel = External("exprel", lambda t, y, x: t * _exprel_slope(x), cost=40)


def by_power(log_x: Value, power: Value) -> Value:
    """Return the derivative by p of (x**p - 1) / p, which is log(x) exprel(p log(x))."""
    return log_x * log_x * _exprel_slope(power * log_x)


boxcox = External(
    "boxcox",
    lambda t, y, x, p: t * exp((p - 1) * log(x)),
    lambda t, y, x, p: t * by_power(log(x), p),
    cost=80,
)
boxcox1p = External(
    "boxcox1p",
    lambda t, y, x, p: t * exp((p - 1) * log1p(x)),
    lambda t, y, x, p: t * by_power(log1p(x), p),
    cost=80,
)


def _inverse_by_lambda(x: Value, y: Value, p: Value) -> Value:
    """Return the derivative by p of x = (1 + p y)**(1 / p). That of log1p(p y) / p is -y**2 times
    the integral of s / (1 + p y s)**2 over 0 < s < 1."""
    two = full(2, y.type)
    return -(x * y * y * hyp2f1(two, two, full(3, y.type), -(p * y)) * 0.5)


inv_boxcox = External(
    "inv_boxcox",
    lambda t, x, y, p: t * exp((1 - p) * log(x)),
    lambda t, x, y, p: t * _inverse_by_lambda(x, y, p),
    cost=80,
)
inv_boxcox1p = External(
    "inv_boxcox1p",
    lambda t, x, y, p: t * exp((1 - p) * log1p(x)),
    lambda t, x, y, p: t * _inverse_by_lambda(x + 1, y, p),
    cost=80,
)
