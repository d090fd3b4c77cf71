"""Families on the whole real line."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .conditions import holds_nowhere
from .family import REAL, Family, family, positive

LOG_2 = float(np.log(2.0))
LOG_PI = float(np.log(np.pi))
#: log(sqrt(2 pi))
LOG_ROOT = float(np.log(2 * np.pi)) / 2
#: A power below this does not change the distribution function, and its derivative is infinite.
TINY = 1e-290
EULER = float(np.euler_gamma)

norm: Family = family(
    "norm", REAL,
    lambda z: -(z**2) / 2 - LOG_ROOT,
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


#: Above this, the asymptotic series of the exponential integral is exact.
_LARGE = 40.0


def scaled_exp1(c: Any) -> Any:
    """``exp(c) * exp1(c)``; for large c, by the asymptotic series of DLMF 6.12.1, to 1e-15."""
    large = c > _LARGE
    small, r = np.where(large, 1.0, c), 1 / np.where(large, c, _LARGE)
    series = 1.0 + 0.0 * r
    for k in range(30, 0, -1):
        series = 1 - k * r * series
    return np.where(large, r * series, np.exp(small) * sc.exp1(small))


def _cotangent(q: Any) -> Any:
    """``1 / tan(pi q)`` for q from 0 to 1, accurate to the last digits at both ends."""
    right = q > 0.5
    cotangent = 1 / np.tan(np.pi * np.where(right, 1 - q, q))
    return np.where(right, -cotangent, cotangent)


def half_tangent(q: Any) -> Any:
    """``tan(pi q / 2)`` for q from 0 to 1, accurate to the last digits at both ends."""
    right = q > 0.5
    tangent = np.tan(np.pi / 2 * np.where(right, 1 - q, q))
    return np.where(right, 1 / np.where(right, tangent, 1.0), tangent)


cauchy: Family = family(
    "cauchy", REAL,
    lambda z: -LOG_PI - np.log1p(z**2),
    density=lambda z: 1 / (np.pi * (1 + z * z)),
    cdf=lambda z: np.arctan2(1.0, -z) / np.pi,
    sf=lambda z: np.arctan2(1.0, z) / np.pi,
    ppf=lambda q: -_cotangent(q),
    isf=lambda q: _cotangent(q),
    median=lambda: 0.0,
    entropy=lambda: np.log(4 * np.pi),
    mean=lambda: np.nan,
    var=lambda: np.nan,
)  # fmt: skip


def folded(z: Any) -> Any:
    """``|z|`` with the derivative -1 at 0, that of the left side, because ``z > 0`` is false."""
    return np.where(z > 0, z, -z)


def _laplace_ppf(q: Any) -> Any:
    right = q > 0.5
    tail = np.log(2 * np.where(right, 1 - q, q))
    return np.where(right, -tail, tail)


laplace: Family = family(
    "laplace", REAL,
    lambda z: -np.abs(z) - LOG_2,
    cdf=lambda z: np.where(z > 0, 1 - np.exp(-folded(z)) / 2, np.exp(-folded(z)) / 2),
    sf=lambda z: np.where(z > 0, np.exp(-folded(z)) / 2, 1 - np.exp(-folded(z)) / 2),
    logcdf=lambda z: np.where(z > 0, np.log1p(-np.exp(-folded(z)) / 2), -folded(z) - LOG_2),
    logsf=lambda z: np.where(z > 0, -folded(z) - LOG_2, np.log1p(-np.exp(-folded(z)) / 2)),
    ppf=lambda q: _laplace_ppf(q),
    isf=lambda q: -_laplace_ppf(q),
    median=lambda: 0.0,
    entropy=lambda: LOG_2 + 1,
    mean=lambda: 0.0,
    var=lambda: 2.0,
)  # fmt: skip

logistic: Family = family(
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

gumbel_r: Family = family(
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

gumbel_l: Family = family(
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


def _or_normal(df: Any, of_t: Any, normal: Any) -> Any:
    """A formula for finite degrees of freedom, and the normal distribution's for infinite ones."""
    infinite = np.isinf(df)
    if holds_nowhere(infinite):
        return of_t(df)
    return np.where(infinite, normal(), of_t(np.where(infinite, 1.0, df)))


def _t_logpdf(z: Any, df: Any) -> Any:
    norm = -sc.betaln(0.5, df / 2) - np.log(df) / 2
    return norm - (df + 1) / 2 * np.log1p(z**2 / df)


def _t_ppf(q: Any, df: Any) -> Any:
    lowest = q == 0  # where stdtrit has the wrong sign
    return np.where(lowest, -np.inf, sc.stdtrit(df, np.where(lowest, 0.5, q)))


def _t_entropy(df: Any) -> Any:
    return (
        (df + 1) / 2 * (sc.digamma((df + 1) / 2) - sc.digamma(df / 2))
        + np.log(df) / 2 + sc.betaln(df / 2, 0.5)
    )  # fmt: skip


t: Family = family(
    "t", REAL,
    lambda z, df: _or_normal(df, lambda df: _t_logpdf(z, df), lambda: -(z**2) / 2 - LOG_ROOT),
    valid=positive,
    cdf=lambda z, df: _or_normal(df, lambda df: sc.stdtr(df, z), lambda: sc.ndtr(z)),
    sf=lambda z, df: _or_normal(df, lambda df: sc.stdtr(df, -z), lambda: sc.ndtr(-z)),
    ppf=lambda q, df: _or_normal(df, lambda df: _t_ppf(q, df), lambda: sc.ndtri(q)),
    isf=lambda q, df: -_or_normal(df, lambda df: _t_ppf(q, df), lambda: sc.ndtri(q)),
    median=lambda df: 0.0 * np.where(np.isinf(df), 1.0, df),
    entropy=lambda df: _or_normal(df, _t_entropy, lambda: LOG_ROOT + 0.5),
    mean=lambda df: np.where(df > 1, 0.0, np.inf),
    var=lambda df: _or_normal(df, lambda df: np.where(
        df > 2, df / np.where(df > 2, df - 2, 1.0), np.where(df > 1, np.inf, np.nan)
    ), lambda: 1.0),
)  # fmt: skip

#: Nodes and weights on the positive half line, for integrands that fall like exp(-y).
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(40)
#: If (a z)**2 exceeds this, the difference of the skew normal's terms loses digits.
_FAR = 8.0


def _in_the_tail(z: Any, a: Any) -> Any:
    return (a > 0) & (z < 0) & (z * z * a * a > _FAR)


def _skew_tail(z: Any, a: Any) -> Any:
    """The logarithm of the mass below z < 0 for a > 0.

    The mass is Owen's integral from a to infinity (Owen, Annals of Mathematical Statistics 27
    (1956), 1075-1090). Gauss-Laguerre quadrature with 40 nodes gives it to 1e-13 for
    (a z)**2 > 8.
    """
    square = np.where(z == -np.inf, 1.0, z * z)[..., None]
    slopes = np.sqrt(a[..., None] ** 2 + 2 * _NODES / square)
    terms = np.sum(_WEIGHTS / (square * slopes * (1 + slopes * slopes)), axis=-1)
    return np.log(terms / np.pi) - z**2 * (1 + a * a) / 2


def _skewnorm_cdf(z: Any, a: Any) -> Any:
    far = _in_the_tail(z, a)
    tail = np.exp(_skew_tail(*np.broadcast_arrays(np.where(far, z, -4.0), np.where(far, a, 1.0))))
    near, slope = np.where(far, 0.0, z), np.where(far, 1.0, a)
    return np.where(far, tail, sc.ndtr(near) - 2 * sc.owens_t(near, slope))


def _skewnorm_logcdf(z: Any, a: Any) -> Any:
    far = _in_the_tail(z, a)
    tail = _skew_tail(*np.broadcast_arrays(np.where(far, z, -4.0), np.where(far, a, 1.0)))
    near, slope = np.where(far, 0.0, z), np.where(far, 1.0, a)
    return np.where(far, tail, np.log(sc.ndtr(near) - 2 * sc.owens_t(near, slope)))


skewnorm: Family = family(
    "skewnorm", REAL,
    lambda z, a: LOG_2 - z**2 / 2 - LOG_ROOT + sc.log_ndtr(a * z),
    kink=lambda a: 0.0 * a,
    cdf=_skewnorm_cdf,
    logcdf=_skewnorm_logcdf,
    sf=lambda z, a: _skewnorm_cdf(-z, -a),
    logsf=lambda z, a: _skewnorm_logcdf(-z, -a),
    mean=lambda a: np.sqrt(2 / np.pi) * a / np.sqrt(1 + a * a),
    var=lambda a: 1 - 2 / np.pi * a * a / (1 + a * a),
)  # fmt: skip

exponnorm: Family = family(
    "exponnorm", REAL,
    lambda z, k: 1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k) - np.log(k),
    valid=positive, kink=lambda k: 0.0 * k,
    is_finite=True,
    cdf=lambda z, k: sc.ndtr(z) - np.exp(1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k)),
    sf=lambda z, k: sc.ndtr(-z) + np.exp(1 / (k * k) / 2 - z / k + sc.log_ndtr(z - 1 / k)),
    mean=lambda k: k,
    var=lambda k: 1 + k * k,
)  # fmt: skip


def _gennorm_peak(beta: Any) -> Any:
    return np.exp(np.log(beta / 2) - sc.gammaln(1 / beta))


def _gennorm_cdf(z: Any, beta: Any) -> Any:
    """The distribution function, from the tail of z.

    Near 0, where that has no finite derivative, it comes from the density.
    """
    power = np.abs(z) ** beta
    middle = power < TINY
    tail = sc.gammaincc(1 / beta, np.where(middle, 1.0, power)) / 2
    return np.where(middle, 0.5 + _gennorm_peak(beta) * z, np.where(z > 0, 1 - tail, tail))


def _gennorm_ppf(q: Any, beta: Any) -> Any:
    middle, right = q == 0.5, q > 0.5
    tail = np.where(middle, 0.25, np.where(right, 1 - q, q))
    far = sc.gammainccinv(1 / beta, 2 * tail) ** (1 / beta)
    return np.where(middle, (q - 0.5) / _gennorm_peak(beta), np.where(right, far, -far))


gennorm: Family = family(
    "gennorm", REAL,
    lambda z, beta: np.log(beta / 2) - sc.gammaln(1 / beta) - np.abs(z) ** beta,
    valid=positive,
    cdf=lambda z, beta: _gennorm_cdf(z, beta),
    sf=lambda z, beta: _gennorm_cdf(-z, beta),
    ppf=lambda q, beta: _gennorm_ppf(q, beta),
    isf=lambda q, beta: -_gennorm_ppf(q, beta),
    entropy=lambda beta: 1 / beta - np.log(beta / 2) + sc.gammaln(1 / beta),
    median=lambda beta: 0.0 * beta,
    mean=lambda beta: 0.0 * beta,
    var=lambda beta: np.exp(sc.gammaln(3 / beta) - sc.gammaln(1 / beta)),
)  # fmt: skip

hypsecant: Family = family(
    "hypsecant", REAL,
    lambda z: LOG_2 - LOG_PI - np.logaddexp(z, -z),
    cdf=lambda z: 2 / np.pi * np.arctan(np.exp(z)),
    sf=lambda z: 2 / np.pi * np.arctan(np.exp(-z)),
    ppf=lambda q: np.log(half_tangent(q)),
    isf=lambda q: -np.log(half_tangent(q)),
    entropy=lambda: np.log(2 * np.pi),
    mean=lambda: 0.0,
    var=lambda: np.pi**2 / 4,
)  # fmt: skip

vonmises: Family = family(
    "vonmises", REAL,
    lambda z, kappa: kappa * (np.cos(z) - 1) - np.log(2 * np.pi) - np.log(sc.i0e(kappa)),
    valid=lambda kappa: kappa >= 0, period=(-np.pi, np.pi),
    entropy=lambda kappa: (
        np.log(2 * np.pi) + np.log(sc.i0e(kappa)) + kappa
        - kappa * sc.i1e(kappa) / sc.i0e(kappa)
    ),
    mean=lambda kappa: 0.0 * kappa,
)  # fmt: skip
