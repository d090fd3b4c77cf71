"""More families on the whole real line, with different tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from .family import REAL, Family, family, positive
from .real_line import EULER, LOG_2, LOG_PI, LOG_ROOT

genlogistic: Family = family(
    "genlogistic", REAL,
    lambda z, c: np.log(c) + c * sc.log_expit(z) + sc.log_expit(-z),
    valid=positive,
    cdf=lambda z, c: np.exp(c * sc.log_expit(z)),
    logcdf=lambda z, c: c * sc.log_expit(z),
    sf=lambda z, c: -np.expm1(c * sc.log_expit(z)),
    ppf=lambda q, c: -np.log(np.expm1(-np.log(q) / c)),
    isf=lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
    entropy=lambda c: -np.log(c) + sc.digamma(c + 1) + EULER + 1,
    mean=lambda c: EULER + sc.digamma(c),
    var=lambda c: np.pi**2 / 6 + sc.zeta(2.0, c),
)  # fmt: skip

moyal: Family = family(
    "moyal", REAL,
    lambda z: -(z + np.exp(-z)) / 2 - LOG_ROOT,
    cdf=lambda z: sc.erfc(np.exp(-z / 2) / np.sqrt(2)),
    sf=lambda z: sc.erf(np.exp(-z / 2) / np.sqrt(2)),
    ppf=lambda q: -LOG_2 - 2 * np.log(sc.erfcinv(q)),
    isf=lambda q: -LOG_2 - 2 * np.log(sc.erfinv(q)),
    entropy=lambda: (LOG_2 + EULER + 1) / 2 + LOG_ROOT,
    mean=lambda: LOG_2 + EULER,
    var=lambda: np.pi**2 / 2,
)  # fmt: skip

powernorm: Family = family(
    "powernorm", REAL,
    lambda z, c: np.log(c) - z * z / 2 - LOG_ROOT + (c - 1) * sc.log_ndtr(-z),
    valid=positive,
    is_finite=True,
    cdf=lambda z, c: -np.expm1(c * sc.log_ndtr(-z)),
    sf=lambda z, c: np.exp(c * sc.log_ndtr(-z)),
    logsf=lambda z, c: c * sc.log_ndtr(-z),
    ppf=lambda q, c: -sc.ndtri_exp(np.log1p(-q) / c),
    isf=lambda q, c: -sc.ndtri_exp(np.log(q) / c),
)  # fmt: skip

# -- Johnson's family, and mixtures of normal distributions over the variance --------------


def _johnson(z: Any, a: Any, b: Any) -> Any:
    return a + b * np.arcsinh(z)


johnsonsu: Family = family(
    "johnsonsu", REAL,
    lambda z, a, b: np.log(b) - np.log(np.hypot(1.0, z)) - _johnson(z, a, b) ** 2 / 2 - LOG_ROOT,
    valid=lambda a, b: (b > 0) & (a == a),
    cdf=lambda z, a, b: sc.ndtr(_johnson(z, a, b)),
    logcdf=lambda z, a, b: sc.log_ndtr(_johnson(z, a, b)),
    sf=lambda z, a, b: sc.ndtr(-_johnson(z, a, b)),
    logsf=lambda z, a, b: sc.log_ndtr(-_johnson(z, a, b)),
    ppf=lambda q, a, b: np.sinh((sc.ndtri(q) - a) / b),
    isf=lambda q, a, b: np.sinh((-sc.ndtri(q) - a) / b),
    mean=lambda a, b: -np.exp(b**-2 / 2) * np.sinh(a / b),
    var=lambda a, b: np.expm1(b**-2) * (np.exp(b**-2) * np.cosh(2 * a / b) + 1) / 2,
)  # fmt: skip


def _root_of_difference(a: Any, b: Any) -> Any:
    return np.sqrt((a - b) * (a + b))


def _norminvgauss(z: Any, a: Any, b: Any) -> Any:
    s = np.hypot(1.0, z)
    peak = np.log(a) - LOG_PI + np.log(sc.k1e(a * s)) - np.log(s)
    return peak + b * z - a * s + _root_of_difference(a, b)


norminvgauss: Family = family(
    "norminvgauss", REAL, _norminvgauss,
    valid=lambda a, b: (a > 0) & (np.abs(b) < a),
    is_finite=True,
    mean=lambda a, b: b / _root_of_difference(a, b),
    var=lambda a, b: a * a / _root_of_difference(a, b) ** 3,
)  # fmt: skip


def _genhyperbolic(z: Any, p: Any, a: Any, b: Any) -> Any:
    s, t = np.hypot(1.0, z), _root_of_difference(a, b)
    norm = p * np.log(t) - LOG_ROOT - (p - 0.5) * np.log(a) - np.log(sc.kve(p, t)) + t
    return norm + b * z + np.log(sc.kve(p - 0.5, a * s)) - a * s + (p - 0.5) * np.log(s)


def _ratio(p: Any, n: int, t: Any) -> Any:
    """``K_(p+n)(t) / K_p(t)``."""
    return sc.kve(p + n, t) / sc.kve(p, t)


def _hyperbolic_mean(p: Any, a: Any, b: Any) -> Any:
    t = _root_of_difference(a, b)
    return b / t * _ratio(p, 1, t)


def _hyperbolic_var(p: Any, a: Any, b: Any) -> Any:
    t = _root_of_difference(a, b)
    first = _ratio(p, 1, t)
    return first / t + (b / t) ** 2 * (_ratio(p, 2, t) - first**2)


genhyperbolic: Family = family(
    "genhyperbolic", REAL, _genhyperbolic,
    valid=lambda p, a, b: (np.abs(b) < a) | ((np.abs(b) <= a) & (p < 0)),
    is_finite=True,
    mean=_hyperbolic_mean, var=_hyperbolic_var,
)  # fmt: skip

# -- the logarithm of a gamma variable, and Pearson's type III ------------------------------

#: Below this z, exp(z) loses digits, and the first term of the series of gammainc is exact.
_LOWEST = -708.0


def _loggamma_cdf(z: Any, c: Any) -> Any:
    low = z < _LOWEST
    return np.where(
        low, np.exp(c * z - sc.gammaln(c + 1)), sc.gammainc(c, np.exp(np.where(low, 0.0, z)))
    )


def _log_of_quantile(g: Any, log_q: Any, c: Any) -> Any:
    low = g < np.exp(_LOWEST)
    return np.where(low, (log_q + sc.gammaln(c + 1)) / c, np.log(np.where(low, 1.0, g)))


def _loggamma_entropy(c: Any) -> Any:
    """The entropy; for large c, by the series of DLMF 5.11.1 and 5.11.2, to 1e-13."""
    large = c >= 45
    small, r = np.where(large, 1.0, c), 1 / np.where(large, c, 45.0)
    regular = sc.gammaln(small) - small * sc.digamma(small) + small
    series = np.log(r) / 2 + r / 6 - r**3 / 90 + r**5 / 210
    return np.where(large, LOG_ROOT + 0.5 + series, regular)


loggamma: Family = family(
    "loggamma", REAL,
    lambda z, c: c * z - np.exp(z) - sc.gammaln(c),
    valid=positive,
    cdf=_loggamma_cdf,
    sf=lambda z, c: sc.gammaincc(c, np.exp(z)),
    ppf=lambda q, c: _log_of_quantile(sc.gammaincinv(c, q), np.log(q), c),
    isf=lambda q, c: _log_of_quantile(sc.gammainccinv(c, q), np.log1p(-q), c),
    entropy=_loggamma_entropy,
    mean=lambda c: sc.digamma(c),
    var=lambda c: sc.zeta(2.0, c),
)  # fmt: skip

#: Below this skewness, the distribution is the normal one plus a term linear in the skewness.
_NORMAL = 0.000016


def _pearson(skew: Any) -> tuple[Any, Any, Any]:
    """Whether the distribution is nearly normal; else, the gamma distribution's rate and shape."""
    normal = np.abs(skew) < _NORMAL
    rate = 2 / np.where(normal, 1.0, skew)
    return normal, rate, rate * rate


def _normal_density(z: Any) -> Any:
    return np.exp(-z * z / 2 - LOG_ROOT)


def _pearson_logpdf(z: Any, skew: Any) -> Any:
    normal, rate, shape = _pearson(skew)
    moved = shape + rate * z
    outside = moved <= 0
    y = np.where(outside, 1.0, moved)
    away = np.log(np.abs(rate)) + (shape - 1) * np.log(y) - y - sc.gammaln(shape)
    near = -z * z / 2 - LOG_ROOT + skew * (z**3 - 3 * z) / 6
    return np.where(normal, near, np.where(outside, -np.inf, away))


def _pearson_side(z: Any, skew: Any, upper: bool) -> Any:
    normal, rate, shape = _pearson(skew)
    moved = shape + rate * z
    outside = moved <= 0
    y = np.where(outside, 1.0, moved)
    below = np.where(outside, 0.0, sc.gammainc(shape, y))
    above = np.where(outside, 1.0, sc.gammaincc(shape, y))
    sign = -1.0 if upper else 1.0
    near = sc.ndtr(sign * z) - sign * skew * (z * z - 1) / 6 * _normal_density(z)
    mirrored = (skew > 0) == upper
    return np.where(normal, near, np.where(mirrored, above, below))


def _pearson_quantile(q: Any, skew: Any, upper: bool) -> Any:
    normal, rate, shape = _pearson(skew)
    z = -sc.ndtri(q) if upper else sc.ndtri(q)
    below, above = sc.gammaincinv(shape, q), sc.gammainccinv(shape, q)
    away = np.where((skew > 0) == upper, above, below) / rate - rate
    finite = np.isfinite(z)
    near = np.where(finite, z + skew * (np.where(finite, z, 0.0) ** 2 - 1) / 6, z)
    return np.where(normal, near, away)


def _pearson_entropy(skew: Any) -> Any:
    """The entropy of the gamma distribution (see `half_line`), or of the normal distribution."""
    normal, rate, shape = _pearson(skew)
    gamma = shape + sc.gammaln(shape) + (1 - shape) * sc.psi(shape) - np.log(np.abs(rate))
    return np.where(normal, 0.5 + LOG_ROOT, gamma)


pearson3: Family = family(
    "pearson3", REAL, _pearson_logpdf,
    valid=lambda skew: np.isfinite(skew),
    is_finite=True,
    cdf=lambda z, skew: _pearson_side(z, skew, False),
    sf=lambda z, skew: _pearson_side(z, skew, True),
    ppf=lambda q, skew: _pearson_quantile(q, skew, False),
    isf=lambda q, skew: _pearson_quantile(q, skew, True),
    mean=lambda skew: 0.0 * skew,
    var=lambda skew: 1.0 + 0.0 * skew,
    entropy=_pearson_entropy,
)  # fmt: skip
