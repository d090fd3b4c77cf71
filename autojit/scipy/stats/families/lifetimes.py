"""More families on the positive half: lifetimes, incomes, powers, and folded families."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import POSITIVE, Family, family, positive
from .half_line import above_or, gamma, lognorm_log_density
from .intervals import expm1_quotient
from .real_line import EULER, LOG_2, LOG_PI, LOG_ROOT, scaled_exp1

erlang: Family = family(
    "erlang", POSITIVE, gamma.log_density, inside=1.0, valid=positive,
    cdf=gamma.cdf, sf=gamma.sf, ppf=gamma.ppf, isf=gamma.isf,
    entropy=gamma.entropy, mean=gamma.mean, var=gamma.var,
)  # fmt: skip

alpha: Family = family(
    "alpha", POSITIVE,
    lambda z, a: -2 * np.log(z) - (a - 1 / z) ** 2 / 2 - LOG_ROOT - sc.log_ndtr(a),
    inside=1.0, is_open=True, valid=positive,
    cdf=lambda z, a: sc.ndtr(a - 1 / z) / sc.ndtr(a),
    logcdf=lambda z, a: sc.log_ndtr(a - 1 / z) - sc.log_ndtr(a),
    ppf=lambda q, a: np.where(  # at q = 1, the difference is not exactly 0
        q == 1, np.inf, 1 / (a - sc.ndtri(np.where(q == 1, 0.5, q) * sc.ndtr(a)))
    ),
    mean=lambda a: np.inf + 0.0 * a, var=lambda a: np.inf + 0.0 * a,
)  # fmt: skip

# -- powers of a Weibull or gamma variable -------------------------------------------------

exponpow: Family = family(
    "exponpow", POSITIVE,
    lambda z, b: 1 + np.log(b) + sc.xlogy(b - 1, z) + z**b - np.exp(z**b),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, b: -np.expm1(-np.expm1(z**b)),
    sf=lambda z, b: np.exp(-np.expm1(z**b)),
    logsf=lambda z, b: -np.expm1(z**b),
    ppf=lambda q, b: np.log1p(-np.log1p(-q)) ** (1 / b),
    isf=lambda q, b: np.log1p(-np.log(q)) ** (1 / b),
)  # fmt: skip


def _weibull_cdf(z: Any, c: Any) -> Any:
    return -np.expm1(-(z**c))


exponweib: Family = family(
    "exponweib", POSITIVE,
    lambda z, a, c: (
        np.log(a) + np.log(c) + sc.xlogy(a - 1, _weibull_cdf(z, c)) - z**c + sc.xlogy(c - 1, z)
    ),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, a, c: _weibull_cdf(z, c) ** a,
    logcdf=lambda z, a, c: a * np.log(_weibull_cdf(z, c)),
    sf=lambda z, a, c: -np.expm1(a * np.log1p(-np.exp(-(z**c)))),
    ppf=lambda q, a, c: (-np.log1p(-(q ** (1 / a)))) ** (1 / c),
    isf=lambda q, a, c: (-np.log(-np.expm1(np.log1p(-q) / a))) ** (1 / c),
)  # fmt: skip


def _gengamma_side(z: Any, a: Any, c: Any, upper: bool) -> Any:
    power = z**c
    below, above = sc.gammainc(a, power), sc.gammaincc(a, power)
    return np.where((c > 0) == upper, above, below)


def _gengamma_quantile(q: Any, a: Any, c: Any, upper: bool) -> Any:
    below, above = sc.gammaincinv(a, q), sc.gammainccinv(a, q)
    return np.where((c > 0) == upper, above, below) ** (1 / c)


def _moment_of_gamma(a: Any, by: Any) -> Any:
    return np.exp(sc.gammaln(a + by) - sc.gammaln(a))


gengamma: Family = family(
    "gengamma", POSITIVE,
    lambda z, a, c: np.log(np.abs(c)) + sc.xlogy(c * a - 1, z) - z**c - sc.gammaln(a),
    inside=1.0, is_finite=True, valid=lambda a, c: (a > 0) & (c != 0),
    cdf=lambda z, a, c: _gengamma_side(z, a, c, False),
    sf=lambda z, a, c: _gengamma_side(z, a, c, True),
    ppf=lambda q, a, c: _gengamma_quantile(q, a, c, False),
    isf=lambda q, a, c: _gengamma_quantile(q, a, c, True),
    entropy=lambda a, c: (
        a * (1 - sc.digamma(a)) + sc.digamma(a) / c + sc.gammaln(a) - np.log(np.abs(c))
    ),
    mean=lambda a, c: sc.poch(a, 1 / c),
    var=lambda a, c: sc.poch(a, 2 / c) - sc.poch(a, 1 / c) ** 2,
)  # fmt: skip

halfgennorm: Family = family(
    "halfgennorm", POSITIVE,
    lambda z, beta: np.log(beta) - sc.gammaln(1 / beta) - z**beta,
    inside=1.0, valid=positive,
    cdf=lambda z, beta: sc.gammainc(1 / beta, z**beta),
    sf=lambda z, beta: sc.gammaincc(1 / beta, z**beta),
    ppf=lambda q, beta: sc.gammaincinv(1 / beta, q) ** (1 / beta),
    isf=lambda q, beta: sc.gammainccinv(1 / beta, q) ** (1 / beta),
    entropy=lambda beta: 1 / beta - np.log(beta) + sc.gammaln(1 / beta),
    mean=lambda beta: _moment_of_gamma(1 / beta, 1 / beta),
    var=lambda beta: (
        _moment_of_gamma(1 / beta, 2 / beta) - _moment_of_gamma(1 / beta, 1 / beta) ** 2
    ),
)  # fmt: skip


gompertz: Family = family(
    "gompertz", POSITIVE, lambda z, c: np.log(c) + z - c * np.expm1(z),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, c: -np.expm1(-c * np.expm1(z)),
    sf=lambda z, c: np.exp(-c * np.expm1(z)),
    logsf=lambda z, c: -c * np.expm1(z),
    ppf=lambda q, c: np.log1p(-np.log1p(-q) / c),
    isf=lambda q, c: np.log1p(-np.log(q) / c),
    entropy=lambda c: 1 - np.log(c) - scaled_exp1(c),
    mean=scaled_exp1,
)  # fmt: skip


def _genexpon_log_sf(z: Any, a: Any, b: Any, c: Any) -> Any:
    return -(a + b) * z - b * expm1_quotient(c, -z)


genexpon: Family = family(
    "genexpon", POSITIVE,
    lambda z, a, b, c: np.log(a - b * np.expm1(-c * z)) + _genexpon_log_sf(z, a, b, c),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, a, b, c: -np.expm1(_genexpon_log_sf(z, a, b, c)),
    sf=lambda z, a, b, c: np.exp(_genexpon_log_sf(z, a, b, c)),
    logsf=_genexpon_log_sf,
)  # fmt: skip

# -- variables whose logarithm has a known distribution ------------------------------------

gibrat: Family = family(
    "gibrat", POSITIVE, lambda z: lognorm_log_density(z, 1.0), inside=1.0, is_open=True,
    cdf=lambda z: sc.ndtr(np.log(z)),
    logcdf=lambda z: sc.log_ndtr(np.log(z)),
    sf=lambda z: sc.ndtr(-np.log(z)),
    logsf=lambda z: sc.log_ndtr(-np.log(z)),
    ppf=lambda q: np.exp(sc.ndtri(q)),
    isf=lambda q: np.exp(-sc.ndtri(q)),
    median=lambda: 1.0, entropy=lambda: LOG_ROOT + 0.5,
    mean=lambda: np.exp(0.5), var=lambda: np.expm1(1.0) * np.e,
)  # fmt: skip


def _loglaplace_cdf(z: Any, c: Any) -> Any:
    low = z < 1
    near, far = np.where(low, z, 1.0), np.where(low, 1.0, z)
    return np.where(low, near**c / 2, 1 - far**-c / 2)


def _loglaplace_ppf(q: Any, c: Any) -> Any:
    low = q < 0.5
    near, far = np.where(low, q, 0.5), np.where(low, 0.5, 1 - q)
    return np.where(low, (2 * near) ** (1 / c), (2 * far) ** (-1 / c))


def _loglaplace_moment(n: int, c: Any) -> Any:
    return above_or(n, c, lambda c: c * c / (c * c - n * n), np.inf)


loglaplace: Family = family(
    "loglaplace", POSITIVE,
    lambda z, c: np.log(c) - LOG_2 + sc.xlogy(np.where(z < 1, c, -c) - 1, z),
    inside=1.0, is_finite=True, valid=positive,
    cdf=_loglaplace_cdf,
    sf=lambda z, c: _loglaplace_cdf(1 / z, c),
    ppf=_loglaplace_ppf,
    isf=lambda q, c: 1 / _loglaplace_ppf(q, c),
    entropy=lambda c: LOG_2 - np.log(c) + 1,
    mean=lambda c: _loglaplace_moment(1, c),
    var=lambda c: above_or(
        2, c, lambda c: _loglaplace_moment(2, c) - _loglaplace_moment(1, c) ** 2, np.inf
    ),
)  # fmt: skip

powerlognorm: Family = family(
    "powerlognorm", POSITIVE,
    lambda z, c, s: (
        np.log(c) - np.log(z) - np.log(s) - (np.log(z) / s) ** 2 / 2 - LOG_ROOT
        + (c - 1) * sc.log_ndtr(-np.log(z) / s)
    ),
    inside=1.0, is_open=True, is_finite=True, valid=positive,
    cdf=lambda z, c, s: -np.expm1(c * sc.log_ndtr(-np.log(z) / s)),
    sf=lambda z, c, s: np.exp(c * sc.log_ndtr(-np.log(z) / s)),
    logsf=lambda z, c, s: c * sc.log_ndtr(-np.log(z) / s),
    ppf=lambda q, c, s: np.exp(-s * sc.ndtri_exp(np.log1p(-q) / c)),
    isf=lambda q, c, s: np.exp(-s * sc.ndtri_exp(np.log(q) / c)),
)  # fmt: skip


def _log_mills(z: Any) -> Any:
    """The logarithm of Mills' ratio, ``(1 - Phi(z)) / phi(z)``."""
    return np.log(np.sqrt(np.pi / 2)) + np.log(sc.erfcx(z / np.sqrt(2)))


def _pareto_lognormal(z: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    y = (np.log(z) - u) / s
    ratios = np.logaddexp(_log_mills(a * s - y), _log_mills(b * s + y))
    return np.log(a) + np.log(b) - np.log(a + b) - np.log(z) - y * y / 2 - LOG_ROOT + ratios


def _pareto_moment(n: int, u: Any, s: Any, a: Any, b: Any) -> Any:
    def formula(a: Any) -> Any:
        return a * b / ((a - n) * (b + n)) * np.exp(n * u + n * n * s * s / 2)

    return above_or(n, a, formula, np.nan)


dpareto_lognorm: Family = family(
    "dpareto_lognorm", POSITIVE, _pareto_lognormal,
    inside=1.0, is_open=True, is_finite=True,
    valid=lambda u, s, a, b: (s > 0) & (a > 0) & (b > 0),
    mean=lambda u, s, a, b: _pareto_moment(1, u, s, a, b),
    var=lambda u, s, a, b: (
        _pareto_moment(2, u, s, a, b) - _pareto_moment(1, u, s, a, b) ** 2
    ),
)  # fmt: skip

# -- power laws in both tails --------------------------------------------------------------


def _burr_moment(n: int, c: Any, d: Any) -> Any:
    return d * np.exp(sc.betaln(d + n / c, 1 - n / c))


def _burr_entropy(c: Any, d: Any) -> Any:
    """The entropy: ``z**c`` has the distribution betaprime(d, 1) with known mean logarithms."""
    of_log = (EULER + sc.digamma(d)) / c
    return (d + 1) * (EULER + sc.digamma(d + 1)) - np.log(c) - np.log(d) - (c * d - 1) * of_log


burr: Family = family(
    "burr", POSITIVE,
    lambda z, c, d: np.log(c) + np.log(d) + sc.xlogy(c * d - 1, z) - (d + 1) * np.log1p(z**c),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, c, d: np.exp(-d * np.log1p(z**-c)),
    logcdf=lambda z, c, d: -d * np.log1p(z**-c),
    sf=lambda z, c, d: -np.expm1(-d * np.log1p(z**-c)),
    ppf=lambda q, c, d: np.expm1(-np.log(q) / d) ** (-1 / c),
    isf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (-1 / c),
    mean=lambda c, d: above_or(1, c, lambda c: _burr_moment(1, c, d), np.nan),
    var=lambda c, d: above_or(
        2, c, lambda c: _burr_moment(2, c, d) - _burr_moment(1, c, d) ** 2, np.nan
    ),
    entropy=_burr_entropy,
)  # fmt: skip


def _mielke_moment(n: int, k: Any, s: Any) -> Any:
    return np.exp(sc.gammaln((k + n) / s) + sc.gammaln(1 - n / s) - sc.gammaln(k / s))


mielke: Family = family(
    "mielke", POSITIVE,
    lambda z, k, s: np.log(k) + sc.xlogy(k - 1, z) - np.log1p(z**s) * (1 + k / s),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, k, s: np.exp(-k / s * np.log1p(z**-s)),
    logcdf=lambda z, k, s: -k / s * np.log1p(z**-s),
    sf=lambda z, k, s: -np.expm1(-k / s * np.log1p(z**-s)),
    ppf=lambda q, k, s: np.expm1(-s / k * np.log(q)) ** (-1 / s),
    isf=lambda q, k, s: np.expm1(-s / k * np.log1p(-q)) ** (-1 / s),
    mean=lambda k, s: above_or(1, s, lambda s: _mielke_moment(1, k, s), np.inf),
    var=lambda k, s: above_or(
        2, s, lambda s: _mielke_moment(2, k, s) - _mielke_moment(1, k, s) ** 2, np.inf
    ),
    entropy=lambda k, s: _burr_entropy(s, k / s),
)  # fmt: skip

kappa3: Family = family(
    "kappa3", POSITIVE,
    lambda z, a: np.log(a) - (1 / a + 1) * np.log(a + z**a),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, a: np.exp(-np.log1p(a * z**-a) / a),
    sf=lambda z, a: -np.expm1(-np.log1p(a * z**-a) / a),
    ppf=lambda q, a: (a / np.expm1(-a * np.log(q))) ** (1 / a),
    isf=lambda q, a: (a / np.expm1(-a * np.log1p(-q))) ** (1 / a),
)  # fmt: skip

# -- folded at 0 ---------------------------------------------------------------------------

foldcauchy: Family = family(
    "foldcauchy", POSITIVE,
    lambda z, c: np.log(1 / (1 + (z - c) ** 2) + 1 / (1 + (z + c) ** 2)) - LOG_PI,
    inside=1.0, valid=lambda c: c >= 0,
    cdf=lambda z, c: (np.arctan(z - c) + np.arctan(z + c)) / np.pi,
    sf=lambda z, c: (np.arctan2(1.0, z - c) + np.arctan2(1.0, z + c)) / np.pi,
    mean=lambda c: np.inf + 0.0 * c, var=lambda c: np.inf + 0.0 * c,
)  # fmt: skip


def _foldnorm_mean(c: Any) -> Any:
    return 2 * np.exp(-c * c / 2 - LOG_ROOT) + c * sc.erf(c / np.sqrt(2))


foldnorm: Family = family(
    "foldnorm", POSITIVE,
    lambda z, c: -((z - c) ** 2) / 2 - LOG_ROOT + np.log1p(np.exp(-2 * c * z)),
    inside=1.0, valid=lambda c: c >= 0,
    cdf=lambda z, c: (sc.erf((z - c) / np.sqrt(2)) + sc.erf((z + c) / np.sqrt(2))) / 2,
    sf=lambda z, c: sc.ndtr(c - z) + sc.ndtr(-z - c),
    mean=_foldnorm_mean, var=lambda c: c * c + 1 - _foldnorm_mean(c) ** 2,
)  # fmt: skip

# -- relatives of the inverse Gaussian distribution ----------------------------------------


def _waves(z: Any, c: Any) -> Any:
    return (np.sqrt(z) - 1 / np.sqrt(z)) / c


def _life(q: Any, c: Any) -> Any:
    moved = c * sc.ndtri(q)
    return (moved + np.sqrt(moved * moved + 4)) ** 2 / 4


fatiguelife: Family = family(
    "fatiguelife", POSITIVE,
    lambda z, c: (
        np.log1p(z) - (z - 1) ** 2 / (2 * z * c * c) - np.log(2 * c) - LOG_ROOT - 1.5 * np.log(z)
    ),
    inside=1.0, is_open=True, is_finite=True, valid=positive,
    cdf=lambda z, c: sc.ndtr(_waves(z, c)),
    logcdf=lambda z, c: sc.log_ndtr(_waves(z, c)),
    sf=lambda z, c: sc.ndtr(-_waves(z, c)),
    logsf=lambda z, c: sc.log_ndtr(-_waves(z, c)),
    ppf=_life,
    isf=lambda q, c: 1 / _life(q, c),
    mean=lambda c: c * c / 2 + 1, var=lambda c: c * c * (5 * c * c + 4) / 4,
)  # fmt: skip


def _recip_terms(z: Any, mu: Any) -> tuple[Any, Any]:
    root = 1 / np.sqrt(z)
    return root * (1 / mu - z), 2 / mu + sc.log_ndtr(-root * (1 / mu + z))


recipinvgauss: Family = family(
    "recipinvgauss", POSITIVE,
    lambda z, mu: -((1 - mu * z) ** 2) / (2 * z * mu * mu) - LOG_ROOT - np.log(z) / 2,
    inside=1.0, is_open=True, is_finite=True, valid=positive,
    cdf=lambda z, mu: sc.ndtr(-_recip_terms(z, mu)[0]) - np.exp(_recip_terms(z, mu)[1]),
    sf=lambda z, mu: sc.ndtr(_recip_terms(z, mu)[0]) + np.exp(_recip_terms(z, mu)[1]),
    mean=lambda mu: 1 / mu + 1, var=lambda mu: 1 / mu + 2,
)  # fmt: skip

geninvgauss: Family = family(
    "geninvgauss", POSITIVE,
    lambda z, p, b: (
        (p - 1) * np.log(z) - b * (np.sqrt(z) - 1 / np.sqrt(z)) ** 2 / 2 - LOG_2
        - np.log(sc.kve(p, b))
    ),
    inside=1.0, is_open=True, is_finite=True, valid=lambda p, b: (p == p) & (b > 0),
    mean=lambda p, b: sc.kve(p + 1, b) / sc.kve(p, b),
    var=lambda p, b: sc.kve(p + 2, b) / sc.kve(p, b) - (sc.kve(p + 1, b) / sc.kve(p, b)) ** 2,
)  # fmt: skip

# -- the limit of the two-sided statistic of Kolmogorov and Smirnov -------------------------


def _kolmogorov_density(z: Any) -> Any:
    """The density to 1e-15, by the two series of DLMF 20.7.30, each where it converges fast."""
    low = z < 1
    small, large = np.where(low, np.maximum(z, 0.03), 1.0), np.where(low, 1.0, z)
    odd = np.arange(1, 8, 2) ** 2 * np.pi**2 / 8
    slow: Any = 0.0
    for k in range(1, 6):
        slow = slow + (-1) ** (k - 1) * 8 * k * k * large * np.exp(-2 * k * k * large * large)
    fast: Any = 0.0
    for rate in odd:
        fast = fast + np.exp(-rate / small**2) * (2 * rate / small**2 - 1)
    return np.where(low, fast / small**2 * np.sqrt(2 * np.pi), slow)


kstwobign: Family = family(
    "kstwobign", POSITIVE, lambda z: np.log(_kolmogorov_density(z)),
    density=_kolmogorov_density, inside=1.0, is_open=True, is_finite=True,
    sf=lambda z: sc.kolmogorov(z),
    isf=lambda q: sc.kolmogi(q),
)  # fmt: skip
