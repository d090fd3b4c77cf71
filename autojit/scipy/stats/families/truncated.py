"""Families whose support ends at a point given by a shape parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .double_exponential import along_nodes, over_half
from .family import Family, family, positive
from .intervals import expm1_quotient, log1p_quotient
from .real_line import LOG_2, LOG_ROOT

levy_l: Family = family(
    "levy_l", (-np.inf, 0.0), lambda z: -LOG_ROOT - 1.5 * np.log(-z) + 1 / (2 * z),
    inside=-1.0, is_open=True, is_finite=True,
    cdf=lambda z: sc.erf(np.sqrt(-0.5 / z)),
    sf=lambda z: sc.erfc(np.sqrt(-0.5 / z)),
    ppf=lambda q: -0.5 / sc.erfinv(q) ** 2,
    isf=lambda q: -1 / sc.ndtri(q / 2) ** 2,
    entropy=lambda: (1 + 3 * float(np.euler_gamma) + np.log(16 * np.pi)) / 2,
    mean=lambda: np.inf, var=lambda: np.inf,
)  # fmt: skip


def _exponential_moment(n: int, b: Any) -> Any:
    """The first or second moment of an exponential variable truncated at b."""
    if n == 1:
        return (1 - (b + 1) * np.exp(-b)) / -np.expm1(-b)
    return (2 - (b * b + 2 * b + 2) * np.exp(-b)) / -np.expm1(-b)


truncexpon: Family = family(
    "truncexpon", lambda b: (0.0, b), lambda z, b: -z - np.log(-np.expm1(-b)),
    inside=0.0, valid=positive,
    cdf=lambda z, b: np.expm1(-z) / np.expm1(-b),
    sf=lambda z, b: np.exp(-z) * np.expm1(z - b) / np.expm1(-b),
    ppf=lambda q, b: -np.log1p(q * np.expm1(-b)),
    isf=lambda q, b: -np.log(np.exp(-b) - q * np.expm1(-b)),
    entropy=lambda b: b + np.log(-np.expm1(-b)) + (np.expm1(-b) + b) / np.expm1(-b),
    mean=lambda b: _exponential_moment(1, b),
    var=lambda b: _exponential_moment(2, b) - _exponential_moment(1, b) ** 2,
)  # fmt: skip

# -- truncated Pareto and Weibull distributions --------------------------------------------


def _pareto_share(z: Any, b: Any) -> Any:
    """``(1 - z**-b) / b``."""
    return -expm1_quotient(b, -np.log(z))


def _pareto_moment(n: int, b: Any, c: Any) -> Any:
    return expm1_quotient(n - b, np.log(c)) / _pareto_share(c, b)


truncpareto: Family = family(
    "truncpareto", lambda b, c: (1.0, c),
    lambda z, b, c: -np.log(_pareto_share(c, b)) - (b + 1) * np.log(z),
    inside=1.0, valid=lambda b, c: (b != 0) & (c > 1),
    cdf=lambda z, b, c: _pareto_share(z, b) / _pareto_share(c, b),
    sf=lambda z, b, c: z**-b * _pareto_share(c / z, b) / _pareto_share(c, b),
    ppf=lambda q, b, c: np.exp(-np.log1p(-b * q * _pareto_share(c, b)) / b),
    isf=lambda q, b, c: np.exp(-np.log(c**-b + b * q * _pareto_share(c, b)) / b),
    entropy=lambda b, c: (
        np.log(_pareto_share(c, b)) - (b + 1) * (np.log(c) / np.expm1(b * np.log(c)) - 1 / b)
    ),
    mean=lambda b, c: _pareto_moment(1, b, c),
    var=lambda b, c: _pareto_moment(2, b, c) - _pareto_moment(1, b, c) ** 2,
)  # fmt: skip


def _power(x: Any, c: Any) -> Any:
    """``x**c`` with derivatives of 0 at infinity."""
    finite = np.isfinite(x)
    return np.where(finite, np.where(finite, x, 1.0) ** c, x)


def _log_weibull_mass(low: Any, high: Any, c: Any) -> Any:
    """The logarithm of the mass of a Weibull variable between two points."""
    start = _power(low, c)
    return np.log(-np.expm1(start - _power(high, c))) - start


def _weibull_point(from_a: Any, from_b: Any, c: Any, a: Any, b: Any) -> Any:
    kept = from_a * np.exp(-_power(a, c)) + from_b * np.exp(-_power(b, c))
    return (-np.log(kept)) ** (1 / c)


def _weibull_moment(n: int, c: Any, a: Any, b: Any) -> Any:
    order = n / c + 1
    high = np.where(np.isfinite(b), sc.gammainc(order, _power(np.where(
        np.isfinite(b), b, 1.0), c)), 1.0)  # fmt: skip
    mass = np.exp(_log_weibull_mass(a, b, c))
    return sc.gamma(order) * (high - sc.gammainc(order, a**c)) / mass


def _weibull_inside(c: Any, a: Any, b: Any) -> Any:
    finite = np.isfinite(b)
    return np.where(finite, (a + np.where(finite, b, a)) / 2, a + 1)


truncweibull_min: Family = family(
    "truncweibull_min", lambda c, a, b: (a, b),
    lambda z, c, a, b: (
        np.log(c) + sc.xlogy(c - 1, z) - z**c - _log_weibull_mass(a, b, c)
    ),
    inside=_weibull_inside,
    is_finite=True,
    valid=lambda c, a, b: (a >= 0) & (b > a) & (c > 0),
    logcdf=lambda z, c, a, b: _log_weibull_mass(a, z, c) - _log_weibull_mass(a, b, c),
    cdf=lambda z, c, a, b: np.exp(_log_weibull_mass(a, z, c) - _log_weibull_mass(a, b, c)),
    logsf=lambda z, c, a, b: _log_weibull_mass(z, b, c) - _log_weibull_mass(a, b, c),
    sf=lambda z, c, a, b: np.exp(_log_weibull_mass(z, b, c) - _log_weibull_mass(a, b, c)),
    ppf=lambda q, c, a, b: _weibull_point(1 - q, q, c, a, b),
    isf=lambda q, c, a, b: _weibull_point(q, 1 - q, c, a, b),
    mean=lambda c, a, b: _weibull_moment(1, c, a, b),
    var=lambda c, a, b: _weibull_moment(2, c, a, b) - _weibull_moment(1, c, a, b) ** 2,
)  # fmt: skip

# -- generalised logistic and extreme-value distributions -----------------------------------


def _logistic_power(z: Any, c: Any) -> Any:
    """``(1 - c z)**(1 / c)``, which is exp(-z) at c = 0."""
    return np.exp(-log1p_quotient(-c, z))


genhalflogistic: Family = family(
    "genhalflogistic", lambda c: (0.0, 1 / c),
    lambda z, c: LOG_2 + sc.xlog1py(1 / c - 1, -c * z) - 2 * np.log1p(_logistic_power(z, c)),
    inside=0.0, is_finite=True, valid=positive,
    cdf=lambda z, c: (1 - _logistic_power(z, c)) / (1 + _logistic_power(z, c)),
    sf=lambda z, c: 2 * _logistic_power(z, c) / (1 + _logistic_power(z, c)),
    ppf=lambda q, c: -expm1_quotient(c, np.log1p(-q) - np.log1p(q)),
    isf=lambda q, c: -expm1_quotient(c, np.log(q) - np.log(2 - q)),
    entropy=lambda c: 2 - (2 * c + 1) * LOG_2,
)  # fmt: skip


def _kappa_bounds(h: Any, k: Any) -> Any:
    """The bounds between which the bases of both powers are positive."""
    has_low, has_high = h > 0, k > 0
    start = -expm1_quotient(k, -np.log(np.where(has_low, h, 1.0)))
    end = 1 / np.where(k == 0, 1.0, k)
    low = np.where(has_low, start, np.where(k < 0, end, -np.inf))
    return low, np.where(has_high, end, np.inf)


def _kappa_logcdf(z: Any, h: Any, k: Any) -> Any:
    return -log1p_quotient(-h, _logistic_power(z, k))


def _kappa_logpdf(z: Any, h: Any, k: Any) -> Any:
    power = _logistic_power(z, k)
    inner = -log1p_quotient(-k, z) - np.log1p(-k * z)
    return inner + _kappa_logcdf(z, h, k) - np.log1p(-h * power)


def _kappa_ppf(q: Any, h: Any, k: Any) -> Any:
    return -expm1_quotient(k, np.log(-expm1_quotient(h, np.log(q))))


kappa4: Family = family(
    "kappa4", _kappa_bounds, _kappa_logpdf,
    inside=lambda h, k: _kappa_ppf(0.5, h, k), is_finite=True,
    cdf=lambda z, h, k: np.exp(_kappa_logcdf(z, h, k)),
    logcdf=_kappa_logcdf,
    sf=lambda z, h, k: -np.expm1(_kappa_logcdf(z, h, k)),
    ppf=_kappa_ppf,
)  # fmt: skip


def _lambda_bounds(lam: Any) -> Any:
    end = np.where(lam > 0, 1 / np.where(lam > 0, lam, 1.0), np.inf)
    return -end, end


def _lambda_density(z: Any, lam: Any) -> Any:
    below, above = sc.tklmbda(z, lam), sc.tklmbda(-z, lam)
    return 1 / (below ** (lam - 1) + above ** (lam - 1))


def _lambda_var(lam: Any) -> Any:
    """The variance in closed form.

    Near 0, where that loses digits, it is the mean of the squared quantiles.
    """
    near = np.abs(lam) < 0.05
    small = along_nodes(np.where(near, lam, 0.01))
    squares = over_half(lambda p: (sc.boxcox(p, small) - sc.boxcox1p(-p, small)) ** 2)
    away = np.where(near | (lam <= -0.5), 1.0, lam)
    product = np.exp(2 * sc.gammaln(away + 1) - sc.gammaln(2 * away + 2))
    closed = 2 / away**2 * (1 / (1 + 2 * away) - product)
    other = np.where(lam == -0.5, np.inf, np.nan)
    return np.where(near, 2 * squares, np.where(lam > -0.5, closed, other))


def _lambda_entropy(lam: Any) -> Any:
    power = along_nodes(lam) - 1
    return 2 * over_half(lambda p: np.logaddexp(power * np.log(p), power * np.log1p(-p)))


tukeylambda: Family = family(
    "tukeylambda", _lambda_bounds, lambda z, lam: np.log(_lambda_density(z, lam)),
    density=_lambda_density,
    is_open=True, is_finite=True, valid=lambda lam: np.isfinite(lam),
    cdf=lambda z, lam: sc.tklmbda(z, lam),
    sf=lambda z, lam: sc.tklmbda(-z, lam),
    ppf=lambda q, lam: sc.boxcox(q, lam) - sc.boxcox1p(-q, lam),
    isf=lambda q, lam: sc.boxcox1p(-q, lam) - sc.boxcox(q, lam),
    median=lambda lam: 0.0 * lam, mean=lambda lam: 0.0 * lam,
    var=_lambda_var, entropy=_lambda_entropy,
)  # fmt: skip
