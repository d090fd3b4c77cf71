"""Families on the whole real line."""

from __future__ import annotations

import numpy as np
import scipy.special as sc

from .family import REAL, family, positive

LOG_2 = float(np.log(2.0))
LOG_PI = float(np.log(np.pi))
#: log(sqrt(2 pi))
LOG_ROOT = float(np.log(2 * np.pi)) / 2
EULER = float(np.euler_gamma)

norm = family(
    "norm", REAL,
    lambda z: -(z * z) / 2 - LOG_ROOT,
    cdf=lambda z: sc.ndtr(z),
    logcdf=lambda z: sc.log_ndtr(z),
    sf=lambda z: sc.ndtr(-z),
    logsf=lambda z: sc.log_ndtr(-z),
    ppf=lambda q: sc.ndtri(q),
    isf=lambda q: -sc.ndtri(q),
    median=lambda: 0.0,
    entropy=lambda: LOG_ROOT + 0.5,
    mean=lambda: 0.0,
    var=lambda: 1.0,
)  # fmt: skip

cauchy = family(
    "cauchy", REAL,
    lambda z: -LOG_PI - np.log1p(z * z),
    density=lambda z: 1 / (np.pi * (1 + z * z)),
    cdf=lambda z: np.arctan2(1.0, -z) / np.pi,
    sf=lambda z: np.arctan2(1.0, z) / np.pi,
    ppf=lambda q: -1 / np.tan(np.pi * q),
    isf=lambda q: 1 / np.tan(np.pi * q),
    median=lambda: 0.0,
    entropy=lambda: np.log(4 * np.pi),
    mean=lambda: np.nan,
    var=lambda: np.nan,
)  # fmt: skip

laplace = family(
    "laplace", REAL,
    lambda z: -np.abs(z) - LOG_2,
    cdf=lambda z: np.where(z > 0, 1 - np.exp(-np.abs(z)) / 2, np.exp(-np.abs(z)) / 2),
    sf=lambda z: np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2),
    logcdf=lambda z: np.where(z > 0, np.log1p(-np.exp(-np.abs(z)) / 2), -np.abs(z) - LOG_2),
    logsf=lambda z: np.where(z > 0, -np.abs(z) - LOG_2, np.log1p(-np.exp(-np.abs(z)) / 2)),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - np.maximum(q, 0.5))),
                           np.log(2 * np.minimum(q, 0.5))),
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - np.maximum(q, 0.5))),
                           -np.log(2 * np.minimum(q, 0.5))),
    median=lambda: 0.0,
    entropy=lambda: LOG_2 + 1,
    mean=lambda: 0.0,
    var=lambda: 2.0,
)  # fmt: skip

logistic = family(
    "logistic", REAL,
    lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))),
    cdf=lambda z: sc.expit(z),
    sf=lambda z: sc.expit(-z),
    logcdf=lambda z: sc.log_expit(z),
    logsf=lambda z: sc.log_expit(-z),
    ppf=lambda q: sc.logit(q),
    isf=lambda q: -sc.logit(q),
    median=lambda: 0.0,
    entropy=lambda: 2.0,
    mean=lambda: 0.0,
    var=lambda: np.pi**2 / 3,
)  # fmt: skip

gumbel_r = family(
    "gumbel_r", REAL,
    lambda z: -z - np.exp(-z),
    cdf=lambda z: np.exp(-np.exp(-z)),
    logcdf=lambda z: -np.exp(-z),
    sf=lambda z: -np.expm1(-np.exp(-z)),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
    entropy=lambda: EULER + 1,
    mean=lambda: EULER,
    var=lambda: np.pi**2 / 6,
)  # fmt: skip

gumbel_l = family(
    "gumbel_l", REAL,
    lambda z: z - np.exp(z),
    cdf=lambda z: -np.expm1(-np.exp(z)),
    sf=lambda z: np.exp(-np.exp(z)),
    logsf=lambda z: -np.exp(z),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
    entropy=lambda: EULER + 1,
    mean=lambda: -EULER,
    var=lambda: np.pi**2 / 6,
)  # fmt: skip

t = family(
    "t", REAL,
    lambda z, df: (
        -sc.betaln(0.5, df / 2) - np.log(df) / 2 - (df + 1) / 2 * np.log1p(z * z / df)
    ),
    valid=positive,
    cdf=lambda z, df: sc.stdtr(df, z),
    sf=lambda z, df: sc.stdtr(df, -z),
    ppf=lambda q, df: sc.stdtrit(df, q),
    isf=lambda q, df: -sc.stdtrit(df, q),
    median=lambda df: 0.0 * df,
    entropy=lambda df: (
        (df + 1) / 2 * (sc.digamma((df + 1) / 2) - sc.digamma(df / 2))
        + np.log(df) / 2 + sc.betaln(df / 2, 0.5)
    ),
    mean=lambda df: np.where(df > 1, 0.0, np.inf),
    var=lambda df: np.where(
        df > 2, df / np.where(df > 2, df - 2, 1.0), np.where(df > 1, np.inf, np.nan)
    ),
)  # fmt: skip

skewnorm = family(
    "skewnorm", REAL,
    lambda z, a: LOG_2 - z * z / 2 - LOG_ROOT + sc.log_ndtr(a * z),
    cdf=lambda z, a: sc.ndtr(z) - 2 * sc.owens_t(z, a),
    sf=lambda z, a: sc.ndtr(-z) + 2 * sc.owens_t(z, a),
    mean=lambda a: np.sqrt(2 / np.pi) * a / np.sqrt(1 + a * a),
    var=lambda a: 1 - 2 / np.pi * a * a / (1 + a * a),
)  # fmt: skip

exponnorm = family(
    "exponnorm", REAL,
    lambda z, k: 1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k) - np.log(k),
    valid=positive,
    cdf=lambda z, k: sc.ndtr(z) - np.exp(1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k)),
    sf=lambda z, k: sc.ndtr(-z) + np.exp(1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k)),
    mean=lambda k: k,
    var=lambda k: 1 + k * k,
)  # fmt: skip

gennorm = family(
    "gennorm", REAL,
    lambda z, beta: np.log(beta / 2) - sc.gammaln(1 / beta) - np.abs(z) ** beta,
    valid=positive,
    cdf=lambda z, beta: 0.5 + np.sign(z) * sc.gammainc(1 / beta, np.abs(z) ** beta) / 2,
    sf=lambda z, beta: 0.5 - np.sign(z) * sc.gammainc(1 / beta, np.abs(z) ** beta) / 2,
    ppf=lambda q, beta: (
        np.sign(q - 0.5) * sc.gammaincinv(1 / beta, np.abs(2 * q - 1)) ** (1 / beta)
    ),
    entropy=lambda beta: 1 / beta - np.log(beta / 2) + sc.gammaln(1 / beta),
    median=lambda beta: 0.0 * beta,
    mean=lambda beta: 0.0 * beta,
    var=lambda beta: np.exp(sc.gammaln(3 / beta) - sc.gammaln(1 / beta)),
)  # fmt: skip

hypsecant = family(
    "hypsecant", REAL,
    lambda z: LOG_2 - LOG_PI - np.logaddexp(z, -z),
    cdf=lambda z: 2 / np.pi * np.arctan(np.exp(z)),
    sf=lambda z: 2 / np.pi * np.arctan(np.exp(-z)),
    ppf=lambda q: np.log(np.tan(np.pi * q / 2)),
    isf=lambda q: -np.log(np.tan(np.pi * q / 2)),
    entropy=lambda: np.log(2 * np.pi),
    mean=lambda: 0.0,
    var=lambda: np.pi**2 / 4,
)  # fmt: skip

vonmises = family(
    "vonmises", REAL,
    lambda z, kappa: kappa * (np.cos(z) - 1) - np.log(2 * np.pi) - np.log(sc.i0e(kappa)),
    valid=lambda kappa: kappa >= 0,
    entropy=lambda kappa: (
        np.log(2 * np.pi) + np.log(sc.i0e(kappa)) + kappa
        - kappa * sc.i1e(kappa) / sc.i0e(kappa)
    ),
)  # fmt: skip
