"""The gamma function and related functions, and the incomplete gamma function.

Sources of the derivatives: DLMF chapters 5 (gamma, beta) and 8 (incomplete gamma).

The derivatives of the incomplete functions by their parameters have no closed form. They are
integrals over one side of x, chosen so that the integrand has one sign and no terms cancel, by a
quadrature of fixed order: see ``by_shape``.
"""

from __future__ import annotations

from math import inf, pi

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import (
    absolute,
    bitwise_and,
    bitwise_or,
    eq,
    ge,
    lt,
    select,
    stop_gradient,
)
from autojit.ir.ops.elementary import cos, exp, log, sin, sqrt

from .external import External
from .series import integral, one, where_not, x_log, zero
from .zeta import zeta

# -- complete functions ---------------------------------------------------------------

digamma = External("psi", lambda t, y, x: t * zeta(full(2, x.type), x), also=("digamma",), cost=88)
gammaln = External("gammaln", lambda t, y, x: t * digamma(x), cost=104)
loggamma = External("loggamma", lambda t, y, x: t * digamma(x), cost=104)
gamma = External("gamma", lambda t, y, x: t * (y * digamma(x)), cost=88)
gammasgn = External("gammasgn", None, cost=20)


def _rgamma_rule(t: Value, y: Value, x: Value) -> Value:
    # Below 1/2, where 1/gamma has its zeros, by reflection: gamma(1 - x) sin(pi x) / pi.
    left, right = lt(x, full(0.5, x.type)), ge(x, full(0.5, x.type))
    mirrored = 1 - where_not(right, x, 0.0)
    angle = x * pi
    below = gamma(mirrored) * (cos(angle) - sin(angle) * digamma(mirrored) * (1 / pi))
    return t * select(left, below, -(y * digamma(where_not(left, x, 1.0))))


rgamma = External("rgamma", _rgamma_rule, cost=88)
#: Pochhammer's symbol, gamma(z + m) / gamma(z).
poch = External(
    "poch",
    lambda t, y, z, m: t * (y * (digamma(z + m) - digamma(z))),
    lambda t, y, z, m: t * (y * digamma(z + m)),
    cost=200,
)
beta = External(
    "beta",
    lambda t, y, a, b: t * (y * (digamma(a) - digamma(a + b))),
    lambda t, y, a, b: t * (y * (digamma(b) - digamma(a + b))),
    cost=200,
)
betaln = External(
    "betaln",
    lambda t, y, a, b: t * (digamma(a) - digamma(a + b)),
    lambda t, y, a, b: t * (digamma(b) - digamma(a + b)),
    cost=200,
)
binom = External(
    "binom",
    lambda t, y, n, k: t * (y * (digamma(n + 1) - digamma(n - k + 1))),
    lambda t, y, n, k: t * (y * (digamma(n - k + 1) - digamma(k + 1))),
    cost=200,
)

# -- incomplete gamma functions ---------------------------------------------------------


def density(a: Value, x: Value) -> Value:
    """Return the derivative of gammainc by x: ``x**(a - 1) exp(-x) / gamma(a)``."""
    return exp(x_log(a - 1, x) - x - gammaln(a))


def by_shape(a: Value, x: Value) -> Value:
    """Return the derivative of gammainc by a, to 1e-10 relative (tested for a in 0.01..1e4).

    With r = ln t - digamma(a), it is the integral of t**(a-1) exp(-t) r / gamma(a) over t < x, and
    minus the integral over t > x. If x < exp(digamma(a)), r is negative on all of the first range,
    else it is positive on all of the second. With t = x exp(-s) or x exp(s), s runs from 0 to
    infinity.

    A small a, for which the integrand has a long tail, is raised to a + 1 (DLMF 8.8.5):
    P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1).
    """
    small = bitwise_and(lt(a, one(a)), lt(x, one(x)))
    raised = select(small, a + 1, a)
    psi, log_x = digamma(raised), log(x)
    side = select(lt(x, exp(psi)), -one(x), one(x))
    scale = 1 / (absolute(stop_gradient(raised - x)) + sqrt(stop_gradient(raised)))

    def integrand(
        s: Value, a: Value, log_x: Value, psi: Value, norm: Value, side: Value, scale: Value
    ) -> Value:
        log_t = log_x + side * (s * scale)
        return exp(a * log_t - exp(log_t) - norm) * (log_t - psi) * scale

    operands = (raised, log_x, psi, gammaln(raised), side, scale)
    found = -(side * integral(integrand, operands))
    step = exp(a * log_x - x - gammaln(a + 1)) * (log_x - digamma(a + 1))
    found = select(small, found + step, found)
    # At 0 and at infinity gammainc is 0 and 1 for every a.
    at_end = bitwise_or(eq(x, 0), eq(x, full(inf, x.type)))
    return select(at_end, zero(x), found)


gammainc: External = External(
    "gammainc",
    lambda t, y, a, x: t * by_shape(a, x),
    lambda t, y, a, x: t * density(a, x),
    cost=400,
)
gammaincc: External = External(
    "gammaincc",
    lambda t, y, a, x: -(t * by_shape(a, x)),
    lambda t, y, a, x: -(t * density(a, x)),
    cost=400,
)
gammaincinv = External(
    "gammaincinv",
    lambda t, y, a, p: -(t * (by_shape(a, y) / density(a, y))),
    lambda t, y, a, p: t / density(a, y),
    cost=2000,
)
gammainccinv = External(
    "gammainccinv",
    lambda t, y, a, q: -(t * (by_shape(a, y) / density(a, y))),
    lambda t, y, a, q: -(t / density(a, y)),
    cost=2000,
)
