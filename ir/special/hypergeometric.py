"""Hypergeometric functions, Wright's, and Box and Cox's transformations.

Sources of the derivatives: DLMF 13.3, 15.5, 10.46; R. M. Corless and D. J. Jeffrey, "The Wright
omega function" (2002).  By the parameters of the hypergeometric functions none is known.
"""

from __future__ import annotations

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.elementary import exp, log, log1p

from .external import External, unknown

hyp0f1: External = External(
    "hyp0f1", unknown, lambda t, y, b, z: t * (hyp0f1(b + 1, z) / b), cost=400
)
hyp1f1: External = External(
    "hyp1f1", unknown, unknown, lambda t, y, a, b, z: t * (hyp1f1(a + 1, b + 1, z) * a / b),
    cost=400,
)  # fmt: skip
hyp2f1: External = External(
    "hyp2f1", unknown, unknown, unknown,
    lambda t, y, a, b, c, z: t * (hyp2f1(a + 1, b + 1, c + 1, z) * a * b / c),
    cost=800,
)  # fmt: skip
#: Tricomi's U.
hyperu: External = External(
    "hyperu", unknown, unknown, lambda t, y, a, b, z: -(t * (hyperu(a + 1, b + 1, z) * a)),
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

# -- (exp(x) - 1) / x, and what is made of it ----------------------------------------------


def _exprel_slope(x: Value) -> Value:
    """The integral of s exp(x s) over 0 < s < 1."""
    return hyp1f1(full(2, x.type), full(3, x.type), x) * 0.5


exprel = External("exprel", lambda t, y, x: t * _exprel_slope(x), cost=40)


def by_power(log_x: Value, power: Value) -> Value:
    """The derivative by p of (x**p - 1) / p, which is log(x) exprel(p log(x))."""
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
    """x = (1 + p y)**(1 / p): the derivative of log1p(p y) / p by p is -y**2 times the integral of
    s / (1 + p y s)**2 over 0 < s < 1."""
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
