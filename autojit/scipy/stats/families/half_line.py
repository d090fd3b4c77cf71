"""Families on the positive half of the real line."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import POSITIVE, Family, family, positive
from .real_line import EULER, LOG_2, LOG_PI, LOG_ROOT, half_tangent, scaled_exp1


def above_or(limit: Any, a: Any, formula: Any, otherwise: Any) -> Any:
    """The value of a formula where the parameter exceeds a limit, else a given number."""
    holds = a > limit
    return np.where(holds, formula(np.where(holds, a, limit + 1)), otherwise)


expon: Family = family(
    "expon", POSITIVE, lambda z: -z, inside=1.0,
    cdf=lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    entropy=lambda: 1.0, mean=lambda: 1.0, var=lambda: 1.0,
)  # fmt: skip


def gamma_entropy(a: Any) -> Any:
    return a + sc.gammaln(a) + (1 - a) * sc.digamma(a)


gamma: Family = family(
    "gamma", POSITIVE,
    lambda z, a: sc.xlogy(a - 1, z) - z - sc.gammaln(a),
    inside=1.0, valid=positive,
    cdf=lambda z, a: sc.gammainc(a, z),
    sf=lambda z, a: sc.gammaincc(a, z),
    ppf=lambda q, a: sc.gammaincinv(a, q),
    isf=lambda q, a: sc.gammainccinv(a, q),
    entropy=gamma_entropy,
    mean=lambda a: a, var=lambda a: a,
)  # fmt: skip

invgamma: Family = family(
    "invgamma", POSITIVE,
    lambda z, a: -(a + 1) * np.log(z) - sc.gammaln(a) - 1 / z,
    inside=1.0, is_open=True, valid=positive,
    cdf=lambda z, a: sc.gammaincc(a, 1 / z),
    sf=lambda z, a: sc.gammainc(a, 1 / z),
    ppf=lambda q, a: 1 / sc.gammainccinv(a, q),
    isf=lambda q, a: 1 / sc.gammaincinv(a, q),
    entropy=lambda a: a - (a + 1) * sc.digamma(a) + sc.gammaln(a),
    mean=lambda a: above_or(1, a, lambda a: 1 / (a - 1), np.inf),
    var=lambda a: above_or(2, a, lambda a: 1 / ((a - 1) ** 2 * (a - 2)), np.inf),
)  # fmt: skip

chi2: Family = family(
    "chi2", POSITIVE,
    lambda z, df: sc.xlogy(df / 2 - 1, z) - z / 2 - sc.gammaln(df / 2) - LOG_2 * df / 2,
    inside=1.0, valid=positive,
    cdf=lambda z, df: sc.gammainc(df / 2, z / 2),
    sf=lambda z, df: sc.gammaincc(df / 2, z / 2),
    ppf=lambda q, df: 2 * sc.gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * sc.gammainccinv(df / 2, q),
    entropy=lambda df: df / 2 + LOG_2 + sc.gammaln(df / 2) + (1 - df / 2) * sc.digamma(df / 2),
    mean=lambda df: df, var=lambda df: 2 * df,
)  # fmt: skip


def _chi_mean(df: Any) -> Any:
    return np.sqrt(2) * np.exp(sc.gammaln(df / 2 + 0.5) - sc.gammaln(df / 2))


chi: Family = family(
    "chi", POSITIVE,
    lambda z, df: (
        sc.xlogy(df - 1, z) - z**2 / 2 + LOG_2 - LOG_2 * df / 2 - sc.gammaln(df / 2)
    ),
    inside=1.0, valid=positive,
    cdf=lambda z, df: sc.gammainc(df / 2, z * z / 2),
    sf=lambda z, df: sc.gammaincc(df / 2, z * z / 2),
    ppf=lambda q, df: np.sqrt(2 * sc.gammaincinv(df / 2, q)),
    isf=lambda q, df: np.sqrt(2 * sc.gammainccinv(df / 2, q)),
    entropy=lambda df: sc.gammaln(df / 2) + (df - LOG_2 - (df - 1) * sc.digamma(df / 2)) / 2,
    mean=_chi_mean, var=lambda df: df - _chi_mean(df) ** 2,
)  # fmt: skip


def lognorm_log_density(z: Any, s: Any) -> Any:
    return -((np.log(z) / s) ** 2) / 2 - np.log(z) - np.log(s) - LOG_ROOT


lognorm: Family = family(
    "lognorm", POSITIVE, lognorm_log_density,
    inside=1.0, is_open=True, valid=positive,
    cdf=lambda z, s: sc.ndtr(np.log(z) / s),
    logcdf=lambda z, s: sc.log_ndtr(np.log(z) / s),
    sf=lambda z, s: sc.ndtr(-np.log(z) / s),
    logsf=lambda z, s: sc.log_ndtr(-np.log(z) / s),
    ppf=lambda q, s: np.exp(s * sc.ndtri(q)),
    isf=lambda q, s: np.exp(-s * sc.ndtri(q)),
    median=lambda s: np.exp(0.0 * s),
    entropy=lambda s: LOG_ROOT + 0.5 + np.log(s),
    mean=lambda s: np.exp(s * s / 2), var=lambda s: np.expm1(s * s) * np.exp(s * s),
)  # fmt: skip

halfnorm: Family = family(
    "halfnorm", POSITIVE, lambda z: LOG_2 - LOG_ROOT - z**2 / 2, inside=1.0,
    cdf=lambda z: sc.erf(z / np.sqrt(2)),
    sf=lambda z: 2 * sc.ndtr(-z),
    logsf=lambda z: LOG_2 + sc.log_ndtr(-z),
    ppf=lambda q: sc.ndtri((1 + q) / 2),
    isf=lambda q: -sc.ndtri(q / 2),
    entropy=lambda: LOG_ROOT + 0.5 - LOG_2,
    mean=lambda: np.sqrt(2 / np.pi), var=lambda: 1 - 2 / np.pi,
)  # fmt: skip

halfcauchy: Family = family(
    "halfcauchy", POSITIVE, lambda z: LOG_2 - LOG_PI - np.log1p(z**2), inside=1.0,
    density=lambda z: 2 / (np.pi * (1 + z * z)),
    cdf=lambda z: 2 / np.pi * np.arctan(z),
    sf=lambda z: 2 / np.pi * np.arctan2(1.0, z),
    ppf=lambda q: half_tangent(q),
    isf=lambda q: 1 / half_tangent(q),
    entropy=lambda: np.log(2 * np.pi), mean=lambda: np.inf, var=lambda: np.inf,
)  # fmt: skip

halflogistic: Family = family(
    "halflogistic", POSITIVE, lambda z: LOG_2 - z - 2 * np.log1p(np.exp(-z)), inside=1.0,
    cdf=lambda z: np.tanh(z / 2),
    sf=lambda z: 2 * sc.expit(-z),
    ppf=lambda q: 2 * np.arctanh(q),
    isf=lambda q: np.log((2 - q) / q),
    entropy=lambda: 2 - LOG_2,
    mean=lambda: 2 * LOG_2, var=lambda: np.pi**2 / 3 - 4 * LOG_2**2,
)  # fmt: skip


def weibull_entropy(c: Any) -> Any:
    return -EULER / c - np.log(c) + EULER + 1


weibull_min: Family = family(
    "weibull_min", POSITIVE, lambda z, c: np.log(c) + sc.xlogy(c - 1, z) - z**c,
    inside=1.0, valid=positive,
    cdf=lambda z, c: -np.expm1(-(z**c)),
    sf=lambda z, c: np.exp(-(z**c)),
    logsf=lambda z, c: -(z**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
    entropy=weibull_entropy,
    mean=lambda c: np.exp(sc.gammaln(1 + 1 / c)),
    var=lambda c: np.exp(sc.gammaln(1 + 2 / c)) - np.exp(2 * sc.gammaln(1 + 1 / c)),
)  # fmt: skip

invweibull: Family = family(
    "invweibull", POSITIVE, lambda z, c: np.log(c) - (c + 1) * np.log(z) - z**-c,
    inside=1.0, is_open=True, valid=positive,
    cdf=lambda z, c: np.exp(-(z**-c)),
    logcdf=lambda z, c: -(z**-c),
    sf=lambda z, c: -np.expm1(-(z**-c)),
    ppf=lambda q, c: (-np.log(q)) ** (-1 / c),
    isf=lambda q, c: (-np.log1p(-q)) ** (-1 / c),
    entropy=lambda c: 1 + EULER + EULER / c - np.log(c),
    mean=lambda c: above_or(1, c, lambda c: sc.gamma(1 - 1 / c), np.inf),
    var=lambda c: above_or(
        2, c, lambda c: sc.gamma(1 - 2 / c) - sc.gamma(1 - 1 / c) ** 2, np.inf
    ),
)  # fmt: skip

pareto: Family = family(
    "pareto", (1.0, np.inf), lambda z, b: np.log(b) - (b + 1) * np.log(z),
    inside=2.0, valid=positive,
    cdf=lambda z, b: -np.expm1(-b * np.log(z)),
    sf=lambda z, b: np.exp(-b * np.log(z)),
    logsf=lambda z, b: -b * np.log(z),
    ppf=lambda q, b: np.exp(-np.log1p(-q) / b),
    isf=lambda q, b: np.exp(-np.log(q) / b),
    entropy=lambda b: 1 + 1 / b - np.log(b),
    mean=lambda b: above_or(1, b, lambda b: b / (b - 1), np.inf),
    var=lambda b: above_or(2, b, lambda b: b / ((b - 2) * (b - 1) ** 2), np.inf),
)  # fmt: skip

lomax: Family = family(
    "lomax", POSITIVE, lambda z, c: np.log(c) - (c + 1) * np.log1p(z), inside=1.0, valid=positive,
    cdf=lambda z, c: -np.expm1(-c * np.log1p(z)),
    sf=lambda z, c: np.exp(-c * np.log1p(z)),
    logsf=lambda z, c: -c * np.log1p(z),
    ppf=lambda q, c: np.expm1(-np.log1p(-q) / c),
    isf=lambda q, c: np.expm1(-np.log(q) / c),
    entropy=lambda c: 1 + 1 / c - np.log(c),
    mean=lambda c: above_or(1, c, lambda c: 1 / (c - 1), np.inf),
    var=lambda c: above_or(2, c, lambda c: c / ((c - 1) ** 2 * (c - 2)), np.inf),
)  # fmt: skip


def _beta_prime_entropy(a: Any, b: Any) -> Any:
    """The entropy; log(z) has the mean psi(a) - psi(b), and log(1 + z) psi(a + b) - psi(b)."""
    of_log = sc.digamma(a) - sc.digamma(b)
    of_sum = sc.digamma(a + b) - sc.digamma(b)
    return sc.betaln(a, b) - (a - 1) * of_log + (a + b) * of_sum


f: Family = family(
    "f", POSITIVE,
    lambda z, n, m: (
        m / 2 * np.log(m) + n / 2 * np.log(n) + sc.xlogy(n / 2 - 1, z)
        - (n + m) / 2 * np.log(m + n * z) - sc.betaln(n / 2, m / 2)
    ),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, n, m: sc.betainc(n / 2, m / 2, n * z / (m + n * z)),
    sf=lambda z, n, m: sc.betainc(m / 2, n / 2, m / (m + n * z)),
    ppf=lambda q, n, m: (1 / sc.betaincinv(m / 2, n / 2, 1 - q) - 1) * m / n,
    isf=lambda q, n, m: (1 / sc.betaincinv(m / 2, n / 2, q) - 1) * m / n,
    mean=lambda n, m: above_or(2, m, lambda m: m / (m - 2), np.inf) + 0.0 * n,
    var=lambda n, m: above_or(
        4, m, lambda m: 2 * m * m * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4)), np.inf
    ),
    # (n/m) z has the distribution betaprime(n/2, m/2)
    entropy=lambda n, m: np.log(m) - np.log(n) + _beta_prime_entropy(n / 2, m / 2),
)  # fmt: skip


def _second_wave(z: Any, mu: Any) -> Any:
    """The second term of the distribution function of ``invgauss``."""
    return np.exp(2 / mu + sc.log_ndtr(-(z / mu + 1) / np.sqrt(z)))


def _wave_entropy(mu: Any) -> Any:
    """The entropy, from the mean of log(z), which is log(mu) - exp(2 / mu) exp1(2 / mu).

    Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994, 15.7.
    """
    return 0.5 + LOG_ROOT + 1.5 * (np.log(mu) - scaled_exp1(2 / mu))


invgauss: Family = family(
    "invgauss", POSITIVE,
    lambda z, mu: -LOG_ROOT - 1.5 * np.log(z) - ((z - mu) / mu) ** 2 / (2 * z),
    inside=1.0, is_finite=True, is_open=True, valid=positive,
    cdf=lambda z, mu: sc.ndtr((z / mu - 1) / np.sqrt(z)) + _second_wave(z, mu),
    sf=lambda z, mu: sc.ndtr(-(z / mu - 1) / np.sqrt(z)) - _second_wave(z, mu),
    mean=lambda mu: mu, var=lambda mu: mu**3, entropy=_wave_entropy,
)  # fmt: skip

wald: Family = family(
    "wald", POSITIVE,
    lambda z: -LOG_ROOT - 1.5 * np.log(z) - (z - 1) ** 2 / (2 * z),
    inside=1.0, is_finite=True, is_open=True,
    cdf=lambda z: sc.ndtr((z - 1) / np.sqrt(z)) + _second_wave(z, 1.0),
    sf=lambda z: sc.ndtr(-(z - 1) / np.sqrt(z)) - _second_wave(z, 1.0),
    mean=lambda: 1.0, var=lambda: 1.0, entropy=lambda: _wave_entropy(1.0),
)  # fmt: skip

rayleigh: Family = family(
    "rayleigh", POSITIVE, lambda z: np.log(z) - z**2 / 2, inside=1.0, is_finite=True,
    density=lambda z: z * np.exp(-(z**2) / 2),
    cdf=lambda z: -np.expm1(-(z**2) / 2),
    sf=lambda z: np.exp(-(z**2) / 2),
    logsf=lambda z: -(z**2) / 2,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2 * np.log(q)),
    entropy=lambda: EULER / 2 + 1 - LOG_2 / 2,
    mean=lambda: np.sqrt(np.pi / 2), var=lambda: 2 - np.pi / 2,
)  # fmt: skip

maxwell: Family = family(
    "maxwell", POSITIVE, lambda z: LOG_2 - LOG_ROOT + 2 * np.log(z) - z**2 / 2, inside=1.0,
    density=lambda z: np.sqrt(2 / np.pi) * z * z * np.exp(-(z**2) / 2),
    cdf=lambda z: sc.gammainc(1.5, z * z / 2),
    sf=lambda z: sc.gammaincc(1.5, z * z / 2),
    ppf=lambda q: np.sqrt(2 * sc.gammaincinv(1.5, q)),
    isf=lambda q: np.sqrt(2 * sc.gammainccinv(1.5, q)),
    entropy=lambda: EULER + LOG_ROOT - 0.5,
    mean=lambda: 2 * np.sqrt(2 / np.pi), var=lambda: 3 - 8 / np.pi,
)  # fmt: skip

levy: Family = family(
    "levy", POSITIVE, lambda z: -LOG_ROOT - 1.5 * np.log(z) - 1 / (2 * z),
    inside=1.0, is_open=True,
    cdf=lambda z: sc.erfc(np.sqrt(0.5 / z)),
    sf=lambda z: sc.erf(np.sqrt(0.5 / z)),
    ppf=lambda q: 1 / sc.ndtri(q / 2) ** 2,
    isf=lambda q: 0.5 / sc.erfinv(q) ** 2,
    entropy=lambda: (1 + 3 * EULER + np.log(16 * np.pi)) / 2,
    mean=lambda: np.inf, var=lambda: np.inf,
)  # fmt: skip


def _fisk_var(c: Any) -> Any:
    b = np.pi / c
    return 2 * b / np.sin(2 * b) - (b / np.sin(b)) ** 2


fisk: Family = family(
    "fisk", POSITIVE, lambda z, c: np.log(c) + sc.xlogy(c - 1, z) - 2 * np.log1p(z**c),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, c: sc.expit(c * np.log(z)),
    sf=lambda z, c: sc.expit(-c * np.log(z)),
    ppf=lambda q, c: np.exp(sc.logit(q) / c),
    isf=lambda q, c: np.exp(-sc.logit(q) / c),
    entropy=lambda c: 2 - np.log(c),
    mean=lambda c: above_or(1, c, lambda c: np.pi / c / np.sin(np.pi / c), np.nan),
    var=lambda c: above_or(2, c, _fisk_var, np.nan),
)  # fmt: skip


def _nakagami_mean(nu: Any) -> Any:
    return np.exp(sc.gammaln(nu + 0.5) - sc.gammaln(nu)) / np.sqrt(nu)


def _nakagami_entropy(nu: Any) -> Any:
    """The entropy, from the mean of log(z), which is (psi(nu) - log(nu)) / 2.

    For large nu the terms cancel, so Stirling's series (DLMF 5.11.1, 5.11.2) replaces them.
    """
    large = nu > 1e3
    small, r = np.where(large, 1.0, nu), 1 / np.where(large, nu, 1e3)
    exact = sc.gammaln(small) + small - (small - 0.5) * sc.digamma(small)
    series = LOG_ROOT + 0.5 + r * (-1 / 12 - r * (1 / 24 + r * (1 / 90 - r / 240)))
    return np.where(large, series, exact) - np.log(nu) / 2 - LOG_2


nakagami: Family = family(
    "nakagami", POSITIVE,
    lambda z, nu: (
        LOG_2 + sc.xlogy(nu, nu) - sc.gammaln(nu) + sc.xlogy(2 * nu - 1, z) - nu * z**2
    ),
    inside=1.0, valid=positive,
    cdf=lambda z, nu: sc.gammainc(nu, nu * z * z),
    sf=lambda z, nu: sc.gammaincc(nu, nu * z * z),
    ppf=lambda q, nu: np.sqrt(sc.gammaincinv(nu, q) / nu),
    isf=lambda q, nu: np.sqrt(sc.gammainccinv(nu, q) / nu),
    mean=_nakagami_mean, var=lambda nu: 1 - _nakagami_mean(nu) ** 2,
    entropy=_nakagami_entropy,
)  # fmt: skip

betaprime: Family = family(
    "betaprime", POSITIVE,
    lambda z, a, b: sc.xlogy(a - 1, z) - sc.xlog1py(a + b, z) - sc.betaln(a, b),
    inside=1.0, is_finite=True, valid=positive,
    cdf=lambda z, a, b: sc.betainc(a, b, z / (1 + z)),
    sf=lambda z, a, b: sc.betainc(b, a, 1 / (1 + z)),
    mean=lambda a, b: above_or(1, b, lambda b: a / (b - 1), np.inf),
    var=lambda a, b: above_or(
        2, b, lambda b: a * (a + b - 1) / ((b - 2) * (b - 1) ** 2), np.inf
    ),
    entropy=_beta_prime_entropy,
)  # fmt: skip


def _burr12_moment(n: int, c: Any, d: Any) -> Any:
    """The moment of order n, which exists if c d > n."""
    holds = c * d > n
    safe = np.where(holds, d, (n + 1) / c)
    return np.where(holds, d * sc.beta(1 + n / c, safe - n / c), np.nan)


burr12: Family = family(
    "burr12", POSITIVE,
    lambda z, c, d: (
        np.log(c) + np.log(d) + sc.xlogy(c - 1, z) - (d + 1) * np.log1p(z**c)
    ),
    inside=1.0, valid=positive,
    cdf=lambda z, c, d: -np.expm1(-d * np.log1p(z**c)),
    sf=lambda z, c, d: np.exp(-d * np.log1p(z**c)),
    logsf=lambda z, c, d: -d * np.log1p(z**c),
    ppf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c),
    mean=lambda c, d: _burr12_moment(1, c, d),
    var=lambda c, d: _burr12_moment(2, c, d) - _burr12_moment(1, c, d) ** 2,
    entropy=lambda c, d: (  # z**c has the distribution betaprime(1, d)
        1 + 1 / d - np.log(c) - np.log(d) + (1 - 1 / c) * (EULER + sc.digamma(d))
    ),
)  # fmt: skip
