"""Error functions and the normal distribution.

Sources of the derivatives: DLMF 7.2 and 7.10; Owen's T function: D. B. Owen, "Tables for computing
bivariate normal probabilities", Ann. Math. Statist. 27 (1956).
"""

from __future__ import annotations

from math import pi, sqrt

from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import imag, make_complex, real
from autojit.ir.ops.elementary import erf, exp

from .external import External
from .holomorphic import wofz

_TWO_OVER_SQRT_PI = 2 / sqrt(pi)
_SQRT_2PI = sqrt(2 * pi)

erfcx = External("erfcx", lambda t, y, x: t * (x * y * 2.0 - _TWO_OVER_SQRT_PI), cost=84)
erfi = External("erfi", lambda t, y, x: t * (exp(x * x) * _TWO_OVER_SQRT_PI), cost=120)
dawsn = External("dawsn", lambda t, y, x: t * (1 - x * y * 2.0), cost=60)
erfinv = External("erfinv", lambda t, y, x: t * (exp(y * y) / _TWO_OVER_SQRT_PI), cost=120)
erfcinv = External("erfcinv", lambda t, y, x: -(t * (exp(y * y) / _TWO_OVER_SQRT_PI)), cost=120)
ndtri = External("ndtri", lambda t, y, p: t * (exp(y * y * 0.5) * _SQRT_2PI), cost=60)
#: ndtri(exp(x)).
ndtri_exp = External("ndtri_exp", lambda t, y, x: t * (exp(x + y * y * 0.5) * _SQRT_2PI), cost=120)
log_ndtr = External("log_ndtr", lambda t, y, x: t * (exp(x * x * -0.5 - y) / _SQRT_2PI), cost=120)


def _owens_by_h(t: Value, y: Value, h: Value, a: Value) -> Value:
    return -(t * (exp(h * h * -0.5) * erf(a * h * sqrt(0.5)) * (0.5 / _SQRT_2PI)))


def _owens_by_a(t: Value, y: Value, h: Value, a: Value) -> Value:
    square = a * a + 1
    return t * (exp(h * h * square * -0.5) / (square * (2 * pi)))


owens_t = External("owens_t", _owens_by_h, _owens_by_a, cost=200)


# -- Voigt's profile, Re w(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt(2))


def _slope(x: Value, y: Value) -> tuple[Value, Value]:
    """Return the real and the imaginary part of w'(z) = -2 z w(z) + 2i/sqrt(pi)."""
    z = make_complex(x, y)
    slope = z * wofz(z) * -2.0
    return real(slope), imag(slope) + _TWO_OVER_SQRT_PI


def _voigt(x: Value, sigma: Value, gamma: Value) -> tuple[Value, Value]:
    """Return the derivatives by x and gamma."""
    scale = sigma * sqrt(2)
    re, im = _slope(x / scale, gamma / scale)
    factor = 1 / (sigma * scale * _SQRT_2PI)
    return re * factor, -(im * factor)


def _voigt_by_sigma(t: Value, v: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    # The profile is homogeneous of degree -1 in all three arguments.
    by_x, by_gamma = _voigt(x, sigma, gamma)
    return -(t * ((v + x * by_x + gamma * by_gamma) / sigma))


voigt_profile = External(
    "voigt_profile",
    lambda t, v, x, s, g: t * _voigt(x, s, g)[0],
    _voigt_by_sigma,
    lambda t, v, x, s, g: t * _voigt(x, s, g)[1],
    cost=400,
)  # fmt: skip
