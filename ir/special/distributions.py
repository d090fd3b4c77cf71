"""Distribution functions, their complements and inverses.

Each is one of the incomplete gamma and beta functions at other arguments, and so are its
derivatives (definitions: SciPy's documentation of each; DLMF 8.17, 8.2). An inverse has the
derivatives of an implicit function: with F(x, a) = p, x_p = 1 / F_x and x_a = -F_a / F_x. Numbers
of successes are rounded down, so the derivatives with respect to them are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import eq, floor, lt, select, sign
from autojit.ir.ops.elementary import exp, log, log1p
from autojit.ir.ops.elementary import sqrt as root

from . import beta, gamma
from .external import External, unknown
from .series import where_not, x_log, zero

#: The derivative with respect to one argument, as a function of all arguments.
Slope = Callable[..., Value]


def _cumulative(
    name: str, *slopes: Slope | None, sign: int = 1, whole: tuple[int, ...] = ()
) -> External:
    """Declare a distribution function, or its complement, from its derivative by each argument."""

    def rule(slope: Slope) -> Callable[..., Value]:
        if slope is unknown:
            return unknown
        if sign > 0:
            return lambda t, y, *args: t * slope(*args)
        return lambda t, y, *args: -(t * slope(*args))

    return External(name, *(s and rule(s) for s in slopes), whole=whole, cost=400)


def _inverse(
    name: str, slopes: tuple[Slope, ...], p: int, x: int, *, sign: int = 1, cost: int = 4000
) -> External:
    """Declare the inverse, with respect to argument ``x``, of a function with these derivatives,
    one per argument. The probability is argument ``p`` of the inverse; the others keep their
    order."""

    def all_of(y: Value, args: tuple[Value, ...]) -> tuple[Value, ...]:
        others = [a for i, a in enumerate(args) if i != p]
        return (*others[:x], y, *others[x:])

    def rule(position: int) -> Callable[..., Value]:
        if position == p:
            return lambda t, y, *args: t / slopes[x](*all_of(y, args)) * float(sign)
        other = position - (position > p)
        slope = slopes[other + (other >= x)]
        if slope is unknown:
            return unknown
        return lambda t, y, *args: -(t * (slope(*all_of(y, args)) / slopes[x](*all_of(y, args))))

    return External(name, *map(rule, range(len(slopes))), cost=cost)


# -- chi-squared, gamma and Poisson --------------------------------------------------------

_CHI = (
    lambda v, x: gamma.by_shape(v * 0.5, x * 0.5) * 0.5,
    lambda v, x: gamma.density(v * 0.5, x * 0.5) * 0.5,
)
chdtr = _cumulative("chdtr", *_CHI)
chdtrc = _cumulative("chdtrc", *_CHI, sign=-1)
chdtri = _inverse("chdtri", _CHI, 1, 1, sign=-1)
chdtriv = _inverse("chdtriv", _CHI, 0, 0)

#: For the rate a and the shape b.
_GAMMA = (
    lambda a, b, x: gamma.density(b, a * x) * x,
    lambda a, b, x: gamma.by_shape(b, a * x),
    lambda a, b, x: gamma.density(b, a * x) * a,
)
gdtr = _cumulative("gdtr", *_GAMMA)
gdtrc = _cumulative("gdtrc", *_GAMMA, sign=-1)
gdtria = _inverse("gdtria", _GAMMA, 0, 0)
gdtrib = _inverse("gdtrib", _GAMMA, 1, 1)
gdtrix = _inverse("gdtrix", _GAMMA, 2, 2)


def _poisson(k: Value, m: Value) -> Value:
    """Return the derivative by the mean: minus the probability of k."""
    return -exp(x_log(floor(k), m) - m - gamma.gammaln(floor(k) + 1))


pdtr = _cumulative("pdtr", None, _poisson)
pdtrc = _cumulative("pdtrc", None, _poisson, sign=-1)
#: The mean for which pdtr is y: the inverse of gammaincc(k + 1, m).
pdtri = External("pdtri", None, lambda t, m, k, y: t / _poisson(k, m), whole=(0,), cost=2000)
#: The k, as a real number, for which pdtr is p.
pdtrik = External(
    "pdtrik",
    lambda t, k, p, m: -(t / gamma.by_shape(k + 1, m)),
    lambda t, k, p, m: -(t * (gamma.density(k + 1, m) / gamma.by_shape(k + 1, m))),
    cost=4000,
)

# -- binomial and negative binomial --------------------------------------------------------


def _binomial(k: Value, n: Value, p: Value) -> Value:
    """Return the derivative by p; bdtr is betainc(n - k, k + 1, 1 - p)."""
    inside = beta.density(floor(k) + 1, n - floor(k), p)
    return select(lt(floor(k), n), -inside, zero(p))


bdtr = _cumulative("bdtr", None, unknown, _binomial, whole=(1,))
bdtrc = _cumulative("bdtrc", None, unknown, _binomial, sign=-1, whole=(1,))
bdtri = External(
    "bdtri", None, unknown, lambda t, p, k, n, y: t / _binomial(k, n, p), whole=(1,), cost=4000
)


def _negative_binomial(k: Value, n: Value, p: Value) -> Value:
    """Return the derivative by p; nbdtr is betainc(n, k + 1, p)."""
    return beta.density(n, floor(k) + 1, p)


nbdtr = _cumulative("nbdtr", None, unknown, _negative_binomial, whole=(0, 1))
nbdtrc = _cumulative("nbdtrc", None, unknown, _negative_binomial, sign=-1, whole=(0, 1))
nbdtri = External(
    "nbdtri",
    None,
    unknown,
    lambda t, p, k, n, y: t / _negative_binomial(k, n, p),
    whole=(0, 1),
    cost=4000,
)

#: For real numbers of successes.
_BINOMIAL = (
    lambda k, n, p: beta.by_b(n - k, k + 1, 1 - p) - beta.by_a(n - k, k + 1, 1 - p),
    lambda k, n, p: beta.by_a(n - k, k + 1, 1 - p),
    lambda k, n, p: -beta.density(n - k, k + 1, 1 - p),
)
bdtrik = _inverse("bdtrik", _BINOMIAL, 0, 0)
bdtrin = _inverse("bdtrin", _BINOMIAL, 1, 1)
_NEGATIVE_BINOMIAL = (
    lambda k, n, p: beta.by_b(n, k + 1, p),
    lambda k, n, p: beta.by_a(n, k + 1, p),
    lambda k, n, p: beta.density(n, k + 1, p),
)
nbdtrik = _inverse("nbdtrik", _NEGATIVE_BINOMIAL, 0, 0)
nbdtrin = _inverse("nbdtrin", _NEGATIVE_BINOMIAL, 1, 1)

# -- F and Student's t ---------------------------------------------------------------------


def _logarithms(n: Value, d: Value, x: Value) -> tuple[Value, Value]:
    """Return the logarithms of y = n x / (d + n x) and 1 - y; fdtr is betainc(n / 2, d / 2, y)."""
    whole = log(d + n * x)
    return log(n * x) - whole, log(d) - whole


def _f_slope(n: Value, d: Value, x: Value) -> Value:
    """Return the derivative by y, times y (1 - y)."""
    a, b = n * 0.5, d * 0.5
    log_y, log_rest = _logarithms(n, d, x)
    return exp(a * log_y + b * log_rest - gamma.betaln(a, b))


def _beyond_zero(formula: Slope) -> Slope:
    """Extend the formula of a derivative by degrees of freedom to x = 0, where it is 0."""

    def slope(n: Value, d: Value, x: Value) -> Value:
        at_zero = eq(x, 0)
        return select(at_zero, zero(x), formula(n, d, where_not(at_zero, x, 1.0)))

    return slope


def _f_by_first(n: Value, d: Value, x: Value) -> Value:
    a, b = n * 0.5, d * 0.5
    return beta.by_first(a, b, *_logarithms(n, d, x)) * 0.5 + _f_slope(n, d, x) / n


def _f_by_second(n: Value, d: Value, x: Value) -> Value:
    log_y, log_rest = _logarithms(n, d, x)
    by_b = -beta.by_first(d * 0.5, n * 0.5, log_rest, log_y)
    return by_b * 0.5 - _f_slope(n, d, x) / d


_F = (
    _beyond_zero(_f_by_first),
    _beyond_zero(_f_by_second),
    lambda n, d, x: _f_slope(n, d, x) / x,
)
fdtr = _cumulative("fdtr", *_F)
fdtrc = _cumulative("fdtrc", *_F, sign=-1)
fdtri = _inverse("fdtri", _F, 2, 2)
fdtridfd = _inverse("fdtridfd", _F, 1, 1)


def _student_density(v: Value, t: Value) -> Value:
    half = v * 0.5
    norm = gamma.gammaln(half + 0.5) - gamma.gammaln(half)
    return exp(norm - (half + 0.5) * log1p(t * t / v)) / root(v * pi)


def _student_by_freedom(v: Value, t: Value) -> Value:
    # For t < 0 it is betainc(v / 2, 1 / 2, v / (v + t**2)) / 2; for t > 0, 1 minus that of -t.
    at_zero = eq(t, 0)
    half, square = v * 0.5, where_not(at_zero, t * t, 1.0)
    b = full(0.5, v.type)
    log_x, log_rest = -log1p(square / v), log(square) - log(v + square)
    moved = exp(half * log_x + b * log_rest - gamma.betaln(half, b)) / v
    below = (beta.by_first(half, b, log_x, log_rest) * 0.5 + moved) * 0.5
    return -(sign(t) * select(at_zero, zero(t), below))


_T = (_student_by_freedom, _student_density)
stdtr = _cumulative("stdtr", *_T)
stdtrit = _inverse("stdtrit", _T, 1, 1)
stdtridf = _inverse("stdtridf", _T, 0, 0)
