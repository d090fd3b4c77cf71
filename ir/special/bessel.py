"""Bessel functions, and functions of Airy, Kelvin and Struve.

Sources of the derivatives with respect to the argument: DLMF 10.6, 10.29 (recurrences), 10.51
(spherical), 9.2 (Airy's equation), 10.61, 10.63 (Kelvin's), 11.4.23 and 11.4.30 (Struve). The
derivatives of kv and iv with respect to the order differentiate DLMF 10.32.9 and 10.32.2 under the
integral; those of jv and yv differentiate DLMF 10.9.6 and 10.9.7. Derivatives with respect to other
orders are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan, pi, sqrt

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import (
    absolute,
    bitwise_and,
    lt,
    maximum,
    power,
    select,
    sign,
    stop_gradient,
)
from autojit.ir.ops.elementary import arccosh, arcsinh, cos, cosh, exp, log, log1p, sin, sinh
from autojit.ir.ops.elementary import sqrt as root

from .external import External, unknown
from .gamma import digamma, rgamma
from .series import bounded_integral, unit_integral, windowed_mean, zero

# -- of a real order -----------------------------------------------------------------------


def _alternating(f: External, v: Value, x: Value) -> Value:
    """(f_(v-1) - f_(v+1)) / 2."""
    return (f(v - 1, x) - f(v + 1, x)) * 0.5


def _adding(f: External, v: Value, x: Value) -> Value:
    return (f(v - 1, x) + f(v + 1, x)) * 0.5


#: The limit of x + |v| for derivatives of jv and yv with respect to v; they are NaN beyond.
LARGEST = 300.0


def _known_by_order(v: Value, x: Value, found: Value) -> Value:
    """Return a derivative by the order for x > 0; NaN for x <= 0, where it is not real."""
    near = lt(absolute(v) + x, full(LARGEST, x.type))
    return select(bitwise_and(near, lt(zero(x), x)), found, full(nan, x.type))


def _leg(v: Value, x: Value, start: Value) -> Value:
    """Return the length from ``start`` on over which exp(|v| t - x sinh(t)) is not negligible."""
    peak = arcsinh(absolute(v) / x)
    return stop_gradient(peak + arccosh(42 / root(v * v + x * x) + 1) - start)


def jv_by_order(v: Value, x: Value) -> Value:
    """Return the derivative of jv by v, for x > 0 and x + |v| < 300.

    Accurate to 1e-12 of |J| + |dJ/dv| (tested for x in 1e-3..290). The path of DLMF 10.9.17 goes
    from infinity - i pi through a - i pi and a + i pi to infinity + i pi, where x cosh(a) = v if
    v > x, so that no terms cancel, and a = 0 otherwise.
    """
    a = stop_gradient(arccosh(maximum(v / x, full(1, v.type))))
    length = _leg(v, x, a)

    def integrand(s: Value, v: Value, x: Value, a: Value, length: Value) -> Value:
        angle, t = s * pi, length * s + a
        size = exp(x * sinh(a) * cos(angle) - v * a)
        phase = x * cosh(a) * sin(angle) - v * angle
        upright = size * (angle * sin(phase) - a * cos(phase))
        level = exp(-(x * sinh(t)) - v * t) * (t * sin(v * pi) * (1 / pi) - cos(v * pi))
        return upright + length * level

    return _known_by_order(v, x, unit_integral(integrand, (v, x, a, length)))


def yv_by_order(v: Value, x: Value) -> Value:
    """Return the derivative of yv by v, for x > 0 and x + |v| < 300.

    Accurate to 1e-12 of |Y| + |dY/dv| (tested for x in 1e-3..290). It differentiates DLMF 10.9.7
    under the integral.
    """
    length = _leg(v, x, zero(x))

    def integrand(s: Value, v: Value, x: Value, length: Value) -> Value:
        angle, t = s * pi, length * s
        upright = angle * cos(x * sin(angle) - v * angle)
        falling = x * sinh(t)
        turned = t * cos(v * pi) + sin(v * pi) * pi
        level = t * exp(v * t - falling) - turned * exp(-(v * t) - falling)
        return -upright - length * level * (1 / pi)

    return _known_by_order(v, x, unit_integral(integrand, (v, x, length)))


jv: External = External(
    "jv", lambda t, y, v, x: t * jv_by_order(v, x), lambda t, y, v, x: t * _alternating(jv, v, x),
    also=("jn",), cost=800,
)  # fmt: skip
yv: External = External(
    "yv", lambda t, y, v, x: t * yv_by_order(v, x), lambda t, y, v, x: t * _alternating(yv, v, x),
    cost=1200,
)  # fmt: skip
#: Scaled by exp(-|Im z|), which is 1 for real numbers.
jve: External = External(
    "jve", lambda t, y, v, x: t * jv_by_order(v, x),
    lambda t, y, v, x: t * _alternating(jve, v, x), cost=800,
)  # fmt: skip
yve: External = External(
    "yve", lambda t, y, v, x: t * yv_by_order(v, x),
    lambda t, y, v, x: t * _alternating(yve, v, x), cost=1200,
)  # fmt: skip
iv: External = External(
    "iv", lambda t, y, v, x: t * (ive_by_order(v, x) * exp(x)),
    lambda t, y, v, x: t * _adding(iv, v, x), cost=800,
)  # fmt: skip
ive: External = External(
    "ive",
    lambda t, y, v, x: t * ive_by_order(v, x),
    lambda t, y, v, x: t * (_adding(ive, v, x) - sign(x) * y),
    cost=800,
)


def kv_by_order(v: Value, x: Value) -> Value:
    """Return the derivative of kve by v: the integral of s sinh(v s) exp(x (1 - cosh(s))), s > 0.

    Accurate to 1e-12 relative (tested for x in 1e-3..1e3, |v| < 50). The integrand is largest near
    asinh(|v| / x), and is cut off where it has fallen by exp(-42).
    """
    large = root(stop_gradient(v * v + x * x))
    peak = arcsinh(stop_gradient(absolute(v) / x))
    length = peak + arccosh(42 / large + 1)

    def integrand(s: Value, v: Value, x: Value) -> Value:
        half = sinh(s * 0.5)
        falling = x * (half * half * -2.0)
        rising, sinking = exp(falling + v * s), exp(falling - v * s)
        return s * (rising - sinking) * 0.5

    return bounded_integral(integrand, (v, x), length)


def _above_half(v: Value, x: Value) -> Value:
    """Return the derivative of ive by an order v of 1/2 or more, for x > 0.

    It differentiates the logarithm of DLMF 10.32.2, with 1 - t = 2 / (1 + exp(-u)): the mean of
    log(1 - t**2) weighted by the integrand, plus log(x / 2) - psi(v + 1/2).
    """
    a = v + 0.5
    large = root(stop_gradient(x * x + a * a))
    share = stop_gradient(a) / (stop_gradient(x + a) + large)  # where the integrand is largest
    peak = log(share) - log1p(-share)
    bend = share * (1 - share) * large * 2
    reach = 42 / stop_gradient(a) + root(84 / bend)

    def log_square(u: Value) -> Value:
        """Return ``log(1 - t**2)``."""
        away = absolute(u)
        return log(full(4, u.type)) - away - log1p(exp(-away)) * 2

    def log_weight(u: Value, a: Value, x: Value) -> Value:
        return a * log_square(u) - x * 2 / (exp(-u) + 1)

    mean = windowed_mean(log_weight, log_square, (a, x), peak, reach)
    return ive(v, x) * (log(x * 0.5) - digamma(a) + mean)


def _from_zero(v: Value, x: Value) -> Value:
    """Return the same for v >= 0: below 1/2 by the recurrence of DLMF 10.29.1."""
    low = lt(v, full(0.5, v.type))
    order = select(low, v + 1, v)
    first = _above_half(order, x)
    second = _above_half(order + 1, x)
    raised = second + (ive(order, x) + order * first) * 2 / x
    return select(low, raised, first)


def ive_by_order(v: Value, x: Value) -> Value:
    """Return the derivative of ive by v, for x > 0; NaN for x <= 0, where it is not real.

    Accurate to 1e-12 relative (tested for x in 1e-3..1e3, |v| < 50). Negative orders use DLMF
    10.27.2.
    """
    negative, size = lt(v, zero(v)), absolute(v)
    at = _from_zero(size, x)
    angle, falling = size * pi, exp(x * -2)
    other = cos(angle) * kve(size, x) * 2 + sin(angle) * kv_by_order(size, x) * (2 / pi)
    found = select(negative, -(at + other * falling), at)
    return select(lt(zero(x), x), found, full(nan, x.type))


kv: External = External(
    "kv",
    lambda t, y, v, x: t * (kv_by_order(v, x) * exp(-x)),
    lambda t, y, v, x: -(t * _adding(kv, v, x)),
    cost=1200,
)
kve: External = External(
    "kve",
    lambda t, y, v, x: t * kv_by_order(v, x),
    lambda t, y, v, x: t * (y - _adding(kve, v, x)),
    cost=1200,
)
#: Of integer orders.
kn: External = External(
    "kn", unknown, lambda t, y, n, x: -(t * _adding(kn, n, x)), whole=(0,), cost=400
)
yn: External = External(
    "yn", unknown, lambda t, y, n, x: t * _alternating(yn, n, x), whole=(0,), cost=400
)

# -- of orders 0 and 1 ---------------------------------------------------------------------


def _two(x: Value) -> Value:
    return full(2, x.type)


j0: External = External("j0", lambda t, y, x: -(t * j1(x)), cost=108)
j1: External = External("j1", lambda t, y, x: t * ((j0(x) - jv(_two(x), x)) * 0.5), cost=108)
y0: External = External("y0", lambda t, y, x: -(t * y1(x)), cost=160)
y1: External = External("y1", lambda t, y, x: t * (y0(x) - y / x), cost=160)
i0: External = External("i0", lambda t, y, x: t * i1(x), cost=188)
i1: External = External("i1", lambda t, y, x: t * ((i0(x) + iv(_two(x), x)) * 0.5), cost=188)
k0: External = External("k0", lambda t, y, x: -(t * k1(x)), cost=152)
k1: External = External("k1", lambda t, y, x: -(t * (k0(x) + y / x)), cost=152)
i0e: External = External("i0e", lambda t, y, x: t * (i1e(x) - sign(x) * y), cost=188)
i1e: External = External(
    "i1e", lambda t, y, x: t * ((i0e(x) + ive(_two(x), x)) * 0.5 - sign(x) * y), cost=188
)
k0e: External = External("k0e", lambda t, y, x: t * (y - k1e(x)), cost=152)
k1e: External = External("k1e", lambda t, y, x: t * (y - y / x - k0e(x)), cost=152)

# -- spherical functions of integer orders ------------------------------------------------


def _spherical(letter: str, lower: float, upper: float) -> External:
    """The derivative is (lower n f_(n-1) + upper (n + 1) f_(n+1)) / (2 n + 1)."""

    def slope(t: Value, y: Value, n: Value, z: Value) -> Value:
        below = made(maximum(n - 1, zero(n)), z) * n * lower
        return t * ((below + made(n + 1, z) * (n + 1) * upper) / (n * 2.0 + 1))

    made = External(f"_spherical_{letter}n", unknown, slope, loop="ld->d", cost=200)
    return made


spherical_jn = _spherical("j", 1.0, -1.0)
spherical_yn = _spherical("y", 1.0, -1.0)
spherical_in = _spherical("i", 1.0, 1.0)
spherical_kn = _spherical("k", -1.0, -1.0)

# -- Airy's: Ai, Ai', Bi, Bi' --------------------------------------------------------------


def _airy(k: int, slope: Callable[[Value, Value], Value], name: str = "airy") -> External:
    return External(
        f"{name}_{k}", lambda t, y, x: t * slope(y, x), function=name, result=k, results=4, cost=400
    )


airy: list[External] = [
    _airy(0, lambda y, x: airy[1](x)), _airy(1, lambda y, x: x * airy[0](x)),
    _airy(2, lambda y, x: airy[3](x)), _airy(3, lambda y, x: x * airy[2](x)),
]  # fmt: skip


def _scale(x: Value) -> Value:
    """Return the slope of the exponent in the scaling of airye, 2/3 x**(3/2) for x > 0."""
    return root(maximum(x, zero(x)))


airye: list[External] = [
    _airy(0, lambda y, x: airye[1](x) + _scale(x) * y, "airye"),
    _airy(1, lambda y, x: x * airye[0](x) + _scale(x) * y, "airye"),
    _airy(2, lambda y, x: airye[3](x) - _scale(x) * y, "airye"),
    _airy(3, lambda y, x: x * airye[2](x) - _scale(x) * y, "airye"),
]

# -- Kelvin's ------------------------------------------------------------------------------

ber: External = External("ber", lambda t, y, x: t * berp(x), cost=200)
bei: External = External("bei", lambda t, y, x: t * beip(x), cost=200)
ker: External = External("ker", lambda t, y, x: t * kerp(x), cost=200)
kei: External = External("kei", lambda t, y, x: t * keip(x), cost=200)
berp: External = External("berp", lambda t, y, x: -(t * (bei(x) + y / x)), cost=200)
beip: External = External("beip", lambda t, y, x: t * (ber(x) - y / x), cost=200)
kerp: External = External("kerp", lambda t, y, x: -(t * (kei(x) + y / x)), cost=200)
keip: External = External("keip", lambda t, y, x: t * (ker(x) - y / x), cost=200)

# -- Struve's ------------------------------------------------------------------------------


def _remainder(v: Value, x: Value) -> Value:
    """(x/2)**v / (sqrt(pi) gamma(v + 3/2))."""
    return power(x * 0.5, v) * rgamma(v + 1.5) * (1 / sqrt(pi))


struve: External = External(
    "struve", unknown,
    lambda t, y, v, x: t * (_alternating(struve, v, x) + _remainder(v, x) * 0.5), cost=800,
)  # fmt: skip
modstruve: External = External(
    "modstruve", unknown,
    lambda t, y, v, x: t * (_adding(modstruve, v, x) + _remainder(v, x) * 0.5), cost=800,
)  # fmt: skip
