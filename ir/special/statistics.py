"""Normal, Kolmogorov-Smirnov, Tukey lambda and noncentral distributions.

Sources of the derivatives: DLMF 20.7 (the series of Kolmogorov's distribution); C. Walck,
"Hand-book on statistical distributions" (noncentral chi-squared); SciPy's definitions.
"""

from __future__ import annotations

from math import pi, sqrt

from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import lt, select
from autojit.ir.ops.elementary import exp, log, log1p
from autojit.ir.ops.elementary import sqrt as root

from .bessel import ive
from .external import External, unknown
from .gamma import gammaln
from .hypergeometric import by_power
from .series import one, zero

# -- Normal: the mean, and the deviation, for which ndtr((x - mean) / deviation) is p -------------


def _normal_slope(z: Value) -> Value:
    return exp(z * z * -0.5) * (1 / sqrt(2 * pi))


nrdtrimn = External(
    "nrdtrimn",
    lambda t, m, p, s, x: -(t * (s / _normal_slope((x - m) / s))),
    lambda t, m, p, s, x: -(t * ((x - m) / s)),
    lambda t, m, p, s, x: t,
    cost=200,
)
nrdtrisd = External(
    "nrdtrisd",
    lambda t, s, m, p, x: -(t * (s / (x - m))),
    lambda t, s, m, p, x: -(t * (s * s / ((x - m) * _normal_slope((x - m) / s)))),
    lambda t, s, m, p, x: t * (s / (x - m)),
    cost=200,
)

# -- Kolmogorov and Smirnov, Tukey's lambda ------------------------------------------------


def kolmogorov_density(x: Value) -> Value:
    """Return minus the derivative of kolmogorov, by the series of DLMF 20.7.30 that converges fast
    on each side of 1: the omitted terms are below 1e-20 of the first."""
    low = lt(x, one(x))
    small, large = select(low, x, one(x)), select(low, one(x), x)
    slow = zero(x)
    for k in range(1, 6):
        slow = slow + large * exp(large * large * (-2.0 * k * k)) * ((-1) ** (k - 1) * 8.0 * k * k)
    square, fast = small * small, zero(x)
    for k in range(1, 8, 2):
        rate = k * k * pi * pi / 8
        fast = fast + exp(-rate / square) * (2 * rate / square - 1)
    fast = fast / square * sqrt(2 * pi)
    return select(low, fast, slow)


kolmogorov = External("kolmogorov", lambda t, y, x: -(t * kolmogorov_density(x)), cost=200)
kolmogi = External("kolmogi", lambda t, x, p: -(t / kolmogorov_density(x)), cost=800)
#: The derivative of smirnov by d.
smirnov_slope = External("_smirnovp", unknown, unknown, loop="ld->d", cost=400)
smirnov = External(
    "smirnov", None, lambda t, y, n, d: t * smirnov_slope(n, d), whole=(0,), cost=400
)
smirnovi = External(
    "smirnovi", None, lambda t, d, n, p: t / smirnov_slope(n, d), whole=(0,), cost=2000
)


def _tukey_slope(f: Value, p: Value) -> Value:
    """Return dx/dF = F**(p - 1) + (1 - F)**(p - 1)."""
    return exp((p - 1) * log(f)) + exp((p - 1) * log1p(-f))


def _tukey_by_shape(f: Value, p: Value) -> Value:
    """Return the derivative of x = (F**p - (1 - F)**p) / p by p."""
    return by_power(log(f), p) - by_power(log1p(-f), p)


tklmbda = External(
    "tklmbda",
    lambda t, f, x, p: t / _tukey_slope(f, p),
    lambda t, f, x, p: -(t * (_tukey_by_shape(f, p) / _tukey_slope(f, p))),
    cost=800,
)

# -- noncentral chi-squared ----------------------------------------------------------------


def _noncentral_density(x: Value, v: Value, nc: Value) -> Value:
    """Return the derivative by x, for nc > 0: a Bessel function of order v / 2 - 1."""
    spread = root(x * nc)
    gap = root(x) - root(nc)
    power = exp((log(x) - log(nc)) * (v * 0.25 - 0.5))
    return power * exp(gap * gap * -0.5) * ive(v * 0.5 - 1, spread) * 0.5


def _by_noncentrality(x: Value, v: Value, nc: Value) -> Value:
    return (chndtr(x, v + 2, nc) - chndtr(x, v, nc)) * 0.5


chndtr: External = External(
    "chndtr",
    lambda t, y, x, v, nc: t * _noncentral_density(x, v, nc),
    unknown,
    lambda t, y, x, v, nc: t * _by_noncentrality(x, v, nc),
    cost=2000,
)
chndtrix = External(
    "chndtrix",
    lambda t, x, p, v, nc: t / _noncentral_density(x, v, nc),
    unknown,
    lambda t, x, p, v, nc: -(t * (_by_noncentrality(x, v, nc) / _noncentral_density(x, v, nc))),
    cost=8000,
)
chndtrinc = External(
    "chndtrinc",
    lambda t, nc, x, v, p: -(t * (_noncentral_density(x, v, nc) / _by_noncentrality(x, v, nc))),
    unknown,
    lambda t, nc, x, v, p: t / _by_noncentrality(x, v, nc),
    cost=8000,
)
chndtridf = External("chndtridf", unknown, unknown, unknown, cost=8000)

# -- noncentral t and F: only first derivatives by the argument ----------------------------

_t_density = External("_nct_pdf", unknown, unknown, unknown, loop="ddd->d", cost=8000)
_f_density = External("_ncf_pdf", unknown, unknown, unknown, unknown, loop="dddd->d", cost=8000)


def _t_by_noncentrality(x: Value, v: Value, nc: Value) -> Value:
    """Return the derivative of nctdtr by nc: -E[phi(x S - nc)].

    phi is the normal density, and S is the root of a chi-squared number over its v degrees of
    freedom. The density is E[S phi(x S - nc)]. A factor S changes the degrees of freedom by one, so
    for v > 1 the derivative follows from the density with v - 1 degrees. For smaller v, integration
    by parts gives it from the densities with v and v + 1.
    """
    above = lt(one(v), v)
    less, more = select(above, v - 1, one(v)), v + 1
    first = _half_gammas(less, v) * root(less * 0.5) * _t_density(x * root(less / v), less, nc)
    ahead = _t_density(x * root(more / v), more, nc) * root(more * 2) * _half_gammas(more, v)
    second = ((x * x / v + 1) * ahead - x * nc * _t_density(x, v, nc)) / v
    return -select(above, first, second)


def _half_gammas(a: Value, b: Value) -> Value:
    """Return gamma(a / 2) / gamma(b / 2)."""
    return exp(gammaln(a * 0.5) - gammaln(b * 0.5))


def _f_by_noncentrality(x: Value, n: Value, d: Value, nc: Value) -> Value:
    """Return the derivative of ncfdtr by nc; ncfdtr is a Poisson mixture of central functions."""
    return (ncfdtr(n + 2, d, nc, x * n / (n + 2)) - ncfdtr(n, d, nc, x)) * 0.5


nctdtr = External(
    "nctdtr",
    unknown,
    lambda t, y, v, nc, x: t * _t_by_noncentrality(x, v, nc),
    lambda t, y, v, nc, x: t * _t_density(x, v, nc),
    cost=8000,
)
nctdtrit = External(
    "nctdtrit",
    unknown,
    lambda t, x, v, nc, p: -(t * (_t_by_noncentrality(x, v, nc) / _t_density(x, v, nc))),
    lambda t, x, v, nc, p: t / _t_density(x, v, nc),
    cost=32000,
)
nctdtridf = External("nctdtridf", unknown, unknown, unknown, cost=32000)
nctdtrinc = External(
    "nctdtrinc",
    unknown,
    lambda t, nc, v, p, x: t / _t_by_noncentrality(x, v, nc),
    lambda t, nc, v, p, x: -(t * (_t_density(x, v, nc) / _t_by_noncentrality(x, v, nc))),
    cost=32000,
)
ncfdtr: External = External(
    "ncfdtr", unknown, unknown,
    lambda t, y, n, d, nc, x: t * _f_by_noncentrality(x, n, d, nc),
    lambda t, y, n, d, nc, x: t * _f_density(x, n, d, nc), cost=8000,
)  # fmt: skip
ncfdtri = External(
    "ncfdtri", unknown, unknown,
    lambda t, x, n, d, nc, p: -(t * (_f_by_noncentrality(x, n, d, nc) / _f_density(x, n, d, nc))),
    lambda t, x, n, d, nc, p: t / _f_density(x, n, d, nc), cost=32000,
)  # fmt: skip
ncfdtridfd = External("ncfdtridfd", unknown, unknown, unknown, unknown, cost=32000)
ncfdtridfn = External("ncfdtridfn", unknown, unknown, unknown, unknown, cost=32000)
ncfdtrinc = External(
    "ncfdtrinc", unknown, unknown,
    lambda t, nc, n, d, p, x: t / _f_by_noncentrality(x, n, d, nc),
    lambda t, nc, n, d, p, x: -(t * (_f_density(x, n, d, nc) / _f_by_noncentrality(x, n, d, nc))),
    cost=32000,
)  # fmt: skip
