"""Exponential, trigonometric and Fresnel integrals, Spence's function, integrals of Bessel's.

Sources of the derivatives: the integrands (DLMF chapters 6, 7, 9.10, 10.22, 11.7, 25.12).
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, pi

from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import ge, maximum, select
from autojit.ir.ops.elementary import cos, cosh, exp, log, sin, sinh

from .bessel import airy, i0, j0, k0, modstruve, struve, y0
from .external import External, unknown
from .series import one, removable, where_not, zero

Formula = Callable[[Value], Value]


def _several(name: str, *slopes: Formula, cost: int) -> list[External]:
    """Declare a function of one argument with several results, from the derivative of each."""

    def result(k: int, slope: Formula) -> External:
        return External(
            f"{name}_{k}", lambda t, y, x: t * slope(x), function=name, result=k,
            results=len(slopes), cost=cost,
        )  # fmt: skip

    return [result(k, slope) for k, slope in enumerate(slopes)]


def _sinc(x: Value) -> Value:
    taylor = [0.0 if n % 2 else (-1) ** (n // 2) / factorial(n + 1) for n in range(10)]
    return removable(x, lambda x: sin(x) / x, taylor)


def _sinhc(x: Value) -> Value:
    return removable(x, lambda x: sinh(x) / x, [(n + 1) % 2 / factorial(n + 1) for n in range(10)])


exp1 = External("exp1", lambda t, y, x: -(t * (exp(-x) / x)), cost=400)
expi = External("expi", lambda t, y, x: t * (exp(x) / x), cost=1000)


def _expn_rule(t: Value, y: Value, n: Value, x: Value) -> Value:
    # E_(n-1); for n < 2 by recurrence (DLMF 8.19.12), since SciPy has no negative orders.
    high = ge(n, 2 * one(n))
    lower = expn(maximum(n - 1, one(n)), x)
    safe = where_not(high, x, 1.0)
    return -(t * select(high, lower, (exp(-safe) - (n - 1) * y) / safe))


expn: External = External("expn", unknown, _expn_rule, whole=(0,), cost=300)

sici = _several("sici", _sinc, lambda x: cos(x) / x, cost=120)
shichi = _several("shichi", _sinhc, lambda x: cosh(x) / x, cost=120)
fresnel = _several(
    "fresnel", lambda x: sin(x * x * (pi / 2)), lambda x: cos(x * x * (pi / 2)), cost=120
)


def _spence_slope(z: Value) -> Value:
    taylor = [(-1) ** (n + 1) / (n + 1) for n in range(10)]
    return removable(z - 1, lambda w: -(log(w + 1) / w), taylor)


spence = External("spence", lambda t, y, z: t * _spence_slope(z), cost=120)

# -- integrals of Bessel, Airy and Struve functions ----------------------------------------

itj0y0 = _several("itj0y0", lambda x: j0(x), lambda x: y0(x), cost=400)
iti0k0 = _several("iti0k0", lambda x: i0(x), lambda x: k0(x), cost=400)
it2j0y0 = _several(
    "it2j0y0", lambda x: (1 - j0(x)) / x, lambda x: -(y0(x) / x), cost=400
)  # fmt: skip
it2i0k0 = _several(
    "it2i0k0", lambda x: (i0(x) - 1) / x, lambda x: -(k0(x) / x), cost=400
)  # fmt: skip
itairy = _several(
    "itairy", lambda x: airy[0](x), lambda x: airy[2](x), lambda x: airy[0](-x),
    lambda x: airy[2](-x), cost=800,
)  # fmt: skip
itstruve0 = External("itstruve0", lambda t, y, x: t * struve(zero(x), x), cost=400)
it2struve0 = External("it2struve0", lambda t, y, x: -(t * (struve(zero(x), x) / x)), cost=400)
itmodstruve0 = External("itmodstruve0", lambda t, y, x: t * modstruve(zero(x), x), cost=400)
